//! `bedrock`: Bedrock Converse. `docs/formats/bedrock.md`.

mod blocks;
mod glance;
mod inspect;

use crate::error::{Foreign, ReadError};
use crate::facts::{Links, Role, Turn};
use crate::format::{
    Block, Flaw, Marks, Reading, Seen, Sink, Wire, has_any, misfit, records, role_of,
};
use crate::value::{Key, Value};

/// Bedrock Converse.
pub(crate) struct Bedrock;

const ROLES: &str = "one of user, assistant";

impl Wire for Bedrock {
    const MERGES: bool = true;
    const INSISTS_ON_USER: bool = true;
    const BLOCK: Block = Block::Bare;

    fn role<V: Value>(message: &V) -> Result<(), ReadError> {
        role(message).map(|_| ())
    }

    fn turn<V: Value>(message: &V) -> Result<Turn, ReadError> {
        let role = role(message)?;
        let answers = role == Role::User && has_result(message.get(Key::Content)?.as_ref())?;
        Ok(turn_of(role, answers))
    }

    fn links<V: Value>(message: &V, turn: Turn, links: &mut Links<V::Text>) -> Result<(), Foreign> {
        if matches!(turn, Turn::Result | Turn::Model) {
            for block in records(message.get(Key::Content)?.as_ref()) {
                blocks::link(&block, turn, links)?;
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
        let mut marks = 0;
        for k in 0..len {
            let Some(block) = content.item(k) else { break };
            marks += usize::from(blocks::read(&block, k, turn, sink)?);
        }
        // Roles must alternate, and a mark of the cache alone is no content.
        sink.has_parts_and_stays(len - marks);
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
        _links: &Links<V::Text>,
        flaws: &mut Vec<Flaw>,
    ) -> Result<Marks, Foreign> {
        inspect::inspect(message, turn, flaws)
    }

    fn order(seen: &[Seen]) -> Vec<(usize, Flaw)> {
        inspect::order(seen)
    }
}

fn role<V: Value>(message: &V) -> Result<Role, ReadError> {
    role_of(message, role_named, ROLES)
}

fn role_named(name: &str) -> Option<Role> {
    match name {
        "user" => Some(Role::User),
        "assistant" => Some(Role::Assistant),
        _ => None,
    }
}

const fn turn_of(role: Role, answers: bool) -> Turn {
    match role {
        Role::Assistant => Turn::Model,
        _ if answers => Turn::Result,
        _ => Turn::User,
    }
}

/// Whether a content holds a result.
fn has_result<V: Value>(content: Option<&V>) -> Result<bool, Foreign> {
    for block in records(content) {
        if has_any(&block, &[Key::ToolResult])? {
            return Ok(true);
        }
    }
    Ok(false)
}
