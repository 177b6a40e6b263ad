//! The built-in encodings, exact to the token.

use bpe_openai::Tokenizer;

/// A built-in encoding. The vocabulary is loaded at the first count and shared by all threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// gpt-4o and later.
    O200kBase,
    /// gpt-oss: the same ranks and pattern as [`O200kBase`](Self::O200kBase), more special tokens, which text never is.
    O200kHarmony,
    /// gpt-4, gpt-3.5, text-embedding-3.
    Cl100kBase,
}

impl Encoding {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::O200kBase, Self::O200kHarmony, Self::Cl100kBase];

    /// The name that tiktoken gives it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::O200kBase => "o200k_base",
            Self::O200kHarmony => "o200k_harmony",
            Self::Cl100kBase => "cl100k_base",
        }
    }

    /// The encoding of that name.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|encoding| encoding.name() == name)
    }

    fn tokenizer(self) -> &'static Tokenizer {
        match self {
            Self::O200kBase | Self::O200kHarmony => bpe_openai::o200k_base(),
            Self::Cl100kBase => bpe_openai::cl100k_base(),
        }
    }

    /// Loads the vocabulary, if nobody has. Tens of milliseconds, once a process.
    pub fn load(self) {
        self.tokenizer();
    }

    /// Tokens of `text`, in which nothing is special. O(bytes), whatever the text.
    #[must_use]
    pub fn count(self, text: &str) -> u64 {
        self.tokenizer().count(text) as u64
    }

    /// Tokens of `text`, or `None` if there are more than `limit`. Stops soon after the limit.
    #[must_use]
    pub fn count_up_to(self, text: &str, limit: usize) -> Option<u64> {
        if text.len() <= limit {
            // A token has at least one byte, so it fits; the count itself is still wanted.
            return Some(self.count(text));
        }
        let tokenizer = self.tokenizer();
        tokenizer
            .count_till_limit(&tokenizer.normalize(text), limit)
            .map(|count| count as u64)
    }
}
