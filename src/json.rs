//! JSON text as a source: values are read in place, and every one of them knows its bytes.
//!
//! A text is [`index`]ed once, which finds its signs and the beginnings of its characters, and held against the [`grammar`],
//! which finds the closing bracket of each opening one. From then on a value is two offsets, its length in characters is a
//! count of bits, and what is not asked for is never looked at. `docs/performance/json.md` says what well-kept parsers take for
//! the same, and why none of them is here.

mod compact;
mod grammar;
mod index;
mod masks;
mod text;
mod value;

use std::fmt;

use crate::cap::TextCut;

pub use text::JsonText;
pub use value::JsonValue;

pub(crate) use compact::{compact, compact_cut, escape, quote};
pub(crate) use text::decode;
pub(crate) use value::is;

/// The deepest nesting of arrays and objects that is read.
pub const DEEPEST: usize = 512;

/// The longest text that is read, in bytes: offsets are kept in 32 bits.
const LONGEST: usize = u32::MAX as usize;

/// What is wrong with a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Syntax {
    /// Bytes in front of it.
    pub offset: usize,
    /// What stands there.
    pub found: String,
    /// What should stand there.
    pub expected: &'static str,
}

impl Syntax {
    fn escape(offset: usize) -> Self {
        Self {
            offset,
            found: "a backslash that begins no escape".to_owned(),
            expected: "an escape of JSON",
        }
    }

    fn control(offset: usize, byte: u8) -> Self {
        Self {
            offset,
            found: format!("the control character 0x{byte:02x}"),
            expected: "control characters in strings as escapes",
        }
    }

    fn unclosed(offset: usize) -> Self {
        Self {
            offset,
            found: "a string without end".to_owned(),
            expected: "a closing quote",
        }
    }

    fn deep(offset: usize) -> Self {
        Self {
            offset,
            found: format!("the {}th", DEEPEST + 1),
            expected: "at most 512 levels of arrays and objects",
        }
    }

    fn duplicate(offset: usize, key: &str) -> Self {
        let shown: String = key.chars().take(40).collect();
        Self {
            offset,
            found: format!("a second \"{shown}\""),
            expected: "each key of an object once",
        }
    }
}

impl fmt::Display for Syntax {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            offset,
            found,
            expected,
        } = self;
        write!(f, "at byte {offset}: expected {expected}, found {found}")
    }
}

/// Memory in which texts are indexed one after the other.
#[derive(Default)]
pub struct Buffers {
    /// Offsets of quotes, and of brackets, colons and commas outside of strings. What stands behind the last is of a text before.
    signs: Vec<u32>,
    /// How many there are.
    count: usize,
    /// For each opening bracket among the signs which of them closes it; the others have no meaning.
    closes: Vec<u32>,
    /// A bit for each byte with which a character begins, as far as the text goes.
    starts: Vec<u64>,
    /// Offsets of the `u` of escapes.
    unicode: Vec<u32>,
    /// Whether every byte is ASCII.
    is_ascii: bool,
}

impl Buffers {
    /// Bytes that it takes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let words = self.signs.capacity() + self.closes.capacity() + self.unicode.capacity();
        4 * words + 8 * self.starts.capacity()
    }
}

/// A text that is one JSON value.
pub struct Document<'d> {
    text: &'d str,
    signs: &'d [u32],
    closes: &'d [u32],
    starts: &'d [u64],
    root: Node,
    is_ascii: bool,
}

/// A value of a document: its first byte, and the first sign at or behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    begin: u32,
    sign: u32,
}

impl Node {
    #[allow(clippy::cast_possible_truncation)] // texts are shorter than LONGEST
    fn new(begin: usize, sign: usize) -> Self {
        Self {
            begin: begin as u32,
            sign: sign as u32,
        }
    }
}

impl<'d> Document<'d> {
    /// Indexes and checks `bytes`. O(bytes), some gigabytes a second.
    ///
    /// # Errors
    /// [`Syntax`]: it is no UTF-8 or no JSON value alone, an object has a key twice, it is nested deeper than [`DEEPEST`] or longer
    /// than 4 GiB.
    pub fn read(bytes: &'d [u8], buffers: &'d mut Buffers) -> Result<Self, Syntax> {
        Self::read_within(DEEPEST, bytes, buffers)
    }

    /// [`read`](Self::read) with another depth.
    pub(crate) fn read_within(
        deepest: usize,
        bytes: &'d [u8],
        buffers: &'d mut Buffers,
    ) -> Result<Self, Syntax> {
        if bytes.len() > LONGEST {
            return Err(Syntax {
                offset: LONGEST,
                found: "more".to_owned(),
                expected: "less than 4 GiB",
            });
        }
        let text = simdutf8::basic::from_utf8(bytes).map_err(|_| not_utf8(bytes))?;
        let flaw = index::index(bytes, buffers);
        let root = grammar::read(text, buffers, flaw, deepest)?;
        Ok(Self {
            text,
            signs: &buffers.signs[..buffers.count],
            closes: &buffers.closes,
            starts: &buffers.starts,
            root,
            is_ascii: buffers.is_ascii,
        })
    }

    /// The value that the text is.
    #[must_use]
    pub fn root(&'d self) -> JsonValue<'d> {
        JsonValue::new(self, self.root)
    }

    /// Whether every byte is ASCII, so that what is added to it had better be.
    pub(crate) const fn is_ascii(&self) -> bool {
        self.is_ascii
    }

    /// The whole text.
    pub(crate) const fn text(&self) -> &'d str {
        self.text
    }

    /// Characters of the string whose bytes are `begin..end`: those that its escapes stand for are one each. O(bytes / 64).
    #[inline]
    fn chars(&self, begin: usize, end: usize) -> usize {
        let (first, last) = (begin / 64, end / 64);
        let from = u64::MAX << (begin % 64);
        let to = !(u64::MAX << (end % 64));
        let word = |at: usize| self.starts.get(at).copied().unwrap_or(0);
        if first == last {
            return (word(first) & from & to).count_ones() as usize;
        }
        let between = self.starts.get(first + 1..last).unwrap_or(&[]);
        let between: u32 = between.iter().map(|word| word.count_ones()).sum();
        let ends = (word(first) & from).count_ones() + (word(last) & to).count_ones();
        (between + ends) as usize
    }

    /// The offset of character `chars` of the string whose bytes are `begin..end`; `end` where it has no more. O(bytes / 64).
    fn offset_of(&self, begin: usize, end: usize, mut chars: usize) -> usize {
        let mut from = u64::MAX << (begin % 64);
        for (at, word) in self.starts.iter().enumerate().skip(begin / 64) {
            let mut bits = word & from;
            from = u64::MAX;
            let count = bits.count_ones() as usize;
            if chars < count {
                for _ in 0..chars {
                    bits &= bits - 1;
                }
                return (at * 64 + bits.trailing_zeros() as usize).min(end);
            }
            chars -= count;
            if at * 64 >= end {
                break;
            }
        }
        end
    }

    /// Where the front of a cut string ends, and where its back begins.
    pub(crate) fn ends(&self, begin: usize, end: usize, cut: &TextCut) -> (usize, usize) {
        let front = self.offset_of(begin, end, cut.head);
        let before = self.chars(begin, end).saturating_sub(cut.tail);
        (front, self.offset_of(begin, end, before))
    }

    #[inline]
    pub(crate) fn byte(&self, node: Node) -> u8 {
        self.text.as_bytes()[node.begin as usize]
    }

    #[inline]
    fn sign(&self, sign: u32) -> usize {
        self.signs[sign as usize] as usize
    }

    /// The bytes of a string without its quotes; `None` of any other value.
    #[inline]
    pub(crate) fn string(&self, node: Node) -> Option<(usize, usize)> {
        (self.byte(node) == b'"').then(|| (node.begin as usize + 1, self.sign(node.sign + 1)))
    }

    /// The sign behind a value.
    #[inline]
    fn behind(&self, node: Node) -> u32 {
        match self.byte(node) {
            b'"' => node.sign + 2,
            b'{' | b'[' => self.closes[node.sign as usize] + 1,
            _ => node.sign,
        }
    }

    /// The bytes of a value.
    pub(crate) fn span(&self, node: Node) -> std::ops::Range<usize> {
        let begin = node.begin as usize;
        let end = match self.byte(node) {
            b'"' => self.sign(node.sign + 1) + 1,
            b'{' | b'[' => self.sign(self.closes[node.sign as usize]) + 1,
            _ => {
                let end = self.signs.get(node.sign as usize);
                let end = end.map_or(self.text.len(), |&end| end as usize);
                begin + grammar::trim_end(&self.text.as_bytes()[begin..end]).len()
            }
        };
        begin..end
    }

    /// The value behind a sign.
    #[inline]
    fn value_behind(&self, sign: u32) -> Node {
        let bytes = self.text.as_bytes();
        let mut begin = self.sign(sign) + 1;
        while matches!(bytes[begin], b' ' | b'\n' | b'\r' | b'\t') {
            begin += 1;
        }
        Node::new(begin, sign as usize + 1)
    }

    /// The items of an array; none of anything else.
    pub(crate) fn items(&self, node: Node) -> Items<'_> {
        // A lone scalar has no sign of its own.
        let empty = self.byte(node) != b'[' || self.byte(self.value_behind(node.sign)) == b']';
        Items {
            document: self,
            before: (!empty).then_some(node.sign),
        }
    }

    /// The items behind one of an array.
    fn items_behind(&self, item: Node) -> Items<'_> {
        let behind = self.behind(item);
        Items {
            document: self,
            before: self.has_more(behind).then_some(behind),
        }
    }

    /// Keys, as they are written without their quotes, and values of an object; none of anything else.
    pub(crate) fn members(&self, node: Node) -> Members<'_> {
        let empty = self.byte(node) != b'{' || self.closes[node.sign as usize] == node.sign + 1;
        Members {
            document: self,
            before: (!empty).then_some(node.sign),
        }
    }
}

/// See [`Document::items`].
pub(crate) struct Items<'d> {
    document: &'d Document<'d>,
    /// The sign in front of the next one.
    before: Option<u32>,
}

impl Iterator for Items<'_> {
    type Item = Node;

    #[inline]
    fn next(&mut self) -> Option<Node> {
        let document = self.document;
        let node = document.value_behind(self.before?);
        let behind = document.behind(node);
        self.before = document.has_more(behind).then_some(behind);
        Some(node)
    }
}

/// See [`Document::members`].
pub(crate) struct Members<'d> {
    document: &'d Document<'d>,
    before: Option<u32>,
}

impl<'d> Iterator for Members<'d> {
    type Item = (&'d str, Node);

    #[inline]
    fn next(&mut self) -> Option<(&'d str, Node)> {
        let document = self.document;
        let quote = self.before? + 1;
        let key = &document.text[document.sign(quote) + 1..document.sign(quote + 1)];
        let node = document.value_behind(quote + 2);
        let behind = document.behind(node);
        self.before = document.has_more(behind).then_some(behind);
        Some((key, node))
    }
}

impl Document<'_> {
    /// Whether a sign behind a value is a comma.
    #[inline]
    fn has_more(&self, sign: u32) -> bool {
        self.text.as_bytes()[self.sign(sign)] == b','
    }
}

#[cold]
fn not_utf8(bytes: &[u8]) -> Syntax {
    let offset = std::str::from_utf8(bytes).map_or_else(|error| error.valid_up_to(), |_| 0);
    Syntax {
        offset,
        found: format!("byte 0x{:02x}", bytes[offset]),
        expected: "UTF-8",
    }
}
