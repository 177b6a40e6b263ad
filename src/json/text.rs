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
    #[must_use]
    pub fn cut(&self, cut: &TextCut) -> String {
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
        let mut bytes = 0;
        match self.written() {
            Some(written) => meant(written, |meant| {
                bytes += match meant {
                    Meant::Text(piece) => piece.len(),
                    Meant::Escaped(sign) => sign.len_utf8(),
                    Meant::Lone(_) => char::REPLACEMENT_CHARACTER.len_utf8(),
                }
            }),
            None => bytes = self.as_str().len(),
        }
        bytes
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
            (Some(one), Some(other)) => one == other || identity(one) == identity(other),
            _ => self.as_str() == other.as_str(),
        }
    }

    fn key(&self) -> String {
        let mut key = String::new();
        match self.written() {
            Some(written) if written.contains('\\') => meant(written, |meant| match meant {
                Meant::Text(piece) => key.push_str(piece),
                Meant::Escaped(sign) => key.push(sign),
                // Nobody's id has that in it.
                Meant::Lone(unit) => key.extend(['\u{fffd}'.to_string(), format!("\0{unit:04x}")]),
            }),
            Some(written) => key.push_str(written),
            None => key.push_str(&self.as_str()),
        }
        key
    }
}

/// A piece of what a string means.
pub(super) enum Meant<'t> {
    /// Characters that stand for themselves.
    Text(&'t str),
    /// The character that an escape stands for.
    Escaped(char),
    /// Half a pair of surrogates, without the other.
    Lone(u16),
}

/// Shows what a string means, piece by piece, that is written like that between its quotes. The escapes are known to be such. O(bytes).
pub(super) fn meant(written: &str, mut each: impl FnMut(Meant<'_>)) {
    let mut rest = written;
    while let Some(at) = rest.find('\\') {
        each(Meant::Text(&rest[..at]));
        let (meant, length) = escape(&rest.as_bytes()[at..]);
        each(meant);
        rest = &rest[at + length..];
    }
    each(Meant::Text(rest));
}

/// What a string means, each lone surrogate as U+FFFD. O(bytes).
pub(crate) fn decode(written: &str) -> Cow<'_, str> {
    if !written.contains('\\') {
        return Cow::Borrowed(written);
    }
    let mut text = String::with_capacity(written.len());
    meant(written, |meant| match meant {
        Meant::Text(piece) => text.push_str(piece),
        Meant::Escaped(sign) => text.push(sign),
        Meant::Lone(_) => text.push(char::REPLACEMENT_CHARACTER),
    });
    Cow::Owned(text)
}

/// Bytes that are the same for two strings just where both mean the same: what they mean as UTF-8, and lone surrogates as
/// what UTF-8 has not.
pub(super) fn identity(written: &str) -> Cow<'_, [u8]> {
    if !written.contains('\\') {
        return Cow::Borrowed(written.as_bytes());
    }
    let mut bytes = Vec::with_capacity(written.len());
    meant(written, |meant| match meant {
        Meant::Text(piece) => bytes.extend_from_slice(piece.as_bytes()),
        Meant::Escaped(sign) => {
            bytes.extend_from_slice(sign.encode_utf8(&mut [0; 4]).as_bytes());
        }
        // No character begins with that byte.
        Meant::Lone(unit) => bytes.extend([[0xff].as_slice(), &unit.to_be_bytes()].concat()),
    });
    Cow::Owned(bytes)
}

/// What an escape stands for, and how many bytes it takes.
fn escape(bytes: &[u8]) -> (Meant<'static>, usize) {
    let simple = match bytes.get(1) {
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(b'u') => return utf16(bytes),
        Some(&other) => char::from(other),
        None => return (Meant::Escaped('\\'), 1),
    };
    (Meant::Escaped(simple), 2)
}

fn utf16(bytes: &[u8]) -> (Meant<'static>, usize) {
    let Some(first) = unit(bytes, 2) else {
        return (
            Meant::Escaped(char::REPLACEMENT_CHARACTER),
            bytes.len().min(6),
        );
    };
    if let Some(sign) = char::from_u32(first.into()) {
        return (Meant::Escaped(sign), 6);
    }
    let second = match bytes.get(6..8) {
        Some(br"\u") => unit(bytes, 8),
        _ => None,
    };
    let pair = char::decode_utf16([first, second.unwrap_or(0)]).next();
    match pair {
        Some(Ok(sign)) => (Meant::Escaped(sign), 12),
        _ => (Meant::Lone(first), 6),
    }
}
