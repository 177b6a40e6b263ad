//! The class of a code point, as far as the patterns of the encodings tell them apart.

use super::layout::CLASS_BLOCK;

/// Classes of code points, by Unicode 16.0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Class {
    /// No letter, mark, number or space: punctuation, symbols, controls, what is not assigned.
    Other,
    /// `Lu`, `Lt`.
    Upper,
    /// `Ll`.
    Lower,
    /// `Lm`, `Lo`: letters without case.
    Caseless,
    /// `M`.
    Mark,
    /// `N`.
    Number,
    /// `White_Space`, line breaks among it.
    Space,
    /// Behind the last code point.
    End,
}

/// The classes that the build script numbers, in its order.
const NUMBERED: [Class; 7] = [
    Class::Other,
    Class::Upper,
    Class::Lower,
    Class::Caseless,
    Class::Mark,
    Class::Number,
    Class::Space,
];

/// For each block of code points the number of its stored block; behind these the stored blocks.
static TABLE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/classes"));

/// How many blocks there are.
const BLOCKS: usize = 0x11_0000 / CLASS_BLOCK;

/// The classes of ASCII, which is most of what is read.
static ASCII: [Class; CLASS_BLOCK] = {
    let mut classes = [Class::Other; CLASS_BLOCK];
    let mut at = 0;
    while at < CLASS_BLOCK {
        classes[at] = NUMBERED[TABLE[BLOCKS + TABLE[0] as usize * CLASS_BLOCK + at] as usize];
        at += 1;
    }
    classes
};

/// The class of the code point at a place of UTF-8 text, and its length in bytes.
#[inline]
pub(super) fn class_at(text: &[u8], at: usize) -> (Class, usize) {
    match text.get(at) {
        Some(&byte) if byte < 0x80 => (ASCII[usize::from(byte)], 1),
        Some(_) => wide(text, at),
        None => (Class::End, 0),
    }
}

/// [`class_at`] a code point that is not ASCII.
fn wide(text: &[u8], at: usize) -> (Class, usize) {
    let low = |behind: usize| u32::from(text.get(at + behind).copied().unwrap_or(0) & 0x3F);
    let lead = u32::from(text[at]);
    let (point, len) = match lead {
        ..=0xDF => ((lead & 0x1F) << 6 | low(1), 2),
        0xE0..=0xEF => ((lead & 0x0F) << 12 | low(1) << 6 | low(2), 3),
        _ => ((lead & 0x07) << 18 | low(1) << 12 | low(2) << 6 | low(3), 4),
    };
    let point = point as usize;
    let block = usize::from(TABLE[point / CLASS_BLOCK]);
    let class = TABLE[BLOCKS + block * CLASS_BLOCK + point % CLASS_BLOCK];
    (NUMBERED[usize::from(class)], len)
}
