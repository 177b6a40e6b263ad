//! Figures as Python sees them: the façade's dataclass, field by field.

use std::collections::HashMap;

use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::cost::{FIGURES, Figures};

/// The figures to count with: those that are given, else the model's, of which the tokenizer knows best what a tool costs.
pub(super) fn resolve(
    given: Option<&Bound<'_, PyAny>>,
    model: Option<&Bound<'_, PyString>>,
    tokenizer: &str,
) -> PyResult<Figures> {
    let Some(given) = given else {
        return Ok(of(model).for_encoding(tokenizer));
    };
    let mut values = FIGURES.values();
    for (name, value) in Figures::NAMES.into_iter().zip(&mut values) {
        *value = given.getattr(name)?.extract()?;
    }
    Ok(Figures::from_values(values))
}

fn of(model: Option<&Bound<'_, PyString>>) -> Figures {
    model.map_or(FIGURES, |name| Figures::of(&name.to_string_lossy()))
}

/// The figures of a model by name; without one those that the core counts with where nothing is said.
#[pyfunction]
#[pyo3(name = "figures", signature = (model))]
pub fn figures_of(model: Option<&Bound<'_, PyString>>) -> HashMap<&'static str, u32> {
    let values = of(model).values();
    Figures::NAMES.into_iter().zip(values).collect()
}
