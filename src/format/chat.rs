//! `openai-chat`: Chat Completions of `OpenAI` and its clones. `docs/rules.md`, section 1.

mod calls;
mod foreign;
mod glance;
mod inspect;
mod observation;
mod parts;

use crate::cost::{Media, Meter};
use crate::error::{Foreign, Misfit, ReadError};
use crate::facts::{Family, Role, Tie};
use crate::format::misfit;
use crate::value::{Key, Lent, Text, Value};

pub(crate) use calls::ties;
pub(crate) use glance::glance;
pub(crate) use inspect::inspect;
pub(crate) use observation::{Capped, Shorten, thena};
pub(crate) use parts::{NoticePlace, notice_place, part_text};

const ROLES: &str = "one of system, developer, user, assistant, tool, function";

/// The role of a message: all that is looked at where a message is not read.
pub(crate) fn role<V: Value>(message: &V, auto: bool) -> Result<Role, ReadError> {
    // At a glance, where nothing is wrong with it.
    let mut role = None;
    message.look(|key, value| {
        if key == Key::Role {
            role = value.word(Role::of);
        }
        key != Key::Role
    });
    if let Some(role) = role {
        return Ok(role);
    }
    if !message.is_record() {
        return Err(no_message(message));
    }
    role_of(message, message.get(Key::Role)?.as_ref(), auto)
}

fn no_message<V: Value>(value: &V) -> ReadError {
    ReadError::Misfit(misfit(
        "",
        Some(value),
        "a mapping or an object with a role",
    ))
}

/// The role that stands under `role`.
fn role_of<V: Value>(message: &V, value: Option<&V>, auto: bool) -> Result<Role, ReadError> {
    let word = value.and_then(Value::word);
    if let Some(role) = word.as_deref().and_then(Role::of) {
        return Ok(role);
    }
    if auto && let Some(format) = foreign::by_role(message, word.as_deref())? {
        return Err(ReadError::NotThereYet(format));
    }
    let found = match (value, word) {
        (None, _) => "nothing".to_owned(),
        (Some(value), Some(_)) => value.shown(),
        (Some(value), None) => value.type_name(),
    };
    Err(ReadError::Misfit(Misfit {
        path: "role".to_owned(),
        found,
        expected: ROLES,
    }))
}

/// How a message is to be read.
#[derive(Clone, Copy)]
pub(crate) struct Reading {
    /// Whether a part of another format is refused.
    pub auto: bool,
    pub shorten: Shorten,
    /// Whether names of speakers are read: they cost tokens only.
    pub names: bool,
}

/// What was read of a message.
pub(crate) struct Read {
    pub role: Role,
    pub capped: Option<Box<Capped>>,
}

/// Reads a message: its role, its cost into `meter`, its calls or the call that it answers into `ties`, which comes empty.
pub(crate) fn read<V: Value>(
    message: &V,
    how: Reading,
    meter: &mut Meter<'_, V::Text>,
    ties: &mut Vec<Tie<V::Text>>,
) -> Result<Read, ReadError> {
    if !message.is_record() {
        return Err(no_message(message));
    }
    let mut keys = KEYS;
    if !how.names {
        // Asked for a second time, a key is found at its first place: the name is not so much as touched.
        keys[NAME] = Key::Role;
    }
    let mut fields = [const { None }; KEYS.len()];
    message.fields(&keys, &mut fields)?;
    let [
        role,
        content,
        name,
        tool_call_id,
        tool_calls,
        function_call,
        refusal,
        reasoning_content,
        reasoning,
        audio,
    ] = &fields;
    let role = role_of(message, role.as_ref(), how.auto)?;
    if how.auto && content.is_none() && message.get(Key::Parts)?.is_some() {
        return Err(ReadError::NotThereYet("gemini"));
    }
    meter.message(role)?;
    let mut capped = None;
    if let Some(content) = content {
        if role.is_result() {
            capped = observation::read(content, role, how, meter)?;
        } else {
            let beside_calls = role == Role::Assistant && tool_calls.is_some();
            parts::content(content, beside_calls, how.auto, meter)?;
        }
    }
    if role == Role::Assistant {
        if let Some(refusal) = refusal {
            meter.text(&string(refusal, || "refusal".to_owned(), STRING_OR_NULL)?)?;
        }
        // Not official, and so read only where they are what they should be.
        for said in [reasoning_content, reasoning] {
            if let Some(text) = said.as_ref().and_then(Value::text) {
                meter.text(&text)?;
            }
        }
        if audio.is_some() {
            meter.media(Media::Audio(None));
        }
    }
    if let Some(name) = name {
        let name = string(name, || "name".to_owned(), STRING_OR_NULL)?;
        if name.chars() > 0 {
            meter.name(&name)?;
        }
    }
    match role {
        Role::System | Role::Developer | Role::User => {}
        Role::Function => ties.push(Tie {
            family: Family::Legacy,
            id: None,
        }),
        Role::Tool => {
            let id = match tool_call_id {
                Some(id) => Some(string(id, || "tool_call_id".to_owned(), STRING_OR_NULL)?),
                None => None,
            };
            ties.push(Tie {
                family: Family::Tool,
                id: id.filter(|id| id.chars() > 0),
            });
        }
        Role::Assistant => calls::read(tool_calls.as_ref(), function_call.as_ref(), meter, ties)?,
    }
    Ok(Read { role, capped })
}

/// The keys of a message, in the order in which [`read`] names them.
const KEYS: [Key; 10] = [
    Key::Role,
    Key::Content,
    Key::Name,
    Key::ToolCallId,
    Key::ToolCalls,
    Key::FunctionCall,
    Key::Refusal,
    Key::ReasoningContent,
    Key::Reasoning,
    Key::Audio,
];

/// The place of the name among [`KEYS`].
const NAME: usize = 2;

const STRING_OR_NULL: &str = "a string or null";

/// The text of a value that must be one.
fn string<V: Value>(
    value: &V,
    path: impl Fn() -> String,
    expected: &'static str,
) -> Result<V::Text, ReadError> {
    value
        .text()
        .ok_or_else(|| ReadError::Misfit(misfit(path(), Some(value), expected)))
}

/// Whether a message's content is exactly that text.
pub(crate) fn is_content<V: Value>(message: &V, text: &str) -> Result<bool, Foreign> {
    Ok(message
        .get(Key::Content)?
        .and_then(|content| content.text())
        .is_some_and(|content| content.as_str() == text))
}
