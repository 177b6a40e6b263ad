//! Reading an item at a glance: nearly all are messages, functions' calls and their outputs, and of a plain one characters and
//! ties are had without holding on to anything. What is not plain, or wrong, is left to [`read`](super::parts::read).

use super::items::{Kind, is_message, role_named};
use super::parts::is_text;
use crate::facts::{Family, Links, Tie, Turn};
use crate::format::{Reading, Shorten, chat};
use crate::value::{Key, Lent, Text, Value};

/// The turn of a plain item and its characters, its tie into `links`; `None`, and nothing in `links`, if it is not plain.
pub(super) fn glance<V: Value>(
    item: &V,
    how: Reading,
    links: &mut Links<V::Text>,
) -> Option<(Turn, u64)> {
    let (mut role, mut kind, mut id) = (None, None, None);
    let (mut content, mut parts, mut arguments, mut output) = (0, None, 0, 0);
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
                content = value.chars().unwrap_or(0);
                parts = (value.chars().is_none() && !value.is_null()).then(|| value.keep());
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
    let tie = Tie::new(Family::Tool, id.filter(|id| id.chars() > 0));
    let (turn, chars) = match kind {
        None => {
            let chars = parts.map_or(Some(content), |parts| glance_at_parts(&parts));
            (chat::turn_of(role?), chars?)
        }
        Some(Kind::Call(Family::Tool)) => {
            links.calls.push(tie);
            (Turn::Model, arguments)
        }
        Some(Kind::Output(Family::Tool)) => {
            let stays = match how.shorten {
                Shorten::Not => true,
                Shorten::To(cap) => output <= cap.chars,
                Shorten::Thena(_) => false,
            };
            if !stays {
                return None;
            }
            links.results.push(tie);
            (Turn::Result, output)
        }
        Some(_) => return None,
    };
    Some((turn, chars as u64))
}

/// Characters of parts that are texts.
fn glance_at_parts<V: Value>(parts: &V) -> Option<usize> {
    let mut sum = 0;
    for part in (0..parts.list()?).map_while(|k| parts.item(k)) {
        let (mut said, mut plain) = (None, false);
        let looked = part.look(|key, value| {
            match key {
                Key::Type => plain = value.word(|kind| is_text(kind).then_some(())).is_some(),
                Key::Text => said = value.chars(),
                _ => {}
            }
            !(plain && said.is_some())
        });
        sum += said.filter(|_| looked && plain)?;
    }
    Some(sum)
}
