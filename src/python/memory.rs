//! How much memory what is remembered may take, as Python sets it.

use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::memo::{most_bytes, set_most_bytes};
use crate::tokens::{cache_bytes, set_cache_bytes};

/// Sets the limits that are given, in bytes.
#[pyfunction]
#[pyo3(signature = (texts = None, pieces = None))]
pub fn limit_memory(texts: Option<usize>, pieces: Option<usize>) {
    if let Some(bytes) = texts {
        set_most_bytes(bytes);
    }
    if let Some(bytes) = pieces {
        set_cache_bytes(bytes);
    }
}

/// The limits, by the names under which they are set.
#[pyfunction]
pub fn memory_limits(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let limits = PyDict::new(py);
    limits.set_item("texts", most_bytes())?;
    limits.set_item("pieces", cache_bytes())?;
    Ok(limits)
}
