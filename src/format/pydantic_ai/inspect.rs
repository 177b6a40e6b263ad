//! What pydantic-ai's providers refuse beside missing pairs.

use crate::error::Foreign;
use crate::facts::{Links, Turn};
use crate::format::{Flaw, Marks, Seen, id_at};
use crate::value::{Key, Value};

/// The request says nothing.
const EMPTY: Marks = 1;

/// The flaws of one message; the mark is whether it says nothing.
pub(super) fn inspect<V: Value>(
    message: &V,
    turn: Turn,
    links: &Links<V::Text>,
    flaws: &mut Vec<Flaw>,
) -> Result<Marks, Foreign> {
    let parts = message.get(Key::Parts)?;
    let mut ties = links.calls.iter().chain(&links.results);
    if ties.any(|tie| tie.id.is_none()) {
        flaws.push(Flaw::new("missing_id", "a call or a result has no id"));
    }
    let none = parts.is_none_or(|parts| parts.list() == Some(0));
    let silent = turn != Turn::Model && none && id_at(message, Key::Instructions)?.is_none();
    Ok(if silent { EMPTY } else { 0 })
}

/// A request that says nothing; as the last one it asks the model to go on.
pub(super) fn order(seen: &[Seen]) -> Vec<(usize, Flaw)> {
    let before_last = seen.len().saturating_sub(1);
    let empty = (0..before_last).filter(|&index| seen[index].marks == EMPTY);
    empty
        .map(|index| (index, Flaw::new("missing_content", "it has no parts")))
        .collect()
}
