//! What Anthropic refuses beside missing pairs.

use crate::error::Foreign;
use crate::facts::{Family, Links, Turn};
use crate::format::{Flaw, Marks, Seen, first_not_user, is_blank, text_at};
use crate::value::{Key, Text, Value};

use super::{Kind, kind};

/// The message has no content.
const EMPTY: Marks = 1 << 31;

/// In a message with results something stands before one of them.
const BEFORE: Marks = 1 << 29;

/// In a message with results something stands that is none.
const BESIDE: Marks = 1 << 28;

/// The message begins with what has become of the conversation so far; the provider looks at nothing in front of it.
const COMPACTED: Marks = 1 << 27;

/// Where the marks of the cache are counted.
const COUNT: Marks = COMPACTED - 1;

/// Most marks of the prompt cache in a request.
const MOST_CACHE_MARKS: Marks = 4;

/// The flaws of one message; the marks are the number of its marks of the prompt cache, and what the order is judged by.
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
    let (mut misplaced, mut without_id, mut compacted) = (false, false, false);
    let mut odd_ids = Vec::new();
    for k in 0..content.list().unwrap_or(0) {
        let Some(block) = content.item(k) else { break };
        if let Some(text) = block.text() {
            blank |= is_blank(&text);
            behind_other = true;
            continue;
        }
        cache_marks += Marks::from(block.get(Key::CacheControl)?.is_some());
        let kind = kind(&block)?;
        let is_result = kind == Some(Kind::Result(Family::Tool));
        before_result |= is_result && behind_other;
        compacted |= k == 0 && kind.is_none() && is_of_type(&block, "compaction")?;
        behind_other |= !is_result;
        let key = match kind {
            Some(Kind::Call(_)) => Key::Id,
            Some(_) => Key::ToolUseId,
            None => {
                blank |= is_of_type(&block, "text")?
                    && text_at(&block, Key::Text)?.is_some_and(|text| is_blank(&text));
                continue;
            }
        };
        misplaced |= is_result == (turn == Turn::Model) || turn.is_system();
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
        misplaced,
        "misplaced_block",
        "a call stands in a user message, or a result in an assistant message",
    );
    flaw(without_id, "missing_id", "a call or a result has no id");
    if !odd_ids.is_empty() {
        let message = "an id has characters other than letters, digits, _ and -";
        flaws.push(Flaw::with("invalid_id", message, odd_ids));
    }
    let mark = |is, mark| if is { mark } else { 0 };
    let answers = turn == Turn::Result;
    Ok(cache_marks
        | mark(answers && before_result, BEFORE)
        | mark(answers && behind_other, BESIDE)
        | mark(compacted, COMPACTED))
}

fn is_of_type<V: Value>(block: &V, name: &str) -> Result<bool, Foreign> {
    let kind = block.get(Key::Type)?;
    Ok(kind.is_some_and(|kind| kind.word().is_some_and(|it| it == name)))
}

/// The flaws of the order.
pub(super) fn order(seen: &[Seen]) -> Vec<(usize, Flaw)> {
    let first = first_not_user(seen).filter(|&(index, _)| seen[index].marks & COMPACTED == 0);
    let mut found: Vec<(usize, Flaw)> = first.into_iter().collect();
    let mut cache_marks = 0;
    for (index, each) in seen.iter().enumerate() {
        let next = seen.get(index + 1).map(|next| next.turn);
        // Messages with results in a row are one.
        let parts_results = each.marks & BESIDE != 0 && next == Some(Turn::Result);
        if each.marks & BEFORE != 0 || parts_results {
            let message = "something stands before a result of the turn";
            found.push((index, Flaw::new("text_before_result", message)));
        }
        if each.marks == EMPTY && !(next.is_none() && each.turn == Turn::Model) {
            found.push((index, Flaw::new("missing_content", "it has no content")));
        }
        let before = cache_marks;
        cache_marks += each.marks & COUNT;
        if before <= MOST_CACHE_MARKS && cache_marks > MOST_CACHE_MARKS {
            let message = "more than 4 blocks have cache_control";
            found.push((index, Flaw::new("too_many_cache_marks", message)));
        }
    }
    found.extend(misplaced_systems(seen));
    found
}

/// System messages that are among the first, or in front of anything but an assistant message or the end.
fn misplaced_systems(seen: &[Seen]) -> impl Iterator<Item = (usize, Flaw)> {
    let is_system = |each: &Seen| each.turn.is_system();
    let head = seen.iter().take_while(|each| is_system(each)).count();
    let mut may_stand = true;
    let found = seen
        .iter()
        .enumerate()
        .rev()
        .filter_map(move |(index, each)| {
            if !is_system(each) {
                may_stand = each.turn == Turn::Model;
            }
            (is_system(each) && (index < head || !may_stand)).then_some(index)
        });
    let message = "a system message stands only in front of an assistant message or at the end";
    found.map(move |index| (index, Flaw::new("misplaced_system", message)))
}

/// `^[a-zA-Z0-9_-]+$`
fn is_id(id: &str) -> bool {
    id.bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}
