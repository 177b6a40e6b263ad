//! Estimates, for models whose tokenizer is not public, and for whoever wants no vocabulary.

use super::approximate::{UNIT, price};
use super::{Encoding, Keep, truncate};

/// A count that is about right, and says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Estimate {
    /// By the kinds and lengths of the words, without a vocabulary.
    Approximate,
    /// The count of another encoding times `numerator / denominator`, rounded up.
    Scaled {
        /// The encoding that is counted.
        base: Encoding,
        /// At least the denominator, so that what bounds the base's tokens from below bounds these too.
        numerator: u32,
        /// At least 1.
        denominator: u32,
    },
}

impl Estimate {
    /// The name of [`Approximate`](Self::Approximate).
    pub const APPROXIMATE: &str = "approximate";

    /// `base` times a factor; `None` unless the factor is a number of at least 1.
    #[must_use]
    pub fn scaled(base: Encoding, numerator: u32, denominator: u32) -> Option<Self> {
        (denominator > 0 && numerator >= denominator).then_some(Self::Scaled {
            base,
            numerator,
            denominator,
        })
    }

    /// Loads what counting needs, if nobody has.
    pub fn load(self) {
        if let Self::Scaled { base, .. } = self {
            base.load();
        }
    }

    /// About how many tokens `text` has. O(bytes).
    #[must_use]
    pub fn count(self, text: &str) -> u64 {
        match self {
            Self::Approximate => price(text).div_ceil(UNIT),
            Self::Scaled { base, .. } => self.up(base.count(text)),
        }
    }

    /// [`count`](Self::count), or `None` if it is more than `limit`. A scaled estimate stops soon after the limit.
    #[must_use]
    pub fn count_up_to(self, text: &str, limit: usize) -> Option<u64> {
        match self {
            Self::Approximate => Some(self.count(text)).filter(|&count| count <= limit as u64),
            Self::Scaled { base, .. } => {
                let fitting = usize::try_from(self.down(limit as u64)).unwrap_or(usize::MAX);
                // The encoding may answer with more than its limit where that costs nothing.
                let count = base.count_up_to(text, fitting)?;
                Some(self.up(count)).filter(|&count| count <= limit as u64)
            }
        }
    }

    /// Where to cut `text`, as [`truncate`] says it.
    #[must_use]
    pub fn truncate(self, text: &str, limit: u64, keep: Keep) -> usize {
        let Ok(at) = match self {
            Self::Approximate => {
                let limit = limit.saturating_mul(UNIT);
                truncate(text, limit, keep, true, |text| Infallible::Ok(price(text)))
            }
            Self::Scaled { base, .. } => truncate(text, self.down(limit), keep, true, |text| {
                Infallible::Ok(base.count(text))
            }),
        };
        at
    }

    /// What `tokens` of the base are estimated to be.
    fn up(self, tokens: u64) -> u64 {
        let (numerator, denominator) = self.factor();
        saturated((u128::from(tokens) * numerator).div_ceil(denominator))
    }

    /// The most tokens of the base that are estimated to be at most `limit`.
    fn down(self, limit: u64) -> u64 {
        let (numerator, denominator) = self.factor();
        saturated(u128::from(limit) * denominator / numerator)
    }

    fn factor(self) -> (u128, u128) {
        match self {
            Self::Approximate => (1, 1),
            Self::Scaled {
                numerator,
                denominator,
                ..
            } => (numerator.into(), denominator.into()),
        }
    }
}

type Infallible<T> = Result<T, std::convert::Infallible>;

fn saturated(value: u128) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}
