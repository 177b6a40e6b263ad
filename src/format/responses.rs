//! `openai-responses`: input items of `OpenAI` Responses. `docs/formats/openai-responses.md`.

mod glance;
mod inspect;
mod items;
mod parts;

use crate::error::{Foreign, ReadError};
use crate::facts::{Family, Links, Turn};
use crate::format::{Block, Flaw, Marks, Reading, Seen, Sink, Wire};
use crate::value::Value;

/// `OpenAI` Responses.
pub(crate) struct Responses;

impl Wire for Responses {
    const MERGES: bool = true;
    const INSISTS_ON_USER: bool = false;
    const BLOCK: Block = Block::Typed("input_text");
    const HAS_SYSTEM_TURNS: bool = true;

    fn takes_late(_family: Family) -> bool {
        true
    }

    fn role<V: Value>(message: &V) -> Result<(), ReadError> {
        items::kind(message).map(|_| ())
    }

    fn turn<V: Value>(message: &V) -> Result<Turn, ReadError> {
        Ok(items::kind(message)?.turn(message)?)
    }

    fn links<V: Value>(message: &V, turn: Turn, links: &mut Links<V::Text>) -> Result<(), Foreign> {
        if !matches!(turn, Turn::Model | Turn::Result) {
            return Ok(());
        }
        match items::kind(message) {
            Ok(kind) => items::link(kind, message, links),
            Err(ReadError::Foreign(raised)) => Err(raised),
            Err(_) => Ok(()),
        }
    }

    fn read<V: Value>(message: &V, sink: &mut Sink<'_, '_, V>) -> Result<Turn, ReadError> {
        let kind = items::kind(message)?;
        parts::read(kind, message, sink)?;
        items::link(kind, message, sink.links)?;
        Ok(kind.turn(message)?)
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
        _turn: Turn,
        links: &Links<V::Text>,
        flaws: &mut Vec<Flaw>,
    ) -> Result<Marks, Foreign> {
        inspect::inspect(message, links, flaws)
    }

    fn order(seen: &[Seen]) -> Vec<(usize, Flaw)> {
        inspect::order(seen)
    }
}
