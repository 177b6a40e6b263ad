//! Wire formats: what a provider means by a message. One file a provider; here is what they share.

pub(crate) mod chat;

use crate::error::{Error, Misfit};
use crate::value::Value;

/// A wire format that is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `OpenAI` Chat Completions and its clones.
    OpenaiChat,
}

impl Format {
    /// All of them.
    pub const ALL: [Self; 1] = [Self::OpenaiChat];

    /// The name by which it is asked for.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::OpenaiChat => "openai-chat",
        }
    }

    /// The format of that name.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }
}

/// What stands at `path` is not what should.
pub(crate) fn misfit<V: Value>(
    path: impl Into<String>,
    found: Option<&V>,
    expected: &'static str,
) -> Misfit {
    let found = found.map_or_else(|| "nothing".to_owned(), Value::type_name);
    Misfit {
        path: path.into(),
        found,
        expected,
    }
}

/// The same of what stands beside the messages: tools, a system text.
pub(crate) fn misfit_beside<V: Value>(
    path: impl Into<String>,
    found: &V,
    expected: &'static str,
) -> Error {
    Error::Format {
        index: None,
        misfit: misfit(path, Some(found), expected),
    }
}
