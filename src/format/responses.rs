//! `openai-responses`: input items of `OpenAI` Responses. `docs/formats/openai-responses.md`.

mod glance;
mod inspect;
mod items;
mod parts;

use crate::error::{Foreign, ReadError};
use crate::facts::{Family, Links, Turn};
use crate::format::{Flaw, Marks, NoticePlace, Reading, Seen, Sink, Wire, notice_in};
use crate::value::{Key, Value};

/// `OpenAI` Responses.
pub(crate) struct Responses;

impl Wire for Responses {
    const MERGES: bool = true;
    const INSISTS_ON_USER: bool = false;
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

    fn notice_place<V: Value>(message: &V, notice: &str) -> Result<NoticePlace<V::Text>, Foreign> {
        notice_in(message.get(Key::Content)?.as_ref(), notice, |part| {
            let kind = part.get(Key::Type)?;
            let is_text = |kind: &V| kind.word().is_some_and(|kind| kind == "input_text");
            Ok(kind.as_ref().is_some_and(is_text))
        })
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
