//! Byte pair merging: which tokens a piece is merged into.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::layout::text_of;
use super::vocabulary::Vocabulary;

/// The longest text that [`starts`] merges, in bytes.
pub(super) const SMALL: usize = 64;

/// No pair, as a key: above those of all pairs, the position in the lowest bits like theirs.
const NO_PAIR: i32 = !(SMALL as i32 - 1) & i32::MAX;

/// A text of at most `MOST` bytes, which is 16 or 64, on its way to its tokens.
///
/// The textbook's loop, the lowest rank first, the leftmost of equals: the tokens in a bit set, so that neighbours are found by
/// counting zeros, and rank and position in one number, so that one pass finds both. O(bytes^2 / 4), with tiny constants.
struct Merging<const MOST: usize> {
    /// The token that begins at a byte, if one does.
    ids: [u32; MOST],
    /// What it is merged into with the one behind it, and the byte's position in the lowest six bits.
    keys: [i32; MOST],
    /// The bytes at which tokens begin.
    starts: u64,
    /// Keys that are looked at: all of the text's, and so many that the compiler takes several at once.
    len: usize,
}

/// The key of a merge at a position.
#[inline]
fn key(id: Option<u32>, at: usize) -> i32 {
    id.map_or(NO_PAIR, |id| (id as i32) << 6) | at as i32
}

impl<const MOST: usize> Merging<MOST> {
    const EMPTY: Self = Self {
        ids: [0; MOST],
        keys: [NO_PAIR; MOST],
        starts: 0,
        len: 0,
    };

    /// Takes on a text, all bytes on their own.
    #[inline]
    fn load(&mut self, vocabulary: &Vocabulary, text: &[u8]) {
        let len = text.len().min(MOST);
        self.starts = u64::MAX.checked_shr((SMALL - len) as u32).unwrap_or(0);
        self.len = len.next_multiple_of(8);
        for (id, &byte) in self.ids.iter_mut().zip(text) {
            *id = vocabulary.byte(byte);
        }
        let pairs = len.saturating_sub(1);
        for (at, two) in text.windows(2).enumerate().take(pairs) {
            self.keys[at] = key(vocabulary.bigram(two[0], two[1]), at);
        }
        self.keys[pairs..self.len].fill(NO_PAIR);
    }

    /// Takes on a short text, by its key.
    #[inline]
    fn load_short(&mut self, vocabulary: &Vocabulary, key: u128) {
        let (bytes, len) = text_of(key);
        self.load(vocabulary, &bytes[..len]);
    }

    /// Merges one pair. `false` if there is none to merge.
    #[inline]
    fn step(&mut self, vocabulary: &Vocabulary) -> bool {
        let keys = self.keys[..self.len.min(MOST)].iter().copied();
        let lowest = keys.fold(NO_PAIR, i32::min);
        if lowest >= NO_PAIR {
            return false;
        }
        let at = lowest as usize % MOST;
        let id = (lowest >> 6) as u32;
        let behind = self.starts & (u64::MAX - 1) << at;
        let right = behind.trailing_zeros() as usize % MOST;
        self.starts &= !(1 << right);
        self.keys[right] = NO_PAIR;
        self.ids[at] = id;
        let behind = behind & (behind - 1);
        let before = self.starts & !(u64::MAX << at);
        let next = behind.trailing_zeros() as usize % MOST;
        let previous = (before | 1).ilog2() as usize % MOST;
        let with_next = key(vocabulary.merged(id, self.ids[next]), at);
        let with_previous = key(vocabulary.merged(self.ids[previous], id), previous);
        self.keys[at] = if behind == 0 { NO_PAIR } else { with_next };
        // Where there is none before, position 0 is this one, and keeps its key.
        let kept = self.keys[previous];
        self.keys[previous] = if before == 0 { kept } else { with_previous };
        true
    }
}

/// Where the tokens of a text of at most 64 bytes begin, a bit a byte.
fn starts(vocabulary: &Vocabulary, text: &[u8]) -> u64 {
    let mut merging = Merging::<SMALL>::EMPTY;
    merging.load(vocabulary, text);
    while merging.step(vocabulary) {}
    merging.starts
}

/// Texts that are merged in turns: while one waits for memory, the others go on.
const LANES: usize = 8;

/// Room for a short text.
const TINY: usize = 16;

/// Counts the tokens of each of some [`short`](super::layout::short) texts, given by their keys, and tells them with the keys'
/// indices, in any order.
pub(super) fn count_short(
    vocabulary: &Vocabulary,
    keys: impl Iterator<Item = u128>,
    mut counted: impl FnMut(usize, u64),
) {
    let mut keys = keys.enumerate();
    let mut lanes = [const { Merging::<TINY>::EMPTY }; LANES];
    let mut indices = [0; LANES];
    let mut busy = 0;
    while busy < LANES
        && let Some((index, key)) = keys.next()
    {
        lanes[busy].load_short(vocabulary, key);
        indices[busy] = index;
        busy += 1;
    }
    while busy > 0 {
        let mut lane = 0;
        while lane < busy {
            if lanes[lane].step(vocabulary) {
                lane += 1;
                continue;
            }
            counted(indices[lane], u64::from(lanes[lane].starts.count_ones()));
            if let Some((index, key)) = keys.next() {
                lanes[lane].load_short(vocabulary, key);
                indices[lane] = index;
                lane += 1;
            } else {
                // The last lane goes on in its place.
                busy -= 1;
                lanes.swap(lane, busy);
                indices.swap(lane, busy);
            }
        }
    }
}

/// Where the tokens of a text of any length begin, in bytes, its end behind them. O(bytes log bytes).
pub(super) fn long_starts(vocabulary: &Vocabulary, text: &[u8]) -> Vec<usize> {
    const NONE: usize = usize::MAX;
    let len = text.len();
    let mut ids: Vec<u32> = text.iter().map(|&byte| vocabulary.byte(byte)).collect();
    // Where the token behind begins, and the one before; NONE marks a place at which no token begins any more.
    let mut next: Vec<usize> = (1..=len).collect();
    let mut previous: Vec<usize> = (0..len).map(|at| at.wrapping_sub(1)).collect();
    // What was pushed stays though the pair may be gone: then its ids no longer merge into this one.
    let mut heap: BinaryHeap<Reverse<(u32, usize)>> = (text.windows(2).enumerate())
        .filter_map(|(at, two)| Some(Reverse((vocabulary.bigram(two[0], two[1])?, at))))
        .collect();
    while let Some(Reverse((id, at))) = heap.pop() {
        let right = next[at];
        if right == NONE || right == len || vocabulary.merged(ids[at], ids[right]) != Some(id) {
            continue;
        }
        ids[at] = id;
        let behind = next[right];
        next[at] = behind;
        next[right] = NONE;
        if behind < len {
            previous[behind] = at;
            heap.extend(
                vocabulary
                    .merged(id, ids[behind])
                    .map(|id| Reverse((id, at))),
            );
        }
        let before = previous[at];
        if before != NONE {
            heap.extend(
                vocabulary
                    .merged(ids[before], id)
                    .map(|id| Reverse((id, before))),
            );
        }
    }
    (0..len)
        .filter(|&at| next[at] != NONE)
        .chain([len])
        .collect()
}

/// Where tokens begin in a window, its end behind them.
fn window_starts(vocabulary: &Vocabulary, window: &[u8]) -> Vec<usize> {
    if window.len() > SMALL {
        return long_starts(vocabulary, window);
    }
    let mut alive = starts(vocabulary, window);
    let mut all = Vec::with_capacity(SMALL + 1);
    while alive != 0 {
        all.push(alive.trailing_zeros() as usize);
        alive &= alive - 1;
    }
    all.push(window.len());
    all
}

/// How many tokens at the end of a window are merged again with what follows.
const DOUBTFUL: usize = 3;

/// The window before the present one, in case that fewer of its tokens are to be kept.
struct Before {
    /// Where it begins, and the tokens in front of it.
    at: usize,
    counted: u64,
    /// Where its tokens begin.
    starts: Vec<usize>,
    /// How many of them are kept.
    kept: usize,
}

/// Counts the tokens of a long piece window by window; `None` as soon as there are more than `limit`.
///
/// Tokens are the merge of a text if and only if each two neighbours are the merge of their own text (Antoni and others, crate
/// `bpe`, 2023, "Backtracking"). So windows may be merged one by one, each beginning with the last token that is kept of the
/// one before it: where it comes out as that same token, all neighbours are such. The last few tokens of a window are not
/// kept, since they would be others if they saw what follows; where that were too few, fewer are kept. Should no seam hold, all
/// is merged at once. O(bytes) but for that, which no text is known to need.
pub(super) fn count_long(vocabulary: &Vocabulary, piece: &[u8], limit: u64) -> Option<u64> {
    let all_at_once = || {
        let tokens = long_starts(vocabulary, piece).len() as u64 - 1;
        (tokens <= limit).then_some(tokens)
    };
    let mut size = SMALL;
    // Where the window begins, the tokens in front of it, and the length of the token that it must begin with.
    let (mut at, mut counted, mut seam) = (0, 0, None);
    let mut last: (&[u8], Vec<usize>) = (&[], Vec::new());
    let mut before: Option<Before> = None;
    loop {
        let window = &piece[at..piece.len().min(at + size)];
        // Of a run that repeats itself all windows are alike.
        if window != last.0 {
            last = (window, window_starts(vocabulary, window));
        }
        let starts = &last.1;
        if seam.is_some_and(|length| starts[1] != length) {
            let Some(before) = before.as_mut().filter(|before| before.kept > 1) else {
                return all_at_once();
            };
            before.kept -= 1;
            at = before.at + before.starts[before.kept];
            counted = before.counted + before.kept as u64;
            seam = Some(before.starts[before.kept + 1] - before.starts[before.kept]);
            continue;
        }
        let tokens = starts.len() - 1;
        if at + window.len() == piece.len() {
            let all = counted + tokens as u64;
            return (all <= limit).then_some(all);
        }
        let kept = tokens.saturating_sub(DOUBTFUL);
        if starts[kept] * 2 < size {
            // Few long tokens: a window that shows more of them.
            size *= 2;
            continue;
        }
        before = Some(Before {
            at,
            counted,
            starts: starts.clone(),
            kept,
        });
        counted += kept as u64;
        if counted > limit {
            return None;
        }
        seam = Some(starts[kept + 1] - starts[kept]);
        at += starts[kept];
    }
}
