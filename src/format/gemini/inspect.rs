//! What Gemini refuses beside missing pairs.

use super::parts;
use crate::error::Foreign;
use crate::facts::Turn;
use crate::format::{Flaw, Marks};
use crate::value::{Key, Text, Value};

/// The flaws of one message.
pub(super) fn inspect<V: Value>(
    message: &V,
    turn: Turn,
    flaws: &mut Vec<Flaw>,
) -> Result<Marks, Foreign> {
    let parts = message.get(Key::Parts)?;
    let has_text = |parts: &V| parts.text().is_some_and(|text| text.chars() > 0);
    if !parts
        .as_ref()
        .is_some_and(|parts| has_text(parts) || parts.list().is_some_and(|len| len > 0))
    {
        flaws.push(Flaw::new("missing_content", "it has no parts"));
        return Ok(0);
    }
    let (mut empty, mut misplaced, mut behind_other, mut before_result) =
        (false, false, false, false);
    for k in 0..parts.as_ref().and_then(Value::list).unwrap_or(0) {
        let Some(part) = parts.as_ref().and_then(|parts| parts.item(k)) else {
            break;
        };
        if let Some(text) = part.text() {
            empty |= text.chars() == 0;
            behind_other = true;
            continue;
        }
        empty |= parts::is_empty(&part)?;
        let answers = parts::response(&part)?.is_some();
        misplaced |= answers && turn == Turn::Model;
        misplaced |= parts::call(&part)?.is_some() && turn != Turn::Model;
        before_result |= answers && behind_other;
        behind_other |= !answers;
    }
    let mut flaw = |is, code, message| {
        if is {
            flaws.push(Flaw::new(code, message));
        }
    };
    flaw(empty, "empty_part", "a part has nothing in it");
    flaw(
        misplaced,
        "misplaced_block",
        "a call stands in a user's message, or a result in the model's",
    );
    flaw(
        before_result && turn == Turn::Result,
        "text_before_result",
        "a result does not come first",
    );
    Ok(0)
}
