//! Compact JSON of plain Python values, as `json.dumps(value, separators=(",", ":"), ensure_ascii=False)` writes it.
//!
//! Arguments of calls are objects in most formats and are counted as this. What is not plain (subclasses, objects, cycles, keys
//! that are no text) is left to `json.dumps` itself.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

/// Deeper values are left to `json.dumps`, which knows how deep is too deep.
const DEEPEST: usize = 64;

/// The JSON of a plain value; `None` where it is not plain. O(size).
///
/// Measured: half of the time of reading a history of Anthropic's was spent in `json.dumps`; this takes a tenth of that.
pub(super) fn compact(value: &Bound<'_, PyAny>) -> Option<String> {
    let mut json = String::with_capacity(128);
    write(value, &mut json, 0)?;
    Some(json)
}

fn write(value: &Bound<'_, PyAny>, json: &mut String, depth: usize) -> Option<()> {
    if let Ok(text) = value.cast_exact::<PyString>() {
        quote(text.to_str().ok()?, json);
    } else if value.is_none() {
        json.push_str("null");
    } else if let Ok(flag) = value.cast_exact::<PyBool>() {
        json.push_str(if flag.is_true() { "true" } else { "false" });
    } else if let Ok(number) = value.cast_exact::<PyInt>() {
        let number: i64 = number.extract().ok()?;
        json.push_str(number.to_string().as_str());
    } else if let Ok(number) = value.cast_exact::<PyFloat>() {
        let is_finite = number.value().is_finite();
        json.push_str(number.repr().ok().filter(|_| is_finite)?.to_str().ok()?);
    } else if depth == DEEPEST {
        return None;
    } else if let Ok(dict) = value.cast_exact::<PyDict>() {
        entries(dict, json, depth + 1)?;
    } else if let Ok(list) = value.cast_exact::<PyList>() {
        items(list.iter(), json, depth + 1)?;
    } else if let Ok(tuple) = value.cast_exact::<PyTuple>() {
        items(tuple.iter(), json, depth + 1)?;
    } else {
        return None;
    }
    Some(())
}

fn entries(dict: &Bound<'_, PyDict>, json: &mut String, depth: usize) -> Option<()> {
    json.push('{');
    for (k, (key, value)) in dict.iter().enumerate() {
        if k > 0 {
            json.push(',');
        }
        quote(key.cast_exact::<PyString>().ok()?.to_str().ok()?, json);
        json.push(':');
        write(&value, json, depth)?;
    }
    json.push('}');
    Some(())
}

fn items<'py>(
    values: impl Iterator<Item = Bound<'py, PyAny>>,
    json: &mut String,
    depth: usize,
) -> Option<()> {
    json.push('[');
    for (k, value) in values.enumerate() {
        if k > 0 {
            json.push(',');
        }
        write(&value, json, depth)?;
    }
    json.push(']');
    Some(())
}

/// The first byte that has to be escaped. Eight at once: one by one they cost more than all else of a text.
fn first_escaped(bytes: &[u8]) -> Option<usize> {
    let (words, rest) = bytes.as_chunks::<8>();
    for (k, word) in words.iter().enumerate() {
        if has_escaped(u64::from_le_bytes(*word))
            && let Some(at) = word.iter().position(|&byte| is_escaped(byte))
        {
            return Some(8 * k + at);
        }
    }
    let at = rest.iter().position(|&byte| is_escaped(byte))?;
    Some(8 * words.len() + at)
}

const fn is_escaped(byte: u8) -> bool {
    byte < b' ' || byte == b'"' || byte == b'\\'
}

/// Whether one of eight bytes has to be escaped, by the ways to find a byte below n, or a zero byte, in a word (S. E. Anderson,
/// "Bit Twiddling Hacks").
const fn has_escaped(word: u64) -> bool {
    const ONES: u64 = u64::MAX / 255;
    const HIGH: u64 = ONES << 7;
    let quotes = word ^ (ONES * b'"' as u64);
    let slashes = word ^ (ONES * b'\\' as u64);
    let below = word.wrapping_sub(ONES * b' ' as u64) & !word;
    let quotes = quotes.wrapping_sub(ONES) & !quotes;
    let slashes = slashes.wrapping_sub(ONES) & !slashes;
    (below | quotes | slashes) & HIGH != 0
}

/// Writes a text in quotes: escapes are those of the `json` module.
fn quote(text: &str, json: &mut String) {
    json.push('"');
    let mut rest = text;
    while let Some(at) = first_escaped(rest.as_bytes()) {
        json.push_str(&rest[..at]);
        match rest.as_bytes()[at] {
            b'"' => json.push_str("\\\""),
            b'\\' => json.push_str("\\\\"),
            b'\n' => json.push_str("\\n"),
            b'\r' => json.push_str("\\r"),
            b'\t' => json.push_str("\\t"),
            0x08 => json.push_str("\\b"),
            0x0c => json.push_str("\\f"),
            byte => {
                json.push_str("\\u00");
                json.push(char::from(b'0' + (byte >> 4)));
                json.push(char::from(b"0123456789abcdef"[usize::from(byte & 15)]));
            }
        }
        rest = &rest[at + 1..];
    }
    json.push_str(rest);
    json.push('"');
}
