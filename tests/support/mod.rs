//! What the Rust tests and the benchmark share: JSON as a source, counters, random numbers.

// Each test crate uses its own part of this.
#![allow(dead_code)]

pub mod oracle;
pub mod random;
pub mod textbook;

use std::borrow::Cow;
use std::cell::RefCell;
use std::num::NonZeroU64;

use backcut::{Counter, Encoding, Error, Foreign, History, Key, Lent, Limits, Plan, Text, Value};
use serde_json::Value as Raw;

/// A JSON value as a source.
#[derive(Clone, Copy, Debug)]
pub struct Json<'a>(pub &'a Raw);

/// A text of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Str<'a>(pub &'a str);

/// A message array.
#[derive(Clone, Copy, Debug)]
pub struct Messages<'a>(pub &'a [Raw]);

impl Text for Str<'_> {
    fn chars(&self) -> usize {
        self.0.chars().count()
    }

    fn bytes(&self) -> usize {
        self.0.len()
    }

    fn as_str(&self) -> Cow<'_, str> {
        Cow::Borrowed(self.0)
    }

    fn same(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<'a> Value for Json<'a> {
    type Text = Str<'a>;
    type Lent<'v> = Json<'a>;

    fn get(&self, key: Key) -> Result<Option<Self>, Foreign> {
        let value = self.0.get(key.name()).filter(|value| !value.is_null());
        Ok(value.map(Json))
    }

    fn look(&self, mut look: impl FnMut(Key, Self::Lent<'_>) -> bool) -> bool {
        let Some(entries) = self.0.as_object() else {
            return false;
        };
        for (name, value) in entries {
            if let Some(key) = Key::of(name)
                && !look(key, Json(value))
            {
                break;
            }
        }
        true
    }

    fn text(&self) -> Option<Str<'a>> {
        self.0.as_str().map(Str)
    }

    fn word(&self) -> Option<Cow<'_, str>> {
        self.0.as_str().map(Cow::Borrowed)
    }

    fn list(&self) -> Option<usize> {
        self.0.as_array().map(Vec::len)
    }

    fn item(&self, index: usize) -> Option<Self> {
        self.0.get(index).map(Json)
    }

    fn is_record(&self) -> bool {
        self.0.is_object()
    }

    fn entries(&self) -> Result<Vec<(Str<'a>, Self)>, Foreign> {
        let entries = self.0.as_object().into_iter().flatten();
        Ok(entries
            .map(|(key, value)| (Str(key), Json(value)))
            .collect())
    }

    fn compact_json(&self) -> Result<Option<Str<'a>>, Foreign> {
        // Made for the test's lifetime.
        Ok(Some(Str(Box::leak(self.0.to_string().into_boxed_str()))))
    }

    fn type_name(&self) -> String {
        match self.0 {
            Raw::Null => "null",
            Raw::Bool(_) => "boolean",
            Raw::Number(_) => "number",
            Raw::String(_) => "string",
            Raw::Array(_) => "array",
            Raw::Object(_) => "object",
        }
        .to_owned()
    }

    fn shown(&self) -> String {
        self.0.to_string()
    }
}

impl<'a> Lent<Json<'a>> for Json<'a> {
    fn is_null(self) -> bool {
        self.0.is_null()
    }

    fn chars(self) -> Option<usize> {
        self.0.as_str().map(|text| text.chars().count())
    }

    fn word<R>(self, meant: impl FnOnce(&str) -> Option<R>) -> Option<R> {
        self.0.as_str().and_then(meant)
    }

    fn text(self) -> Option<Str<'a>> {
        self.0.as_str().map(Str)
    }

    fn keep(self) -> Json<'a> {
        self
    }
}

impl<'a> History for Messages<'a> {
    type Value = Json<'a>;

    fn len(&self) -> usize {
        self.0.len()
    }

    fn message(&self, index: usize) -> Result<Json<'a>, Foreign> {
        match self.0.get(index) {
            Some(message) => Ok(Json(message)),
            None => Err(Foreign(Box::new("the array has become shorter"))),
        }
    }
}

/// Counts with a built-in encoding.
pub struct Exact(pub Encoding);

impl Counter<Str<'_>> for Exact {
    fn count(&self, text: &Str<'_>) -> Result<u64, Foreign> {
        Ok(self.0.count(text.0))
    }

    fn count_str(&self, text: &str) -> Result<u64, Foreign> {
        Ok(self.0.count(text))
    }

    fn is_bytewise(&self) -> bool {
        true
    }
}

/// A token for every four characters begun: so cheap that it can be done in one's head.
pub struct Quarters;

/// The same as a function.
pub fn quarters(text: &str) -> u64 {
    text.chars().count().div_ceil(4) as u64
}

impl Counter<Str<'_>> for Quarters {
    fn count(&self, text: &Str<'_>) -> Result<u64, Foreign> {
        Ok(quarters(text.0))
    }

    fn count_str(&self, text: &str) -> Result<u64, Foreign> {
        Ok(quarters(text))
    }
}

/// [`Quarters`] that keeps every text it was asked for; `bytewise` as a built-in encoding is.
#[derive(Default)]
pub struct Recorder {
    pub seen: RefCell<Vec<String>>,
    pub bytewise: bool,
}

impl Recorder {
    /// Whether a text that contains `needle` was counted.
    pub fn has_seen(&self, needle: &str) -> bool {
        self.seen.borrow().iter().any(|text| text.contains(needle))
    }
}

impl Counter<Str<'_>> for Recorder {
    fn count(&self, text: &Str<'_>) -> Result<u64, Foreign> {
        self.count_str(text.0)
    }

    fn count_str(&self, text: &str) -> Result<u64, Foreign> {
        self.seen.borrow_mut().push(text.to_owned());
        Ok(quarters(text))
    }

    fn is_bytewise(&self) -> bool {
        self.bytewise
    }
}

/// A ceiling.
pub fn most(limit: u64) -> Option<NonZeroU64> {
    NonZeroU64::new(limit)
}

/// Plans without tokens.
pub fn plan(history: &[Raw], limits: &Limits) -> Result<Plan, Error> {
    backcut::plan(&Messages(history), limits, None, None, None)
}

/// Plans with the cheap counter.
pub fn plan_tokens(history: &[Raw], limits: &Limits) -> Result<Plan, Error> {
    backcut::plan(&Messages(history), limits, Some(&Quarters), None, None)
}
