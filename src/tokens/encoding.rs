//! The built-in encodings, exact to the token.

use std::convert::Infallible;

use super::Keep;
use super::engine::{CL100K, Engine, O200K, P50K, R50K};
use super::layout::LONGEST;
use super::truncate::{Rate, reach, truncate_additive};

/// A built-in encoding. Its vocabulary lies in the library itself, as tables that are read in place: there is nothing to load,
/// and threads and processes share them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// gpt-4o and later.
    O200kBase,
    /// gpt-oss: the same ranks and pattern as [`O200kBase`](Self::O200kBase), more special tokens, which text never is.
    O200kHarmony,
    /// gpt-4, gpt-3.5, text-embedding-3.
    Cl100kBase,
    /// text-davinci-003, code-davinci-002.
    P50kBase,
    /// text-davinci-edit-001: [`P50kBase`](Self::P50kBase) with more special tokens.
    P50kEdit,
    /// davinci, text-davinci-001.
    R50kBase,
    /// gpt-2: the same as [`R50kBase`](Self::R50kBase).
    Gpt2,
}

impl Encoding {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::O200kBase,
        Self::O200kHarmony,
        Self::Cl100kBase,
        Self::P50kBase,
        Self::P50kEdit,
        Self::R50kBase,
        Self::Gpt2,
    ];

    /// The name that tiktoken gives it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::O200kBase => "o200k_base",
            Self::O200kHarmony => "o200k_harmony",
            Self::Cl100kBase => "cl100k_base",
            Self::P50kBase => "p50k_base",
            Self::P50kEdit => "p50k_edit",
            Self::R50kBase => "r50k_base",
            Self::Gpt2 => "gpt2",
        }
    }

    /// The encoding of that name.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|encoding| encoding.name() == name)
    }

    const fn engine(self) -> &'static Engine {
        match self {
            Self::O200kBase | Self::O200kHarmony => &O200K,
            Self::Cl100kBase => &CL100K,
            Self::P50kBase | Self::P50kEdit => &P50K,
            Self::R50kBase | Self::Gpt2 => &R50K,
        }
    }

    /// Tokens of `text`, in which nothing is special. O(bytes), whatever the text.
    #[must_use]
    pub fn count(self, text: &str) -> u64 {
        // No text has more tokens than that.
        self.engine().count(text, u64::MAX).unwrap_or(u64::MAX)
    }

    /// Tokens of `text`, or `None` if there are more than `limit`. O(limit): a token has at most 128 bytes.
    #[must_use]
    pub fn count_up_to(self, text: &str, limit: u64) -> Option<u64> {
        if text.len() as u64 > limit.saturating_mul(LONGEST as u64) {
            return None;
        }
        self.engine().count(text, limit)
    }

    /// How far `limit` tokens reach from one end of `text`, in whole stretches between places at which counts add up (a blank
    /// behind something that is not one, and [more](crate::truncate)): the offset of the last such place within the limit, and the
    /// exact number of tokens on that side of it. The text's other end, if all of it is within. O(limit), from either end.
    #[must_use]
    pub fn reach(self, text: &str, limit: u64, keep: Keep) -> (usize, u64) {
        reach(text, limit, keep, |piece, limit| {
            self.count_up_to(piece, limit)
        })
    }

    /// Where to cut `text`, as [`truncate`](crate::truncate) says it: the longest head or tail of at most `limit` tokens.
    /// O(limit).
    #[must_use]
    pub fn truncate(self, text: &str, limit: u64, keep: Keep) -> usize {
        let count = |piece: &str, limit| Ok::<_, Infallible>(self.count_up_to(piece, limit));
        let Ok(at) = truncate_additive(text, limit, keep, &Rate::TOKENS, count);
        at
    }

    /// The pieces that the encoding's pattern splits `text` into, in order: no token lies across two of them.
    pub fn pieces(self, text: &str) -> impl Iterator<Item = &str> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let start = at;
            at = self.engine().end(text, start);
            (at > start).then(|| &text[start..at])
        })
    }
}
