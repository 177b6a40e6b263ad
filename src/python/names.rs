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

/// Key objects remembered in a call, two in each place: many more than the dozen keys of a history.
const SLOTS: usize = 256;

/// Longer names are no keys of ours and are not worth holding.
const LONGEST: usize = 32;

/// The key objects of one call.
pub(super) struct Names<'py>(RefCell<Slots<'py>>);

/// Key objects, and what each of them means.
struct Slots<'py> {
    known: [Option<Bound<'py, PyString>>; SLOTS],
    keys: [Option<Key>; SLOTS],
}

impl<'py> Names<'py> {
    pub(super) fn new() -> Self {
        Self(RefCell::new(Slots {
            known: [const { None }; SLOTS],
            keys: [None; SLOTS],
        }))
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
        // Counted, since to be told that there is no more costs as much as an entry.
        let mut left = dict.len();
        while left > 0 {
            left -= 1;
            // SAFETY: we are attached and hold the dict, and neither this loop nor a look runs Python code or suspends the
            // critical section, so the dict does not change and the references that it lends stay good until the next step.
            // Measured: with a reference taken and given back for each key and value, reading a message takes twice as long.
            #[allow(unsafe_code)]
            let (name, value) = unsafe {
                if ffi::PyDict_Next(dict.as_ptr(), &raw mut at, &raw mut name, &raw mut value) == 0
                {
                    break;
                }
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
fn key_of<'py>(name: Borrowed<'_, 'py, PyAny>, slots: &mut Slots<'py>) -> Option<Key> {
    let at = slot(name);
    let holds = |known: &Option<Bound<'py, PyString>>| {
        let known = known.as_ref();
        known.is_some_and(|known| known.as_ptr() == name.as_ptr())
    };
    if holds(&slots.known[at]) {
        slots.keys[at]
    } else if holds(&slots.known[at + 1]) {
        slots.keys[at + 1]
    } else {
        look_at(name, slots)
    }
}

/// The first of the two slots of a key object. The keys of a document lie at even distances, so the bits of their addresses are
/// mixed: by the golden ratio, as D. E. Knuth has it ("The Art of Computer Programming", 6.4).
#[inline]
fn slot(name: Borrowed<'_, '_, PyAny>) -> usize {
    let mixed = (name.as_ptr() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((mixed >> 32) as usize % SLOTS) & !1
}

/// Compares the text of a key object, and remembers what it is: in front, since the keys of a document come together.
#[cold]
fn look_at<'py>(name: Borrowed<'_, 'py, PyAny>, slots: &mut Slots<'py>) -> Option<Key> {
    let text = name.cast::<PyString>().ok()?;
    let said = text.to_str().ok()?;
    let key = Key::of(said);
    // A subclass may have its own idea of equality.
    if text.is_exact_instance_of::<PyString>() && said.len() <= LONGEST {
        let at = slot(name);
        slots.known[at + 1] = slots.known[at].replace(text.to_owned());
        slots.keys[at + 1] = std::mem::replace(&mut slots.keys[at], key);
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
