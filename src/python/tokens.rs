//! Tokenizers as Python sees them, and counting with them.

use std::borrow::Cow;
use std::cell::Cell;
use std::hash::BuildHasher;
use std::sync::{Arc, OnceLock};

use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt, PyString, PyType};
use rustc_hash::FxBuildHasher;

use super::memo::Memo;
use super::value::Str;
use crate::cap::TextCut;
use crate::error::Foreign;
use crate::facts::Role;
use crate::tokens::{Counter, Encoding, Estimate, Keep, Scaled, context_ends, reach_of, truncate};
use crate::value::Text;

pub(super) enum Kind {
    BuiltIn(Encoding),
    Estimate(Estimate),
    Custom(Py<PyAny>),
}

/// Counts tokens, and remembers what it has counted.
#[pyclass(frozen, module = "backcut._core", weakref)]
pub struct Tokenizer {
    name: String,
    kind: Kind,
    memo: Arc<Memo>,
    roles: OnceLock<[u64; Role::ALL.len()]>,
}

#[pymethods]
impl Tokenizer {
    #[new]
    #[pyo3(signature = (name, counter = None, scaled = None))]
    fn new(
        name: String,
        counter: Option<Py<PyAny>>,
        scaled: Option<(String, u32, u32)>,
    ) -> PyResult<Self> {
        let kind = match (counter, scaled) {
            (Some(counter), None) => Kind::Custom(counter),
            (None, Some(factor)) => Kind::Estimate(times(&factor)?),
            (None, None) if name == Estimate::APPROXIMATE => Kind::Estimate(Estimate::Approximate),
            (None, None) => Kind::BuiltIn(built_in(&name)?),
            (Some(_), Some(_)) => {
                return Err(PyValueError::new_err(
                    "a counter of its own is not scaled: give counter or scaled",
                ));
            }
        };
        Ok(Self {
            name,
            kind,
            memo: Memo::new(),
            roles: OnceLock::new(),
        })
    }

    #[getter]
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Whether this is no estimate of backcut's. A caller's own function is taken at its word.
    #[getter]
    fn is_exact(&self) -> bool {
        !matches!(self.kind, Kind::Estimate(_))
    }

    /// Tokens of a text. Nothing in it is special.
    fn count(&self, text: Bound<'_, PyString>) -> PyResult<u64> {
        self.counting(&Cell::new(0))
            .text(&Str(text), 0, |text| Ok(text.clone()))
    }

    /// Tokens of a text, or None if there are more than the limit.
    fn count_up_to(
        &self,
        text: Bound<'_, PyString>,
        limit: &Bound<'_, PyAny>,
    ) -> PyResult<Option<u64>> {
        let limit = bound(limit)?;
        let text = Str(text);
        // A text that fits whatever it is, and one that is remembered, are counted as ever.
        if self.is_custom() || text.len() as u64 <= limit || self.known(&text)?.is_some() {
            let tokens = self.count(text.0)?;
            return Ok((tokens <= limit).then_some(tokens));
        }
        if text.len() >= reach_of(limit) {
            return Ok(None);
        }
        let string = utf8(&text)?;
        let count = || match self.kind {
            Kind::BuiltIn(encoding) => encoding.count_up_to(&string, limit),
            Kind::Estimate(estimate) => estimate.count_up_to(&string, limit),
            Kind::Custom(_) => None,
        };
        Ok(detached(text.0.py(), string.len(), count))
    }

    /// The longest piece from one end of a text within the limit.
    #[pyo3(signature = (text, limit, keep = "head"))]
    fn truncate<'py>(
        &self,
        text: Bound<'py, PyString>,
        limit: &Bound<'py, PyAny>,
        keep: &str,
    ) -> PyResult<Bound<'py, PyString>> {
        let limit = bound(limit)?;
        let keep = match keep {
            "head" => Keep::Head,
            "tail" => Keep::Tail,
            other => {
                return Err(PyValueError::new_err(format!(
                    "keep must be \"head\" or \"tail\", not {other:?}"
                )));
            }
        };
        let text = Str(text);
        if let Kind::Custom(counter) = &self.kind {
            let string = text.as_str();
            let at = truncate(&string, limit, keep, false, |piece| {
                self.ask(counter, &PyString::new(text.0.py(), piece))
            })?;
            return text.end(keep, chars_of(&text, &string, at, keep)?);
        }
        if matches!(self.kind, Kind::BuiltIn(_)) && 4 * text.len() as u64 <= limit {
            // No byte has more than one token.
            return Ok(text.0);
        }
        let near = Str(within_reach(&text, limit, keep)?);
        let string = utf8(&near)?;
        let cut = || match self.kind {
            Kind::BuiltIn(encoding) => encoding.truncate(&string, limit, keep),
            Kind::Estimate(estimate) => estimate.truncate(&string, limit, keep),
            Kind::Custom(_) => 0,
        };
        let at = detached(text.0.py(), string.len(), cut);
        text.end(keep, chars_of(&near, &string, at, keep)?)
    }

    /// Bytes that the tokenizer and the texts that it remembers take.
    fn __sizeof__(&self) -> usize {
        size_of::<Self>() + self.memo.bytes()
    }

    /// A caller's function may hold whatever holds the tokenizer. Nothing is to be cleared: the tokenizer itself never changes,
    /// so that some other object closes the circle.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        match &self.kind {
            Kind::Custom(counter) => visit.call(counter),
            Kind::BuiltIn(_) | Kind::Estimate(_) => Ok(()),
        }
    }

    fn __repr__(&self) -> String {
        format!("Tokenizer({:?})", self.name)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> (Bound<'py, PyType>, Pickled) {
        let this = slf.get();
        let counter = match &this.kind {
            Kind::Custom(counter) => Some(counter.clone_ref(slf.py())),
            Kind::BuiltIn(_) | Kind::Estimate(_) => None,
        };
        let scaled = match this.kind {
            Kind::Estimate(Estimate::Scaled(scaled)) => {
                let (base, numerator, denominator) = scaled.parts();
                Some((base.name(), numerator, denominator))
            }
            _ => None,
        };
        (slf.get_type(), (this.name.clone(), counter, scaled))
    }
}

/// The arguments that make a tokenizer again.
type Pickled = (String, Option<Py<PyAny>>, Option<(&'static str, u32, u32)>);

fn built_in(name: &str) -> PyResult<Encoding> {
    Encoding::of(name)
        .ok_or_else(|| PyValueError::new_err(format!("no built-in encoding is named {name:?}")))
}

/// The estimate of a base encoding and a factor.
fn times((base, numerator, denominator): &(String, u32, u32)) -> PyResult<Estimate> {
    let scaled = Scaled::new(built_in(base)?, *numerator, *denominator).ok_or_else(|| {
        PyValueError::new_err(format!(
            "scaled must be by at least 1, not {numerator}/{denominator}"
        ))
    })?;
    Ok(Estimate::Scaled(scaled))
}

/// A limit as the caller gave it; one that is larger than any count is all the same.
fn bound(limit: &Bound<'_, PyAny>) -> PyResult<u64> {
    let py = limit.py();
    match limit.extract::<i64>() {
        Ok(number) => u64::try_from(number).ok(),
        Err(error) if error.is_instance_of::<PyOverflowError>(py) => {
            limit.gt(0)?.then_some(u64::MAX)
        }
        Err(error) => return Err(error),
    }
    .ok_or_else(|| PyValueError::new_err(format!("limit must be at least 0, not {limit}")))
}

/// A string in UTF-8 as tiktoken reads it: split surrogate pairs joined, lone surrogates replaced.
fn utf8<'t>(text: &'t Str<'_>) -> PyResult<Cow<'t, str>> {
    if text.is_borrowed()
        && let Ok(text) = text.0.to_str()
    {
        return Ok(Cow::Borrowed(text));
    }
    if let Ok(bytes) = text.0.encode_utf8() {
        return Ok(Cow::Owned(String::from_utf8(bytes.as_bytes().to_vec())?));
    }
    let py = text.0.py();
    let utf16 = text.0.call_method1(
        intern!(py, "encode"),
        (intern!(py, "utf-16-le"), intern!(py, "surrogatepass")),
    )?;
    utf16
        .call_method1(
            intern!(py, "decode"),
            (intern!(py, "utf-16-le"), intern!(py, "replace")),
        )?
        .extract()
        .map(Cow::Owned)
}

/// Other threads get their turn where there is much to count.
fn detached<R: Send>(py: Python<'_>, bytes: usize, count: impl FnOnce() -> R + Send) -> R {
    if bytes < HELD_AT_MOST {
        count()
    } else {
        py.detach(count)
    }
}

/// The part of a text in which a piece within the limit lies, from the same end: so much less to read of a long one. What is
/// left out changes nothing in it, neither tokens nor grapheme clusters.
fn within_reach<'py>(text: &Str<'py>, limit: u64, keep: Keep) -> PyResult<Bound<'py, PyString>> {
    let mut chars = reach_of(limit);
    loop {
        if chars >= text.len() {
            return Ok(text.0.clone());
        }
        let near = text.end(keep, chars)?;
        let first = near.get_item(0)?.cast_into::<PyString>()?;
        // What no UTF-8 says is a lone surrogate, which continues nothing.
        let first = first.to_str().ok().and_then(|first| first.chars().next());
        if keep == Keep::Head || first.is_none_or(context_ends) {
            return Ok(near);
        }
        chars = chars.saturating_mul(2);
    }
}

/// Code points of the piece of `text` whose UTF-8 form, `string`, is cut at `at`: a split surrogate pair is one character there.
fn chars_of(text: &Str<'_>, string: &str, at: usize, keep: Keep) -> PyResult<usize> {
    let (head, tail) = string.split_at(at);
    let piece = if keep == Keep::Head { head } else { tail };
    let chars = piece.chars().count();
    if string.chars().count() == text.len() {
        return Ok(chars);
    }
    let py = text.0.py();
    let wide = text.0.call_method1(
        intern!(py, "encode"),
        (intern!(py, "utf-32-le"), intern!(py, "surrogatepass")),
    )?;
    let wide: Vec<u8> = wide.extract()?;
    let is = |at: usize, low: u8, high: u8| {
        wide.get(4 * at..4 * at + 4)
            .is_some_and(|c| c[2..] == [0, 0] && (low..=high).contains(&c[1]))
    };
    let mut points = 0;
    for _ in head.chars() {
        let is_pair = is(points, 0xD8, 0xDB) && is(points + 1, 0xDC, 0xDF);
        points += if is_pair { 2 } else { 1 };
    }
    Ok(match keep {
        Keep::Head => points,
        Keep::Tail => text.len() - points,
    })
}

impl Tokenizer {
    /// Counts on behalf of one call. `held`: bytes counted since the interpreter lock was last given up.
    pub(super) fn counting<'t>(&'t self, held: &'t Cell<usize>) -> Counting<'t> {
        Counting {
            tokenizer: self,
            held,
        }
    }

    pub(super) const fn kind(&self) -> &Kind {
        &self.kind
    }

    pub(super) fn memo(&self) -> &Memo {
        &self.memo
    }

    /// Tokens of a role's name, which `count` is asked for once.
    pub(super) fn role(
        &self,
        role: Role,
        count: impl Fn(&str) -> Result<u64, Foreign>,
    ) -> Result<u64, Foreign> {
        if let Some(roles) = self.roles.get() {
            return Ok(roles[role as usize]);
        }
        let mut roles = [0; Role::ALL.len()];
        for role in Role::ALL {
            roles[role as usize] = count(role.name())?;
        }
        Ok(self.roles.get_or_init(|| roles)[role as usize])
    }

    /// Whether counting runs a caller's own code.
    pub(super) const fn is_custom(&self) -> bool {
        matches!(self.kind, Kind::Custom(_))
    }

    /// The count of a text that is remembered.
    fn known(&self, text: &Str<'_>) -> PyResult<Option<u64>> {
        if !text.0.is_exact_instance_of::<PyString>() {
            return Ok(None);
        }
        Ok(self.memo.get(&text.0, Memo::key(&text.0, 0)?))
    }

    /// What a caller's own counter says of a text.
    pub(super) fn ask(&self, counter: &Py<PyAny>, text: &Bound<'_, PyString>) -> PyResult<u64> {
        let tokens = counter.bind(text.py()).call1((text,))?;
        let count = (tokens.is_instance_of::<PyInt>() && !tokens.is_instance_of::<PyBool>())
            .then(|| tokens.extract::<u64>());
        match count {
            Some(Ok(count)) if count <= MOST_TOKENS => Ok(count),
            _ => Err(PyTypeError::new_err(format!(
                "tokenizer {:?} returned {}, not an int of at least 0",
                self.name,
                tokens.repr()?
            ))),
        }
    }
}

/// No text has more tokens than this; sums of such counts stay far from overflowing.
const MOST_TOKENS: u64 = 1 << 48;

/// After so many bytes of uninterrupted counting, other threads get their turn.
const HELD_AT_MOST: usize = 16 << 10;

/// A tokenizer at work for one call.
pub(super) struct Counting<'t> {
    tokenizer: &'t Tokenizer,
    held: &'t Cell<usize>,
}

impl Counting<'_> {
    /// The count of `made(text)`, remembered under the text and the variant that tells what was made of it.
    fn text<'py>(
        &self,
        text: &Str<'py>,
        variant: u64,
        made: impl FnOnce(&Str<'py>) -> PyResult<Str<'py>>,
    ) -> PyResult<u64> {
        if text.len() == 0 && variant == 0 {
            return Ok(0);
        }
        if !text.0.is_exact_instance_of::<PyString>() {
            // A subclass may hash and compare as it likes.
            return self.fresh(&made(text)?);
        }
        let memo = &self.tokenizer.memo;
        let key = Memo::key(&text.0, variant)?;
        if let Some(tokens) = memo.get(&text.0, key) {
            return Ok(tokens);
        }
        let tokens = self.fresh(&made(text)?)?;
        memo.put(&text.0, key, tokens);
        Ok(tokens)
    }

    /// Counts without looking anything up.
    fn fresh(&self, text: &Str<'_>) -> PyResult<u64> {
        let kind = &self.tokenizer.kind;
        if let Kind::Custom(counter) = kind {
            return self.tokenizer.ask(counter, &text.0);
        }
        let string = utf8(text)?;
        let held = self.held.get() + string.len();
        let long = held >= HELD_AT_MOST;
        self.held.set(if long { 0 } else { held });
        let count = || match kind {
            Kind::BuiltIn(encoding) => encoding.count(&string),
            Kind::Estimate(estimate) => estimate.count(&string),
            Kind::Custom(_) => 0,
        };
        Ok(if long {
            text.0.py().detach(count)
        } else {
            count()
        })
    }
}

impl<'py> Counter<Str<'py>> for Counting<'_> {
    fn count(&self, text: &Str<'py>) -> Result<u64, Foreign> {
        Ok(self.text(text, 0, |text| Ok(text.clone()))?)
    }

    fn count_str(&self, text: &str) -> Result<u64, Foreign> {
        Python::attach(|py| {
            let (memo, key) = (&self.tokenizer.memo, Memo::key_of_made(text));
            if let Some(tokens) = memo.get_made(py, text, key) {
                return Ok(tokens);
            }
            let text = Str(PyString::new(py, text));
            let tokens = self.text(&text, 0, |text| Ok(text.clone()))?;
            memo.put(&text.0, key, tokens);
            Ok(tokens)
        })
    }

    fn count_cut(&self, text: &Str<'py>, cut: &TextCut) -> Result<u64, Foreign> {
        // Never 0, which is the text itself.
        let variant = FxBuildHasher.hash_one(cut) | 1;
        Ok(self.text(text, variant, |text| text.cut(cut))?)
    }

    fn count_behind(&self, front: &str, text: &Str<'py>) -> Result<u64, Foreign> {
        let variant = (FxBuildHasher.hash_one(front) | 1) ^ (1 << 63);
        let joined = |text: &Str<'py>| {
            Ok(Str(PyString::new(text.0.py(), front)
                .add(&text.0)?
                .cast_into()?))
        };
        Ok(self.text(text, variant, joined)?)
    }

    fn role(&self, role: Role) -> Result<u64, Foreign> {
        self.tokenizer.role(role, |name| self.count_str(name))
    }

    fn is_bytewise(&self) -> bool {
        // An estimate is never below 1/128 of the bytes either.
        !self.tokenizer.is_custom()
    }
}
