//! Recognises the keys of dicts by identity.
//!
//! The messages of one history share their key objects: literals are interned, and a JSON parser makes each key once a
//! document. So within one call a key that was looked at before is known by its address, at a fifth of the cost of comparing
//! its text. The keys are held meanwhile, so an address cannot come to mean another string.

use std::cell::RefCell;
use std::ptr::null_mut;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::sync::critical_section::with_critical_section;
use pyo3::types::{PyDict, PyString};

use crate::value::Key;

/// Keys remembered in a call: so many that the dozen keys of a history rarely share a slot.
const SLOTS: usize = 256;

/// Longer names are no keys of ours and are not worth holding.
const LONGEST: usize = 32;

/// A key object, and what it means.
type Slot<'py> = Option<(Bound<'py, PyString>, Option<Key>)>;

/// The key objects of one call.
pub(super) struct Names<'py>(RefCell<[Slot<'py>; SLOTS]>);

impl<'py> Names<'py> {
    pub(super) fn new() -> Self {
        Self(RefCell::new([const { None }; SLOTS]))
    }

    /// Shows the entries of a dict whose keys are known, until `look` returns false.
    #[inline]
    pub(super) fn look(
        &self,
        dict: &Bound<'py, PyDict>,
        mut look: impl FnMut(Key, Borrowed<'_, 'py, PyAny>) -> bool,
    ) {
        // It is free: nothing below runs a caller's code.
        let Ok(mut names) = self.0.try_borrow_mut() else {
            return;
        };
        walk(dict, |name, value| match key_of(name, &mut names) {
            Some(key) => look(key, value),
            None => true,
        });
    }
}

/// Shows the entries of a dict, until `look` returns false. `look` must neither run Python code nor look at another dict.
#[inline(always)]
#[allow(clippy::inline_always)] // as below
pub(super) fn walk<'py>(
    dict: &Bound<'py, PyDict>,
    mut look: impl FnMut(Borrowed<'_, 'py, PyAny>, Borrowed<'_, 'py, PyAny>) -> bool,
) {
    with_critical_section(dict, || {
        let (mut at, mut name, mut value) = (0, null_mut(), null_mut());
        // SAFETY: we are attached and hold the dict, and neither this loop nor a look runs Python code or suspends the
        // critical section, so the dict does not change and the references that it lends stay good until the next step.
        // Measured: with a reference taken and given back for each key and value, reading a message takes twice as long.
        #[allow(unsafe_code)]
        while unsafe { ffi::PyDict_Next(dict.as_ptr(), &raw mut at, &raw mut name, &raw mut value) }
            != 0
        {
            // SAFETY: as above.
            #[allow(unsafe_code)]
            let (name, value) = unsafe {
                (
                    Borrowed::from_ptr(dict.py(), name),
                    Borrowed::from_ptr(dict.py(), value),
                )
            };
            if !look(name, value) {
                break;
            }
        }
    });
}

/// The key that a dict's key object stands for, if it is one of ours.
#[inline(always)]
#[allow(clippy::inline_always)] // it is called for each entry of each dict, and called it costs three times as much
fn key_of<'py>(name: Borrowed<'_, 'py, PyAny>, names: &mut [Slot<'py>; SLOTS]) -> Option<Key> {
    match &names[slot(name)] {
        Some((known, key)) if known.as_ptr() == name.as_ptr() => *key,
        _ => look_at(name, names),
    }
}

/// Where a key object is remembered; beside it, if that is taken. The keys of a document lie at even distances, so that the low
/// bits of their addresses alone are few.
#[inline]
fn slot(name: Borrowed<'_, '_, PyAny>) -> usize {
    let at = name.as_ptr() as usize;
    ((at >> 4) ^ (at >> 12)) % SLOTS
}

/// Compares the text of a key object, and remembers what it is.
#[cold]
fn look_at<'py>(name: Borrowed<'_, 'py, PyAny>, names: &mut [Slot<'py>; SLOTS]) -> Option<Key> {
    let at = slot(name);
    if let Some((known, key)) = &names[at ^ 1]
        && known.as_ptr() == name.as_ptr()
    {
        return *key;
    }
    let text = name.cast::<PyString>().ok()?;
    let key = text.to_str().ok().and_then(Key::of);
    // A subclass may have its own idea of equality.
    if text.is_exact_instance_of::<PyString>() && text.len().is_ok_and(|len| len <= LONGEST) {
        let at = if names[at].is_some() { at ^ 1 } else { at };
        names[at] = Some((text.to_owned(), key));
    }
    key
}

/// A string object for a key.
pub(super) fn name_of(py: Python<'_>, key: Key) -> &Bound<'_, PyString> {
    static KEYS: PyOnceLock<Vec<Py<PyString>>> = PyOnceLock::new();
    let keys = KEYS.get_or_init(py, || {
        Key::ALL
            .iter()
            .map(|key| PyString::intern(py, key.name()).unbind())
            .collect()
    });
    keys[key as usize].bind(py)
}
