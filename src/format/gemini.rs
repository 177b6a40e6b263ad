//! `gemini`: Google Gemini, contents and parts. `docs/formats/gemini.md`.

mod glance;
mod inspect;
mod parts;

use crate::error::{Foreign, ReadError};
use crate::facts::{Links, Role, Turn};
use crate::format::{Block, Flaw, Marks, Reading, Seen, Sink, Wire, misfit, records, role_of};
use crate::plan::{Path, to};
use crate::value::{Key, Value};

/// Google Gemini.
pub(crate) struct Gemini;

/// `tool` is what the examples of Google's own SDK say where the wire says `user` or `function`.
const ROLES: &str = "one of user, model, function, tool";

impl Wire for Gemini {
    const MERGES: bool = true;
    const INSISTS_ON_USER: bool = true;
    const BLOCK: Block = Block::Bare;

    fn role<V: Value>(message: &V) -> Result<(), ReadError> {
        role(message).map(|_| ())
    }

    fn turn<V: Value>(message: &V) -> Result<Turn, ReadError> {
        let role = role(message)?;
        let answers = role == Role::User && has_response(message.get(Key::Parts)?.as_ref())?;
        Ok(turn_of(role, answers))
    }

    fn links<V: Value>(message: &V, turn: Turn, links: &mut Links<V::Text>) -> Result<(), Foreign> {
        if matches!(turn, Turn::Result | Turn::Model) {
            for part in records(message.get(Key::Parts)?.as_ref()) {
                parts::link(&part, turn, links)?;
            }
        }
        Ok(())
    }

    fn read<V: Value>(message: &V, sink: &mut Sink<'_, '_, V>) -> Result<Turn, ReadError> {
        let role = role(message)?;
        sink.meter.message(role)?;
        let turn = match message.get(Key::Parts)? {
            Some(parts) => read_parts(&parts, role, sink)?,
            None => turn_of(role, false),
        };
        Ok(turn)
    }

    fn glance<V: Value>(
        message: &V,
        how: Reading,
        links: &mut Links<V::Text>,
    ) -> Option<(Turn, u64)> {
        glance::glance(message, how, links)
    }

    fn notice_path<V: Value>(_message: &V) -> Result<Option<Path>, Foreign> {
        Ok(Some(to![Key::Parts]))
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
        crate::format::first_not_user(seen).into_iter().collect()
    }
}

fn role<V: Value>(message: &V) -> Result<Role, ReadError> {
    role_of(message, role_named, ROLES)
}

fn role_named(name: &str) -> Option<Role> {
    Some(match name {
        "user" => Role::User,
        "model" => Role::Model,
        "function" => Role::Function,
        "tool" => Role::Tool,
        _ => return None,
    })
}

const fn turn_of(role: Role, answers: bool) -> Turn {
    match role {
        Role::Model => Turn::Model,
        Role::Function | Role::Tool => Turn::Result,
        _ if answers => Turn::Result,
        _ => Turn::User,
    }
}

fn read_parts<V: Value>(
    parts: &V,
    role: Role,
    sink: &mut Sink<'_, '_, V>,
) -> Result<Turn, ReadError> {
    if let Some(text) = parts.text() {
        sink.meter.text(&text)?;
        return Ok(turn_of(role, false));
    }
    let Some(len) = parts.list() else {
        let expected = "a string, a list of parts or null";
        return Err(ReadError::Misfit(misfit("parts", Some(parts), expected)));
    };
    let turn = turn_of(role, role == Role::User && has_response(Some(parts))?);
    for k in 0..len {
        let Some(part) = parts.item(k) else { break };
        parts::read(&part, k, turn, sink)?;
    }
    Ok(turn)
}

/// Whether a list of parts holds a result.
fn has_response<V: Value>(parts: Option<&V>) -> Result<bool, Foreign> {
    for part in records(parts) {
        if parts::has_response(&part)? {
            return Ok(true);
        }
    }
    Ok(false)
}
