//! Where a format puts what it reads of a message.

use crate::cost::Meter;
use crate::error::ReadError;
use crate::facts::Links;
use crate::format::observation::Capped;
use crate::plan::{PartCut, Path};
use crate::value::Value;
use crate::window::Cap;

/// How observations are shortened.
#[derive(Clone, Copy)]
pub(crate) enum Shorten {
    Not,
    To(Cap),
    /// `ThenaJS`: this many characters, marker on top, and `tool` messages only.
    Thena(usize),
}

/// How a message is to be read.
#[derive(Clone, Copy)]
pub(crate) struct Reading {
    /// Whether a part of another format is refused: nobody said which format it is.
    pub auto: bool,
    pub shorten: Shorten,
    /// Whether names of speakers are read: they cost tokens only.
    pub names: bool,
    /// Which part of the message counts, where its first part stays in the head.
    pub lead: Lead,
}

/// Which part of a message counts, in formats whose first message may hold the system text beside the user's.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lead {
    /// All of it.
    All,
    /// What stays in the head.
    Only,
    /// The rest. What stays in the head counts as the head does, in tokens only.
    Without,
}

/// What is read of one message.
pub(crate) struct Sink<'s, 'c, V: Value> {
    pub how: Reading,
    pub meter: &'s mut Meter<'c, V::Text>,
    /// Comes empty.
    pub links: &'s mut Links<V::Text>,
    /// Shortened observations, in order.
    pub capped: Vec<Capped>,
    /// Signed thinking.
    pub thinking: Option<Box<Thinking>>,
    /// Whether the message is in the history and not in the request: to a provider it neither calls nor answers.
    pub unsent: bool,
}

/// Signed thinking of a message, which a change in front of it invalidates.
#[derive(Clone, Debug, Default)]
pub(crate) struct Thinking {
    /// What it costs.
    pub chars: u64,
    pub tokens: u64,
    /// The parts that go with it; none where it cannot go.
    pub cuts: Vec<PartCut>,
    /// Whether nothing else is in the message, so that it goes whole.
    pub whole: bool,
}

impl<'s, 'c, V: Value> Sink<'s, 'c, V> {
    pub(crate) fn new(
        how: Reading,
        meter: &'s mut Meter<'c, V::Text>,
        links: &'s mut Links<V::Text>,
    ) -> Self {
        Self {
            how,
            meter,
            links,
            capped: Vec::new(),
            thinking: None,
            unsent: false,
        }
    }

    /// Reads a part with `read` as signed thinking that stands at `path`.
    pub(crate) fn thinking(
        &mut self,
        path: impl FnOnce() -> Path,
        read: impl FnOnce(&mut Self) -> Result<(), ReadError>,
    ) -> Result<(), ReadError> {
        let (chars, tokens) = (self.meter.chars, self.meter.tokens);
        read(self)?;
        let thinking = self.thinking.get_or_insert_default();
        thinking.chars += self.meter.chars - chars;
        thinking.tokens += self.meter.tokens - tokens;
        thinking.cuts.push(PartCut {
            path: path(),
            cut: None,
        });
        Ok(())
    }

    /// Says how many parts the message has, once all have been read.
    pub(crate) fn has_parts(&mut self, parts: usize) {
        if let Some(thinking) = &mut self.thinking {
            thinking.whole = thinking.cuts.len() == parts;
        }
    }
    /// The same where a message may not go whole, since others would come to stand side by side: then its thinking stays too.
    pub(crate) fn has_parts_and_stays(&mut self, parts: usize) {
        self.has_parts(parts);
        if let Some(thinking) = self.thinking.as_mut().filter(|thinking| thinking.whole) {
            **thinking = Thinking::default();
        }
    }
}
