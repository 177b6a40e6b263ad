//! What the formats share to read a message at a glance: of a plain one characters and ties are had without holding on to
//! anything, and what is not plain, or wrong, is left to [`Wire::read`](super::Wire::read).

use super::{Shorten, chat};
use crate::facts::{Family, Links, Role, Tie, Turn};
use crate::value::{Key, Lent, Text, Value};

/// A content at a glance.
pub(super) enum Said<V> {
    /// So many characters of text; none where there is no content.
    Text(usize),
    /// Something else, which should be a list.
    Blocks(V),
}

impl<V: Value> Said<V> {
    pub(super) fn of(value: V::Lent<'_>) -> Self {
        match value.chars() {
            Some(chars) => Self::Text(chars),
            None if value.is_null() => Self::Text(0),
            None => Self::Blocks(value.keep()),
        }
    }

    /// Characters of a text, or of all blocks, each of which `block` looks at.
    pub(super) fn chars(&self, mut block: impl FnMut(&V) -> Option<usize>) -> Option<usize> {
        match self {
            Self::Text(chars) => Some(*chars),
            Self::Blocks(blocks) => (0..blocks.list()?)
                .map_while(|k| blocks.item(k))
                .try_fold(0, |sum, each| Some(sum + block(&each)?)),
        }
    }
}

/// Role and content of a message that has nothing else to look at: `key` is where its content stands.
pub(super) fn envelope<V: Value>(
    message: &V,
    key: Key,
    named: impl Fn(&str) -> Option<Role>,
) -> Option<(Role, Said<V>)> {
    let (mut role, mut said, mut plain) = (None, None, true);
    let looked = message.look(|at, value| {
        match at {
            Key::Role => role = value.word(&named),
            at if at == key => said = Some(Said::of(value)),
            // Parts of another format.
            Key::Content => plain = value.is_null(),
            _ => {}
        }
        plain
    });
    Some((role?, said.unwrap_or(Said::Text(0)))).filter(|_| looked && plain)
}

/// The turn of a message whose results stand among what a user says: it says what it carries, each in the place for it.
pub(super) fn turn<T: Text>(role: Role, links: &Links<T>) -> Option<Turn> {
    match chat::turn_of(role) {
        Turn::Model => links.results.is_empty().then_some(Turn::Model),
        _ if !links.calls.is_empty() => None,
        Turn::User if !links.results.is_empty() => Some(Turn::Result),
        turn => Some(turn),
    }
}

/// Characters of a value that may be any JSON: of a string its own, of all else those of its compact JSON.
pub(super) fn text_or_json<V: Value>(value: Option<&V>) -> Option<usize> {
    match value {
        None => Some(0),
        Some(value) => match value.text() {
            Some(text) => Some(text.chars()),
            None => value.json_chars(),
        },
    }
}

/// Characters of what [`json::said`](super::json::said) says.
pub(super) fn result<V: Value>(value: &V) -> Option<usize> {
    if let Some((_, only)) = value.only_entry().ok()?
        && let Some(text) = only.text()
    {
        return Some(text.chars());
    }
    text_or_json(Some(value))
}

/// Characters of a part whose type is one of `is_text` and which says its `text`.
pub(super) fn text_part<V: Value>(part: &V, is_text: impl Fn(&str) -> bool) -> Option<usize> {
    let (mut said, mut plain) = (None, false);
    let looked = part.look(|key, value| {
        match key {
            Key::Type => plain = value.word(|kind| is_text(kind).then_some(())).is_some(),
            Key::Text => said = value.chars(),
            _ => {}
        }
        !(plain && said.is_some())
    });
    said.filter(|_| looked && plain)
}

/// A part of type `text`.
pub(super) fn text_block<V: Value>(part: &V) -> Option<usize> {
    text_part(part, |kind| kind == "text")
}

/// A text or nothing, taken into `id`; whether it is one of the two.
#[inline]
pub(super) fn take_id<V: Value>(value: V::Lent<'_>, id: &mut Option<V::Text>) -> bool {
    *id = value.text();
    id.is_some() || value.is_null()
}

/// Whether it is a text or nothing.
#[inline]
pub(super) fn is_text_or_null<V: Value>(value: V::Lent<'_>) -> bool {
    value.chars().is_some() || value.is_null()
}

/// A value to look into, if it is there.
#[inline]
pub(super) fn keep<V: Value>(value: V::Lent<'_>) -> Option<V> {
    (!value.is_null()).then(|| value.keep())
}

/// The tie of that id; an empty one is none.
pub(super) fn tie<T: Text>(family: Family, id: Option<T>) -> Tie<T> {
    Tie::new(family, id.filter(|id| id.chars() > 0))
}

impl Shorten {
    /// Whether an observation of so many characters is sent as it is, where `ThenaJS` does not ask.
    pub(super) const fn leaves(self, chars: usize) -> bool {
        match self {
            Self::Not => true,
            Self::To(cap) => chars <= cap.chars,
            Self::Thena(_) => false,
        }
    }
}
