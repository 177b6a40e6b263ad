//! Reading a message at a glance: a bare one, whose turn did not break off.

use super::Kind;
use crate::facts::{Family, Links, Turn};
use crate::format::Reading;
use crate::format::glance::{self, Said, take_id, text_block, text_or_json};
use crate::value::{Key, Lent, Value};

/// The turn of a plain message and its characters, its ties into `links`.
#[inline(never)] // so that the glance of openai-chat stays small enough to be inlined
pub(super) fn glance<V: Value>(
    message: &V,
    how: Reading,
    links: &mut Links<V::Text>,
) -> Option<(Turn, u64)> {
    let (mut kind, mut id, mut content, mut plain) = (None, None, None, true);
    let looked = message.look(|key, value| {
        match key {
            Key::Role => {
                kind = value.word(|role| match role {
                    "user" => Some(Kind::User),
                    "assistant" => Some(Kind::Assistant),
                    "toolResult" => Some(Kind::Result),
                    _ => None,
                });
                plain = kind.is_some();
            }
            Key::Content => content = Some(Said::<V>::of(value)),
            Key::ToolCallIdCamel => plain = take_id::<V>(value, &mut id),
            Key::StopReason => {
                let broke = |reason: &str| matches!(reason, "error" | "aborted").then_some(());
                plain = value.word(broke).is_none();
            }
            _ => {}
        }
        plain
    });
    let kind = kind.filter(|_| looked && plain)?;
    let content = content.unwrap_or(Said::Text(0));
    let chars = match kind {
        Kind::Assistant => content.chars(|block| look_at(block, links))?,
        _ => content.chars(text_block)?,
    };
    if kind == Kind::Result {
        links.results.push(glance::tie(Family::Tool, id));
        if !how.shorten.leaves(chars) {
            return None;
        }
    }
    Some((kind.turn(), chars as u64))
}

/// A block of the model's: a text, a call, or thinking that nobody signed.
fn look_at<V: Value>(block: &V, links: &mut Links<V::Text>) -> Option<usize> {
    #[derive(Clone, Copy)]
    enum Block {
        Text,
        Thinking,
        Call,
    }
    let (mut kind, mut id, mut arguments) = (None, None, None);
    let (mut text, mut thinking, mut sealed, mut plain) = (None, 0, false, true);
    let looked = block.look(|key, value| {
        match key {
            Key::Type => {
                kind = value.word(|kind| match kind {
                    "text" => Some(Block::Text),
                    "thinking" => Some(Block::Thinking),
                    "toolCall" => Some(Block::Call),
                    _ => None,
                });
                plain = kind.is_some();
            }
            Key::Text => text = value.chars(),
            Key::Thinking => thinking = value.chars().unwrap_or(0),
            Key::ThinkingSignature | Key::Redacted => sealed |= !value.is_null(),
            Key::Id => plain = take_id::<V>(value, &mut id),
            Key::Name => plain = glance::is_text_or_null::<V>(value),
            Key::Arguments => arguments = glance::keep::<V>(value),
            _ => {}
        }
        plain
    });
    match kind.filter(|_| looked && plain)? {
        Block::Text => text,
        Block::Thinking => (!sealed).then_some(thinking),
        Block::Call => {
            links.calls.push(glance::tie(Family::Tool, id));
            text_or_json(arguments.as_ref())
        }
    }
}
