//! How the tables of a vocabulary lie in memory: shared by the build script, which writes them, and the engine, which reads them.

/// The longest text that fits a [`short`] key, in bytes.
pub const SHORT: usize = 15;

/// The longest token of any built-in encoding, in bytes.
pub const LONGEST: usize = 128;

/// A text of at most [`SHORT`] bytes as a number: its bytes, and its length on top, so that different texts differ.
#[inline]
pub fn short(text: &[u8]) -> u128 {
    let mut bytes = [0; 16];
    bytes[..text.len()].copy_from_slice(text);
    u128::from_le_bytes(bytes) | (text.len() as u128) << LENGTH_AT
}

/// The text of a [`short`] key, and its length.
#[inline]
pub const fn text_of(key: u128) -> ([u8; 16], usize) {
    (key.to_le_bytes(), (key >> LENGTH_AT) as usize % 16)
}

/// Where the length of a [`short`] key begins, in bits. Above its four bits four more are free.
pub const LENGTH_AT: u32 = 120;

const A: u64 = 0x9E37_79B9_7F4A_7C15;
const B: u64 = 0xD6E8_FEB8_6659_FD93;

/// All bits of a product, folded.
#[inline]
const fn fold(a: u64, b: u64) -> u64 {
    let product = a as u128 * b as u128;
    product as u64 ^ (product >> 64) as u64
}

/// The hash of a [`short`] key.
#[inline]
pub const fn hash_short(key: u128) -> u64 {
    fold(key as u64 ^ A, (key >> 64) as u64 ^ B)
}

/// The hash of a text of more than [`SHORT`] bytes. O(bytes).
#[inline]
pub fn hash_long(text: &[u8]) -> u64 {
    let word = |at: usize| {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&text[at..at + 8]);
        u64::from_le_bytes(bytes)
    };
    let mut hash = A.wrapping_mul(text.len() as u64);
    let mut at = 0;
    while at + 16 < text.len() {
        hash = fold(hash ^ word(at) ^ A, word(at + 8) ^ B);
        at += 16;
    }
    let end = text.len();
    fold(hash ^ word(end - 16) ^ B, word(end - 8) ^ A)
}

/// The key of a pair of tokens. Ids have 18 bits.
#[inline]
pub const fn pair(left: u32, right: u32) -> u64 {
    left as u64 | (right as u64) << ID_BITS
}

/// What stands for an id where there is none.
pub const NO_ID: u32 = u32::MAX;

/// Code points of a block in the table of classes.
pub const CLASS_BLOCK: usize = 128;

/// Bits of a token's id: 199,998 is the largest.
pub const ID_BITS: u32 = 18;

/// The hash of a pair's key.
#[inline]
pub const fn hash_pair(key: u64) -> u64 {
    fold(key ^ A, B)
}

/// The bucket of a hash, of `buckets`. The keys of a bucket share a pilot.
#[inline]
pub const fn bucket(hash: u64, buckets: usize) -> usize {
    (((hash >> 32) * buckets as u64) >> 32) as usize
}

/// The place of a hash under its bucket's pilot, of `places`. A pilot is chosen so that no two keys meet (`PTHash`: Pibiri and
/// Trani, "`PTHash`: Revisiting FCH Minimal Perfect Hashing", 2021): a look-up is one pilot and one place, a hit or a miss.
#[inline]
pub const fn place(hash: u64, pilot: u16, places: usize) -> usize {
    let mixed = hash.wrapping_mul(A.wrapping_mul(2 * pilot as u64 + 1));
    (((mixed >> 32) * places as u64) >> 32) as usize
}

/// Bits that tell which code points are neighbours inside of a token. Of 21,000 pairs one bit in twenty is set.
pub const CROSSING_BITS: usize = 1 << 19;

/// The bit of two neighbouring code points, by their bytes: the word of 64 bits, and the bit in it.
#[inline]
pub const fn crossing_bit(left: u32, right: u32) -> (usize, u32) {
    let bit = fold(left as u64 ^ A, (right as u64) << 32 ^ B) as usize % CROSSING_BITS;
    (bit / 64, (bit % 64) as u32)
}

/// The bit of two neighbouring bytes.
#[inline]
pub const fn byte_bit(left: u8, right: u8) -> (usize, u32) {
    let bit = (left as usize) << 8 | right as usize;
    (bit / 64, (bit % 64) as u32)
}
