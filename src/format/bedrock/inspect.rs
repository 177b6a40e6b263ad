//! What Bedrock refuses beside missing pairs.

use super::blocks;
use crate::error::Foreign;
use crate::facts::Turn;
use crate::format::{Flaw, Marks, Seen, first_not_user, is_blank, text_at};
use crate::value::{Key, Text, Value};

/// The flaws of one message.
pub(super) fn inspect<V: Value>(
    message: &V,
    turn: Turn,
    flaws: &mut Vec<Flaw>,
) -> Result<Marks, Foreign> {
    let content = message.get(Key::Content)?;
    let said = content.as_ref().and_then(Value::text);
    let len = content.as_ref().and_then(Value::list).unwrap_or(0);
    if said.as_ref().is_none_or(|text| text.chars() == 0) && len == 0 {
        flaws.push(Flaw::new("missing_content", "it has no content"));
        return Ok(0);
    }
    let mut blank = said.is_some_and(|text| is_blank(&text));
    let (mut misplaced, mut without_id, mut empty_result) = (false, false, false);
    let (mut has_text, mut has_document) = (false, false);
    let (mut behind_other, mut before_result) = (false, false);
    let mut odd_ids = Vec::new();
    for k in 0..len {
        let Some(block) = content.as_ref().and_then(|content| content.item(k)) else {
            break;
        };
        if let Some(text) = block.text() {
            has_text = true;
            behind_other = true;
            blank |= is_blank(&text);
            continue;
        }
        let Some((key, held)) = blocks::held(&block)? else {
            behind_other = true;
            continue;
        };
        match key {
            Key::Text => {
                has_text = true;
                blank |= held.text().is_some_and(|text| is_blank(&text));
            }
            Key::Document => has_document = true,
            Key::ReasoningContentCamel => misplaced |= turn != Turn::Model,
            Key::ToolUse | Key::ToolResult => {
                misplaced |= blocks::family(key, &held, turn)?.is_none();
                match text_at(&held, Key::ToolUseIdCamel)?.filter(|id| id.chars() > 0) {
                    None => without_id = true,
                    Some(id) if !is_id(&id.as_str()) => odd_ids.push(id.as_str().into_owned()),
                    Some(_) => {}
                }
                if key == Key::ToolResult {
                    empty_result |= fails_silently(&held)?;
                }
            }
            _ => {}
        }
        before_result |= key == Key::ToolResult && behind_other && turn == Turn::Result;
        behind_other |= !matches!(key, Key::ToolResult | Key::CachePoint);
    }
    let mut flaw = |is, code, message| {
        if is {
            flaws.push(Flaw::new(code, message));
        }
    };
    flaw(blank, "blank_text", "a text is empty or white space");
    flaw(
        misplaced,
        "misplaced_block",
        "a call or a thought stands in a user message, or a result in an assistant message",
    );
    flaw(
        before_result,
        "text_before_result",
        "a result does not come first",
    );
    flaw(
        has_document && !has_text && turn != Turn::Model,
        "document_without_text",
        "a document has no text beside it",
    );
    flaw(without_id, "missing_id", "a call or a result has no id");
    flaw(
        empty_result,
        "empty_result",
        "a result with status error says nothing",
    );
    if !odd_ids.is_empty() {
        let message = "an id has 1 to 64 letters, digits, _ and -";
        flaws.push(Flaw::with("invalid_id", message, odd_ids));
    }
    Ok(0)
}

/// The flaws of the order.
pub(super) fn order(seen: &[Seen]) -> Vec<(usize, Flaw)> {
    let mut found: Vec<(usize, Flaw)> = first_not_user(seen).into_iter().collect();
    let is_model = |seen: &Seen| seen.turn == Turn::Model;
    for (before, pair) in seen.windows(2).enumerate() {
        if is_model(&pair[0]) == is_model(&pair[1]) {
            let message = "the message before it has the same role";
            found.push((before + 1, Flaw::new("repeated_role", message)));
        }
    }
    found
}

/// Whether a result says that the call failed, and nothing else.
fn fails_silently<V: Value>(result: &V) -> Result<bool, Foreign> {
    let fails = text_at(result, Key::Status)?.is_some_and(|status| status.as_str() == "error");
    let content = result.get(Key::Content)?;
    let says = content.is_some_and(|content| {
        content.list().is_some_and(|len| len > 0)
            || content.text().is_some_and(|text| text.chars() > 0)
    });
    Ok(fails && !says)
}

/// `^[a-zA-Z0-9_.:-]{1,64}$`: the documented characters, and the dots and colons that models on Bedrock make and take.
fn is_id(id: &str) -> bool {
    id.len() <= 64
        && id
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b':'))
}
