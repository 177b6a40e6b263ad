//! Requests as bytes: the interpreter lock is given up while they are read, planned and spliced.

use std::cell::RefCell;

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString, PyTuple};

use super::detached::Detached;
use super::errors::raise;
use super::result;
use super::window::Window;
use crate::batch::{Lines, OnError};
use crate::body::{Task, Trimmed, field};
use crate::error::Error;
use crate::json::{Buffers, JsonText, Syntax};
use crate::splice::Piece;
use crate::tokens::Counter;

thread_local! {
    /// What a thread indexes its bodies in, one after the other.
    static BUFFERS: RefCell<Buffers> = RefCell::default();
}

/// A thread keeps no more than this between two bodies, in bytes.
const KEPT: usize = 16 << 20;

fn with_buffers<R>(work: impl FnOnce(&mut Buffers) -> R) -> R {
    // A caller's own counter may trim something else meanwhile.
    let mut buffers = BUFFERS.take();
    let done = work(&mut buffers);
    if buffers.bytes() <= KEPT {
        BUFFERS.set(buffers);
    }
    done
}

/// A body that stays as it is while other threads run.
enum Body<'py> {
    Bytes(Bound<'py, PyBytes>),
    Text(Bound<'py, PyString>),
    Copied(Vec<u8>),
}

impl<'py> Body<'py> {
    fn new(body: &Bound<'py, PyAny>) -> PyResult<Self> {
        if let Ok(bytes) = body.cast::<PyBytes>() {
            return Ok(Self::Bytes(bytes.clone()));
        }
        if let Ok(text) = body.cast::<PyString>() {
            return Ok(Self::Text(text.clone()));
        }
        // Whoever holds it may write to it at any time.
        let buffer = PyBuffer::<u8>::get(body).ok();
        let copied = buffer.and_then(|buffer| buffer.to_vec(body.py()).ok());
        copied.map(Self::Copied).ok_or_else(|| {
            let kind = body.get_type();
            PyTypeError::new_err(format!(
                "body must be bytes, bytearray, memoryview of bytes or str, not {kind}"
            ))
        })
    }

    fn bytes(&self) -> Result<&[u8], Error> {
        match self {
            Self::Bytes(bytes) => Ok(bytes.as_bytes()),
            Self::Copied(bytes) => Ok(bytes),
            Self::Text(text) => text
                .to_str()
                .map(str::as_bytes)
                .map_err(|_| Error::Json(lone_surrogate(text))),
        }
    }
}

/// The place of the first code point that no UTF-8 says.
#[cold]
fn lone_surrogate(text: &Bound<'_, PyString>) -> Syntax {
    let utf16 = text.call_method1("encode", ("utf-8", "surrogatepass"));
    let bytes = utf16.and_then(|bytes| bytes.extract::<Vec<u8>>());
    let offset = bytes.map_or(0, |bytes| {
        std::str::from_utf8(&bytes).map_or_else(|error| error.valid_up_to(), |_| 0)
    });
    Syntax {
        offset,
        found: "a lone surrogate".to_owned(),
        expected: "text that UTF-8 can say",
    }
}

impl Window {
    /// The body to send, and the report.
    pub(super) fn trimmed_json<'py>(
        &self,
        body: &Bound<'py, PyAny>,
        key: Option<&str>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = body.py();
        let (held, trimmed) = self.trimmed(body, key)?;
        let sent = match &trimmed.pieces {
            None => body.clone(),
            Some(pieces) => join(py, held.bytes().map_err(|error| raise(py, error))?, pieces)?,
        };
        result::trimmed_json(py, sent, &trimmed.report)
    }

    /// The pieces of the body to send, and the report.
    pub(super) fn planned_json<'py>(
        &self,
        body: &Bound<'py, PyAny>,
        key: Option<&str>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = body.py();
        let (held, trimmed) = self.trimmed(body, key)?;
        let len = held.bytes().map_err(|error| raise(py, error))?.len();
        let pieces = trimmed.pieces.unwrap_or_else(|| vec![Piece::Kept(0..len)]);
        let pieces = pieces.iter().map(|piece| match piece {
            Piece::Kept(span) => Ok((span.start, span.end).into_pyobject(py)?.into_any()),
            Piece::New(text) => Ok(PyBytes::new(py, text.as_bytes()).into_any()),
        });
        let pieces = PyTuple::new(py, pieces.collect::<PyResult<Vec<_>>>()?)?;
        result::plan_json(py, pieces, &trimmed.report)
    }

    /// Lines, each of them a body.
    pub(super) fn trimmed_lines<'py>(
        &self,
        chunk: &Bound<'py, PyBytes>,
        key: Option<&str>,
        on_error: &str,
        reports: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = chunk.py();
        let on_error = match on_error {
            "raise" => OnError::Raise,
            "skip" => OnError::Skip,
            "keep" => OnError::Keep,
            other => {
                return Err(PyValueError::new_err(format!(
                    "on_error must be \"raise\", \"skip\" or \"keep\", not {other:?}"
                )));
            }
        };
        let bytes = chunk.as_bytes();
        let work = |task: Task<'_>| {
            with_buffers(|buffers| task.trim_lines(bytes, on_error, reports, buffers))
        };
        let lines: Lines = py.detach(|| self.task(key, true, work));
        result::lines(py, lines)
    }
}

impl Window {
    fn trimmed<'py>(
        &self,
        body: &Bound<'py, PyAny>,
        key: Option<&str>,
    ) -> PyResult<(Body<'py>, Trimmed)> {
        let py = body.py();
        let held = Body::new(body)?;
        let bytes = held.bytes().map_err(|error| raise(py, error))?;
        let work = |task: Task<'_>| with_buffers(|buffers| task.trim(bytes, buffers));
        let trimmed = py.detach(|| self.task(key, false, work));
        let trimmed = trimmed.map_err(|error| raise(py, error))?;
        Ok((held, trimmed))
    }

    /// Runs `work` with what this window does to a body.
    fn task<R>(
        &self,
        key: Option<&str>,
        count_before: bool,
        work: impl FnOnce(Task<'_>) -> R,
    ) -> R {
        let counting = self.tokenizer().map(Detached);
        let counter = counting
            .as_ref()
            .map(|counting| counting as &dyn for<'d> Counter<JsonText<'d>>);
        work(Task {
            limits: self.limits(),
            counter,
            key,
            count_before,
        })
    }
}

/// What the pieces of a body are.
fn join<'py>(py: Python<'py>, body: &[u8], pieces: &[Piece]) -> PyResult<Bound<'py, PyAny>> {
    let slices = pieces.iter().map(|piece| match piece {
        Piece::Kept(span) => &body[span.clone()],
        Piece::New(text) => text.as_bytes(),
    });
    let len = slices.clone().map(<[u8]>::len).sum();
    let joined = PyBytes::new_with(py, len, |mut room| {
        for slice in slices {
            let (place, rest) = room.split_at_mut(slice.len());
            place.copy_from_slice(slice);
            room = rest;
        }
        Ok(())
    })?;
    Ok(joined.into_any())
}

/// A text that a request has at its top.
#[pyfunction]
pub fn request_field(body: &Bound<'_, PyAny>, name: &str) -> PyResult<Option<String>> {
    let py = body.py();
    let held = Body::new(body)?;
    let found = held
        .bytes()
        .and_then(|bytes| py.detach(|| with_buffers(|buffers| field(bytes, name, buffers))));
    found.map_err(|error| raise(py, error))
}
