//! What the core knows of one message, whatever provider it is for.

use crate::value::Text;

/// Who speaks, as it stands on the wire: what a role costs in tokens.
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
    Model,
}

impl Role {
    /// All roles, in the order of their discriminants.
    pub const ALL: [Self; 7] = [
        Self::System,
        Self::Developer,
        Self::User,
        Self::Assistant,
        Self::Tool,
        Self::Function,
        Self::Model,
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
            Self::Model => "model",
        }
    }
}

/// What a message is in the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// It instructs, as `system`.
    System,
    /// It instructs, as `developer`.
    Developer,
    /// A plain user turn: it carries no result.
    User,
    /// What the model said, calls included.
    Model,
    /// It carries a result of a call, and maybe more.
    Result,
}

impl Turn {
    /// Whether the message instructs rather than converses.
    pub(crate) const fn is_system(self) -> bool {
        matches!(self, Self::System | Self::Developer)
    }
}

/// Calls of one family are answered by results of the same family only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub(crate) enum Family {
    /// A function that the client runs; with most formats all there is.
    Tool,
    /// `function_call` and `function` messages of Chat Completions: never an id.
    Legacy,
    /// A tool that the provider runs within its own turns.
    Server,
    /// One of somebody's server that the provider asks.
    Mcp,
    /// The item types of Responses, each by itself.
    Custom,
    Computer,
    LocalShell,
    Shell,
    ApplyPatch,
    ToolSearch,
    Program,
    Approval,
}

impl Family {
    /// How many there are.
    pub(crate) const COUNT: usize = Self::Approval as usize + 1;
}

/// A call, or the result that answers one.
#[derive(Clone, Debug)]
pub(crate) struct Tie<T> {
    pub family: Family,
    /// Whether a call may go without a result.
    pub optional: bool,
    /// `None` where the message carries no id: then the place decides.
    pub id: Option<T>,
    /// What few have; nearly all ties are read, compared and forgotten, so they are kept small.
    more: Option<Box<More<T>>>,
}

#[derive(Clone, Debug)]
struct More<T> {
    alias: Option<T>,
    caller: Option<(Family, T)>,
}

impl<T> Tie<T> {
    /// A tie with one id or none.
    pub(crate) const fn new(family: Family, id: Option<T>) -> Self {
        Self {
            family,
            optional: false,
            id,
            more: None,
        }
    }

    /// The same with another id by which a result may name the call.
    pub(crate) fn with_alias(mut self, alias: Option<T>) -> Self {
        if alias.is_some() {
            self.more_mut().alias = alias;
        }
        self
    }

    /// The same as a call that another call has made, of that family and id: the two stay together.
    pub(crate) fn called_by(mut self, family: Family, id: Option<T>) -> Self {
        if let Some(id) = id {
            self.more_mut().caller = Some((family, id));
        }
        self
    }

    fn more_mut(&mut self) -> &mut More<T> {
        self.more.get_or_insert_with(|| {
            Box::new(More {
                alias: None,
                caller: None,
            })
        })
    }

    /// The other id.
    pub(crate) fn alias(&self) -> Option<&T> {
        self.more.as_ref()?.alias.as_ref()
    }

    /// Family and id of the call that made this call.
    pub(crate) fn caller(&self) -> Option<&(Family, T)> {
        self.more.as_ref()?.caller.as_ref()
    }
}

/// How a message hangs together with others: the results that it carries, and the calls that it makes after them.
#[derive(Clone, Debug)]
pub(crate) struct Links<T> {
    pub results: Vec<Tie<T>>,
    pub calls: Vec<Tie<T>>,
}

impl<T> Default for Links<T> {
    fn default() -> Self {
        Self {
            results: Vec::new(),
            calls: Vec::new(),
        }
    }
}

impl<T> Links<T> {
    /// Takes a result of the provider's that stands among the calls of its own message: it settles the first of them that has
    /// its id, or belongs to a call of an older message.
    pub(crate) fn settle(&mut self, result: Tie<T>)
    where
        T: Text,
    {
        let own = self.calls.iter().position(|call| {
            call.family == result.family
                && matches!((&call.id, &result.id), (Some(a), Some(b)) if a.same(b))
        });
        match own {
            Some(call) => drop(self.calls.remove(call)),
            None => self.results.push(result),
        }
    }

    /// Forgets them, and keeps the memory. Nearly always there are none any more.
    #[inline]
    pub(crate) fn clear(&mut self) {
        if !self.results.is_empty() {
            self.results.clear();
        }
        if !self.calls.is_empty() {
            self.calls.clear();
        }
    }
}
