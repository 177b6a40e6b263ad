//! Counting: a text's pieces, many at a time looked up, remembered or merged.

use super::batch::{BATCH, Batch, UNMERGED, push_if};
use super::block::BLOCK;
use super::cache::{Cache, LONGEST_REMEMBERED, Pool, cache_bytes, swap_cache_bytes};
use super::layout::{LENGTH_AT, SHORT, hash_long, hash_short, short};
use super::merge::{count_long, count_short};
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
    /// Of `r50k_base` and `p50k_base` as well.
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

/// Sets how much memory a cache of pieces may take, in bytes; at most 1 GiB. There is one for each vocabulary and each thread
/// that counts with it at the same time, at most 16 threads and 4 vocabularies; they take memory only as pieces are remembered. 0 remembers none.
/// Where the number is another than before, what is remembered goes: at once, or when the thread that is using it next does.
/// Any thread may call it.
pub fn set_cache_bytes(bytes: usize) {
    if swap_cache_bytes(bytes) != cache_bytes() {
        for engine in [&O200K, &CL100K, &P50K, &R50K] {
            engine.caches.forget();
        }
    }
}

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

    /// Tokens of a text; `None` as soon as there are more than `limit`.
    pub(super) fn count(&self, text: &str, limit: u64) -> Option<u64> {
        self.caches.with(|cache, batch| {
            batch.clear();
            let counter = Counter {
                vocabulary: self.vocabulary,
                cache,
                batch,
                text: text.as_bytes(),
                limit,
                tokens: 0,
            };
            match self.pattern {
                Pattern::O200k => counter.count::<O200k>(),
                Pattern::Cl100k => counter.count::<Cl100k>(),
                Pattern::Gpt2 => counter.count::<Gpt2>(),
            }
        })
    }
}

/// Counts one text.
struct Counter<'c, 't> {
    vocabulary: &'static Vocabulary,
    cache: &'c mut Cache,
    /// The pieces that are not counted yet.
    batch: &'c mut Batch,
    text: &'t [u8],
    limit: u64,
    /// Tokens of the pieces in front of the batch.
    tokens: u64,
}

/// There are more tokens than the limit.
struct Over;

impl<'t> Counter<'_, 't> {
    fn count<S: Split>(mut self) -> Option<u64> {
        match self.all::<S>() {
            Ok(()) => Some(self.tokens),
            Err(Over) => None,
        }
    }

    fn all<S: Split>(&mut self) -> Result<(), Over> {
        let text = self.text;
        let mut at = 0;
        while at < text.len() {
            let base = at;
            if self.batch.room() < BLOCK {
                self.drain()?;
            }
            let mut starts = S::starts(text, at);
            while starts != 0 {
                at = base + starts.trailing_zeros() as usize;
                starts &= starts - 1;
                self.batch.push(at);
            }
            if at == base {
                at = S::end(text, at);
                if at - base > 1 && !text[base..at].is_ascii() {
                    self.cut(base, at)?;
                }
                self.batch.push(at);
            }
        }
        self.drain()?;
        self.merge();
        self.within_limit()
    }

    fn within_limit(&self) -> Result<(), Over> {
        if self.tokens > self.limit {
            Err(Over)
        } else {
            Ok(())
        }
    }

    /// Pushes the places inside of a piece that no token reaches across: what lies between them is merged on its own.
    fn cut(&mut self, mut at: usize, end: usize) -> Result<(), Over> {
        let (mut left, len) = char_at(self.text, at);
        at += len;
        while at < end {
            let (right, len) = char_at(self.text, at);
            if !self.vocabulary.crosses(left, right) {
                self.batch.push(at);
                // Room for the piece's end.
                if self.batch.room() < 2 {
                    self.drain()?;
                }
            }
            left = right;
            at += len;
        }
        Ok(())
    }

    /// Counts what was pushed. Step by step for all, and without branches where it can be, so that the processor need not
    /// guess, and waits for memory once and not for each piece.
    fn drain(&mut self) -> Result<(), Over> {
        let batch = &mut *self.batch;
        let (mut tokens, mut misses, mut longs, mut finds) = (0, 0, 0, 0);
        let places = self.cache.short();
        for index in 0..batch.len() {
            let (begin, end) = batch.span(index);
            let count = if end - begin <= SHORT {
                let key = key(self.text, begin, end);
                places.get(key, hash_short(key))
            } else {
                0
            };
            tokens += count;
            push_if(&mut batch.missing, &mut misses, index, count == 0);
        }
        for at in 0..misses {
            let index = usize::from(batch.missing[at % BATCH]);
            let (begin, end) = batch.span(index);
            if end - begin > SHORT {
                push_if(&mut batch.long, &mut longs, index, true);
                continue;
            }
            let key = key(self.text, begin, end);
            let hash = hash_short(key);
            let is_token = self.vocabulary.has_short(key, hash);
            batch.found[finds % BATCH] = (key, hash);
            finds += usize::from(is_token);
            batch.unmerged[batch.unmerged_len % UNMERGED] = (key, hash);
            batch.unmerged_len += usize::from(!is_token);
        }
        tokens += finds as u64;
        for &(key, hash) in &batch.found[..finds] {
            self.cache.put_short(key, hash, 1);
        }
        if batch.unmerged_len > UNMERGED - BATCH {
            self.merge();
        }
        for at in 0..longs {
            let (begin, end) = self.batch.span(self.batch.long[at % BATCH].into());
            tokens += self.long(&self.text[begin..end])?;
        }
        self.batch.restart();
        self.tokens += tokens;
        self.within_limit()
    }

    /// Merges the short pieces that are neither remembered nor tokens.
    fn merge(&mut self) {
        let unmerged = &self.batch.unmerged[..self.batch.unmerged_len];
        count_short(
            self.vocabulary,
            unmerged.iter().map(|&(key, _)| key),
            |at, count| {
                self.tokens += count;
                let (key, hash) = unmerged[at];
                self.cache.put_short(key, hash, count);
            },
        );
        self.batch.unmerged_len = 0;
    }

    /// Tokens of a longer piece.
    fn long(&mut self, piece: &'t [u8]) -> Result<u64, Over> {
        if piece.len() > LONGEST_REMEMBERED {
            if self.vocabulary.has_long(piece) {
                return Ok(1);
            }
            return count_long(self.vocabulary, piece, self.limit).ok_or(Over);
        }
        let hash = hash_long(piece);
        if let Some(count) = self.cache.long(piece, hash) {
            return Ok(count);
        }
        let count = if self.vocabulary.has_long(piece) {
            1
        } else {
            count_long(self.vocabulary, piece, u64::MAX).ok_or(Over)?
        };
        self.cache.put_long(piece, hash, count);
        Ok(count)
    }
}

/// Masks that keep so many low bytes.
const KEPT: [u128; 16] = {
    let mut masks = [0; 16];
    let mut len = 1;
    while len < 16 {
        masks[len] = u128::MAX >> (128 - 8 * len);
        len += 1;
    }
    masks
};

/// The [`short`] key of a piece, in one load where sixteen bytes can be read.
#[inline]
fn key(text: &[u8], begin: usize, end: usize) -> u128 {
    match text[begin..].first_chunk() {
        Some(&bytes) => {
            let len = end - begin;
            u128::from_le_bytes(bytes) & KEPT[len % 16] | (len as u128) << LENGTH_AT
        }
        None => short(&text[begin..end]),
    }
}

/// The bytes of the code point at a place, as a number, and how many there are.
#[inline]
fn char_at(text: &[u8], at: usize) -> (u32, usize) {
    let len = match text[at] {
        0..0x80 => 1,
        0x80..0xE0 => 2,
        0xE0..0xF0 => 3,
        _ => 4,
    };
    let bytes = match text[at..].first_chunk() {
        Some(&bytes) => u32::from_le_bytes(bytes),
        None => (text[at..].iter().rev()).fold(0, |bytes, &byte| bytes << 8 | u32::from(byte)),
    };
    (bytes & u32::MAX >> (32 - 8 * len), len)
}
