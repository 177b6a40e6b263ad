//! Reading a message at a glance.

use super::role_named;
use crate::facts::{Family, Links, Role, Turn};
use crate::format::Reading;
use crate::format::glance::{self, Said, envelope, take_id, text_block, text_or_json};
use crate::value::{Key, Lent, Value};

/// Blocks that are plain.
enum Kind {
    Text,
    Call,
    Result,
}

/// The turn of a plain message and its characters, its ties into `links`.
#[inline(never)] // so that the glance of openai-chat stays small enough to be inlined
pub(super) fn glance<V: Value>(
    message: &V,
    how: Reading,
    links: &mut Links<V::Text>,
) -> Option<(Turn, u64)> {
    let (role, said) = envelope(message, Key::Content, role_named)?;
    let chars = said.chars(|block| look_at(block, role, how, links))?;
    Some((glance::turn(role, links)?, chars as u64))
}

fn look_at<V: Value>(
    block: &V,
    role: Role,
    how: Reading,
    links: &mut Links<V::Text>,
) -> Option<usize> {
    let (mut kind, mut id, mut of) = (None, None, None);
    let (mut text, mut input, mut content) = (None, None, None);
    let mut plain = true;
    let looked = block.look(|key, value| {
        match key {
            Key::Type => {
                kind = value.word(|kind| match kind {
                    "text" => Some(Kind::Text),
                    "tool_use" => Some(Kind::Call),
                    "tool_result" => Some(Kind::Result),
                    _ => None,
                });
                plain = kind.is_some();
            }
            Key::Text => text = value.chars(),
            Key::Id => plain = take_id::<V>(value, &mut id),
            Key::ToolUseId => plain = take_id::<V>(value, &mut of),
            Key::Name => plain = glance::is_text_or_null::<V>(value),
            Key::Input => input = glance::keep::<V>(value),
            Key::Content => content = Some(Said::<V>::of(value)),
            Key::Caller => plain = value.is_null(),
            _ => {}
        }
        plain && !(text.is_some() && matches!(kind, Some(Kind::Text)))
    });
    match kind.filter(|_| looked && plain)? {
        Kind::Text => text,
        Kind::Call if role == Role::Assistant => {
            links.calls.push(glance::tie(Family::Tool, id));
            text_or_json(input.as_ref())
        }
        Kind::Result if role == Role::User => {
            links.results.push(glance::tie(Family::Tool, of));
            let chars = content.map_or(Some(0), |said| said.chars(text_block))?;
            how.shorten.leaves(chars).then_some(chars)
        }
        _ => None,
    }
}
