//! What one message alone may have wrong.

use super::clones;
use crate::error::Foreign;
use crate::facts::{Family, Links, Tie, Turn};
use crate::format::{Flaw, Marks};
use crate::value::{Key, Text, Value};

/// The flaws of a message, in the order of the table in `docs/rules.md`, section 9.
pub(super) fn inspect<V: Value>(
    message: &V,
    turn: Turn,
    links: &Links<V::Text>,
    flaws: &mut Vec<Flaw>,
) -> Result<Marks, Foreign> {
    let mut flaw = |code, message| flaws.push(Flaw::new(code, message));
    // Where there are several results in it, they say what the content repeats.
    let has_responses = turn == Turn::Result && clones::responses_of(message)?.is_some();
    let content = message.get(Key::Content)?;
    let content = content.filter(|_| !has_responses);
    if content.is_none() && !has_responses && needs_content(message, turn, links)? {
        flaw("missing_content", "it has no content");
    }
    if turn == Turn::Model {
        let listed = message.get(Key::ToolCalls)?.and_then(|calls| calls.list());
        if listed == Some(0) {
            flaw("empty_tool_calls", "its tool_calls is an empty list");
        }
        if listed.is_some_and(|len| len > 0) && message.get(Key::FunctionCall)?.is_some() {
            flaw("mixed_calls", "it has both tool_calls and function_call");
        }
        let mut tools = links
            .calls
            .iter()
            .filter(|call| call.family == Family::Tool);
        if tools.any(|call| call.id.is_none()) {
            flaw("missing_id", "a call has no id");
        }
    }
    let mut flaw = |code, message| flaws.push(Flaw::new(code, message));
    let nameless = |tie: &Tie<V::Text>| tie.family == Family::Tool && tie.id.is_none();
    if links.results.iter().any(nameless) {
        flaw("missing_id", "it has no tool_call_id");
    }
    if let Some(result) = links.results.first() {
        if result.family == Family::Tool {
            if content.as_ref().map_or(Ok(false), has_media)? {
                flaw("media_in_result", "its content has a part that is not text");
            }
        } else {
            let name = message.get(Key::Name)?.and_then(|name| name.text());
            if name.is_none_or(|name| name.chars() == 0) {
                flaw("missing_id", "it has no name");
            }
        }
    }
    Ok(0)
}

fn needs_content<V: Value>(
    message: &V,
    turn: Turn,
    links: &Links<V::Text>,
) -> Result<bool, Foreign> {
    if turn != Turn::Model {
        return Ok(true);
    }
    let spoken = message.get(Key::Refusal)?.is_some() || message.get(Key::Audio)?.is_some();
    Ok(!spoken && links.calls.is_empty())
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
        if part.text().is_none() && !is_text && clones::document(&part)?.is_none() {
            return Ok(true);
        }
    }
    Ok(false)
}
