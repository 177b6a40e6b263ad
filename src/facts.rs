//! What the core knows of one message, whatever provider it is for.

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
#[allow(missing_docs)]
pub enum Role {
    System,
    Developer,
    User,
    Assistant,
    Tool,
    Function,
}

impl Role {
    /// All roles, in the order of their discriminants.
    pub const ALL: [Self; 6] = [
        Self::System,
        Self::Developer,
        Self::User,
        Self::Assistant,
        Self::Tool,
        Self::Function,
    ];

    /// The role as it stands on the wire.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Developer => "developer",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
            Self::Function => "function",
        }
    }

    /// The role of that name.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        Some(match name {
            "system" => Self::System,
            "developer" => Self::Developer,
            "user" => Self::User,
            "assistant" => Self::Assistant,
            "tool" => Self::Tool,
            "function" => Self::Function,
            _ => return None,
        })
    }

    /// Whether the message answers a call.
    #[must_use]
    pub const fn is_result(self) -> bool {
        matches!(self, Self::Tool | Self::Function)
    }

    /// Whether the message instructs rather than converses.
    #[must_use]
    pub const fn is_system(self) -> bool {
        matches!(self, Self::System | Self::Developer)
    }
}

/// Calls of one family are answered by results of the same family only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    /// `tool_calls` and `tool` messages.
    Tool,
    /// `function_call` and `function` messages: never an id.
    Legacy,
}

/// A call, or the result that answers one.
#[derive(Clone, Debug)]
pub(crate) struct Tie<T> {
    pub family: Family,
    /// `None` where the message carries no id: then the place decides.
    pub id: Option<T>,
}

/// How a message hangs together with others.
#[derive(Clone, Debug)]
pub(crate) enum Links<T> {
    /// Not at all.
    None,
    /// It asks for these calls (at least one).
    Calls(Vec<Tie<T>>),
    /// It answers one.
    Result(Tie<T>),
}

impl<T> Links<T> {
    /// The links of a message of that role, out of the ties that were read of it: one of a result, those of an assistant's calls.
    pub(crate) fn of(role: Role, ties: &mut Vec<Tie<T>>) -> Self {
        if role.is_result() {
            return ties.pop().map_or(Self::None, Self::Result);
        }
        if ties.is_empty() {
            Self::None
        } else {
            Self::Calls(std::mem::take(ties))
        }
    }
}
