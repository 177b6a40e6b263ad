//! Core errors as the exceptions of `backcut.errors`.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

use crate::error::{Error, Foreign};
use crate::json::Syntax;

impl From<PyErr> for Foreign {
    fn from(error: PyErr) -> Self {
        Self(Box::new(error))
    }
}

/// The exception that a core error is for Python.
pub(super) fn raise(py: Python<'_>, error: Error) -> PyErr {
    build(py, error).unwrap_or_else(|error| error)
}

fn build(py: Python<'_>, error: Error) -> PyResult<PyErr> {
    static FORMAT: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    static OPTION: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    static BUDGET: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    static JSON: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let value = match error {
        Error::Format { index, misfit } => FORMAT
            .import(py, "backcut.errors", "FormatError")?
            .call1((index, misfit.path, misfit.found, misfit.expected))?,
        Error::Ambiguous { .. } => {
            let hint = format!("{error}; say which with format=\"...\"");
            OPTION
                .import(py, "backcut.errors", "OptionError")?
                .call1(("format", "auto", hint))?
        }
        Error::NotInFormat { option, format } => {
            let hint = format!(
                "plays the rules of openai-chat, but the history is {}",
                format.name()
            );
            OPTION
                .import(py, "backcut.errors", "OptionError")?
                .call1((option, "thena", hint))?
        }
        Error::Budget {
            needed,
            limit,
            ceiling,
            index,
        } => BUDGET.import(py, "backcut.errors", "BudgetError")?.call1((
            needed,
            limit,
            ceiling.option(),
            index,
        ))?,
        Error::Json(Syntax {
            offset,
            found,
            expected,
        }) => JSON
            .import(py, "backcut.errors", "JsonError")?
            .call1((offset, found, expected))?,
        Error::Foreign(Foreign(foreign)) => {
            return Ok(match foreign.downcast::<PyErr>() {
                Ok(error) => *error,
                Err(_) => pyo3::exceptions::PyRuntimeError::new_err("an unknown error"),
            });
        }
    };
    Ok(PyErr::from_value(value))
}
