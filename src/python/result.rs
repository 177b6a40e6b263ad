//! Plans as the values of `backcut.report`, and as lists of the caller's own messages.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple, PyType};

use super::errors::raise;
use super::names::name_of;
use crate::batch::Lines;
use crate::check::Violation;
use crate::error::Error;
use crate::plan::{PartCut, Plan, Report, Step};

/// A named tuple of `backcut.report`, made as the tuple that it is: its own constructor is Python code, which costs more and may
/// be interrupted.
fn named_tuple<'py>(
    class: &Bound<'py, PyType>,
    fields: &Bound<'py, PyTuple>,
) -> PyResult<Bound<'py, PyAny>> {
    static NEW: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let py = class.py();
    let new = NEW.get_or_try_init(py, || {
        let new = py.get_type::<PyTuple>().getattr(intern!(py, "__new__"))?;
        PyResult::Ok(new.unbind())
    })?;
    new.bind(py).call1((class, fields))
}

/// A class of `backcut.report`.
macro_rules! class {
    ($py:expr, $name:literal) => {{
        static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
        CLASS.import($py, "backcut.report", $name)
    }};
}

/// `Trimmed(messages, report)`. Kept messages are the caller's own objects; nothing changed: the very object that came in.
pub(super) fn trimmed<'py>(
    messages: &Bound<'py, PyAny>,
    list: &Bound<'py, PyList>,
    plan: &Plan,
) -> PyResult<Bound<'py, PyAny>> {
    let py = messages.py();
    let sent = if plan.is_unchanged() {
        messages.clone()
    } else {
        build(list, plan)?.into_any()
    };
    let fields = (sent, report(py, &plan.report)?).into_pyobject(py)?;
    named_tuple(class!(py, "Trimmed")?, &fields)
}

/// The list that a plan makes of a history.
fn build<'py>(list: &Bound<'py, PyList>, plan: &Plan) -> PyResult<Bound<'py, PyList>> {
    let py = list.py();
    let len = plan.report.messages_original;
    let sent = list.get_slice(plan.tail, len);
    let lead = plan.lead.then_some(plan.head);
    // A caller's tokenizer may have changed the history meanwhile.
    if sent.len() != len - plan.tail {
        return Err(pyo3::exceptions::PyRuntimeError::new_err(
            "the history became shorter while it was read",
        ));
    }
    for &index in plan.left_out.iter().rev() {
        sent.del_item(index - plan.tail)?;
    }
    let mut front = (0..plan.head)
        .chain(lead)
        .chain(plan.task)
        .map(|index| list.get_item(index))
        .collect::<PyResult<Vec<_>>>()?;
    if let Some(notice) = plan.notice.as_ref().filter(|notice| !notice.folded) {
        let message = PyDict::new(py);
        message.set_item(intern!(py, "role"), notice.role)?;
        message.set_item(intern!(py, "content"), &notice.text)?;
        front.insert(notice.at, message.into_any());
    }
    let moved = front.len();
    sent.set_slice(0, 0, PyList::new(py, front)?.as_any())?;
    for edit in &plan.edits {
        let at = if Some(edit.index) == lead {
            plan.head
        } else {
            let gone = plan.left_out.partition_point(|&index| index < edit.index);
            moved + edit.index - plan.tail - gone
        };
        let edited = edit_function(py, &EDIT, "edit_message")?
            .call1((sent.get_item(at)?, cuts(py, &edit.cuts)?))?;
        sent.set_item(at, edited)?;
    }
    if let Some(notice) = plan.notice.as_ref().filter(|notice| notice.folded) {
        let folded = edit_function(py, &FOLD, "fold_notice")?.call1((
            sent.get_item(notice.at)?,
            &notice.text,
            plan.report.format.name(),
        ))?;
        sent.set_item(notice.at, folded)?;
    }
    Ok(sent)
}

static EDIT: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
static FOLD: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// A function of `backcut.edit`: copies of any kind of message are Python's to make.
fn edit_function<'py>(
    py: Python<'py>,
    cell: &'static PyOnceLock<Py<PyAny>>,
    name: &str,
) -> PyResult<Bound<'py, PyAny>> {
    cell.import(py, "backcut.edit", name).cloned()
}

/// `tuple[PartCut, ...]`.
fn cuts<'py>(py: Python<'py>, cuts: &[PartCut]) -> PyResult<Bound<'py, PyTuple>> {
    let class = class!(py, "PartCut")?;
    let values = cuts.iter().map(|PartCut { path, cut }| {
        let steps = path.iter().map(|step| match step {
            Step::Key(key) => Ok(name_of(py, *key).clone().into_any()),
            Step::Name(name) => Ok(name.into_pyobject(py)?.into_any()),
            Step::Item(index) => Ok(index.into_pyobject(py)?.into_any()),
        });
        let path = PyTuple::new(py, steps.collect::<PyResult<Vec<_>>>()?)?;
        match cut {
            Some(cut) => class.call1((path, cut.head, cut.tail, cut.marker, false)),
            None => class.call1((path, 0, 0, "", true)),
        }
    });
    PyTuple::new(py, values.collect::<PyResult<Vec<_>>>()?)
}

/// `TrimReport(...)`.
fn report<'py>(py: Python<'py>, report: &Report) -> PyResult<Bound<'py, PyAny>> {
    // Taken apart, so that a new field cannot be forgotten here.
    let Report {
        window_trimmed,
        messages_original,
        messages_sent,
        window_orphans_dropped,
        task_dropped,
        tools_truncated,
        chars_capped,
        chars_sent,
        tokens_sent,
        first_changed,
        over_budget,
        thinking_invalidated,
        format,
    } = *report;
    let fields = [
        window_trimmed.into_pyobject(py)?.to_owned().into_any(),
        messages_original.into_pyobject(py)?.into_any(),
        messages_sent.into_pyobject(py)?.into_any(),
        window_orphans_dropped.into_pyobject(py)?.into_any(),
        task_dropped.into_pyobject(py)?.to_owned().into_any(),
        tools_truncated.into_pyobject(py)?.into_any(),
        chars_capped.into_pyobject(py)?.into_any(),
        chars_sent.into_pyobject(py)?.into_any(),
        tokens_sent.into_pyobject(py)?.into_any(),
        first_changed.into_pyobject(py)?.into_any(),
        over_budget.into_pyobject(py)?.to_owned().into_any(),
        thinking_invalidated
            .into_pyobject(py)?
            .to_owned()
            .into_any(),
        format.name().into_pyobject(py)?.into_any(),
    ];
    named_tuple(class!(py, "TrimReport")?, &PyTuple::new(py, fields)?)
}

/// `Plan(kept, edits, notice, report)`.
pub(super) fn plan<'py>(py: Python<'py>, plan: &Plan) -> PyResult<Bound<'py, PyAny>> {
    let edit = class!(py, "Edit")?;
    let edits = plan
        .edits
        .iter()
        .map(|one| edit.call1((one.index, cuts(py, &one.cuts)?)));
    let edits = PyTuple::new(py, edits.collect::<PyResult<Vec<_>>>()?)?;
    let notice = match &plan.notice {
        Some(notice) => Some(class!(py, "Notice")?.call1((
            &notice.text,
            notice.role,
            notice.at,
            notice.folded,
        ))?),
        None => None,
    };
    let kept = PyTuple::new(py, plan.kept().collect::<Vec<_>>())?;
    class!(py, "Plan")?.call1((kept, edits, notice, report(py, &plan.report)?))
}

/// `list[Violation]`.
pub(super) fn violations(py: Python<'_>, violations: Vec<Violation>) -> PyResult<Bound<'_, PyAny>> {
    let class = class!(py, "Violation")?;
    let values = violations.into_iter().map(
        |Violation {
             code,
             index,
             message,
             ids,
         }| { class.call1((code, index, message, PyTuple::new(py, ids)?)) },
    );
    Ok(PyList::new(py, values.collect::<PyResult<Vec<_>>>()?)?.into_any())
}

/// `TrimmedJson(body, report)`.
pub(super) fn trimmed_json<'py>(
    py: Python<'py>,
    body: Bound<'py, PyAny>,
    report: &Report,
) -> PyResult<Bound<'py, PyAny>> {
    let fields = (body, self::report(py, report)?).into_pyobject(py)?;
    named_tuple(class!(py, "TrimmedJson")?, &fields)
}

/// `JsonPlan(pieces, report)`.
pub(super) fn plan_json<'py>(
    py: Python<'py>,
    pieces: Bound<'py, PyTuple>,
    report: &Report,
) -> PyResult<Bound<'py, PyAny>> {
    let fields = (pieces, self::report(py, report)?).into_pyobject(py)?;
    named_tuple(class!(py, "JsonPlan")?, &fields)
}

/// `Lines(...)`; an error of a caller's own code is raised.
pub(super) fn lines(py: Python<'_>, lines: Lines) -> PyResult<Bound<'_, PyAny>> {
    let Lines {
        output,
        lines,
        conversations,
        changed,
        trimmed,
        over_budget,
        messages_before,
        messages_after,
        tools_truncated,
        chars_capped,
        tokens_before,
        tokens_after,
        errors,
        reports,
    } = lines;
    let errors = errors.into_iter().map(|(line, error)| {
        let is_foreign = matches!(error, Error::Foreign(_));
        let error = raise(py, error);
        if is_foreign { Err(error) } else { Ok((line, error)) }
    });
    let errors = PyList::new(py, errors.collect::<PyResult<Vec<_>>>()?)?;
    let reports = reports
        .iter()
        .map(|(line, report)| Ok((*line, self::report(py, report)?)));
    let reports = PyList::new(py, reports.collect::<PyResult<Vec<_>>>()?)?;
    let counts = [
        lines,
        conversations,
        changed,
        trimmed,
        over_budget,
        messages_before,
        messages_after,
        tools_truncated,
    ];
    let mut fields = vec![PyBytes::new(py, &output).into_any()];
    for count in counts {
        fields.push(count.into_pyobject(py)?.into_any());
    }
    for count in [chars_capped, tokens_before, tokens_after] {
        fields.push(count.into_pyobject(py)?.into_any());
    }
    fields.extend([errors.into_any(), reports.into_any()]);
    named_tuple(class!(py, "Lines")?, &PyTuple::new(py, fields)?)
}
