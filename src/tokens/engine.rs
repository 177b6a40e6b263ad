//! Counting: a text's pieces, one by one looked up, remembered or merged.

use super::block::BLOCK;
use super::cache::{Cache, LONGEST_REMEMBERED, Pool};
use super::layout::{LENGTH_AT, SHORT, hash_long, hash_short, short};
use super::merge::{SMALL, count_long, count_small};
use super::split::{Cl100k, Gpt2, O200k, Split};
use super::vocabulary::{self, Vocabulary};

/// A vocabulary, the pattern that goes with it, and what is remembered of its pieces.
pub(super) struct Engine {
    vocabulary: &'static Vocabulary,
    pattern: Pattern,
    caches: Pool,
}

#[derive(Clone, Copy)]
enum Pattern {
    O200k,
    Cl100k,
    Gpt2,
}

const fn engine(vocabulary: &'static Vocabulary, pattern: Pattern) -> Engine {
    Engine {
        vocabulary,
        pattern,
        caches: Pool::new(),
    }
}

pub(super) static O200K: Engine = engine(&vocabulary::O200K, Pattern::O200k);
pub(super) static CL100K: Engine = engine(&vocabulary::CL100K, Pattern::Cl100k);
pub(super) static P50K: Engine = engine(&vocabulary::P50K, Pattern::Gpt2);
pub(super) static R50K: Engine = engine(&vocabulary::R50K, Pattern::Gpt2);

impl Engine {
    /// Where the piece that begins at `at` ends, in bytes.
    pub(super) fn end(&self, text: &str, at: usize) -> usize {
        let text = text.as_bytes();
        match self.pattern {
            Pattern::O200k => O200k::end(text, at),
            Pattern::Cl100k => Cl100k::end(text, at),
            Pattern::Gpt2 => Gpt2::end(text, at),
        }
    }

    /// Gives back the memory of what is remembered of pieces, but where a thread is using it.
    pub(super) fn forget(&self) {
        self.caches.forget();
    }

    /// Tokens of a text; `None` as soon as there are more than `limit`.
    pub(super) fn count(&self, text: &str, limit: u64) -> Option<u64> {
        let text = text.as_bytes();
        self.caches.with(|cache| {
            let mut counter = Counter {
                vocabulary: self.vocabulary,
                cache,
                limit,
                short: Vec::new(),
                long: Vec::new(),
            };
            match self.pattern {
                Pattern::O200k => counter.count::<O200k>(text),
                Pattern::Cl100k => counter.count::<Cl100k>(text),
                Pattern::Gpt2 => counter.count::<Gpt2>(text),
            }
        })
    }
}

struct Counter<'c, 't> {
    vocabulary: &'static Vocabulary,
    cache: &'c mut Cache,
    limit: u64,
    /// Short pieces of a batch that are to be merged, each with its key and its hash.
    short: Vec<(&'t [u8], u128, u64)>,
    /// Longer ones, with their hashes.
    long: Vec<(&'t [u8], u64)>,
}

/// Pieces that are looked up together: the processor waits for their places in memory at the same time.
const BATCH: usize = 32;

impl<'t> Counter<'_, 't> {
    fn count<S: Split>(&mut self, text: &'t [u8]) -> Option<u64> {
        let mut tokens = 0;
        let mut ends = [0; BATCH + BLOCK];
        let mut keys = [(0, 0); BATCH + BLOCK];
        let mut at = 0;
        while at < text.len() {
            let start = at;
            let mut pieces = 0;
            while pieces < BATCH && at < text.len() {
                let base = at;
                let mut starts = S::starts(text, at);
                while starts != 0 {
                    at = base + starts.trailing_zeros() as usize;
                    starts &= starts - 1;
                    ends[pieces] = at;
                    pieces += 1;
                }
                if at == base {
                    at = S::end(text, at);
                    ends[pieces] = at;
                    pieces += 1;
                }
            }
            let mut begin = start;
            for (&end, slot) in ends[..pieces].iter().zip(&mut keys) {
                *slot = if end - begin <= SHORT {
                    let key = key(text, begin, end);
                    (key, hash_short(key))
                } else {
                    (0, 0)
                };
                begin = end;
            }
            let mut begin = start;
            for (&end, &(key, hash)) in ends[..pieces].iter().zip(&keys) {
                tokens += match self.cache.short(key, hash) {
                    Some(count) => count,
                    None if key != 0 => self.short(&text[begin..end], key, hash),
                    None => self.long(&text[begin..end])?,
                };
                begin = end;
            }
            tokens += self.merge();
            if tokens > self.limit {
                return None;
            }
        }
        Some(tokens)
    }

    /// Tokens of a short piece that is not remembered; 0 if it is to be merged.
    #[inline]
    fn short(&mut self, piece: &'t [u8], key: u128, hash: u64) -> u64 {
        if self.vocabulary.has_short(key, hash) {
            self.cache.put_short(key, hash, 1);
            return 1;
        }
        self.short.push((piece, key, hash));
        0
    }

    /// Tokens of a longer piece; 0 if it is to be merged.
    fn long(&mut self, piece: &'t [u8]) -> Option<u64> {
        if piece.len() > LONGEST_REMEMBERED {
            if self.vocabulary.has_long(piece) {
                return Some(1);
            }
            return count_long(self.vocabulary, piece, self.limit);
        }
        let hash = hash_long(piece);
        if let Some(count) = self.cache.long(piece, hash) {
            return Some(count);
        }
        let count = if self.vocabulary.has_long(piece) {
            1
        } else if piece.len() > SMALL {
            count_long(self.vocabulary, piece, u64::MAX)?
        } else {
            self.long.push((piece, hash));
            return Some(0);
        };
        self.cache.put_long(piece, hash, count);
        Some(count)
    }

    /// Merges what is to be merged, and remembers it. Gives the sum of tokens.
    #[inline]
    fn merge(&mut self) -> u64 {
        let mut tokens = 0;
        if !self.short.is_empty() {
            let pieces = self.short.iter().map(|&(piece, ..)| piece);
            count_small::<16>(self.vocabulary, pieces, |index, count| {
                tokens += count;
                let (_, key, hash) = self.short[index];
                self.cache.put_short(key, hash, count);
            });
            self.short.clear();
        }
        if !self.long.is_empty() {
            let pieces = self.long.iter().map(|&(piece, _)| piece);
            count_small::<SMALL>(self.vocabulary, pieces, |index, count| {
                tokens += count;
                let (piece, hash) = self.long[index];
                self.cache.put_long(piece, hash, count);
            });
            self.long.clear();
        }
        tokens
    }
}

/// The [`short`] key of a piece, in one load where sixteen bytes can be read.
#[inline]
fn key(text: &[u8], at: usize, end: usize) -> u128 {
    match text[at..].first_chunk() {
        Some(&bytes) => {
            let len = end - at;
            let mask = u128::MAX >> (128 - 8 * len);
            u128::from_le_bytes(bytes) & mask | (len as u128) << LENGTH_AT
        }
        None => short(&text[at..end]),
    }
}
