//! Strings of a JSON text.

use std::borrow::Cow;
use std::rc::Rc;

use super::Document;
use super::index::unit;
use crate::cap::TextCut;
use crate::value::Text;

/// A string of a document, or a text that was made of a value of it.
#[derive(Clone)]
pub enum JsonText<'d> {
    /// The bytes between two quotes.
    Written {
        /// Where it stands.
        document: &'d Document<'d>,
        /// The first byte.
        begin: usize,
        /// The byte behind the last.
        end: usize,
    },
    /// Compact JSON.
    Made(Rc<str>),
}

impl<'d> JsonText<'d> {
    /// What is written between the quotes, escapes as they stand; `None` of a text that was made.
    #[must_use]
    pub fn written(&self) -> Option<&'d str> {
        match *self {
            Self::Written {
                document,
                begin,
                end,
            } => Some(&document.text[begin..end]),
            Self::Made(_) => None,
        }
    }

    /// What its first `chars` code points are written as. Of a text that was made: all of it.
    fn head(&self, chars: usize) -> &str {
        match self {
            Self::Written {
                document,
                begin,
                end,
            } => &document.text[*begin..document.offset_of(*begin, *end, chars)],
            Self::Made(text) => text,
        }
    }

    /// What a cut leaves of it.
    pub(crate) fn cut(&self, cut: &TextCut) -> String {
        match self {
            Self::Written {
                document,
                begin,
                end,
            } => {
                let (front, back) = document.ends(*begin, *end, cut);
                let piece = |from, to| decode(&document.text[from..to]);
                [piece(*begin, front), cut.marker.into(), piece(back, *end)].concat()
            }
            Self::Made(text) => cut.apply(text),
        }
    }
}

impl Text for JsonText<'_> {
    #[inline]
    fn chars(&self) -> usize {
        match self {
            Self::Written {
                document,
                begin,
                end,
            } => document.chars(*begin, *end),
            Self::Made(text) => text.chars().count(),
        }
    }

    fn bytes(&self) -> usize {
        self.as_str().len()
    }

    fn as_str(&self) -> Cow<'_, str> {
        match self {
            Self::Written { .. } => decode(self.written().unwrap_or("")),
            Self::Made(text) => Cow::Borrowed(text),
        }
    }

    fn front(&self, chars: usize) -> Cow<'_, str> {
        match self {
            Self::Written { .. } => decode(self.head(chars)),
            Self::Made(text) => Cow::Borrowed(text),
        }
    }

    fn same(&self, other: &Self) -> bool {
        match (self.written(), other.written()) {
            (Some(one), Some(other)) if one == other => true,
            _ => self.as_str() == other.as_str(),
        }
    }
}

/// What a string means that is written like that between its quotes, each lone surrogate as U+FFFD. The escapes are known to be
/// such. O(bytes).
pub(crate) fn decode(written: &str) -> Cow<'_, str> {
    let mut rest = written;
    let Some(mut at) = rest.find('\\') else {
        return Cow::Borrowed(written);
    };
    let mut text = String::with_capacity(written.len());
    loop {
        text.push_str(&rest[..at]);
        let (meant, length) = escape(&rest.as_bytes()[at..]);
        text.push(meant);
        rest = &rest[at + length..];
        match rest.find('\\') {
            Some(next) => at = next,
            None => break,
        }
    }
    text.push_str(rest);
    Cow::Owned(text)
}

/// The character of an escape, and how many bytes it takes.
fn escape(bytes: &[u8]) -> (char, usize) {
    let simple = match bytes.get(1) {
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(b'u') => return utf16(bytes),
        Some(&other) => char::from(other),
        None => return (char::REPLACEMENT_CHARACTER, 1),
    };
    (simple, 2)
}

fn utf16(bytes: &[u8]) -> (char, usize) {
    let Some(high) = unit(bytes, 2) else {
        return (char::REPLACEMENT_CHARACTER, bytes.len().min(6));
    };
    let low = match bytes.get(6..8) {
        Some(br"\u") if (0xd800..0xdc00).contains(&high) => unit(bytes, 8),
        _ => None,
    };
    let pair = low.filter(|low| (0xdc00..0xe000).contains(low));
    let units = [high, pair.unwrap_or(0)];
    let units = &units[..1 + usize::from(pair.is_some())];
    let meant = char::decode_utf16(units.iter().copied()).next();
    let meant = meant.and_then(Result::ok);
    (
        meant.unwrap_or(char::REPLACEMENT_CHARACTER),
        6 * units.len(),
    )
}
