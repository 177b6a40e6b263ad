//! Remembers how many tokens a text has.
//!
//! Keyed by Python's own hash of the string, which a string object computes once and keeps, and confirmed by the string itself:
//! an equal text is a hit, the same object without looking at its bytes. Texts are held as long as they are remembered, so
//! memory is bounded by their number and their size. Two generations: when the young one is full the old one goes.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyString;
use rustc_hash::FxBuildHasher;

/// Most texts remembered by one tokenizer, over all shards and both generations.
const MOST_TEXTS: usize = 1 << 17;

/// Most code points of remembered texts, counted likewise.
const MOST_CHARS: usize = 64 << 20;

/// Locks, so that threads of a free-threaded interpreter rarely meet.
const SHARDS: usize = 16;

/// What is remembered of a text: its count, or the count of what a cut leaves of it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct MemoKey {
    hash: isize,
    chars: usize,
    variant: u64,
}

struct Entry {
    text: Py<PyString>,
    tokens: u64,
}

#[derive(Default)]
struct Shard {
    young: HashMap<MemoKey, Entry, FxBuildHasher>,
    old: HashMap<MemoKey, Entry, FxBuildHasher>,
    young_chars: usize,
}

/// Token counts of texts.
pub(super) struct Memo {
    shards: [Mutex<Shard>; SHARDS],
}

impl Memo {
    pub(super) fn new() -> Self {
        Self {
            shards: std::array::from_fn(|_| Mutex::default()),
        }
    }

    /// The key of a text under a variant; 0 is the text itself.
    pub(super) fn key(text: &Bound<'_, PyString>, chars: usize, variant: u64) -> PyResult<MemoKey> {
        Ok(MemoKey {
            hash: text.hash()?,
            chars,
            variant,
        })
    }

    fn shard(&self, key: MemoKey) -> &Mutex<Shard> {
        &self.shards[key.hash.unsigned_abs() % SHARDS]
    }

    /// The count of a text that was remembered. O(1) for the same object, else O(chars) to compare.
    pub(super) fn get(&self, text: &Bound<'_, PyString>, key: MemoKey) -> Option<u64> {
        let py = text.py();
        let same = |entry: &&Entry| {
            entry.text.is(text) || text.as_any().eq(entry.text.bind(py)).unwrap_or(false)
        };
        // A thread that panicked here left a whole map behind.
        let mut shard = self
            .shard(key)
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = shard.young.get(&key).filter(same) {
            return Some(entry.tokens);
        }
        let tokens = shard.old.get(&key).filter(same)?.tokens;
        // Still in use: it moves to the young ones.
        let entry = shard.old.remove(&key)?;
        shard.insert(key, entry);
        Some(tokens)
    }

    /// Remembers a count.
    pub(super) fn put(&self, text: &Bound<'_, PyString>, key: MemoKey, tokens: u64) {
        if key.chars > MOST_CHARS / SHARDS / 2 {
            return;
        }
        let entry = Entry {
            text: text.clone().unbind(),
            tokens,
        };
        self.shard(key)
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(key, entry);
    }
}

impl Shard {
    fn insert(&mut self, key: MemoKey, entry: Entry) {
        let full = self.young.len() >= MOST_TEXTS / SHARDS / 2
            || self.young_chars + key.chars > MOST_CHARS / SHARDS / 2;
        if full {
            self.old = std::mem::take(&mut self.young);
            self.young_chars = 0;
        }
        if self.young.insert(key, entry).is_none() {
            self.young_chars += key.chars;
        }
    }
}
