//! What a message costs in characters and tokens: one table of figures, and the meter that adds them up.

mod tools;

use std::fmt::Write as _;

pub(crate) use tools::tools;

use crate::cap::TextCut;
use crate::error::Foreign;
use crate::facts::Role;
use crate::tokens::Counter;
use crate::value::Text;

/// The token figures of a request, in tokens. Text comes on top, as the tokenizer counts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figures {
    /// Primes the reply, once a request. Source: openai-cookbook, "How to count tokens with tiktoken", section 4.
    pub reply: u64,
    /// Frames a message. Same source.
    pub message: u64,
    /// On top of a name's own tokens. Same source.
    pub name: u64,
    /// Frames a call. Not published; the frame of a message is taken for it.
    pub call: u64,
    /// An image at `detail: low`. Source: `OpenAI`'s image pricing for the gpt-4o family (base tokens).
    pub image_low: u64,
    /// An image of unknown size: 1024 x 1024 in the gpt-4o family, 85 + 4 x 170. Same source.
    pub image: u64,
    /// A piece of audio of unknown length. Source: `LiteLLM`'s fallback floor.
    pub audio: u64,
    /// A file of unknown length, about two pages.
    pub file: u64,
    /// Once for each tool; 10 with `cl100k_base`, see [`Counter::tool_frame`]. Source: the cookbook, section 6.
    pub tool: u64,
    /// Opens the properties of a schema. Same source.
    pub properties: u64,
    /// For each property. Same source.
    pub property: u64,
    /// Taken off where a property has an enumeration. Same source.
    pub enumeration: u64,
    /// For each item of an enumeration. Same source.
    pub item: u64,
    /// Once, behind all tools. Same source.
    pub tools_end: u64,
}

/// The figures in use.
pub const FIGURES: Figures = Figures {
    reply: 3,
    message: 3,
    name: 1,
    call: 3,
    image_low: 85,
    image: 765,
    audio: 300,
    file: 1_500,
    tool: 7,
    properties: 3,
    property: 3,
    enumeration: 3,
    item: 3,
    tools_end: 12,
};

/// What costs by the piece, never by its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Media {
    ImageLow,
    Image,
    Audio,
    File,
}

impl Media {
    const fn tokens(self) -> u64 {
        match self {
            Self::ImageLow => FIGURES.image_low,
            Self::Image => FIGURES.image,
            Self::Audio => FIGURES.audio,
            Self::File => FIGURES.file,
        }
    }
}

/// Adds up what is read of one message.
pub(crate) struct Meter<'c, T> {
    /// Counts tokens; `None` where they are not asked for.
    counter: Option<&'c dyn Counter<T>>,
    /// A text of more UTF-8 bytes than this cannot fit and is not worth tokenizing.
    longest: Option<u64>,
    /// Whether UTF-8 bytes are wanted.
    measure: bool,
    pub chars: u64,
    pub bytes: u64,
    pub tokens: u64,
}

/// The longest token of every built-in encoding, in bytes.
const LONGEST_TOKEN: u64 = 128;

/// UTF-8 bytes that stand for a token where nothing is tokenized.
pub(crate) const BYTES_PER_TOKEN: u64 = 4;

/// The UTF-8 bytes above which a text is sure to have more than `max_tokens` tokens.
pub(crate) fn longest_worth_counting<T: Text>(
    counter: Option<&dyn Counter<T>>,
    max_tokens: Option<u64>,
) -> Option<u64> {
    counter
        .filter(|counter| counter.is_bytewise())
        .and(max_tokens)
        .map(|most| most.saturating_mul(LONGEST_TOKEN))
}

impl<'c, T: Text> Meter<'c, T> {
    /// A meter for characters, and for tokens where there is a counter. `longest` is [`longest_worth_counting`]'s.
    pub(crate) fn new(
        counter: Option<&'c dyn Counter<T>>,
        longest: Option<u64>,
        measure: bool,
    ) -> Self {
        Self {
            counter,
            longest,
            measure,
            chars: 0,
            bytes: 0,
            tokens: 0,
        }
    }

    /// Whether UTF-8 bytes are measured.
    pub(crate) fn measures(&self) -> bool {
        self.measure
    }

    /// The frame of a message and its role.
    pub(crate) fn message(&mut self, role: Role) -> Result<(), Foreign> {
        // A role is a token in the built-in encodings.
        self.frame(FIGURES.message + 1, None);
        if let Some(counter) = self.counter {
            self.tokens += FIGURES.message + counter.role(role)?;
        }
        Ok(())
    }

    /// A text that the model reads.
    pub(crate) fn text(&mut self, text: &T) -> Result<(), Foreign> {
        let chars = text.chars();
        self.chars += chars as u64;
        if self.measure {
            self.bytes += text.bytes() as u64;
        }
        if let Some(counter) = self.counter {
            self.tokens += match self.hopeless(text, chars) {
                Some(tokens) => tokens,
                None => counter.count(text)?,
            };
        }
        Ok(())
    }

    /// A text with something in front of it; only its tokens.
    pub(crate) fn text_behind(&mut self, front: &str, text: &T) -> Result<(), Foreign> {
        let Some(counter) = self.counter else {
            return Ok(());
        };
        let bytes = || (front.len() + text.bytes()) as u64;
        self.tokens += match self.longest.map(|longest| (longest, bytes())) {
            Some((longest, bytes)) if bytes > longest => bytes.div_ceil(LONGEST_TOKEN),
            _ => counter.count_behind(front, text)?,
        };
        Ok(())
    }

    /// A text of which only a part is sent.
    pub(crate) fn cut_text(&mut self, text: &T, cut: &TextCut) -> Result<(), Foreign> {
        let chars = cut.chars() as u64;
        self.chars += chars;
        let Some(counter) = self.counter else {
            return Ok(());
        };
        if self
            .longest
            .is_some_and(|longest| chars.saturating_mul(4) > longest)
        {
            self.tokens += self.made_tokens(counter, &cut.apply(&text.as_str()))?;
        } else {
            self.tokens += counter.count_cut(text, cut)?;
        }
        Ok(())
    }

    fn made_tokens(&self, counter: &dyn Counter<T>, text: &str) -> Result<u64, Foreign> {
        let bytes = text.len() as u64;
        match self.longest {
            Some(longest) if bytes > longest => Ok(bytes.div_ceil(LONGEST_TOKEN)),
            _ => counter.count_str(text),
        }
    }

    /// The frame of a call and its function's name.
    pub(crate) fn call(&mut self, name: Option<&T>) -> Result<(), Foreign> {
        self.frame(FIGURES.call, name);
        if let Some(counter) = self.counter {
            self.tokens += FIGURES.call + name.map_or(Ok(0), |name| counter.count(name))?;
        }
        Ok(())
    }

    /// The name of a speaker.
    pub(crate) fn name(&mut self, name: &T) -> Result<(), Foreign> {
        self.frame(FIGURES.name, Some(name));
        if let Some(counter) = self.counter {
            self.tokens += FIGURES.name + counter.count(name)?;
        }
        Ok(())
    }

    /// A picture, a sound, a file.
    pub(crate) fn media(&mut self, media: Media) {
        self.frame(media.tokens(), None);
        if self.counter.is_some() {
            self.tokens += media.tokens();
        }
    }

    /// Measures what is no text of a message by the tokens that it costs, and by its name.
    fn frame(&mut self, tokens: u64, name: Option<&T>) {
        if self.measure {
            self.bytes += tokens * BYTES_PER_TOKEN + name.map_or(0, |name| name.bytes() as u64);
        }
    }

    /// The least that a text costs which is too long to fit.
    fn hopeless(&self, text: &T, chars: usize) -> Option<u64> {
        let longest = self.longest?;
        // A code point has at most four bytes: only a text that may be too long is measured.
        if (chars as u64).saturating_mul(4) <= longest {
            return None;
        }
        let bytes = text.bytes() as u64;
        (bytes > longest).then(|| bytes.div_ceil(LONGEST_TOKEN))
    }
}

/// `tools[k]` and the like.
pub(crate) fn place(list: &str, index: usize) -> String {
    let mut path = String::with_capacity(list.len() + 4);
    path.push_str(list);
    // Writing into a String cannot fail.
    let _ = write!(path, "[{index}]");
    path
}
