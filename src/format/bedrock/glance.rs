//! Reading a message at a glance.

use super::role_named;
use crate::facts::{Family, Links, Role, Turn};
use crate::format::Reading;
use crate::format::glance::{self, Said, envelope, take_id, text_or_json};
use crate::value::{Key, Lent, Value};

/// The turn of a plain message and its characters, its ties into `links`.
#[inline(never)] // so that the glance of openai-chat stays small enough to be inlined
pub(super) fn glance<V: Value>(
    message: &V,
    how: Reading,
    links: &mut Links<V::Text>,
) -> Option<(Turn, u64)> {
    let (role, said) = envelope(message, Key::Content, role_named)?;
    let chars = said.chars(|block| match held(block)? {
        Held::Text(chars) => Some(chars),
        Held::Call(call) if role == Role::Assistant => look_at_call(&call, links),
        Held::Result(result) if role == Role::User => look_at_result(&result, how, links),
        _ => None,
    })?;
    Some((glance::turn(role, links)?, chars as u64))
}

/// What a block holds.
enum Held<V> {
    Text(usize),
    Call(V),
    Result(V),
    Json(V),
}

fn held<V: Value>(block: &V) -> Option<Held<V>> {
    let (mut held, mut plain) = (None, true);
    let looked = block.look(|key, value| {
        if !value.is_null() {
            // What says two things, or its type, is for those who read.
            plain = held.is_none();
            held = match key {
                Key::Text => value.chars().map(Held::Text),
                Key::CachePoint => Some(Held::Text(0)),
                Key::ToolUse => Some(Held::Call(value.keep())),
                Key::ToolResult => Some(Held::Result(value.keep())),
                Key::Json => Some(Held::Json(value.keep())),
                _ => None,
            };
            plain &= held.is_some();
        }
        plain
    });
    held.filter(|_| looked && plain)
}

fn look_at_call<V: Value>(call: &V, links: &mut Links<V::Text>) -> Option<usize> {
    let (mut id, mut input, mut plain) = (None, None, true);
    let looked = call.look(|key, value| {
        match key {
            Key::ToolUseIdCamel => plain = take_id::<V>(value, &mut id),
            Key::Name => plain = glance::is_text_or_null::<V>(value),
            Key::Input => input = glance::keep::<V>(value),
            Key::Type => plain = value.is_null(),
            _ => {}
        }
        plain
    });
    if !looked || !plain {
        return None;
    }
    links.calls.push(glance::tie(Family::Tool, id));
    text_or_json(input.as_ref())
}

fn look_at_result<V: Value>(result: &V, how: Reading, links: &mut Links<V::Text>) -> Option<usize> {
    let (mut id, mut content, mut plain) = (None, None, true);
    let looked = result.look(|key, value| {
        match key {
            Key::ToolUseIdCamel => plain = take_id::<V>(value, &mut id),
            Key::Content => content = Some(Said::<V>::of(value)),
            Key::Type => plain = value.is_null(),
            _ => {}
        }
        plain
    });
    if !looked || !plain {
        return None;
    }
    links.results.push(glance::tie(Family::Tool, id));
    let chars = content.map_or(Some(0), |said| {
        said.chars(|block| match held(block)? {
            Held::Text(chars) => Some(chars),
            Held::Json(value) => glance::result(&value),
            _ => None,
        })
    })?;
    how.shorten.leaves(chars).then_some(chars)
}
