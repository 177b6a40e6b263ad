//! Reading a message at a glance.

use super::role_named;
use crate::facts::{Family, Links, Role, Turn};
use crate::format::Reading;
use crate::format::glance::{self, envelope, take_id, text_or_json};
use crate::value::{Key, Lent, Value};

/// The turn of a plain message and its characters, its ties into `links`.
#[inline(never)] // so that the glance of openai-chat stays small enough to be inlined
pub(super) fn glance<V: Value>(
    message: &V,
    how: Reading,
    links: &mut Links<V::Text>,
) -> Option<(Turn, u64)> {
    let (role, said) = envelope(message, Key::Parts, role_named)?;
    let chars = said.chars(|part| look_at(part, role, how, links))?;
    Some((glance::turn(role, links)?, chars as u64))
}

fn look_at<V: Value>(
    part: &V,
    role: Role,
    how: Reading,
    links: &mut Links<V::Text>,
) -> Option<usize> {
    let (mut text, mut call, mut response, mut plain) = (0, None, None, true);
    let looked = part.look(|key, value| {
        if value.is_null() {
            return true;
        }
        match key {
            Key::Text => {
                text = value.chars().unwrap_or(0);
                plain = value.chars().is_some();
            }
            Key::FunctionCallCamel | Key::FunctionCall => {
                plain = call.replace(value.keep()).is_none();
            }
            Key::FunctionResponseCamel | Key::FunctionResponse => {
                plain = response.replace(value.keep()).is_none();
            }
            // Of a signature no characters count.
            Key::Thought | Key::ThoughtSignatureCamel | Key::ThoughtSignature => {}
            // What a part may hold beside these, or what nobody knows.
            _ => plain = false,
        }
        plain
    });
    if !looked || !plain {
        return None;
    }
    if let Some(call) = call {
        text += look_at_call(&call, links).filter(|_| role == Role::Model)?;
    }
    if let Some(response) = response {
        text += look_at_result(&response, how, links).filter(|_| role != Role::Model)?;
    }
    Some(text)
}

fn look_at_call<V: Value>(call: &V, links: &mut Links<V::Text>) -> Option<usize> {
    let (id, said) = look_into(call, Key::Args)?;
    links.calls.push(glance::tie(Family::Tool, id));
    text_or_json(said.as_ref())
}

fn look_at_result<V: Value>(
    response: &V,
    how: Reading,
    links: &mut Links<V::Text>,
) -> Option<usize> {
    let (id, said) = look_into(response, Key::Response)?;
    links.results.push(glance::tie(Family::Tool, id));
    let chars = said.map_or(Some(0), |said| glance::result(&said))?;
    how.shorten.leaves(chars).then_some(chars)
}

/// The id of a call or a response, and what it says under a key.
fn look_into<V: Value>(held: &V, says: Key) -> Option<(Option<V::Text>, Option<V>)> {
    let (mut id, mut said, mut plain) = (None, None, true);
    let looked = held.look(|key, value| {
        match key {
            Key::Id => plain = take_id::<V>(value, &mut id),
            // Looked at in a call; that of a response does not matter.
            Key::Name if says == Key::Args => plain = glance::is_text_or_null::<V>(value),
            key if key == says => said = glance::keep::<V>(value),
            _ => {}
        }
        plain
    });
    (looked && plain).then_some((id, said))
}
