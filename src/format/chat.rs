//! `openai-chat`: Chat Completions of `OpenAI` and its clones. `docs/formats/openai-chat.md`.

mod calls;
mod clones;
mod glance;
mod inspect;
mod observation;
mod parts;

use crate::cost::Media;
use crate::error::{Foreign, ReadError};
use crate::facts::{Family, Links, Role, Tie, Turn};
use crate::format::{
    Flaw, Marks, Reading, STRING_OR_NULL, Sink, Wire, no_message, string, wrong_word,
};
use crate::value::{Key, Text, Value};

pub(crate) use observation::thena;

const ROLES: &str = "one of system, developer, user, assistant, tool, function";

/// Chat Completions.
pub(crate) struct Chat;

impl Wire for Chat {
    const MERGES: bool = false;
    const INSISTS_ON_USER: bool = false;
    const HAS_SYSTEM_TURNS: bool = true;

    fn turn<V: Value>(message: &V) -> Result<Turn, ReadError> {
        role(message).map(turn_of)
    }

    fn links<V: Value>(message: &V, turn: Turn, links: &mut Links<V::Text>) -> Result<(), Foreign> {
        calls::links(message, turn, links)
    }

    fn read<V: Value>(message: &V, sink: &mut Sink<'_, '_, V>) -> Result<Turn, ReadError> {
        read(message, sink)
    }

    fn glance<V: Value>(
        message: &V,
        how: Reading,
        links: &mut Links<V::Text>,
    ) -> Option<(Turn, u64)> {
        glance::glance(message, how, links)
    }

    fn inspect<V: Value>(
        message: &V,
        turn: Turn,
        links: &Links<V::Text>,
        flaws: &mut Vec<Flaw>,
    ) -> Result<Marks, Foreign> {
        inspect::inspect(message, turn, links, flaws)
    }
}

/// The role of that name.
fn role_named(name: &str) -> Option<Role> {
    Some(match name {
        "system" => Role::System,
        "developer" => Role::Developer,
        "user" => Role::User,
        "assistant" => Role::Assistant,
        "tool" => Role::Tool,
        "function" => Role::Function,
        _ => return None,
    })
}

/// What a role is in the conversation.
pub(crate) const fn turn_of(role: Role) -> Turn {
    match role {
        Role::System => Turn::System,
        Role::Developer => Turn::Developer,
        Role::User => Turn::User,
        Role::Assistant | Role::Model => Turn::Model,
        Role::Tool | Role::Function => Turn::Result,
    }
}

/// The role of a message: all that is looked at where a message is not read.
pub(crate) fn role<V: Value>(message: &V) -> Result<Role, ReadError> {
    crate::format::role_of(message, role_named, ROLES)
}

/// The role that stands under `role`.
fn role_of<V: Value>(value: Option<&V>) -> Result<Role, ReadError> {
    let word = value.and_then(Value::word);
    word.as_deref()
        .and_then(role_named)
        .ok_or_else(|| wrong_word(Key::Role, value, ROLES))
}

/// Reads a message: its role, its cost, its calls or the call that it answers.
fn read<V: Value>(message: &V, sink: &mut Sink<'_, '_, V>) -> Result<Turn, ReadError> {
    if !message.is_record() {
        return Err(no_message(message));
    }
    let mut keys = KEYS;
    if !sink.how.names {
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
        thinking,
        tool_plan,
        reasoning_details,
        images,
        tool_responses,
    ] = &fields;
    let role = role_of(role.as_ref())?;
    let turn = turn_of(role);
    sink.meter.message(role)?;
    let responses = match tool_responses {
        Some(listed) if role == Role::Tool => clones::responses(listed, tool_call_id.as_ref()),
        _ => None,
    };
    if let Some(responses) = &responses {
        clones::read_responses(responses, sink)?;
    } else if let Some(content) = content {
        if turn == Turn::Result {
            observation::read(content, role, sink)?;
        } else {
            let beside_calls = role == Role::Assistant && tool_calls.is_some();
            // Calls tell the format, whatever else is there.
            let auto = sink.how.auto && tool_calls.is_none() && function_call.is_none();
            parts::content(content, beside_calls, auto, sink.meter)?;
        }
    }
    let meter = &mut *sink.meter;
    if role == Role::Assistant {
        if let Some(refusal) = refusal {
            meter.text(&string(refusal, || "refusal".to_owned(), STRING_OR_NULL)?)?;
        }
        // Not official, and so read only where they are what they should be.
        let mut thought = false;
        for said in [reasoning_content, reasoning] {
            if let Some(text) = said.as_ref().and_then(Value::text) {
                meter.text(&text)?;
                thought = true;
            }
        }
        for said in [thinking, tool_plan] {
            if let Some(text) = said.as_ref().and_then(Value::text) {
                meter.text(&text)?;
            }
        }
        // They say the same once more.
        if let Some(details) = reasoning_details
            && !thought
        {
            clones::reasoning_details(details, meter)?;
        }
        if audio.is_some() {
            meter.media(Media::Audio(None));
        }
    }
    if let Some(images) = images {
        clones::images(images, meter);
    }
    if let Some(name) = name {
        let name = string(name, || "name".to_owned(), STRING_OR_NULL)?;
        if name.chars() > 0 {
            meter.name(&name)?;
        }
    }
    match role {
        Role::System | Role::Developer | Role::User | Role::Model => {}
        Role::Function => sink.links.results.push(Tie::new(Family::Legacy, None)),
        Role::Tool if responses.is_some() => {}
        Role::Tool => {
            let id = match tool_call_id {
                Some(id) => Some(string(id, || "tool_call_id".to_owned(), STRING_OR_NULL)?),
                None => None,
            };
            let id = id.filter(|id| id.chars() > 0);
            sink.links.results.push(Tie::new(Family::Tool, id));
        }
        Role::Assistant => calls::read(
            tool_calls.as_ref(),
            function_call.as_ref(),
            meter,
            &mut sink.links.calls,
        )?,
    }
    Ok(turn)
}

/// The keys of a message, in the order in which [`read`] names them.
const KEYS: [Key; 15] = [
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
    Key::Thinking,
    Key::ToolPlan,
    Key::ReasoningDetails,
    Key::Images,
    Key::ToolResponses,
];

/// The place of the name among [`KEYS`].
const NAME: usize = 2;
