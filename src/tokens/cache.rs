//! What is remembered of pieces: how many tokens they are.

use std::hint::select_unpredictable;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use super::batch::Batch;
use super::layout::{LENGTH_AT, SHORT};

/// The longest piece that is remembered, in bytes: with its length and its count it fills two lines of the processor's cache.
pub(super) const LONGEST_REMEMBERED: usize = 126;

/// Where the count begins in a place for short pieces, in bits: on top of the length.
const COUNT_AT: u32 = LENGTH_AT + 4;

/// The counts of pieces; a new one takes the place of an old one. One thread uses it at a time.
#[derive(Default)]
pub(super) struct Cache {
    /// Keys of short pieces with the count on top: pieces of at most 15 bytes have at most 15 tokens. Two that meet stay both.
    short: Vec<[u128; 2]>,
    /// A piece, its length, its count.
    long: Vec<[u8; 128]>,
}

impl Cache {
    fn with_bytes(bytes: usize) -> Self {
        // Two thirds for short ones; places in powers of two. Memory that is never written to is never taken.
        let places = |bytes: usize, size: usize| match bytes / size {
            0 => 0,
            places => 1 << places.ilog2(),
        };
        Self {
            short: vec![[0; 2]; places(bytes / 3 * 2, 32)],
            long: vec![[0; 128]; places(bytes / 3, 128)],
        }
    }

    /// The counts of short pieces.
    #[inline]
    pub(super) fn short(&self) -> Short<'_> {
        Short(&self.short)
    }

    /// Remembers the count of a short piece that is not remembered. 0 is no count.
    #[inline]
    pub(super) fn put_short(&mut self, key: u128, hash: u64, count: u64) {
        debug_assert!(count <= SHORT as u64);
        let at = index(hash, self.short.len());
        if let Some(place) = self.short.get_mut(at) {
            *place = [key | u128::from(count) << COUNT_AT, place[0]];
        }
    }

    /// The count of a longer piece of at most [`LONGEST_REMEMBERED`] bytes.
    #[inline]
    pub(super) fn long(&self, piece: &[u8], hash: u64) -> Option<u64> {
        let found = self.long.get(index(hash, self.long.len()))?;
        let same = usize::from(found[126]) == piece.len() && found[..piece.len()] == *piece;
        same.then_some(u64::from(found[127]))
    }

    /// Remembers the count of a longer piece.
    pub(super) fn put_long(&mut self, piece: &[u8], hash: u64, count: u64) {
        let at = index(hash, self.long.len());
        if let Some(place) = self.long.get_mut(at) {
            place[..piece.len()].copy_from_slice(piece);
            // At most 126 of each.
            place[126] = piece.len() as u8;
            place[127] = count as u8;
        }
    }
}

/// The counts of short pieces.
#[derive(Clone, Copy)]
pub(super) struct Short<'c>(&'c [[u128; 2]]);

impl Short<'_> {
    /// The count of a piece, by its key and the key's hash; 0 if it is not remembered.
    #[inline]
    pub(super) fn get(self, key: u128, hash: u64) -> u64 {
        let Some(&[young, old]) = self.0.get(index(hash, self.0.len())) else {
            return 0;
        };
        // Where all other bits are the key's, the highest four are the count.
        let count = |found: u128| {
            let difference = found ^ key;
            let (low, high) = (difference as u64, (difference >> 64) as u64);
            select_unpredictable(low | high << 4 == 0, high >> 60, 0)
        };
        count(young) | count(old)
    }
}

/// A place among a power of two.
#[inline]
fn index(hash: u64, places: usize) -> usize {
    hash as usize & places.wrapping_sub(1)
}

/// Bytes of one [`Cache`], as far as it is written to; see [`set_cache_bytes`](super::set_cache_bytes).
static CACHE_BYTES: AtomicUsize = AtomicUsize::new(DEFAULT_CACHE_BYTES);

/// 131,072 short and 8,192 longer pieces.
pub const DEFAULT_CACHE_BYTES: usize = 3 << 20;

/// Threads that remember pieces of one vocabulary at the same time; others count without.
const MOST_THREADS: usize = 16;

/// The most that a cache may be set to take.
const MOST_BYTES: usize = 1 << 30;

/// Sets how many bytes a cache may take from its next use on. Gives what was set before.
pub(super) fn swap_cache_bytes(bytes: usize) -> usize {
    CACHE_BYTES.swap(bytes.min(MOST_BYTES), Ordering::Relaxed)
}

/// What [`set_cache_bytes`](super::set_cache_bytes) has set, in bytes.
#[must_use]
pub fn cache_bytes() -> usize {
    CACHE_BYTES.load(Ordering::Relaxed)
}

/// The caches of a vocabulary, each with a batch to work in. A thread takes the first that is free, so that one thread alone
/// always meets the same one.
pub(super) struct Pool([Mutex<Held>; MOST_THREADS]);

struct Held {
    /// How large the cache was asked to be.
    bytes: usize,
    cache: Cache,
    batch: Batch,
}

impl Held {
    const EMPTY: Self = Self {
        bytes: 0,
        cache: Cache {
            short: Vec::new(),
            long: Vec::new(),
        },
        batch: Batch::EMPTY,
    };
}

impl Pool {
    #[allow(clippy::large_stack_arrays)] // only statics are made of it
    pub(super) const fn new() -> Self {
        Self([const { Mutex::new(Held::EMPTY) }; MOST_THREADS])
    }

    /// Gives back the memory of all caches but those that a thread is using.
    pub(super) fn forget(&self) {
        for mut held in self.0.iter().filter_map(free) {
            held.bytes = 0;
            held.cache = Cache::default();
        }
    }

    /// Runs `work` with a cache and a batch that no other thread uses meanwhile.
    pub(super) fn with<R>(&self, work: impl FnOnce(&mut Cache, &mut Batch) -> R) -> R {
        let bytes = cache_bytes();
        let Some(mut held) = self.0.iter().find_map(free) else {
            let mut held = Held::EMPTY;
            return work(&mut held.cache, &mut held.batch);
        };
        let held = &mut *held;
        if held.bytes != bytes {
            held.bytes = bytes;
            held.cache = Cache::with_bytes(bytes);
        }
        work(&mut held.cache, &mut held.batch)
    }
}

fn free(held: &Mutex<Held>) -> Option<MutexGuard<'_, Held>> {
    match held.try_lock() {
        Ok(held) => Some(held),
        // A place is written whole or is told by its length and bytes: a thread that panicked left nothing wrong behind.
        Err(TryLockError::Poisoned(error)) => Some(PoisonError::into_inner(error)),
        Err(TryLockError::WouldBlock) => None,
    }
}
