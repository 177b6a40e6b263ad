//! What a message costs in characters and tokens: one table of figures, and the meter that adds them up.

mod families;
mod image;
mod tools;

use std::fmt::Write as _;

pub(crate) use tools::tools;

use crate::cap::TextCut;
use crate::error::Foreign;
use crate::facts::Role;
use crate::media::{Duration, ImageSize};
use crate::tokens::Counter;
use crate::value::{Text, Value};

/// Declares [`Figures`], its defaults and the names of its fields in one list.
macro_rules! figures {
    ($($(#[$doc:meta])+ $name:ident = $default:literal,)+) => {
        /// The figures by which a request is counted, in tokens where nothing else is said. Text comes on top, as the tokenizer
        /// counts it. [`Figures::of`] has those of a model.
        ///
        /// Each fits 32 bits, so that no sum of them can overflow.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct Figures { $($(#[$doc])+ pub $name: u32,)+ }

        /// The figures where no model is named: those of gpt-4o.
        pub const FIGURES: Figures = Figures { $($name: $default,)+ };

        impl Figures {
            /// The names of all figures, in their order.
            pub const NAMES: [&'static str; [$(stringify!($name)),+].len()] = [$(stringify!($name)),+];

            /// All figures, in the order of [`NAMES`](Self::NAMES).
            #[must_use]
            pub const fn values(&self) -> [u32; Self::NAMES.len()] {
                [$(self.$name),+]
            }

            /// The figures of these values, in the order of [`NAMES`](Self::NAMES).
            #[must_use]
            pub const fn from_values(values: [u32; Self::NAMES.len()]) -> Self {
                let [$($name),+] = values;
                Self { $($name),+ }
            }
        }
    };
}

figures! {
    /// Primes the reply, once a request. Source: openai-cookbook, "How to count tokens with tiktoken", section 4.
    reply = 3,
    /// Frames a message. Same source.
    message = 3,
    /// On top of a name's own tokens. Same source.
    name = 1,
    /// Frames a call. Not published; the frame of a message is taken for it.
    call = 3,
    /// Frames a result that is a part of a message. Not published; likewise.
    result = 3,
    /// An image of unknown size: what one of 1024 x 1024 costs, for gpt-4o 85 + 4 x 170. Source: `OpenAI`, "Images and
    /// vision".
    image = 765,
    /// An image at `detail: low` costs at most this, for gpt-4o its base tokens. Same source.
    image_low = 85,
    /// An image of known size, whatever that is: base tokens. Same source; so for the following.
    image_base = 85,
    /// For each cell of an image of known size.
    image_tile = 170,
    /// What base and cells together are multiplied with, in per cent: the multiplier of models that are charged by patches.
    image_percent = 100,
    /// Pixels of a cell's side; 0: no size is looked at, and every image costs [`image`](Self::image).
    image_cell = 512,
    /// Most cells of an image, which is shrunk to fit; 0: any number.
    image_cells = 0,
    /// Whether a shrunk image has whole cells along one side, as `OpenAI`'s guide has it for patches (0: it costs all of
    /// [`image_cells`](Self::image_cells), which is never too little).
    image_whole = 0,
    /// Most pixels of the longer side, to which an image is shrunk first; 0: any number.
    image_long = 2_048,
    /// Most pixels of the shorter side, as above.
    image_short = 768,
    /// A piece of audio of unknown length. Source: `LiteLLM`'s fallback floor.
    audio = 300,
    /// For each second of audio whose length can be read; 0: no length is looked at. Source: `LiteLLM` (`OpenAI`: a token for
    /// every 100 ms).
    audio_second = 10,
    /// A file of unknown length, about two pages.
    file = 1_500,
    /// Once for each tool; 10 for gpt-4 and gpt-3.5. Source: the cookbook, section 6.
    tool = 7,
    /// Opens the properties of a schema. Same source.
    properties = 3,
    /// For each property. Same source.
    property = 3,
    /// Taken off where a property has an enumeration. Same source.
    enumeration = 3,
    /// For each item of an enumeration. Same source.
    item = 3,
    /// Once, behind all tools. Same source.
    tools_end = 12,
}

impl Default for Figures {
    fn default() -> Self {
        FIGURES
    }
}

/// What costs by the piece, never by its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Media {
    Image {
        low: bool,
        size: Option<ImageSize>,
    },
    /// Of known length, or of unknown.
    Audio(Option<Duration>),
    File,
}

impl Figures {
    fn media_tokens(&self, media: Media) -> u64 {
        match media {
            Media::Image { low: false, size } => self.image_tokens(size),
            Media::Image { low: true, size } => self.image_tokens(size).min(self.image_low.into()),
            Media::Audio(Some(long)) if self.audio_second > 0 => long.times(self.audio_second),
            Media::Audio(_) => self.audio.into(),
            Media::File => self.file.into(),
        }
    }
}

/// Adds up what is read of one message.
pub(crate) struct Meter<'c, T> {
    figures: &'c Figures,
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
        figures: &'c Figures,
        counter: Option<&'c dyn Counter<T>>,
        longest: Option<u64>,
        measure: bool,
    ) -> Self {
        Self {
            figures,
            counter,
            longest,
            measure,
            chars: 0,
            bytes: 0,
            tokens: 0,
        }
    }

    /// Whether it matters what media cost.
    pub(crate) fn wants_media(&self) -> bool {
        self.measure || self.counter.is_some()
    }

    /// Whether UTF-8 bytes are measured.
    pub(crate) fn measures(&self) -> bool {
        self.measure
    }

    /// The frame of a message and its role.
    pub(crate) fn message(&mut self, role: Role) -> Result<(), Foreign> {
        // A role is a token in the built-in encodings.
        let frame = u64::from(self.figures.message);
        self.frame(frame + 1, None);
        if let Some(counter) = self.counter {
            self.tokens += frame + counter.role(role)?;
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
            self.tokens += match self.hopeless(text, chars, 0) {
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
        self.tokens += match self.hopeless(text, text.chars(), front.len() as u64) {
            Some(tokens) => tokens,
            None => counter.count_behind(front, text)?,
        };
        Ok(())
    }

    /// A text that was made of a value.
    pub(crate) fn made(&mut self, text: &str) -> Result<(), Foreign> {
        self.chars += text.chars().count() as u64;
        if self.measure {
            self.bytes += text.len() as u64;
        }
        if let Some(counter) = self.counter {
            self.tokens += self.made_tokens(counter, text)?;
        }
        Ok(())
    }

    /// A value that is JSON, where nothing but its characters is wanted and they are had; whether it is so.
    pub(crate) fn value<V: Value<Text = T>>(&mut self, value: &V) -> bool {
        let chars = if self.wants_media() {
            None
        } else {
            value.json_chars()
        };
        self.chars += chars.unwrap_or(0) as u64;
        chars.is_some()
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
        let frame = u64::from(self.figures.call);
        self.frame(frame, name);
        if let Some(counter) = self.counter {
            self.tokens += frame + name.map_or(Ok(0), |name| counter.count(name))?;
        }
        Ok(())
    }

    /// The frame of a result that is a part of a message.
    pub(crate) fn result(&mut self) {
        let frame = u64::from(self.figures.result);
        self.frame(frame, None);
        if self.counter.is_some() {
            self.tokens += frame;
        }
    }

    /// The frame of an item that has no role.
    pub(crate) fn item(&mut self) {
        let frame = u64::from(self.figures.message);
        self.frame(frame, None);
        if self.counter.is_some() {
            self.tokens += frame;
        }
    }

    /// What goes to the model and is no text: signatures, encrypted reasoning. Tokens only.
    pub(crate) fn opaque(&mut self, data: &T) -> Result<(), Foreign> {
        if self.wants_media() {
            let chars = self.chars;
            self.text(data)?;
            self.chars = chars;
        }
        Ok(())
    }

    /// The name of a speaker.
    pub(crate) fn name(&mut self, name: &T) -> Result<(), Foreign> {
        let frame = u64::from(self.figures.name);
        self.frame(frame, Some(name));
        if let Some(counter) = self.counter {
            self.tokens += frame + counter.count(name)?;
        }
        Ok(())
    }

    /// A picture, a sound, a file.
    pub(crate) fn media(&mut self, media: Media) {
        let tokens = self.figures.media_tokens(media);
        self.frame(tokens, None);
        if self.counter.is_some() {
            self.tokens += tokens;
        }
    }

    /// Measures what is no text of a message by the tokens that it costs, and by its name.
    fn frame(&mut self, tokens: u64, name: Option<&T>) {
        if self.measure {
            self.bytes += tokens * BYTES_PER_TOKEN + name.map_or(0, |name| name.bytes() as u64);
        }
    }

    /// The least that a text costs which is too long to fit; `front`: bytes in front of it.
    fn hopeless(&self, text: &T, chars: usize, front: u64) -> Option<u64> {
        let longest = self.longest?;
        // A code point has at most four bytes: only a text that may be too long is measured.
        if (chars as u64).saturating_mul(4).saturating_add(front) <= longest {
            return None;
        }
        let bytes = front + text.bytes() as u64;
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
