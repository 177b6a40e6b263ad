//! What Anthropic refuses beside missing pairs.

use crate::error::Foreign;
use crate::facts::{Family, Links, Turn};
use crate::format::{Flaw, Marks, Seen, first_not_user, is_blank, text_at};
use crate::value::{Key, Text, Value};

use super::{Kind, kind};

/// The message has no content.
const EMPTY: Marks = 1 << 31;

/// Most marks of the prompt cache in a request.
const MOST_CACHE_MARKS: Marks = 4;

/// The flaws of one message; the marks are its marks of the prompt cache, and whether it is empty.
pub(super) fn inspect<V: Value>(
    message: &V,
    turn: Turn,
    _links: &Links<V::Text>,
    flaws: &mut Vec<Flaw>,
) -> Result<Marks, Foreign> {
    let Some(content) = message.get(Key::Content)? else {
        return Ok(EMPTY);
    };
    if let Some(text) = content.text() {
        if text.chars() == 0 {
            return Ok(EMPTY);
        }
        if is_blank(&text) {
            flaws.push(Flaw::new("blank_text", "its text is blank"));
        }
        return Ok(0);
    }
    if content.list() == Some(0) {
        return Ok(EMPTY);
    }
    let mut cache_marks = 0;
    let (mut blank, mut behind_other, mut before_result) = (false, false, false);
    let (mut misplaced, mut without_id) = (false, false);
    let mut odd_ids = Vec::new();
    for block in (0..).map_while(|k| content.item(k)) {
        if let Some(text) = block.text() {
            blank |= is_blank(&text);
            behind_other = true;
            continue;
        }
        cache_marks += Marks::from(block.get(Key::CacheControl)?.is_some());
        let kind = kind(&block)?;
        let key = match kind {
            Some(Kind::Call(_)) => Key::Id,
            Some(_) => Key::ToolUseId,
            None => {
                behind_other = true;
                let is_text = block.get(Key::Type)?;
                let is_text =
                    is_text.is_some_and(|kind| kind.word().is_some_and(|it| it == "text"));
                blank |= is_text && text_at(&block, Key::Text)?.is_some_and(|text| is_blank(&text));
                continue;
            }
        };
        let is_result = kind == Some(Kind::Result(Family::Tool));
        misplaced |= is_result == (turn == Turn::Model) || turn.is_system();
        before_result |= is_result && behind_other && turn == Turn::Result;
        behind_other |= !is_result;
        match text_at(&block, key)?.filter(|id| id.chars() > 0) {
            None => without_id = true,
            Some(id) if !is_id(&id.as_str()) => odd_ids.push(id.as_str().into_owned()),
            Some(_) => {}
        }
    }
    let mut flaw = |is, code, message| {
        if is {
            flaws.push(Flaw::new(code, message));
        }
    };
    flaw(blank, "blank_text", "a text block is blank");
    flaw(
        before_result,
        "text_before_result",
        "a result does not come first",
    );
    flaw(
        misplaced,
        "misplaced_block",
        "a call stands in a user message, or a result in an assistant message",
    );
    flaw(without_id, "missing_id", "a call or a result has no id");
    if !odd_ids.is_empty() {
        let message = "an id has characters other than letters, digits, _ and -";
        flaws.push(Flaw::with("invalid_id", message, odd_ids));
    }
    Ok(cache_marks)
}

/// The flaws of the order.
pub(super) fn order(seen: &[Seen]) -> Vec<(usize, Flaw)> {
    let mut found: Vec<(usize, Flaw)> = first_not_user(seen).into_iter().collect();
    let first = seen.iter().position(|seen| !seen.turn.is_system());
    let first = first.unwrap_or(seen.len());
    // Whether the model's turn or the end stands behind each, other system messages aside.
    let mut before_model = vec![true; seen.len() + 1];
    for (index, each) in seen.iter().enumerate().rev() {
        before_model[index] = if each.turn.is_system() {
            before_model[index + 1]
        } else {
            each.turn == Turn::Model
        };
    }
    let mut cache_marks = 0;
    for (index, each) in seen.iter().enumerate() {
        let next = seen.get(index + 1).map(|next| next.turn);
        if each.marks == EMPTY && !(next.is_none() && each.turn == Turn::Model) {
            found.push((index, Flaw::new("missing_content", "it has no content")));
        }
        if each.turn.is_system() && (index < first || !before_model[index]) {
            let message =
                "a system message stands only in front of an assistant message or at the end";
            found.push((index, Flaw::new("misplaced_system", message)));
        }
        let before = cache_marks;
        cache_marks += each.marks & !EMPTY;
        if before <= MOST_CACHE_MARKS && cache_marks > MOST_CACHE_MARKS {
            let message = "more than 4 blocks have cache_control";
            found.push((index, Flaw::new("too_many_cache_marks", message)));
        }
    }
    found
}

/// `^[a-zA-Z0-9_-]+$`
fn is_id(id: &str) -> bool {
    id.bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}
