//! Recognises the keys of dicts by identity.
//!
//! The messages of one history share their key objects: literals are interned, and a JSON parser makes each key once a
//! document. So a key that was looked at before is known by its address, at a fifth of the cost of comparing its text. The keys
//! are held, so an address cannot come to mean another string.

use std::cell::RefCell;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::value::Key;

/// Keys remembered by each thread.
const SLOTS: usize = 64;

/// Longer names are no keys of ours and are not worth holding.
const LONGEST: usize = 32;

type Slot = Option<(Py<PyString>, Option<Key>)>;

thread_local! {
    static NAMES: RefCell<[Slot; SLOTS]> = const { RefCell::new([const { None }; SLOTS]) };
}

/// Hands on the entries of a dict whose keys are ours, in order.
#[inline]
pub(super) fn for_each<'py>(dict: &Bound<'py, PyDict>, mut found: impl FnMut(Key, Bound<'py, PyAny>)) {
    NAMES.with(|names| {
        // Taken once for the whole dict. It is free but for a caller's destructor that calls us from here.
        let mut names = names.try_borrow_mut().ok();
        for (name, value) in dict {
            if let Some(key) = key_of(&name, names.as_deref_mut()) {
                found(key, value);
            }
        }
    });
}

#[inline]
fn key_of(name: &Bound<'_, PyAny>, names: Option<&mut [Slot; SLOTS]>) -> Option<Key> {
    let Some(names) = names else { return look_at(name) };
    let slot = &mut names[(name.as_ptr() as usize >> 4) % SLOTS];
    if let Some((known, key)) = slot
        && known.as_ptr() == name.as_ptr()
    {
        return *key;
    }
    let key = look_at(name);
    // A subclass may have its own idea of equality.
    if let Ok(text) = name.cast_exact::<PyString>()
        && text.len().is_ok_and(|len| len <= LONGEST)
    {
        *slot = Some((text.clone().unbind(), key));
    }
    key
}

/// Compares the text of a key.
#[cold]
fn look_at(name: &Bound<'_, PyAny>) -> Option<Key> {
    name.cast::<PyString>().ok().and_then(|text| text.to_str().ok().and_then(Key::of))
}
