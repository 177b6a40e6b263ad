//! The vocabularies, as tables that the build script made: nothing is loaded, and all processes share their pages.

use super::layout::{
    ID_BITS, LONGEST, NO_ID, bucket, byte_bit, crossing_bit, hash_long, hash_pair, pair, place,
};

/// Bytes that begin at a line of the processor's cache, so that no place of a table lies across two.
#[repr(C, align(64))]
struct Aligned<T: ?Sized>(T);

/// A table that the build script wrote.
macro_rules! table {
    ($($name:literal),+) => {{
        static TABLE: &Aligned<[u8]> =
            &Aligned(*include_bytes!(concat!(env!("OUT_DIR"), "/", $($name),+)));
        &TABLE.0
    }};
}

macro_rules! vocabulary {
    ($name:literal) => {
        Vocabulary {
            short: places!($name, "short"),
            long: places!($name, "long"),
            long_texts: table!($name, ".long.texts"),
            pairs: places!($name, "pairs"),
            crossing_chars: table!($name, ".crossings.chars").as_chunks().0,
            crossing_bytes: table!($name, ".crossings.bytes").as_chunks().0,
            bytes: table!($name, ".bytes").as_chunks().0,
            bigrams: table!($name, ".bigrams").as_chunks().0,
        }
    };
}

macro_rules! places {
    ($name:literal, $table:literal) => {
        Places {
            pilots: table!($name, ".", $table, ".pilots").as_chunks().0,
            places: table!($name, ".", $table, ".places").as_chunks().0,
        }
    };
}

pub(super) static O200K: Vocabulary = vocabulary!("o200k");
pub(super) static CL100K: Vocabulary = vocabulary!("cl100k");
pub(super) static P50K: Vocabulary = vocabulary!("p50k");
pub(super) static R50K: Vocabulary = vocabulary!("r50k");

/// A perfect hash with places of `N` bytes.
struct Places<const N: usize> {
    pilots: &'static [[u8; 2]],
    places: &'static [[u8; N]],
}

impl<const N: usize> Places<N> {
    /// What lies where a key of this hash would lie.
    #[inline]
    fn get(&self, hash: u64) -> [u8; N] {
        let pilot = u16::from_le_bytes(self.pilots[bucket(hash, self.pilots.len())]);
        self.places[place(hash, pilot, self.places.len())]
    }
}

/// The tokens of an encoding, and how they are merged.
pub(super) struct Vocabulary {
    /// Tokens of at most 15 bytes, as [`short`] keys.
    short: Places<16>,
    /// Longer ones: where in `long_texts` one begins, and in the lowest byte its length.
    long: Places<4>,
    long_texts: &'static [u8],
    /// Pairs of ids, and on top the id that they are merged into.
    pairs: Places<8>,
    /// A bit for each two code points that are neighbours inside of a token, and for each two bytes where a token shows no more
    /// of a code point.
    crossing_chars: &'static [[u8; 8]],
    crossing_bytes: &'static [[u8; 8]],
    /// The ids of single bytes.
    bytes: &'static [[u8; 4]],
    /// The ids of two bytes; [`NO_ID`] where they are no token.
    bigrams: &'static [[u8; 4]],
}

impl Vocabulary {
    /// Whether a text of at most 15 bytes is a token, by its [`short`] key and its hash.
    #[inline]
    pub(super) fn has_short(&self, key: u128, hash: u64) -> bool {
        u128::from_le_bytes(self.short.get(hash)) == key
    }

    /// Whether a longer text is a token.
    pub(super) fn has_long(&self, text: &[u8]) -> bool {
        text.len() <= LONGEST && {
            let span = u32::from_le_bytes(self.long.get(hash_long(text)));
            let (at, len) = ((span >> 8) as usize, (span & 0xFF) as usize);
            self.long_texts[at..at + len] == *text
        }
    }

    /// Whether a token may lie across the border of two code points, by their bytes. `true` where it is not known.
    #[inline]
    pub(super) fn crosses(&self, left: u32, right: u32) -> bool {
        if left | right < 0x80 {
            return true;
        }
        let last = left.to_le_bytes()[3 - (left.leading_zeros() as usize / 8).min(3)];
        let is_set = |table: &[[u8; 8]], (word, bit): (usize, u32)| {
            u64::from_le_bytes(table[word]) >> bit & 1 == 1
        };
        is_set(self.crossing_chars, crossing_bit(left, right))
            || is_set(self.crossing_bytes, byte_bit(last, right as u8))
    }

    /// The id of a byte.
    #[inline]
    pub(super) fn byte(&self, byte: u8) -> u32 {
        u32::from_le_bytes(self.bytes[usize::from(byte)])
    }

    /// The id that two bytes are merged into.
    #[inline]
    pub(super) fn bigram(&self, left: u8, right: u8) -> Option<u32> {
        let id = u32::from_le_bytes(self.bigrams[usize::from(left) << 8 | usize::from(right)]);
        (id != NO_ID).then_some(id)
    }

    /// The id that two tokens are merged into; ids are ranks, the lowest is merged first.
    #[inline]
    pub(super) fn merged(&self, left: u32, right: u32) -> Option<u32> {
        let key = pair(left, right);
        let hash = hash_pair(key);
        let found = u64::from_le_bytes(self.pairs.get(hash));
        let id = (found >> (2 * ID_BITS)) as u32;
        // An empty place reads as the pair (0, 0) merged into 0, which is a byte.
        (found & ((1 << (2 * ID_BITS)) - 1) == key && id != 0).then_some(id)
    }
}
