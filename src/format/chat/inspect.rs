//! What one message alone may have wrong.

use rustc_hash::FxHashMap;

use super::{Read, Reading, Shorten, read};
use crate::check::Flaw;
use crate::cost::{FIGURES, Meter};
use crate::error::{Foreign, ReadError};
use crate::facts::{Links, Role, Tie};
use crate::value::{Key, Text, Value};

/// Reads a message for [`check`](crate::check()): its links, and what is wrong with it alone, in the order of the table in
/// `docs/rules.md`, section 9.
pub(crate) fn inspect<V: Value>(
    message: &V,
    auto: bool,
) -> Result<(Links<V::Text>, Vec<Flaw>), ReadError> {
    let mut meter = Meter::new(&FIGURES, None, None, false);
    let mut ties = Vec::new();
    let how = Reading {
        auto,
        shorten: Shorten::Not,
        names: true,
    };
    let Read { role, .. } = read(message, how, &mut meter, &mut ties)?;
    let links = Links::of(role, &mut ties);
    let mut flaws = Vec::new();
    let mut flaw = |code, message, ids| flaws.push(Flaw { code, message, ids });

    let content = message.get(Key::Content)?;
    if content.is_none() && needs_content(message, role, &links)? {
        flaw("missing_content", "it has no content", Vec::new());
    }
    if role == Role::Assistant {
        let listed = message.get(Key::ToolCalls)?.and_then(|calls| calls.list());
        if listed == Some(0) {
            flaw(
                "empty_tool_calls",
                "its tool_calls is an empty list",
                Vec::new(),
            );
        }
        if listed.is_some_and(|len| len > 0) && message.get(Key::FunctionCall)?.is_some() {
            flaw(
                "mixed_calls",
                "it has both tool_calls and function_call",
                Vec::new(),
            );
        }
    }
    match &links {
        Links::Calls(calls) => {
            let tools = || {
                calls
                    .iter()
                    .filter(|call| call.family == crate::facts::Family::Tool)
            };
            if tools().any(|call| call.id.is_none()) {
                flaw("missing_id", "a call has no id", Vec::new());
            }
            let ids = duplicates(calls);
            if !ids.is_empty() {
                flaw("duplicate_id", "two of its calls have the same id", ids);
            }
        }
        Links::Result(tie) if role == Role::Tool => {
            if tie.id.is_none() {
                flaw("missing_id", "it has no tool_call_id", Vec::new());
            }
            if content.as_ref().map_or(Ok(false), has_media)? {
                flaw(
                    "media_in_result",
                    "its content has a part that is not text",
                    Vec::new(),
                );
            }
        }
        Links::Result(_) => {
            let name = message.get(Key::Name)?.and_then(|name| name.text());
            if name.is_none_or(|name| name.chars() == 0) {
                flaw("missing_id", "it has no name", Vec::new());
            }
        }
        Links::None => {}
    }
    Ok((links, flaws))
}

fn needs_content<V: Value>(
    message: &V,
    role: Role,
    links: &Links<V::Text>,
) -> Result<bool, Foreign> {
    if role != Role::Assistant {
        return Ok(true);
    }
    let spoken = message.get(Key::Refusal)?.is_some() || message.get(Key::Audio)?.is_some();
    Ok(!spoken && !matches!(links, Links::Calls(_)))
}

/// Ids that more than one call has, each once, in the order in which they come again.
fn duplicates<T: Text>(calls: &[Tie<T>]) -> Vec<String> {
    let mut seen: FxHashMap<String, usize> = FxHashMap::default();
    let mut again = Vec::new();
    for call in calls.iter().filter_map(|call| call.id.as_ref()) {
        let id = call.as_str().into_owned();
        let times = seen.entry(id.clone()).or_insert(0);
        *times += 1;
        if *times == 2 {
            again.push(id);
        }
    }
    again
}

/// Whether a result's content has a part that is neither a string nor a `text` part.
fn has_media<V: Value>(content: &V) -> Result<bool, Foreign> {
    for part in (0..content.list().unwrap_or(0)).map_while(|k| content.item(k)) {
        let kind = if part.is_record() {
            part.get(Key::Type)?
        } else {
            None
        };
        let is_text = kind.is_some_and(|kind| kind.word().is_some_and(|kind| kind == "text"));
        if part.text().is_none() && !is_text {
            return Ok(true);
        }
    }
    Ok(false)
}
