//! Reading the caller's own Python objects in place: dicts and other mappings by key, everything else by attribute.

use std::borrow::Cow;

use pyo3::exceptions::{
    PyOverflowError, PyRecursionError, PyRuntimeError, PyTypeError, PyValueError,
};
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{
    PyByteArray, PyBytes, PyComplex, PyDict, PyFloat, PyInt, PyList, PyMapping, PyMemoryView,
    PySequence, PySlice, PyString, PyTuple,
};

use super::json;
use super::names::{Names, name_of};
use super::seen::Seen;
use crate::cap::TextCut;
use crate::error::{Error, Foreign, Misfit};
use crate::format::{Format, Known};
use crate::tokens::Keep;
use crate::value::{History, Key, Lent, Text, Value};

/// A Python value.
#[derive(Clone)]
pub(super) struct Object<'py, 'n> {
    value: Bound<'py, PyAny>,
    names: &'n Names<'py>,
}

impl<'py, 'n> Object<'py, 'n> {
    pub(super) fn new(value: Bound<'py, PyAny>, names: &'n Names<'py>) -> Self {
        Self { value, names }
    }

    /// A value that was found in this one.
    fn inner(&self, value: Bound<'py, PyAny>) -> Self {
        Self {
            value,
            names: self.names,
        }
    }
}

/// A Python string.
#[derive(Clone)]
pub(super) struct Str<'py>(pub Bound<'py, PyString>);

/// Above this many code points it is worth asking whether a string is ASCII before its UTF-8 form is made.
const SHORT: usize = 256;

/// Length of a string in code points.
#[inline]
pub(super) fn length(text: &Bound<'_, PyString>) -> usize {
    // Read where it stands, unless the wheel is one for all versions, which has to ask.
    #[cfg(not(feature = "abi3"))]
    use ffi::PyUnicode_GET_LENGTH as get_length;
    #[cfg(feature = "abi3")]
    use ffi::PyUnicode_GetLength as get_length;
    // SAFETY: it is a string, and its length is always at hand.
    // Measured: through the sequence protocol it costs three times as much, for each text of each message.
    #[allow(unsafe_code)]
    let len = unsafe { get_length(text.as_ptr()) };
    usize::try_from(len).unwrap_or(0)
}

impl<'py> Str<'py> {
    /// The number of code points, which Python knows.
    pub(super) fn len(&self) -> usize {
        length(&self.0)
    }

    /// Whether Python may make and keep the string's UTF-8 form. That of a long non-ASCII string is made for the moment: kept, it
    /// would double the caller's memory.
    pub(super) fn is_borrowed(&self) -> bool {
        self.len() <= SHORT || self.is_ascii()
    }

    fn is_ascii(&self) -> bool {
        let py = self.0.py();
        self.0
            .call_method0(intern!(py, "isascii"))
            .is_ok_and(|ascii| ascii.is_truthy().unwrap_or(false))
    }

    /// So many code points from one end, in a new Python string; the string itself if it has no more.
    pub(super) fn end(&self, keep: Keep, chars: usize) -> PyResult<Bound<'py, PyString>> {
        let len = self.len();
        if chars >= len {
            return Ok(self.0.clone());
        }
        let (from, to) = match keep {
            Keep::Head => (0, chars),
            Keep::Tail => (len - chars, len),
        };
        let slice = PySlice::new(self.0.py(), from.try_into()?, to.try_into()?, 1);
        Ok(self.0.get_item(slice)?.cast_into()?)
    }

    /// A new Python string: a cut applied to this one, in its own code points.
    pub(super) fn cut(&self, cut: &TextCut) -> PyResult<Str<'py>> {
        let py = self.0.py();
        let len = isize::try_from(self.len())?;
        let (head, tail) = (isize::try_from(cut.head)?, isize::try_from(cut.tail)?);
        let piece = |from, to| self.0.get_item(PySlice::new(py, from, to, 1));
        let joined = piece(0, head)?
            .add(cut.marker)?
            .add(piece(len - tail, len)?)?;
        Ok(Str(joined.cast_into()?))
    }
}

impl Text for Str<'_> {
    fn chars(&self) -> usize {
        self.len()
    }

    fn bytes(&self) -> usize {
        self.as_str().len()
    }

    fn as_str(&self) -> Cow<'_, str> {
        if self.is_borrowed()
            && let Ok(text) = self.0.to_str()
        {
            return Cow::Borrowed(text);
        }
        Cow::Owned(replaced(&self.0))
    }

    fn front(&self, chars: usize) -> Cow<'_, str> {
        if self.is_borrowed() || chars >= self.len() {
            return self.as_str();
        }
        match self.end(Keep::Head, chars) {
            Ok(front) => Cow::Owned(Str(front).as_str().into_owned()),
            Err(_) => self.as_str(),
        }
    }

    fn same(&self, other: &Self) -> bool {
        // SAFETY: both are strings, and comparing those cannot fail.
        // Measured: ids are compared for each result, and their UTF-8 forms would cost three times as much.
        #[allow(unsafe_code)]
        let order = unsafe { ffi::PyUnicode_Compare(self.0.as_ptr(), other.0.as_ptr()) };
        order == 0
    }

    fn key(&self) -> String {
        let text = self.as_str();
        if !text.contains(char::REPLACEMENT_CHARACTER) {
            return text.into_owned();
        }
        let mut key = String::new();
        let bytes = passed(&self.0).unwrap_or_default();
        for chunk in bytes.utf8_chunks() {
            key.push_str(chunk.valid());
            // The bytes of a surrogate are wrong one by one.
            key.extend(
                chunk
                    .invalid()
                    .iter()
                    .map(|byte| format!("\u{fffd}\0{byte:02x}")),
            );
        }
        key
    }
}

/// A string as what UTF-8 would be with surrogates.
fn passed(text: &Bound<'_, PyString>) -> Option<Vec<u8>> {
    let py = text.py();
    let encoded = text.call_method1(
        intern!(py, "encode"),
        (intern!(py, "utf-8"), intern!(py, "surrogatepass")),
    );
    encoded.ok()?.extract().ok()
}

/// A string as UTF-8, each lone surrogate as U+FFFD, which has as many bytes.
fn replaced(text: &Bound<'_, PyString>) -> String {
    let Some(mut bytes) = passed(text) else {
        return String::new();
    };
    for at in 0..bytes.len().saturating_sub(2) {
        // ED A0..BF is the lead of a surrogate and of nothing else.
        if bytes[at] == 0xED && bytes[at + 1] >= 0xA0 {
            bytes[at..at + 3].copy_from_slice("\u{FFFD}".as_bytes());
        }
    }
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

impl<'py, 'n> Value for Object<'py, 'n> {
    type Text = Str<'py>;
    type Lent<'v> = LentObject<'v, 'py, 'n>;

    fn get(&self, key: Key) -> Result<Option<Self>, Foreign> {
        let py = self.value.py();
        let name = name_of(py, key);
        let found = if let Ok(dict) = self.value.cast::<PyDict>() {
            dict.get_item(name)?
        } else if self.value.cast::<PyMapping>().is_ok() {
            // Asked first, since a look-up of what is not there may put it there.
            if self.value.contains(name)? {
                Some(self.value.get_item(name)?)
            } else {
                None
            }
        } else {
            self.value.getattr_opt(name)?
        };
        Ok(found
            .filter(|value| !value.is_none())
            .map(|value| self.inner(value)))
    }

    /// Walks a dict once: an entry costs a quarter of a look-up, and a message has fewer entries than it may have keys.
    #[inline]
    fn look(&self, mut look: impl FnMut(Key, Self::Lent<'_>) -> bool) -> bool {
        let Ok(dict) = self.value.cast::<PyDict>() else {
            return false;
        };
        let names = self.names;
        names.look(dict, |key, value| look(key, LentObject { value, names }));
        true
    }

    fn text(&self) -> Option<Str<'py>> {
        self.value
            .cast::<PyString>()
            .ok()
            .map(|text| Str(text.clone()))
    }

    fn word(&self) -> Option<Cow<'_, str>> {
        let text = self.value.cast::<PyString>().ok()?;
        Some(
            text.to_str()
                .map_or_else(|_| Cow::Owned(replaced(text)), Cow::Borrowed),
        )
    }

    fn list(&self) -> Option<usize> {
        if let Ok(list) = self.value.cast::<PyList>() {
            return Some(list.len());
        }
        self.value.cast::<PyTuple>().ok().map(PyTupleMethods::len)
    }

    fn item(&self, index: usize) -> Option<Self> {
        let item = match self.value.cast::<PyList>() {
            Ok(list) => list.get_item(index),
            Err(_) => self.value.cast::<PyTuple>().ok()?.get_item(index),
        };
        item.ok().map(|item| self.inner(item))
    }

    fn is_record(&self) -> bool {
        let value = &self.value;
        value.is_instance_of::<PyDict>()
            || !(value.is_none()
                || value.is_instance_of::<PyString>()
                || value.is_instance_of::<PyList>()
                || value.is_instance_of::<PyTuple>()
                || value.is_instance_of::<PyInt>()
                || value.is_instance_of::<PyFloat>()
                || value.is_instance_of::<PyComplex>()
                || value.is_instance_of::<PyBytes>()
                || value.is_instance_of::<PyByteArray>()
                || value.is_instance_of::<PyMemoryView>())
    }

    fn entries(&self) -> Result<Vec<(Self::Text, Self)>, Foreign> {
        let Ok(mapping) = self.value.cast::<PyMapping>() else {
            return Ok(Vec::new());
        };
        let mut entries = Vec::new();
        for item in mapping.items()? {
            let (key, value) = item.extract::<(Bound<'py, PyAny>, Bound<'py, PyAny>)>()?;
            // JSON knows string keys only, and makes them of others.
            entries.push((Str(key.str()?), self.inner(value)));
        }
        Ok(entries)
    }

    fn only_entry(&self) -> Result<Option<(Self::Text, Self)>, Foreign> {
        let (key, value) = if let Ok(dict) = self.value.cast_exact::<PyDict>() {
            match dict.iter().next().filter(|_| dict.len() == 1) {
                Some(entry) => entry,
                None => return Ok(None),
            }
        } else if let Ok(mapping) = self.value.cast::<PyMapping>() {
            let items = mapping.items()?;
            if items.len() != 1 {
                return Ok(None);
            }
            items.get_item(0)?.extract()?
        } else {
            return Ok(None);
        };
        // Under any other key an edit would not find it again.
        let key = key.cast_into::<PyString>().ok();
        Ok(key.map(|key| (Str(key), self.inner(value))))
    }

    fn made_json(&self) -> Option<String> {
        json::compact(&self.value)
    }

    fn json_chars(&self) -> Option<usize> {
        json::chars(&self.value)
    }

    fn compact_json(&self) -> Result<Option<Str<'py>>, Foreign> {
        static DUMPS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        static AS_JSON: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let py = self.value.py();
        if let Some(json) = json::compact(&self.value) {
            return Ok(Some(Str(PyString::new(py, &json))));
        }
        let dumps = DUMPS.import(py, "json", "dumps")?;
        let options = PyDict::new(py);
        options.set_item(intern!(py, "separators"), (",", ":"))?;
        options.set_item(intern!(py, "ensure_ascii"), false)?;
        // Objects of an SDK stand for the JSON that they are on the wire.
        let as_json = AS_JSON.import(py, "backcut.plain", "as_json")?;
        options.set_item(intern!(py, "default"), as_json)?;
        match dumps.call((&self.value,), Some(&options)) {
            Ok(json) => Ok(Some(Str(json.cast_into().map_err(PyErr::from)?))),
            Err(error)
                if error.is_instance_of::<PyTypeError>(py)
                    || error.is_instance_of::<PyValueError>(py)
                    || error.is_instance_of::<PyRecursionError>(py)
                    || error.is_instance_of::<PyOverflowError>(py) =>
            {
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    fn sent(&self) -> Result<Option<Str<'py>>, Foreign> {
        static SENT: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        if let Some(json) = self.compact_json()? {
            return Ok(Some(json));
        }
        let sent = SENT.import(self.value.py(), "backcut.sent", "sent")?;
        let text = sent.call1((&self.value,))?;
        Ok(Some(Str(text.cast_into().map_err(PyErr::from)?)))
    }

    fn type_name(&self) -> String {
        type_name(&self.value)
    }

    fn shown(&self) -> String {
        static SHORTEN: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let py = self.value.py();
        // An enumeration that is a string is shown as that string.
        let shown = if self.value.is_instance_of::<PyString>() {
            let text = py.get_type::<PyString>();
            text.call_method1(intern!(py, "__str__"), (&self.value,))
        } else {
            Ok(self.value.clone())
        };
        let shown = shown.and_then(|value| {
            let shorten = SHORTEN.import(py, "backcut.errors", "shorten")?;
            shorten.call1((value,))
        });
        shown.map_or_else(|_| self.type_name(), |text| text.to_string())
    }
}

/// A Python value that a dict lends.
#[derive(Clone, Copy)]
pub(super) struct LentObject<'v, 'py, 'n> {
    value: Borrowed<'v, 'py, PyAny>,
    names: &'n Names<'py>,
}

impl<'py, 'n> Lent<Object<'py, 'n>> for LentObject<'_, 'py, 'n> {
    #[inline]
    fn is_null(self) -> bool {
        self.value.is_none()
    }

    #[inline]
    fn chars(self) -> Option<usize> {
        self.value.cast::<PyString>().ok().map(|text| length(&text))
    }

    #[inline]
    fn word<R>(self, meant: impl FnOnce(&str) -> Option<R>) -> Option<R> {
        let text = self.value.cast::<PyString>().ok()?;
        text.to_str().ok().and_then(meant)
    }

    #[inline]
    fn text(self) -> Option<Str<'py>> {
        self.value
            .cast::<PyString>()
            .ok()
            .map(|text| Str(text.to_owned()))
    }

    #[inline]
    fn keep(self) -> Object<'py, 'n> {
        Object::new(self.value.to_owned(), self.names)
    }
}

fn type_name(value: &Bound<'_, PyAny>) -> String {
    let name = value.get_type().name();
    name.map_or_else(|_| "an object".to_owned(), |name| name.to_string())
}

/// A caller's message array.
pub(super) struct Messages<'py, 's> {
    pub list: Bound<'py, PyList>,
    len: usize,
    seen: &'s Seen,
    names: &'s Names<'py>,
    fallback: Format,
}

impl<'py, 's> Messages<'py, 's> {
    /// Takes a list as it is and any other sequence as a list of the same objects. `hold`: the caller's own code will run
    /// while the history is read, so what counts is the list as it is now.
    pub(super) fn new(
        messages: &Bound<'py, PyAny>,
        seen: &'s Seen,
        names: &'s Names<'py>,
        hold: bool,
    ) -> Result<Self, Error> {
        let list = match messages.cast::<PyList>() {
            Ok(list) if hold => list.get_slice(0, list.len()),
            Ok(list) => list.clone(),
            Err(_) => sequence(messages)?,
        };
        Ok(Self {
            len: list.len(),
            list,
            seen,
            names,
            fallback: Format::OpenaiChat,
        })
    }

    /// The same, in this format where its messages do not tell.
    pub(super) fn or_else(self, fallback: Format) -> Self {
        Self { fallback, ..self }
    }
}

/// What is said of a message that is not there any more.
#[cold]
fn shorter(_: PyErr) -> Foreign {
    PyRuntimeError::new_err("the history became shorter while it was read").into()
}

fn sequence<'py>(messages: &Bound<'py, PyAny>) -> Result<Bound<'py, PyList>, Error> {
    let refused = messages.is_instance_of::<PyString>()
        || messages.is_instance_of::<PyBytes>()
        || messages.is_instance_of::<PyByteArray>()
        || messages.is_instance_of::<PyMemoryView>();
    match messages.cast::<PySequence>() {
        Ok(sequence) if !refused => Ok(sequence.to_list().map_err(Foreign::from)?),
        _ => Err(Error::Format {
            index: None,
            misfit: Misfit {
                path: String::new(),
                found: type_name(messages),
                expected: "a sequence of messages",
            },
        }),
    }
}

impl<'py, 's> History for Messages<'py, 's> {
    type Value = Object<'py, 's>;

    fn len(&self) -> usize {
        self.len
    }

    #[inline]
    fn message(&self, index: usize) -> Result<Object<'py, 's>, Foreign> {
        match self.list.get_item(index) {
            Ok(message) => Ok(Object::new(message, self.names)),
            Err(error) => Err(shorter(error)),
        }
    }

    fn fallback(&self) -> Format {
        self.fallback
    }

    fn known(&self) -> Option<Known> {
        self.seen.known(&self.list)
    }

    fn remember(&self, known: Known) {
        self.seen.remember(&self.list, known);
    }
}
