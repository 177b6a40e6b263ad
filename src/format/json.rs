//! Results that are JSON: Gemini's `response`, Bedrock's `json`.

use crate::error::ReadError;
use crate::format::misfit;
use crate::plan::Step;
use crate::value::{Text, Value};

/// What a result says, and the step to it if it stands further inside: a mapping whose one entry is a text says that text, as it
/// does once a cap has made `{"output": ...}` of it; anything else its compact JSON.
pub(super) fn said<V: Value>(
    value: &V,
    path: impl Fn() -> String,
) -> Result<(Option<Step>, V::Text), ReadError> {
    if value.is_record()
        && let [(name, only)] = value.entries()?.as_slice()
        && let Some(text) = only.text()
    {
        return Ok((Some(Step::Name(name.as_str().into_owned())), text));
    }
    let text = match value.text() {
        Some(text) => Some(text),
        None => value.compact_json()?,
    };
    let misfit = || ReadError::Misfit(misfit(path(), Some(value), "a JSON value"));
    Ok((None, text.ok_or_else(misfit)?))
}
