//! Counting the texts of JSON, without the interpreter.

use pyo3::prelude::*;
use pyo3::types::PyString;

use super::memo::{Memo, MemoKey};
use super::tokens::{Kind, Tokenizer};
use crate::cap::TextCut;
use crate::error::Foreign;
use crate::facts::Role;
use crate::json::JsonText;
use crate::tokens::Counter;
use crate::value::Text;

/// A tokenizer at work in a thread that may be detached. Only a caller's own counter takes the interpreter lock, for each text that
/// is not remembered.
pub(super) struct Detached<'t>(pub &'t Tokenizer);

impl Detached<'_> {
    /// The count of a text that is remembered as `known`.
    fn remembered<'m>(
        &self,
        known: &str,
        key: MemoKey,
        made: impl FnOnce() -> std::borrow::Cow<'m, str>,
    ) -> Result<u64, Foreign> {
        let memo = self.0.memo();
        if let Some(tokens) = memo.get_written(known, key) {
            return Ok(tokens);
        }
        let tokens = self.fresh(&made())?;
        memo.put_written(known, key, tokens);
        Ok(tokens)
    }

    fn fresh(&self, text: &str) -> Result<u64, Foreign> {
        Ok(match self.0.kind() {
            Kind::BuiltIn(encoding) => encoding.count(text),
            Kind::Estimate(estimate) => estimate.count(text),
            Kind::Custom(counter) => {
                Python::attach(|py| self.0.ask(counter, &PyString::new(py, text)))?
            }
        })
    }
}

impl<'d> Counter<JsonText<'d>> for Detached<'_> {
    fn count(&self, text: &JsonText<'d>) -> Result<u64, Foreign> {
        match text.written() {
            Some("") => Ok(0),
            Some(written) => {
                self.remembered(written, Memo::key_of_written(written), || text.as_str())
            }
            None => <Self as Counter<JsonText<'d>>>::count_str(self, &text.as_str()),
        }
    }

    fn count_str(&self, text: &str) -> Result<u64, Foreign> {
        self.remembered(text, Memo::key_of_made(text), || text.into())
    }

    fn count_cut(&self, text: &JsonText<'d>, cut: &TextCut) -> Result<u64, Foreign> {
        <Self as Counter<JsonText<'d>>>::count_str(self, &text.cut(cut))
    }

    fn role(&self, role: Role) -> Result<u64, Foreign> {
        self.0.role(role, |name| {
            <Self as Counter<JsonText<'d>>>::count_str(self, name)
        })
    }

    fn is_bytewise(&self) -> bool {
        !self.0.is_custom()
    }
}
