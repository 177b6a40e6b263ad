//! `anthropic`: Anthropic Messages. `docs/formats/anthropic.md`.

mod blocks;
mod glance;
mod inspect;

use crate::error::{Foreign, ReadError};
use crate::facts::{Family, Links, Role, Tie, Turn};
use crate::format::{
    Flaw, Marks, Reading, Seen, Sink, Wire, id_at, misfit, no_message, records, word_at, wrong_word,
};
use crate::value::{Key, Lent, Text, Value};

/// Anthropic Messages.
pub(crate) struct Anthropic;

const ROLES: &str = "one of user, assistant, system";

impl Wire for Anthropic {
    const MERGES: bool = true;
    const INSISTS_ON_USER: bool = true;

    fn role<V: Value>(message: &V) -> Result<(), ReadError> {
        role(message).map(|_| ())
    }

    fn turn<V: Value>(message: &V) -> Result<Turn, ReadError> {
        Ok(match role(message)? {
            Role::System => Turn::System,
            Role::Assistant => Turn::Model,
            _ if has_result(message.get(Key::Content)?.as_ref())? => Turn::Result,
            _ => Turn::User,
        })
    }

    fn links<V: Value>(message: &V, turn: Turn, links: &mut Links<V::Text>) -> Result<(), Foreign> {
        if matches!(turn, Turn::Result | Turn::Model) {
            let content = message.get(Key::Content)?;
            for block in records(content.as_ref()) {
                link(&block, turn, links)?;
            }
        }
        Ok(())
    }

    fn read<V: Value>(message: &V, sink: &mut Sink<'_, '_, V>) -> Result<Turn, ReadError> {
        let role = role(message)?;
        sink.meter.message(role)?;
        let Some(content) = message.get(Key::Content)? else {
            return Ok(turn_of(role, false));
        };
        if let Some(text) = content.text() {
            sink.meter.text(&text)?;
            return Ok(turn_of(role, false));
        }
        let Some(len) = content.list() else {
            return Err(ReadError::Misfit(misfit(
                "content",
                Some(&content),
                "a string, a list of blocks or null",
            )));
        };
        let turn = turn_of(role, role == Role::User && has_result(Some(&content))?);
        for k in 0..len {
            let Some(block) = content.item(k) else { break };
            blocks::read(&block, k, turn, sink)?;
        }
        sink.has_parts(len);
        Ok(turn)
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

    fn order(seen: &[Seen]) -> Vec<(usize, Flaw)> {
        inspect::order(seen)
    }
}

fn role_named(name: &str) -> Option<Role> {
    Some(match name {
        "user" => Role::User,
        "assistant" => Role::Assistant,
        "system" => Role::System,
        _ => return None,
    })
}

/// The role of a message.
fn role<V: Value>(message: &V) -> Result<Role, ReadError> {
    let mut role = None;
    message.look(|key, value| {
        if key == Key::Role {
            role = value.word(role_named);
        }
        key != Key::Role
    });
    if let Some(role) = role {
        return Ok(role);
    }
    if !message.is_record() {
        return Err(no_message(message));
    }
    let value = message.get(Key::Role)?;
    let word = value.as_ref().and_then(Value::word);
    word.as_deref()
        .and_then(role_named)
        .ok_or_else(|| wrong_word(Key::Role, value.as_ref(), ROLES))
}

const fn turn_of(role: Role, has_result: bool) -> Turn {
    match role {
        Role::System => Turn::System,
        Role::Assistant => Turn::Model,
        _ if has_result => Turn::Result,
        _ => Turn::User,
    }
}

/// Whether a content holds a result of a tool that the client ran.
fn has_result<V: Value>(content: Option<&V>) -> Result<bool, Foreign> {
    for block in records(content) {
        if kind(&block)? == Some(Kind::Result(Family::Tool)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Blocks that call or answer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Call(Family),
    Result(Family),
}

impl Kind {
    fn of(name: &str) -> Option<Self> {
        Some(match name {
            "tool_use" => Self::Call(Family::Tool),
            "server_tool_use" => Self::Call(Family::Server),
            "mcp_tool_use" => Self::Call(Family::Mcp),
            "tool_result" => Self::Result(Family::Tool),
            "mcp_tool_result" => Self::Result(Family::Mcp),
            name if name.ends_with("_tool_result") => Self::Result(Family::Server),
            _ => return None,
        })
    }
}

/// Whether a block of a result may be shortened, if it has a text: all but what shows or finds something.
fn is_text_block(kind: &str) -> bool {
    !matches!(kind, "image" | "document" | "search_result")
}

/// What a block calls or answers, if it does.
fn kind<V: Value>(block: &V) -> Result<Option<Kind>, Foreign> {
    word_at(block, Key::Type, Kind::of)
}

/// The tie of a block into `links`, where it stands on the side that gives it.
fn link<V: Value>(block: &V, turn: Turn, links: &mut Links<V::Text>) -> Result<(), Foreign> {
    match kind(block)? {
        Some(Kind::Call(family)) if turn == Turn::Model => {
            let call = Tie::new(family, id_at(block, Key::Id)?);
            let maker = maker(block.get(Key::Caller)?.as_ref())?;
            links.calls.push(call.called_by(Family::Server, maker));
        }
        Some(Kind::Result(family)) => {
            let result = Tie::new(family, id_at(block, Key::ToolUseId)?);
            answer(links, turn, result);
        }
        _ => {}
    }
    Ok(())
}

/// The id of the server call that a call names as its caller.
fn maker<V: Value>(caller: Option<&V>) -> Result<Option<V::Text>, Foreign> {
    match caller.filter(|caller| caller.is_record()) {
        Some(caller) => id_at(caller, Key::ToolId),
        None => Ok(None),
    }
}

/// A result, where it stands on the side that gives it: the client's in a user message, the provider's in an assistant one.
fn answer<T: Text>(links: &mut Links<T>, turn: Turn, result: Tie<T>) {
    match (turn, result.family == Family::Tool) {
        (Turn::Result, true) => links.results.push(result),
        (Turn::Model, false) => links.settle(result),
        _ => {}
    }
}
