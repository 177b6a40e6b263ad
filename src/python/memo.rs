//! Remembers how many tokens a text has.
//!
//! Keyed by Python's own hash of the string, which a string object computes once and keeps, and confirmed by the string itself:
//! an equal text is a hit, the same object without looking at its bytes. Texts are held as long as they are remembered, so
//! what is bounded is the memory that they and their places take. Two generations: when the young one is full the old one goes.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyString;
use rustc_hash::FxBuildHasher;

/// Most bytes that the texts remembered by one tokenizer take, over all shards and both generations.
static MOST_BYTES: AtomicUsize = AtomicUsize::new(16 << 20);

/// Locks, so that threads of a free-threaded interpreter rarely meet. They are taken only by threads that are attached to the
/// interpreter and do not let go of it meanwhile, so that a fork finds all of them open.
const SHARDS: usize = 8;

/// What a text takes beside its object: its place in a table that is at worst 7/16 full, and what an allocator rounds up.
const PLACE: usize = (size_of::<(MemoKey, Entry)>() + 1) * 16 / 7 + 16;

/// The variant of a text that was made for the count.
const MADE: u64 = 2;

/// What is remembered of a text: its count, or the count of what a cut leaves of it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct MemoKey {
    hash: u64,
    variant: u64,
}

struct Entry {
    text: Py<PyString>,
    tokens: u64,
}

#[derive(Default)]
struct Generation {
    entries: HashMap<MemoKey, Entry, FxBuildHasher>,
    bytes: usize,
}

#[derive(Default)]
struct Shard {
    young: Generation,
    old: Generation,
}

/// Token counts of texts.
pub(super) struct Memo {
    shards: [Mutex<Shard>; SHARDS],
}

/// All that live, so that a lower limit holds for each at once.
static MEMOS: Mutex<Vec<Weak<Memo>>> = Mutex::new(Vec::new());

/// The most bytes that the texts remembered by one tokenizer take.
pub(super) fn most_bytes() -> usize {
    MOST_BYTES.load(Ordering::Relaxed)
}

/// Sets [`most_bytes`]. Generations that are larger than their share go.
pub(super) fn set_most_bytes(bytes: usize) {
    MOST_BYTES.store(bytes, Ordering::Relaxed);
    let memos: Vec<_> = locked(&MEMOS).iter().filter_map(Weak::upgrade).collect();
    for memo in memos {
        // Whoever takes a shard's lock from now on knows the new limit.
        memo.each(Shard::shrink);
    }
}

/// The share of one generation of one shard.
fn share() -> usize {
    most_bytes() / SHARDS / 2
}

/// A thread that panicked left a whole map behind.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Memo {
    pub(super) fn new() -> Arc<Self> {
        let memo = Arc::new(Self {
            shards: std::array::from_fn(|_| Mutex::default()),
        });
        let mut memos = locked(&MEMOS);
        if memos.len() == memos.capacity() {
            memos.retain(|memo| memo.strong_count() > 0);
        }
        memos.push(Arc::downgrade(&memo));
        memo
    }

    /// The key of a text under a variant; 0 is the text itself.
    pub(super) fn key(text: &Bound<'_, PyString>, variant: u64) -> PyResult<MemoKey> {
        Ok(MemoKey {
            hash: text.hash()?.cast_unsigned() as u64,
            variant,
        })
    }

    /// The key of a text that was made for the count: another hash, which is had without a Python string. No variant of a cut is
    /// even.
    pub(super) fn key_of_made(text: &str) -> MemoKey {
        MemoKey {
            hash: FxBuildHasher.hash_one(text),
            variant: MADE,
        }
    }

    fn shard(&self, key: MemoKey) -> MutexGuard<'_, Shard> {
        let shard = usize::try_from(key.hash % SHARDS as u64).unwrap_or(0);
        locked(&self.shards[shard])
    }

    /// The count of a text that was remembered. O(1) for the same object, else O(chars) to compare.
    pub(super) fn get(&self, text: &Bound<'_, PyString>, key: MemoKey) -> Option<u64> {
        let py = text.py();
        self.shard(key).get(py, key, |known| {
            known.is(text) || text.as_any().eq(known.bind(py)).unwrap_or(false)
        })
    }

    /// The same of a text that was made for the count.
    pub(super) fn get_made(&self, py: Python<'_>, text: &str, key: MemoKey) -> Option<u64> {
        self.shard(key).get(py, key, |known| {
            known.bind(py).to_str().is_ok_and(|known| known == text)
        })
    }

    /// Remembers a count.
    pub(super) fn put(&self, text: &Bound<'_, PyString>, key: MemoKey, tokens: u64) {
        let entry = Entry {
            text: text.clone().unbind(),
            tokens,
        };
        let weight = weight(text);
        self.shard(key).insert(key, entry, weight);
    }

    /// The bytes that all of it takes.
    pub(super) fn bytes(&self) -> usize {
        let mut bytes = 0;
        self.each(|shard| bytes += shard.young.bytes + shard.old.bytes);
        bytes
    }

    fn each(&self, mut work: impl FnMut(&mut Shard)) {
        for shard in &self.shards {
            work(&mut locked(shard));
        }
    }
}

/// The bytes that remembering a text takes: those of the string object, its UTF-8 form among them where Python keeps one, and
/// of its place.
fn weight(text: &Bound<'_, PyString>) -> usize {
    text.call_method0(intern!(text.py(), "__sizeof__"))
        .and_then(|bytes| bytes.extract::<usize>())
        .map_or(usize::MAX, |bytes| bytes + PLACE)
}

impl Shard {
    fn get(
        &mut self,
        py: Python<'_>,
        key: MemoKey,
        same: impl Fn(&Py<PyString>) -> bool,
    ) -> Option<u64> {
        let same = |entry: &&Entry| same(&entry.text);
        if let Some(entry) = self.young.entries.get(&key).filter(same) {
            return Some(entry.tokens);
        }
        let tokens = self.old.entries.get(&key).filter(same)?.tokens;
        // Still in use: it moves to the young ones.
        let entry = self.old.entries.remove(&key)?;
        let weight = weight(entry.text.bind(py));
        self.insert(key, entry, weight);
        Some(tokens)
    }

    /// A text that comes twice, from two threads at once, weighs twice: rather too much than too little.
    fn insert(&mut self, key: MemoKey, entry: Entry, weight: usize) {
        let share = share();
        if weight > share {
            return;
        }
        if self.young.bytes + weight > share {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.bytes += weight;
        self.young.entries.insert(key, entry);
    }

    fn shrink(&mut self) {
        let share = share();
        for generation in [&mut self.young, &mut self.old] {
            if generation.bytes > share {
                *generation = Generation::default();
            }
        }
    }
}
