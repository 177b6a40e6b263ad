//! What pydantic-ai's providers refuse beside missing pairs.

use super::tied;
use crate::error::Foreign;
use crate::facts::Turn;
use crate::format::{Flaw, Marks, Seen, id_at, records};
use crate::value::{Key, Value};

/// The request says nothing.
const EMPTY: Marks = 1;

/// The flaws of one message; the mark is whether it says nothing.
pub(super) fn inspect<V: Value>(
    message: &V,
    turn: Turn,
    flaws: &mut Vec<Flaw>,
) -> Result<Marks, Foreign> {
    let parts = message.get(Key::Parts)?;
    let mut without_id = false;
    for part in records(parts.as_ref()) {
        without_id |= tied(&part)?.is_some() && id_at(&part, Key::ToolCallId)?.is_none();
    }
    if without_id {
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
