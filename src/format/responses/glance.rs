//! Reading an item at a glance: nearly all are messages, functions' calls and their outputs, and of a plain one characters and
//! ties are had without holding on to anything. What is not plain, or wrong, is left to [`read`](super::parts::read).

use super::items::{Kind, is_message, role_named};
use super::parts::is_text;
use crate::facts::{Family, Links, Turn};
use crate::format::glance::{Said, text_part, tie};
use crate::format::{Reading, chat};
use crate::value::{Key, Lent, Text, Value};

/// The turn of a plain item and its characters, its tie into `links`; `None` if it is not plain.
#[inline(never)] // so that the glance of openai-chat stays small enough to be inlined
pub(super) fn glance<V: Value>(
    item: &V,
    how: Reading,
    links: &mut Links<V::Text>,
) -> Option<(Turn, u64)> {
    let (mut role, mut kind, mut id) = (None, None, None);
    let (mut content, mut arguments, mut output) = (None, 0, 0);
    let mut plain = true;
    let looked = item.look(|key, value| {
        let text = match key {
            Key::Role => {
                role = value.word(role_named);
                return true;
            }
            Key::Type => {
                kind = value.word(Kind::of);
                plain = kind.is_some() || is_message(value);
                return plain;
            }
            Key::Content => {
                content = Some(Said::<V>::of(value));
                return true;
            }
            Key::CallId => {
                id = value.text();
                id.as_ref().map(Text::chars)
            }
            Key::Arguments => value.chars().inspect(|&chars| arguments = chars),
            Key::Output => value.chars().inspect(|&chars| output = chars),
            Key::Name => value.chars(),
            Key::Caller => None,
            _ => return true,
        };
        plain = text.is_some() || value.is_null();
        plain
    });
    if !looked || !plain {
        return None;
    }
    let tie = tie(Family::Tool, id);
    let (turn, chars) = match kind {
        None => {
            let said = content.map_or(Some(0), |said| said.chars(|part| text_part(part, is_text)));
            (chat::turn_of(role?), said?)
        }
        Some(Kind::Call(Family::Tool)) => {
            links.calls.push(tie);
            (Turn::Model, arguments)
        }
        Some(Kind::Output(Family::Tool)) => {
            if !how.shorten.leaves(output) {
                return None;
            }
            links.results.push(tie);
            (Turn::Result, output)
        }
        Some(_) => return None,
    };
    Some((turn, chars as u64))
}
