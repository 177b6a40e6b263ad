//! What is remembered of pieces that are no tokens: how many they are merged into.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use super::engine::{CL100K, O200K, P50K, R50K};
use super::layout::{LENGTH_AT, SHORT};

/// The longest piece that is remembered, in bytes: with its length and its count it fills two lines of the processor's cache.
pub(super) const LONGEST_REMEMBERED: usize = 126;

/// Where the count begins in a place for short pieces, in bits: on top of the length.
const COUNT_AT: u32 = LENGTH_AT + 4;

/// The counts of pieces; a new one takes the place of an old one. One thread uses it at a time.
#[derive(Default)]
pub(super) struct Cache {
    /// Keys of short pieces with the count on top: pieces of at most 15 bytes have at most 15 tokens.
    short: Vec<u128>,
    /// A piece, its length, its count.
    long: Vec<[u8; 128]>,
}

impl Cache {
    fn with_bytes(bytes: usize) -> Self {
        // Half for each kind; places in powers of two. Memory that is never written to is never taken.
        let places = |size: usize| match bytes / 2 / size {
            0 => 0,
            places => 1 << places.ilog2(),
        };
        Self {
            short: vec![0; places(16)],
            long: vec![[0; 128]; places(128)],
        }
    }

    /// The count of a short piece, by its key and the key's hash.
    #[inline]
    pub(super) fn short(&self, key: u128, hash: u64) -> Option<u64> {
        let found = *self.short.get(index(hash, self.short.len()))?;
        let count = (found >> COUNT_AT) as u64;
        (found ^ key == u128::from(count) << COUNT_AT && count != 0).then_some(count)
    }

    /// Remembers the count of a short piece.
    #[inline]
    pub(super) fn put_short(&mut self, key: u128, hash: u64, count: u64) {
        debug_assert!(count <= SHORT as u64);
        let at = index(hash, self.short.len());
        if let Some(place) = self.short.get_mut(at) {
            *place = key | u128::from(count) << COUNT_AT;
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

/// A place among a power of two.
#[inline]
fn index(hash: u64, places: usize) -> usize {
    hash as usize & places.wrapping_sub(1)
}

/// Bytes of one [`Cache`], as far as it is written to; see [`set_cache_bytes`].
static CACHE_BYTES: AtomicUsize = AtomicUsize::new(DEFAULT_CACHE_BYTES);

/// 65,536 short and 8,192 longer pieces.
pub const DEFAULT_CACHE_BYTES: usize = 2 << 20;

/// Threads that remember pieces of one vocabulary at the same time; others count without.
const MOST_THREADS: usize = 16;

/// The most that a cache may be set to take.
const MOST_BYTES: usize = 1 << 30;

/// Sets how much memory a cache of pieces may take, in bytes; at most 1 GiB. There is one for each vocabulary and each thread
/// that counts with it at the same time, at most 16 of 4; they take memory only as pieces are remembered. 0 remembers none.
/// Where the number is another than before, what is remembered goes: at once, or when the thread that is using it next does.
/// Any thread may call it.
pub fn set_cache_bytes(bytes: usize) {
    let bytes = bytes.min(MOST_BYTES);
    if CACHE_BYTES.swap(bytes, Ordering::Relaxed) != bytes {
        for engine in [&O200K, &CL100K, &P50K, &R50K] {
            engine.forget();
        }
    }
}

/// What [`set_cache_bytes`] has set, in bytes.
#[must_use]
pub fn cache_bytes() -> usize {
    CACHE_BYTES.load(Ordering::Relaxed)
}

/// The caches of a vocabulary. Each thread takes the first that is free, so that one thread always meets the same one.
pub(super) struct Pool([Mutex<Held>; MOST_THREADS]);

/// A cache, and how large it was asked to be.
struct Held {
    bytes: usize,
    cache: Cache,
}

impl Held {
    const NONE: Self = Self {
        bytes: 0,
        cache: Cache {
            short: Vec::new(),
            long: Vec::new(),
        },
    };
}

impl Pool {
    pub(super) const fn new() -> Self {
        Self([const { Mutex::new(Held::NONE) }; MOST_THREADS])
    }

    /// Gives back the memory of all caches but those that a thread is using.
    pub(super) fn forget(&self) {
        for mut held in self.0.iter().filter_map(free) {
            *held = Held::NONE;
        }
    }

    /// Runs `work` with a cache that no other thread uses meanwhile.
    pub(super) fn with<R>(&self, work: impl FnOnce(&mut Cache) -> R) -> R {
        let bytes = cache_bytes();
        let Some(mut held) = self.0.iter().find_map(free) else {
            return work(&mut Cache::default());
        };
        if held.bytes != bytes {
            *held = Held {
                bytes,
                cache: Cache::with_bytes(bytes),
            };
        }
        work(&mut held.cache)
    }
}

fn free(cache: &Mutex<Held>) -> Option<MutexGuard<'_, Held>> {
    match cache.try_lock() {
        Ok(held) => Some(held),
        // A place is written whole or is told by its length and bytes: a thread that panicked left nothing wrong behind.
        Err(TryLockError::Poisoned(error)) => Some(PoisonError::into_inner(error)),
        Err(TryLockError::WouldBlock) => None,
    }
}
