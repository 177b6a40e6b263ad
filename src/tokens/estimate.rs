//! Estimates, for models whose tokenizer is not public, and for whoever wants no vocabulary.

use std::convert::Infallible;

use super::approximate::{DEAREST, UNIT, price, price_up_to};
use super::truncate::{Rate, truncate_additive};
use super::{Encoding, Keep};

/// A count that is about right, and says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Estimate {
    /// By the kinds and lengths of the words, without a vocabulary.
    Approximate,
    /// The count of an encoding times a factor, rounded up.
    Scaled(Scaled),
}

/// An encoding and a factor of at least 1, so that what bounds the encoding's tokens from below bounds the product too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scaled {
    base: Encoding,
    numerator: u32,
    denominator: u32,
}

impl Estimate {
    /// The name of [`Approximate`](Self::Approximate).
    pub const APPROXIMATE: &str = "approximate";

    /// About how many tokens `text` has. O(bytes).
    #[must_use]
    pub fn count(self, text: &str) -> u64 {
        match self {
            Self::Approximate => price(text).div_ceil(UNIT),
            Self::Scaled(scaled) => scaled.up(scaled.base.count(text)),
        }
    }

    /// [`count`](Self::count), or `None` if it is more than `limit`. O(limit): it stops soon after that.
    #[must_use]
    pub fn count_up_to(self, text: &str, limit: u64) -> Option<u64> {
        let count = match self {
            Self::Approximate => price_up_to(text, limit.saturating_mul(UNIT))?.div_ceil(UNIT),
            Self::Scaled(scaled) => scaled.up(scaled.base.count_up_to(text, scaled.down(limit))?),
        };
        (count <= limit).then_some(count)
    }

    /// Where to cut `text`, as [`truncate`](crate::truncate) says it. O(limit).
    #[must_use]
    pub fn truncate(self, text: &str, limit: u64, keep: Keep) -> usize {
        match self {
            Self::Approximate => {
                let rate = Rate {
                    least: UNIT,
                    most: DEAREST,
                };
                let limit = limit.saturating_mul(UNIT);
                let Ok(at) = truncate_additive(text, limit, keep, &rate, |text, limit| {
                    Ok::<_, Infallible>(price_up_to(text, limit))
                });
                at
            }
            Self::Scaled(scaled) => scaled.base.truncate(text, scaled.down(limit), keep),
        }
    }
}

impl Scaled {
    /// `base` times `numerator / denominator`; `None` unless that is a number of at least 1.
    #[must_use]
    pub fn new(base: Encoding, numerator: u32, denominator: u32) -> Option<Self> {
        (denominator > 0 && numerator >= denominator).then_some(Self {
            base,
            numerator,
            denominator,
        })
    }

    /// What [`new`](Self::new) was given.
    #[must_use]
    pub const fn parts(self) -> (Encoding, u32, u32) {
        (self.base, self.numerator, self.denominator)
    }

    /// What `tokens` of the base are estimated to be.
    fn up(self, tokens: u64) -> u64 {
        let product = u128::from(tokens) * u128::from(self.numerator);
        u64::try_from(product.div_ceil(self.denominator.into())).unwrap_or(u64::MAX)
    }

    /// The most tokens of the base that are estimated to be at most `limit`: never more than `limit` itself.
    fn down(self, limit: u64) -> u64 {
        let product = u128::from(limit) * u128::from(self.denominator);
        u64::try_from(product / u128::from(self.numerator)).unwrap_or(limit)
    }
}
