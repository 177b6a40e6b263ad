//! Wire formats: what a provider means by a message. One file a provider, each a [`Wire`]; here is what they share.

pub(crate) mod anthropic;
pub(crate) mod bedrock;
pub(crate) mod chat;
mod detect;
pub(crate) mod gemini;
mod glance;
mod json;
pub(crate) mod langchain;
mod media;
mod notice;
pub(crate) mod observation;
pub(crate) mod pi;
pub(crate) mod pydantic_ai;
mod reading;
mod responses;
mod sink;

use std::borrow::Cow;

use crate::error::{Between, Foreign, ReadError};
use crate::facts::{Family, Links, Turn};
use crate::plan::{PartCut, Path, to};
use crate::value::{Key, Text, Value};

pub use detect::Known;
pub(crate) use detect::{Detected, detect, hint};
pub(crate) use notice::{Block, NoticePlace, notice_place};
pub(crate) use observation::Capped;
pub(crate) use reading::*;
pub(crate) use sink::{Lead, Reading, Shorten, Sink, Thinking};

/// Declares [`Format`], its names, and which file speaks for which; and `ask!(format, W => ...)`, which says something with `W`
/// as that file. `$d` is a dollar, which a macro that makes a macro has to be given.
macro_rules! formats {
    ($d:tt $($(#[$doc:meta])* $variant:ident = $name:literal: $wire:path),+ $(,)?) => {
        /// A wire format that is there.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Format { $($(#[$doc])* $variant),+ }

        impl Format {
            /// All of them.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$variant),+];

            /// The name by which it is asked for.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }
        }

        macro_rules! ask {
            ($d format:expr, $d wire:ident => $d said:expr) => {
                match $d format { $(Format::$variant => { type $d wire = $wire; $d said }),+ }
            };
        }
    };
}

formats! { $
    /// `OpenAI` Chat Completions and its clones.
    OpenaiChat = "openai-chat": chat::Chat,
    /// `OpenAI` Responses.
    OpenaiResponses = "openai-responses": responses::Responses,
    /// Anthropic Messages.
    Anthropic = "anthropic": anthropic::Anthropic,
    /// Pi and `OpenClaw`.
    Pi = "pi": pi::Pi,
    /// `LangChain`.
    Langchain = "langchain": langchain::Langchain,
    /// Google Gemini, contents and parts.
    Gemini = "gemini": gemini::Gemini,
    /// Bedrock Converse.
    Bedrock = "bedrock": bedrock::Bedrock,
    /// pydantic-ai's requests and responses.
    PydanticAi = "pydantic-ai": pydantic_ai::PydanticAi,
}

impl Format {
    /// The format of that name.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }

    /// [`Wire::MERGES`].
    pub(crate) const fn merges(self) -> bool {
        ask!(self, W => W::MERGES)
    }

    /// [`Wire::INSISTS_ON_USER`].
    pub(crate) const fn insists_on_user(self) -> bool {
        ask!(self, W => W::INSISTS_ON_USER)
    }

    /// [`Wire::HAS_SYSTEM_TURNS`].
    pub(crate) const fn has_system_turns(self) -> bool {
        ask!(self, W => W::HAS_SYSTEM_TURNS)
    }

    /// [`Wire::BLOCK`].
    pub(crate) const fn block(self) -> Block {
        ask!(self, W => W::BLOCK)
    }

    /// [`Wire::takes_late`].
    pub(crate) fn takes_late(self, family: Family) -> bool {
        ask!(self, W => W::takes_late(family))
    }
}

/// What a provider means by a message. A value's shape is read in place; nothing is built.
///
/// Errors of a message's role come before all others, so [`role`](Self::role) looks at nothing else.
pub(crate) trait Wire {
    /// Whether messages of the model's in a row are one turn to the providers.
    const MERGES: bool;
    /// Whether its providers refuse a conversation that does not begin with the user.
    const INSISTS_ON_USER: bool;
    /// Whether a notice may be a message of its own.
    const HAS_SYSTEM_TURNS: bool = false;
    /// How a text stands in a list of blocks of the user's.
    const BLOCK: Block = Block::Typed("text");

    /// Whether a result of this family may stand further behind its call than right behind the turn.
    fn takes_late(_family: Family) -> bool {
        false
    }

    /// Refuses what cannot be a message: the one thing that is asked of every message. O(1).
    fn role<V: Value>(message: &V) -> Result<(), ReadError> {
        Self::turn(message).map(|_| ())
    }

    /// What a message is in the conversation; what is wrong with it beside its role does not matter.
    fn turn<V: Value>(message: &V) -> Result<Turn, ReadError>;

    /// The links of a message alone, where nothing else of it is used: what is wrong with it does not matter.
    fn links<V: Value>(message: &V, turn: Turn, links: &mut Links<V::Text>) -> Result<(), Foreign>;

    /// Reads a message: what it costs, its links, its shortened observations, its thinking.
    fn read<V: Value>(message: &V, sink: &mut Sink<'_, '_, V>) -> Result<Turn, ReadError>;

    /// The turn and the characters of a message at a glance, its links into `links`, which comes empty; `None` where it must be
    /// [`read`](Self::read): what is in `links` then does not matter. Asked only where nothing but characters is wanted.
    fn glance<V: Value>(
        _message: &V,
        _how: Reading,
        _links: &mut Links<V::Text>,
    ) -> Option<(Turn, u64)> {
        None
    }

    /// The way to what a notice goes into, or in front of, in a plain user turn that has been read before: its text or its list of
    /// blocks. `None` where the turn has no room for one.
    fn notice_path<V: Value>(_message: &V) -> Result<Option<Path>, Foreign> {
        Ok(Some(to![Key::Content]))
    }

    /// Whether a message of the head says exactly that.
    fn carries<V: Value>(message: &V, notice: &str) -> Result<bool, Foreign> {
        Ok(message
            .get(Key::Content)?
            .and_then(|content| content.text())
            .is_some_and(|content| content.as_str() == notice))
    }

    /// What the first message behind the head leaves in the head when it is cut: the cuts that leave only that.
    fn lead<V: Value>(_message: &V) -> Result<Option<Vec<PartCut>>, Foreign> {
        Ok(None)
    }

    /// What one message alone has wrong; it has been read before. Its marks are this format's to give and to read again in
    /// [`order`](Self::order).
    fn inspect<V: Value>(
        message: &V,
        turn: Turn,
        links: &Links<V::Text>,
        flaws: &mut Vec<Flaw>,
    ) -> Result<Marks, Foreign>;

    /// What is wrong with the order of the messages, pairs aside: flaws, each with its message.
    fn order(_seen: &[Seen]) -> Vec<(usize, Flaw)> {
        Vec::new()
    }
}

/// Bits of a format's own.
pub(crate) type Marks = u32;

/// The message stands for something that is not seen, such as a call: the one mark that all formats share.
pub(crate) const REFERS: Marks = 1 << 30;

/// What [`Wire::order`] knows of a message.
#[derive(Clone, Copy)]
pub(crate) struct Seen {
    pub turn: Turn,
    pub marks: Marks,
}

/// A breach of a format's rules that pairing does not find.
pub(crate) struct Flaw {
    pub code: &'static str,
    pub message: Cow<'static, str>,
    pub ids: Vec<String>,
}

impl Flaw {
    /// One that concerns no id.
    pub(crate) fn new(code: &'static str, message: &'static str) -> Self {
        Self::with(code, message, Vec::new())
    }

    pub(crate) fn with(code: &'static str, message: &'static str, ids: Vec<String>) -> Self {
        Self {
            code,
            message: Cow::Borrowed(message),
            ids,
        }
    }
}

/// The first message behind the head is no plain user turn, in a format whose providers insist on one.
pub(crate) fn first_not_user(seen: &[Seen]) -> Option<(usize, Flaw)> {
    let first = seen.iter().position(|seen| !seen.turn.is_system())?;
    let flaw = Flaw::new(
        "first_not_user",
        "the conversation does not begin with a plain user turn",
    );
    (seen[first].turn != Turn::User).then_some((first, flaw))
}

/// [`Wire::role`].
#[inline]
pub(crate) fn role<V: Value>(format: Format, message: &V) -> Result<(), ReadError> {
    ask!(format, W => W::role(message))
}

/// [`Wire::turn`].
#[inline]
pub(crate) fn turn<V: Value>(format: Format, message: &V) -> Result<Turn, ReadError> {
    ask!(format, W => W::turn(message))
}

/// [`Wire::links`].
#[inline]
pub(crate) fn links<V: Value>(
    format: Format,
    message: &V,
    turn: Turn,
    links: &mut Links<V::Text>,
) -> Result<(), Foreign> {
    ask!(format, W => W::links(message, turn, links))
}

/// [`Wire::read`]. Where the history's shape decided, a message with a part of another format is refused. Chat Completions looks
/// for itself; `LangChain`'s messages hold the parts of any provider, and Pi's thinking looks like Anthropic's.
#[inline]
pub(crate) fn read<V: Value>(
    format: Format,
    message: &V,
    sink: &mut Sink<'_, '_, V>,
) -> Result<Turn, ReadError> {
    let turn = ask!(format, W => W::read(message, sink))?;
    if sink.how.auto && !matches!(format, Format::OpenaiChat | Format::Pi | Format::Langchain) {
        refuse_other(message, format)?;
    }
    Ok(turn)
}

/// Refuses a part that another format has.
fn refuse_foreign<V: Value>(part: &V, before: Format) -> Result<(), ReadError> {
    match detect::by_part(part)?.filter(|&looks| looks != before) {
        Some(looks) => Err(ReadError::LooksLike(Between { looks, before })),
        None => Ok(()),
    }
}

/// [`Wire::glance`]; where it gives `None`, nothing is in `links`.
#[inline]
pub(crate) fn glance<V: Value>(
    format: Format,
    message: &V,
    how: Reading,
    links: &mut Links<V::Text>,
) -> Option<(Turn, u64)> {
    let seen = ask!(format, W => W::glance(message, how, links));
    if seen.is_none() {
        links.clear();
    }
    seen
}

/// [`Wire::notice_path`].
pub(crate) fn notice_path<V: Value>(format: Format, message: &V) -> Result<Option<Path>, Foreign> {
    ask!(format, W => W::notice_path(message))
}

/// [`Wire::carries`].
#[inline]
pub(crate) fn carries<V: Value>(
    format: Format,
    message: &V,
    notice: &str,
) -> Result<bool, Foreign> {
    ask!(format, W => W::carries(message, notice))
}

/// [`Wire::lead`].
#[inline]
pub(crate) fn lead<V: Value>(format: Format, message: &V) -> Result<Option<Vec<PartCut>>, Foreign> {
    ask!(format, W => W::lead(message))
}

/// [`Wire::inspect`].
#[inline]
pub(crate) fn inspect<V: Value>(
    format: Format,
    message: &V,
    turn: Turn,
    links: &Links<V::Text>,
    flaws: &mut Vec<Flaw>,
) -> Result<Marks, Foreign> {
    ask!(format, W => W::inspect(message, turn, links, flaws))
}

/// [`Wire::order`].
pub(crate) fn order(format: Format, seen: &[Seen]) -> Vec<(usize, Flaw)> {
    ask!(format, W => W::order(seen))
}

/// Refuses a message with a part that another format has. Chat Completions tells by its calls and results, whatever stands
/// beside them.
fn refuse_other<V: Value>(message: &V, before: Format) -> Result<(), ReadError> {
    let role = text_at(message, Key::Role)?;
    if role.is_some_and(|role| matches!(role.as_str().as_ref(), "tool" | "function"))
        || first_of(message, &[Key::ToolCalls, Key::FunctionCall])?.is_some()
    {
        return Ok(());
    }
    for part in records(message.get(Key::Content)?.as_ref()) {
        refuse_foreign(&part, before)?;
    }
    Ok(())
}
