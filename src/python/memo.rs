//! Remembers how many tokens a text has.
//!
//! Keyed by Python's own hash of the string, which a string object computes once and keeps, and confirmed by the string itself:
//! an equal text is a hit, the same object without looking at its bytes. Texts are held as long as they are remembered, so
//! what is bounded is the memory that they and their places take. Two generations: when the young one is full the old one goes.
//!
//! Texts of JSON, which come without the interpreter, are remembered beside them as they are written, within a bound of the same
//! size.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError, Weak};

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyString;
use rustc_hash::FxBuildHasher;

/// Most bytes that the texts remembered by one tokenizer take, over all shards and both generations.
static MOST_BYTES: AtomicUsize = AtomicUsize::new(16 << 20);

/// Locks, so that threads of a free-threaded interpreter rarely meet. Those of Python's texts are taken only by threads that are
/// attached to the interpreter and do not let go of it meanwhile, so that a fork finds all of them open; those of JSON's are not
/// waited for.
const SHARDS: usize = 8;

/// What a text takes beside its object: its place in a table that is at worst 7/16 full, and what an allocator rounds up.
const PLACE: usize = (size_of::<(MemoKey, Entry<Box<str>>)>() + 1) * 16 / 7 + 16;

/// The variant of a text that was made for the count.
const MADE: u64 = 2;

/// What is remembered of a text: its count, or the count of what a cut leaves of it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct MemoKey {
    hash: u64,
    variant: u64,
}

struct Entry<T> {
    text: T,
    tokens: u64,
}

struct Generation<T> {
    entries: HashMap<MemoKey, Entry<T>, FxBuildHasher>,
    bytes: usize,
}

impl<T> Default for Generation<T> {
    fn default() -> Self {
        Self {
            entries: HashMap::default(),
            bytes: 0,
        }
    }
}

struct Shard<T> {
    young: Generation<T>,
    old: Generation<T>,
}

impl<T> Default for Shard<T> {
    fn default() -> Self {
        Self {
            young: Generation::default(),
            old: Generation::default(),
        }
    }
}

type Shards<T> = [Mutex<Shard<T>>; SHARDS];

/// Token counts of texts.
pub(super) struct Memo {
    shards: Shards<Py<PyString>>,
    written: Shards<Box<str>>,
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
        memo.shards.iter().for_each(|shard| locked(shard).shrink());
        let free = memo.written.iter().filter_map(locked_if_free);
        free.for_each(|mut shard| shard.shrink());
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

/// `None` where another thread keeps it, which in a process that was forked may be one that is no more.
fn locked_if_free<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    const TRIES: usize = 100;
    for _ in 0..TRIES {
        match mutex.try_lock() {
            Ok(held) => return Some(held),
            Err(TryLockError::Poisoned(error)) => return Some(error.into_inner()),
            Err(TryLockError::WouldBlock) => std::hint::spin_loop(),
        }
    }
    None
}

impl Memo {
    pub(super) fn new() -> Arc<Self> {
        let memo = Arc::new(Self {
            shards: std::array::from_fn(|_| Mutex::default()),
            written: std::array::from_fn(|_| Mutex::default()),
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

    /// The key of a text of JSON, as it is written.
    pub(super) fn key_of_written(text: &str) -> MemoKey {
        MemoKey {
            hash: FxBuildHasher.hash_one(text),
            variant: 0,
        }
    }

    fn shard(&self, key: MemoKey) -> MutexGuard<'_, Shard<Py<PyString>>> {
        locked(&self.shards[at(key)])
    }

    /// The shard of a text of JSON, if it is free.
    fn written(&self, key: MemoKey) -> Option<MutexGuard<'_, Shard<Box<str>>>> {
        locked_if_free(&self.written[at(key)])
    }

    /// The count of a text of JSON that was remembered.
    pub(super) fn get_written(&self, text: &str, key: MemoKey) -> Option<u64> {
        let mut shard = self.written(key)?;
        shard.get(key, |known| **known == *text, |known| known.len() + PLACE)
    }

    /// Remembers the count of a text of JSON.
    pub(super) fn put_written(&self, text: &str, key: MemoKey, tokens: u64) {
        let weight = text.len() + PLACE;
        if weight <= share()
            && let Some(mut shard) = self.written(key)
        {
            let text = Box::from(text);
            shard.insert(key, Entry { text, tokens }, weight);
        }
    }

    /// The count of a text that was remembered. O(1) for the same object, else O(chars) to compare.
    pub(super) fn get(&self, text: &Bound<'_, PyString>, key: MemoKey) -> Option<u64> {
        let py = text.py();
        let same = |known: &Py<PyString>| {
            known.is(text) || text.as_any().eq(known.bind(py)).unwrap_or(false)
        };
        self.shard(key)
            .get(key, same, |known| weight(known.bind(py)))
    }

    /// The same of a text that was made for the count.
    pub(super) fn get_made(&self, py: Python<'_>, text: &str, key: MemoKey) -> Option<u64> {
        let same = |known: &Py<PyString>| known.bind(py).to_str().is_ok_and(|known| known == text);
        self.shard(key)
            .get(key, same, |known| weight(known.bind(py)))
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
        let python = self.shards.iter().map(|shard| locked(shard).bytes());
        let json = self.written.iter().filter_map(locked_if_free);
        let json = json.map(|shard| shard.bytes());
        python.chain(json).sum()
    }
}

/// The shard of a key.
fn at(key: MemoKey) -> usize {
    usize::try_from(key.hash % SHARDS as u64).unwrap_or(0)
}

/// The bytes that remembering a text takes: those of the string object, its UTF-8 form among them where Python keeps one, and
/// of its place.
fn weight(text: &Bound<'_, PyString>) -> usize {
    text.call_method0(intern!(text.py(), "__sizeof__"))
        .and_then(|bytes| bytes.extract::<usize>())
        .map_or(usize::MAX, |bytes| bytes + PLACE)
}

impl<T> Shard<T> {
    /// The count of a text; `weigh` is asked where it moves to the young ones.
    fn get(
        &mut self,
        key: MemoKey,
        same: impl Fn(&T) -> bool,
        weigh: impl Fn(&T) -> usize,
    ) -> Option<u64> {
        let same = |entry: &&Entry<T>| same(&entry.text);
        if let Some(entry) = self.young.entries.get(&key).filter(same) {
            return Some(entry.tokens);
        }
        let tokens = self.old.entries.get(&key).filter(same)?.tokens;
        // Still in use: it moves to the young ones.
        let entry = self.old.entries.remove(&key)?;
        let weight = weigh(&entry.text);
        self.insert(key, entry, weight);
        Some(tokens)
    }

    /// A text that comes twice, from two threads at once, weighs twice: rather too much than too little.
    fn insert(&mut self, key: MemoKey, entry: Entry<T>, weight: usize) {
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

    const fn bytes(&self) -> usize {
        self.young.bytes + self.old.bytes
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
