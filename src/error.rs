//! The one error of the core. Nothing is changed when one is returned.

use std::any::Any;
use std::fmt;

use crate::format::Format;
use crate::json::Syntax;

/// A ceiling of a window, in the order in which they are named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ceiling {
    /// Messages of the kept body.
    Turns,
    /// Characters (code points) of the kept body and the notice.
    Chars,
    /// Tokens of the whole request.
    Tokens,
}

impl Ceiling {
    /// The option that sets this ceiling.
    #[must_use]
    pub const fn option(self) -> &'static str {
        match self {
            Self::Turns => "max_turns",
            Self::Chars => "max_chars",
            Self::Tokens => "max_tokens",
        }
    }
}

/// What is wrong inside one message: where, what stands there, what should.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit {
    /// Place inside the message, such as `tool_calls[0].function`; empty for the message itself.
    pub path: String,
    /// What stands there: a type's name, `nothing`, or a shortened value.
    pub found: String,
    /// What should stand there.
    pub expected: &'static str,
}

/// Two formats between which a history does not decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Between {
    /// The one that the message looks like.
    pub looks: Format,
    /// The one in which the history was read so far.
    pub before: Format,
}

/// An error of somebody else's code (a caller's tokenizer, a property that raises), carried through unread.
pub struct Foreign(pub Box<dyn Any + Send + Sync>);

impl fmt::Debug for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Foreign(..)")
    }
}

/// Why a history was not trimmed, counted or checked.
#[derive(Debug)]
pub enum Error {
    /// A message (or, without an index, the history or the tools) cannot be read.
    Format {
        /// The message's place in the history.
        index: Option<usize>,
        /// What is wrong with it.
        misfit: Misfit,
    },
    /// Where nobody said which format it is: a message that looks like another format than those before it.
    Ambiguous {
        /// The message's place in the history.
        index: usize,
        /// The formats.
        between: Between,
    },
    /// An option that the history's format does not have.
    NotInFormat {
        /// The option.
        option: &'static str,
        /// The format.
        format: Format,
    },
    /// Not even the newest group fits.
    Budget {
        /// What it needs, in the ceiling's unit.
        needed: u64,
        /// What there is.
        limit: u64,
        /// The first ceiling that it breaks.
        ceiling: Ceiling,
        /// Where the newest group begins; `None` for a lone head.
        index: Option<usize>,
    },
    /// A body that is no JSON.
    Json(Syntax),
    /// Somebody else's error.
    Foreign(Foreign),
}

impl From<Syntax> for Error {
    fn from(syntax: Syntax) -> Self {
        Self::Json(syntax)
    }
}

impl From<Foreign> for Error {
    fn from(foreign: Foreign) -> Self {
        Self::Foreign(foreign)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Format { index, misfit } => {
                f.write_str("messages")?;
                if let Some(index) = index {
                    write!(f, "[{index}]")?;
                }
                if !misfit.path.is_empty() {
                    write!(f, ".{}", misfit.path)?;
                }
                write!(f, ": expected {}, found {}", misfit.expected, misfit.found)
            }
            Self::Ambiguous { index, between } => {
                let Between { looks, before } = between;
                let (looks, before) = (looks.name(), before.name());
                write!(
                    f,
                    "messages[{index}] looks like {looks}, the messages before it like {before}"
                )
            }
            Self::NotInFormat { option, format } => {
                write!(f, "{option} is not for {}", format.name())
            }
            Self::Budget {
                needed,
                limit,
                ceiling,
                ..
            } => {
                write!(
                    f,
                    "the newest group needs {needed} of {}, but there are {limit}",
                    ceiling.option()
                )
            }
            Self::Json(syntax) => syntax.fmt(f),
            Self::Foreign(_) => f.write_str("an error of a caller's own code"),
        }
    }
}

impl std::error::Error for Error {}

/// What reading one message may end in; the caller knows the message's index.
#[derive(Debug)]
pub(crate) enum ReadError {
    Misfit(Misfit),
    LooksLike(Between),
    Foreign(Foreign),
}

impl ReadError {
    pub(crate) fn at(self, index: usize) -> Error {
        match self {
            Self::Misfit(misfit) => Error::Format {
                index: Some(index),
                misfit,
            },
            Self::LooksLike(between) => Error::Ambiguous { index, between },
            Self::Foreign(foreign) => Error::Foreign(foreign),
        }
    }
}

impl From<Foreign> for ReadError {
    fn from(foreign: Foreign) -> Self {
        Self::Foreign(foreign)
    }
}
