//! The options of a window, in a form in which a wrong state cannot be built.

use std::num::NonZeroU64;

use crate::cost::{FIGURES, Figures};
use crate::error::Ceiling;
use crate::format::Format;

/// What the kept body may begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// A plain user turn; the task of an agent run is kept in front of its tail.
    User,
    /// Any group.
    Any,
}

/// Who says the notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoticeRole {
    /// The role of the head's last message, `system` without a head.
    Auto,
    /// Always `system`.
    System,
    /// Nobody of its own: it is folded into the first kept plain user turn.
    User,
}

/// Which end of a capped observation stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum ToolKeep {
    Head,
    Tail,
    HeadTail,
}

/// What happens when not even the newest group fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Overflow {
    Raise,
    Keep,
}

/// What becomes of signed thinking in kept turns behind a change, in formats that have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thinking {
    /// It stays, and the report says so.
    Keep,
    /// That of completed turns, which stand before the last plain user turn, goes.
    Strip,
}

/// How an observation is capped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cap {
    /// The most characters that an observation may have, marker included.
    pub chars: usize,
    /// Which end stays.
    pub keep: ToolKeep,
}

/// The share of a ceiling to which a cache-stable cut goes back: above 0, below 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrimTo(f64);

impl TrimTo {
    /// `None` unless `0 < share < 1`.
    #[must_use]
    pub fn new(share: f64) -> Option<Self> {
        (share > 0.0 && share < 1.0).then_some(Self(share))
    }

    /// The grid's step for a ceiling of `size`, in the ceiling's unit, at least 1.
    #[must_use]
    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss
    )] // sizes are far below 2^53
    pub fn step(self, size: u64) -> u64 {
        (((1.0 - self.0) * size as f64 + 0.5).floor() as u64).max(1)
    }

    /// Whether `kept` is at least half of the share of `most` that a cut goes back to.
    #[must_use]
    #[allow(clippy::cast_precision_loss)] // as above
    pub fn is_half_kept(self, kept: u64, most: u64) -> bool {
        2.0 * kept as f64 >= self.0 * most as f64
    }
}

/// Whose rules are played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compat {
    /// `contextWindow()` of `ThenaJS`, quirks included; zero is allowed as a ceiling.
    Thena {
        /// Messages kept.
        max_turns: Option<usize>,
        /// Content characters kept.
        max_chars: Option<u64>,
        /// Characters kept of an observation, marker not included.
        max_chars_per_tool: Option<usize>,
    },
}

/// The options of a window. Ceilings that are `None` do not bind.
#[derive(Clone, Debug)]
pub struct Limits {
    /// The wire format; `None` decides from the shape.
    pub format: Option<Format>,
    /// Most messages of the kept body.
    pub max_turns: Option<NonZeroU64>,
    /// Most characters of the kept body and the notice.
    pub max_chars: Option<NonZeroU64>,
    /// Most tokens of the whole request, the reply's reserve already taken off.
    pub max_tokens: Option<NonZeroU64>,
    /// How observations are capped.
    pub cap: Option<Cap>,
    /// By what figures tokens are counted.
    pub figures: Figures,
    /// What the kept body may begin with.
    pub start: Start,
    /// The text that stands for what was cut; `None` is silence.
    pub notice: Option<String>,
    /// Who says it.
    pub notice_role: NoticeRole,
    /// Cache-stable cut.
    pub trim_to: Option<TrimTo>,
    /// What happens when nothing fits.
    pub on_overflow: Overflow,
    /// What becomes of signed thinking.
    pub thinking: Thinking,
    /// Another system's rules.
    pub compat: Option<Compat>,
}

impl Default for Limits {
    /// No ceiling, and silence.
    fn default() -> Self {
        Self {
            format: None,
            max_turns: None,
            max_chars: None,
            max_tokens: None,
            cap: None,
            figures: FIGURES,
            start: Start::User,
            notice: None,
            notice_role: NoticeRole::Auto,
            trim_to: None,
            on_overflow: Overflow::Raise,
            thinking: Thinking::Keep,
            compat: None,
        }
    }
}

/// How much of something is sent, in the units of the three ceilings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Size {
    pub turns: u64,
    pub chars: u64,
    pub tokens: u64,
}

impl Size {
    pub(crate) fn of(self, ceiling: Ceiling) -> u64 {
        match ceiling {
            Ceiling::Turns => self.turns,
            Ceiling::Chars => self.chars,
            Ceiling::Tokens => self.tokens,
        }
    }
}

impl std::ops::Sub for Size {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self {
            turns: self.turns - other.turns,
            chars: self.chars - other.chars,
            tokens: self.tokens - other.tokens,
        }
    }
}

impl std::ops::Add for Size {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            turns: self.turns + other.turns,
            chars: self.chars + other.chars,
            tokens: self.tokens + other.tokens,
        }
    }
}

impl Size {
    pub(crate) const fn is_within(self, most: Self) -> bool {
        self.turns <= most.turns && self.chars <= most.chars && self.tokens <= most.tokens
    }
}

impl Limits {
    /// All ceilings at once; one that is not set is never reached.
    pub(crate) fn most(&self) -> Size {
        let of = |ceiling| self.of(ceiling).unwrap_or(u64::MAX);
        Size {
            turns: of(Ceiling::Turns),
            chars: of(Ceiling::Chars),
            tokens: of(Ceiling::Tokens),
        }
    }

    /// The ceiling of that kind.
    pub(crate) fn of(&self, ceiling: Ceiling) -> Option<u64> {
        match ceiling {
            Ceiling::Turns => self.max_turns,
            Ceiling::Chars => self.max_chars,
            Ceiling::Tokens => self.max_tokens,
        }
        .map(NonZeroU64::get)
    }

    /// The ceilings that are set, in the order in which they are named.
    pub(crate) fn ceilings(&self) -> impl Iterator<Item = (Ceiling, u64)> {
        [Ceiling::Turns, Ceiling::Chars, Ceiling::Tokens]
            .into_iter()
            .filter_map(|ceiling| self.of(ceiling).map(|limit| (ceiling, limit)))
    }

    /// The first ceiling that `size` breaks, with its limit.
    pub(crate) fn broken_by(&self, size: Size) -> Option<(Ceiling, u64)> {
        self.ceilings()
            .find(|&(ceiling, limit)| size.of(ceiling) > limit)
    }
}
