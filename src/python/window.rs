//! The window as Python sees it.

use std::cell::Cell;
use std::num::NonZeroU64;

use pyo3::exceptions::PyValueError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString};

use super::errors::raise;
use super::figures;
use super::names::Names;
use super::result;
use super::seen::Seen;
use super::tokens::Tokenizer;
use super::value::{Messages, Object};
use crate::format::Format;
use crate::plan::Plan;
use crate::tokens::Counter;
use crate::window::{Cap, Compat, Limits, NoticeRole, Overflow, Start, Thinking, ToolKeep, TrimTo};

/// Histories whose roles have been checked, of all windows: what is lawful does not depend on a window.
static SEEN: Seen = Seen::new();

/// One set of options, validated by the façade before.
#[pyclass(frozen, module = "backcut._core")]
pub struct Window {
    limits: Limits,
    tokenizer: Option<Py<Tokenizer>>,
}

/// What the façade never hands over.
fn unlawful(option: &str) -> PyErr {
    PyValueError::new_err(format!(
        "{option}: not a value that backcut.options lets through"
    ))
}

/// The variant of that name.
fn choice<T>(option: &str, value: &str, variants: &[(&str, T)]) -> PyResult<T>
where
    T: Copy,
{
    variants
        .iter()
        .find(|(name, _)| *name == value)
        .map(|&(_, variant)| variant)
        .ok_or_else(|| unlawful(option))
}

fn format(name: &str) -> PyResult<Option<Format>> {
    if name == "auto" {
        Ok(None)
    } else {
        Format::of(name).map(Some).ok_or_else(|| unlawful("format"))
    }
}

#[pymethods]
impl Window {
    /// As the tokenizer, which a caller's function may hold by way of the window.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.tokenizer)
    }

    #[new]
    #[pyo3(signature = (
        *, format, max_turns, max_chars, max_tokens, reserve_tokens, max_chars_per_tool, tokenizer, figures, model, start,
        notice, notice_role, tool_keep, trim_to, on_overflow, thinking, compat
    ))]
    #[allow(clippy::too_many_arguments)] // the options, each by its name
    fn new(
        format: &str,
        max_turns: Option<u64>,
        max_chars: Option<u64>,
        max_tokens: Option<u64>,
        reserve_tokens: u64,
        max_chars_per_tool: Option<usize>,
        tokenizer: Option<Py<Tokenizer>>,
        figures: Option<&Bound<'_, PyAny>>,
        model: Option<&Bound<'_, PyString>>,
        start: &str,
        notice: Option<String>,
        notice_role: &str,
        tool_keep: &str,
        trim_to: Option<f64>,
        on_overflow: &str,
        thinking: &str,
        compat: Option<&str>,
    ) -> PyResult<Self> {
        let thinking = choice(
            "thinking",
            thinking,
            &[("keep", Thinking::Keep), ("strip", Thinking::Strip)],
        )?;
        let format = self::format(format)?;
        if let Some(compat) = compat {
            choice("compat", compat, &[("thena", ())])?;
            let max_turns = max_turns.map(|most| usize::try_from(most).unwrap_or(usize::MAX));
            let compat = Some(Compat::Thena {
                max_turns,
                max_chars,
                max_chars_per_tool,
            });
            return Ok(Self {
                limits: Limits {
                    format,
                    notice,
                    compat,
                    ..Limits::default()
                },
                tokenizer: None,
            });
        }
        let ceiling = |option, value: Option<u64>| match value.map(NonZeroU64::new) {
            Some(None) => Err(unlawful(option)),
            Some(some) => Ok(some),
            None => Ok(None),
        };
        let tokens = match max_tokens.map(|most| most.checked_sub(reserve_tokens)) {
            Some(None) => return Err(unlawful("reserve_tokens")),
            Some(some) => some,
            None => None,
        };
        let keep = choice(
            "tool_keep",
            tool_keep,
            &[
                ("head", ToolKeep::Head),
                ("tail", ToolKeep::Tail),
                ("head_tail", ToolKeep::HeadTail),
            ],
        )?;
        let counts_as = tokenizer
            .as_ref()
            .map_or("", |tokenizer| tokenizer.get().name());
        let figures = figures::resolve(figures, model, counts_as)?;
        let limits = Limits {
            format,
            max_turns: ceiling("max_turns", max_turns)?,
            max_chars: ceiling("max_chars", max_chars)?,
            max_tokens: ceiling("max_tokens", tokens)?,
            cap: max_chars_per_tool.map(|chars| Cap { chars, keep }),
            figures,
            start: choice(
                "start",
                start,
                &[("user", Start::User), ("any", Start::Any)],
            )?,
            notice: notice.filter(|text| !text.is_empty()),
            notice_role: choice(
                "notice_role",
                notice_role,
                &[
                    ("auto", NoticeRole::Auto),
                    ("system", NoticeRole::System),
                    ("user", NoticeRole::User),
                ],
            )?,
            trim_to: match trim_to.map(TrimTo::new) {
                Some(None) => return Err(unlawful("trim_to")),
                Some(some) => some,
                None => None,
            },
            on_overflow: choice(
                "on_overflow",
                on_overflow,
                &[("raise", Overflow::Raise), ("keep", Overflow::Keep)],
            )?,
            thinking,
            compat: None,
        };
        if tokens.is_some() && tokenizer.is_none() {
            return Err(unlawful("tokenizer"));
        }
        Ok(Self { limits, tokenizer })
    }

    /// The messages to send, and the report.
    ///
    /// `hint`: the format where `auto` finds none.
    #[pyo3(signature = (messages, tools, system, hint = "openai-chat"))]
    fn trim<'py>(
        &self,
        messages: &Bound<'py, PyAny>,
        tools: Option<Bound<'py, PyAny>>,
        system: Option<Bound<'py, PyAny>>,
        hint: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (list, plan) = self.planned(messages, tools, system, hint)?;
        result::trimmed(messages, &list, &plan)
    }

    /// What `trim` would do.
    #[pyo3(name = "plan", signature = (messages, tools, system, hint = "openai-chat"))]
    fn plan_only<'py>(
        &self,
        messages: &Bound<'py, PyAny>,
        tools: Option<Bound<'py, PyAny>>,
        system: Option<Bound<'py, PyAny>>,
        hint: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (_, plan) = self.planned(messages, tools, system, hint)?;
        result::plan(messages.py(), &plan)
    }

    /// The body to send, and the report.
    #[pyo3(signature = (body, key))]
    fn trim_json<'py>(
        &self,
        body: &Bound<'py, PyAny>,
        key: Option<&str>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.trimmed_json(body, key)
    }

    /// The pieces of the body to send, and the report.
    #[pyo3(signature = (body, key))]
    fn plan_json<'py>(
        &self,
        body: &Bound<'py, PyAny>,
        key: Option<&str>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.planned_json(body, key)
    }

    /// Lines, each of them a body.
    #[pyo3(signature = (chunk, key, on_error, reports))]
    fn trim_lines<'py>(
        &self,
        chunk: &Bound<'py, PyBytes>,
        key: Option<&str>,
        on_error: &str,
        reports: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.trimmed_lines(chunk, key, on_error, reports)
    }
}

impl Window {
    pub(super) const fn limits(&self) -> &Limits {
        &self.limits
    }

    pub(super) fn tokenizer(&self) -> Option<&Tokenizer> {
        self.tokenizer.as_ref().map(Py::get)
    }

    /// The plan, and the list that it speaks of.
    fn planned<'py>(
        &self,
        messages: &Bound<'py, PyAny>,
        tools: Option<Bound<'py, PyAny>>,
        system: Option<Bound<'py, PyAny>>,
        hint: &str,
    ) -> PyResult<(Bound<'py, PyList>, Plan)> {
        let py = messages.py();
        let fallback = Format::of(hint).ok_or_else(|| unlawful("hint"))?;
        let (names, uninterrupted) = (Names::new(), Cell::new(0));
        let hold = self
            .tokenizer
            .as_ref()
            .is_some_and(|tokenizer| tokenizer.get().is_custom());
        let history =
            Messages::new(messages, &SEEN, &names, hold).map_err(|error| raise(py, error))?;
        let history = history.or_else(fallback);
        let counting = self
            .tokenizer
            .as_ref()
            .map(|tokenizer| tokenizer.get().counting(&uninterrupted));
        let counter = counting
            .as_ref()
            .map(|counting| counting as &dyn Counter<_>);
        let (tools, system) = (
            tools.map(|value| Object::new(value, &names)),
            system.map(|value| Object::new(value, &names)),
        );
        let plan = crate::cut::plan(
            &history,
            &self.limits,
            counter,
            tools.as_ref(),
            system.as_ref(),
        );
        let plan = plan.map_err(|error| raise(py, error))?;
        Ok((history.list.clone(), plan))
    }
}

/// Tokens of a whole request.
#[pyfunction]
#[pyo3(signature = (messages, tokenizer, format, tools, system, figures = None, model = None))]
pub fn count_messages(
    messages: &Bound<'_, PyAny>,
    tokenizer: &Tokenizer,
    format: &str,
    tools: Option<Bound<'_, PyAny>>,
    system: Option<Bound<'_, PyAny>>,
    figures: Option<&Bound<'_, PyAny>>,
    model: Option<&Bound<'_, PyString>>,
) -> PyResult<u64> {
    let py = messages.py();
    let format = self::format(format)?;
    let figures = figures::resolve(figures, model, tokenizer.name())?;
    let (names, uninterrupted) = (Names::new(), Cell::new(0));
    let (tools, system) = (
        tools.map(|value| Object::new(value, &names)),
        system.map(|value| Object::new(value, &names)),
    );
    Messages::new(messages, &SEEN, &names, tokenizer.is_custom())
        .and_then(|history| {
            crate::cut::count(
                &history,
                format,
                &figures,
                &tokenizer.counting(&uninterrupted),
                tools.as_ref(),
                system.as_ref(),
            )
        })
        .map_err(|error| raise(py, error))
}

/// Every violation of the format's rules.
#[pyfunction]
#[pyo3(signature = (messages, format))]
pub fn check<'py>(messages: &Bound<'py, PyAny>, format: &str) -> PyResult<Bound<'py, PyAny>> {
    let py = messages.py();
    let format = self::format(format)?;
    let names = Names::new();
    let found = Messages::new(messages, &SEEN, &names, false)
        .and_then(|history| crate::check::check(&history, format));
    result::violations(py, found.map_err(|error| raise(py, error))?)
}
