//! Pieces that wait to be counted, and room for what is found of them on the way: kept from call to call, never cleared.

use super::block::BLOCK;

/// Most pieces that are looked up together.
pub(super) const BATCH: usize = 4 * BLOCK;

/// Room for the pieces that are merged together: so many wait that their merges can take turns, and a batch more fits.
pub(super) const UNMERGED: usize = BATCH + 32;

/// Room for the indices of pieces; whoever writes them knows how many there are.
pub(super) type Indices = [u8; BATCH];

/// Pieces one behind the other.
pub(super) struct Batch {
    /// Where each ends, in bytes; with where the first begins in front.
    borders: [usize; BATCH + 1],
    len: usize,
    /// Pieces that are not remembered, and of these the long ones.
    pub missing: Indices,
    pub long: Indices,
    /// Keys and hashes of short pieces that are tokens.
    pub found: [(u128, u64); BATCH],
    /// Keys and hashes of short pieces that are to be merged, collected over several batches.
    pub unmerged: [(u128, u64); UNMERGED],
    pub unmerged_len: usize,
}

impl Batch {
    pub(super) const EMPTY: Self = Self {
        borders: [0; BATCH + 1],
        len: 0,
        missing: [0; BATCH],
        long: [0; BATCH],
        found: [(0, 0); BATCH],
        unmerged: [(0, 0); UNMERGED],
        unmerged_len: 0,
    };

    /// Forgets all; the next piece is the first of a text.
    pub(super) fn clear(&mut self) {
        self.len = 0;
        self.borders[0] = 0;
        self.unmerged_len = 0;
    }

    /// Forgets all; the next piece begins where the last one ended.
    pub(super) fn restart(&mut self) {
        self.borders[0] = self.borders[self.len()];
        self.len = 0;
    }

    /// Adds the piece that ends here. There must be [`room`](Self::room).
    #[inline]
    pub(super) fn push(&mut self, end: usize) {
        self.len += 1;
        self.borders[self.len] = end;
    }

    /// How many pieces there are.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len.min(BATCH)
    }

    /// How many pieces may be added.
    #[inline]
    pub(super) fn room(&self) -> usize {
        BATCH - self.len()
    }

    /// Where a piece begins and ends.
    #[inline]
    pub(super) fn span(&self, index: usize) -> (usize, usize) {
        (self.borders[index % BATCH], self.borders[index % BATCH + 1])
    }
}

/// Adds an index to a list of `len` if it is wanted, without a branch.
#[inline]
pub(super) fn push_if(list: &mut Indices, len: &mut usize, index: usize, wanted: bool) {
    // BATCH indices fit a byte.
    list[*len % BATCH] = index as u8;
    *len += usize::from(wanted);
}
