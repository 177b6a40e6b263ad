//! Counting tokens.

mod approximate;
mod classes;
mod encoding;
mod engine;
mod estimate;
mod split;
mod truncate;

/// Sets of bits, keys and hashes are taken apart here, lengths and counts that fit are packed.
macro_rules! packed {
    ($($module:ident),+) => {
        $(
            #[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)]
            mod $module;
        )+
    };
}

packed!(batch, block, cache, layout, merge, vocabulary);

pub use cache::{DEFAULT_CACHE_BYTES, cache_bytes};
pub use encoding::Encoding;
pub use engine::set_cache_bytes;
pub use estimate::{Estimate, Scaled};
pub use truncate::{Keep, truncate};
#[cfg(feature = "python")]
pub(crate) use truncate::{context_ends, reach_of};

use crate::cap::TextCut;
use crate::error::Foreign;
use crate::facts::Role;
use crate::value::Text;

/// Counts tokens of a source's texts. An implementation may remember what it has counted.
pub trait Counter<T: Text> {
    /// Tokens of a text of the source.
    ///
    /// # Errors
    /// What the caller's own tokenizer raised; so for the other methods.
    fn count(&self, text: &T) -> Result<u64, Foreign>;

    /// Tokens of a text that was made here.
    ///
    /// # Errors
    /// As [`count`](Self::count).
    fn count_str(&self, text: &str) -> Result<u64, Foreign>;

    /// Tokens of what a cut leaves of a text.
    ///
    /// # Errors
    /// As [`count`](Self::count).
    fn count_cut(&self, text: &T, cut: &TextCut) -> Result<u64, Foreign> {
        self.count_str(&cut.apply(&text.as_str()))
    }

    /// Tokens of a text with something in front of it.
    ///
    /// # Errors
    /// As [`count`](Self::count).
    fn count_behind(&self, front: &str, text: &T) -> Result<u64, Foreign> {
        self.count_str(&[front, &text.as_str()].concat())
    }

    /// Tokens of a role's name.
    ///
    /// # Errors
    /// As [`count`](Self::count).
    fn role(&self, role: Role) -> Result<u64, Foreign> {
        self.count_str(role.name())
    }

    /// Whether no token is longer than 128 bytes, so that a text's bytes bound its tokens from below.
    fn is_bytewise(&self) -> bool {
        false
    }
}
