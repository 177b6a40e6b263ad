//! Compact JSON of plain Python values, as `json.dumps(value, separators=(",", ":"), ensure_ascii=False)` writes it.
//!
//! Arguments of calls are objects in most formats and are counted as this. What is not plain (subclasses, objects, cycles, keys
//! that are no text) is left to `json.dumps` itself.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

use super::names::walk;
use super::value::length;

/// Deeper values are left to `json.dumps`, which knows how deep is too deep.
const DEEPEST: usize = 64;

/// The JSON of a plain value; `None` where it is not plain. O(size).
///
/// Measured: half of the time of reading a history of Anthropic's was spent in `json.dumps`; this takes a tenth of that.
pub(super) fn compact(value: &Bound<'_, PyAny>) -> Option<String> {
    let mut json = Vec::with_capacity(256);
    write(value, &mut json, 0)?;
    String::from_utf8(json).ok()
}

/// Characters of what [`compact`] writes, without writing it; `None` where the value is not plain. O(size).
pub(super) fn chars(value: &Bound<'_, PyAny>) -> Option<usize> {
    if let Some(chars) = leaf(value.as_borrowed()) {
        return Some(chars);
    }
    // A dict is not looked at while another one is.
    let mut inner = Vec::new();
    let mut sum = held(value, 0, &mut inner)?;
    while let Some((value, depth)) = inner.pop() {
        sum += held(&value, depth, &mut inner)?;
    }
    Some(sum)
}

/// Values that were found in others, and how deep.
type Inner<'py> = Vec<(Bound<'py, PyAny>, usize)>;

/// Characters of a value without those of what it holds and is no [`leaf`], which goes to `inner`.
fn held<'py>(value: &Bound<'py, PyAny>, depth: usize, inner: &mut Inner<'py>) -> Option<usize> {
    if let Ok(number) = value.cast_exact::<PyFloat>() {
        let is_finite = number.value().is_finite();
        return number.repr().ok().filter(|_| is_finite)?.len().ok();
    }
    if depth == DEEPEST {
        return None;
    }
    let (mut sum, mut len, mut plain) = (2, 0_usize, true);
    let mut add = |value: Borrowed<'_, 'py, PyAny>| {
        len += 1;
        match leaf(value) {
            Some(chars) => sum += chars,
            None => inner.push((value.to_owned(), depth + 1)),
        }
    };
    let mut names = 0;
    if let Ok(dict) = value.cast_exact::<PyDict>() {
        walk(dict, |name, value| {
            let name = name
                .cast_exact::<PyString>()
                .ok()
                .and_then(|it| quoted(&it));
            plain = name.is_some();
            names += name.unwrap_or(0) + 1;
            add(value);
            plain
        });
    } else if let Ok(list) = value.cast_exact::<PyList>() {
        list.iter().for_each(|item| add(item.as_borrowed()));
    } else if let Ok(tuple) = value.cast_exact::<PyTuple>() {
        tuple.iter_borrowed().for_each(add);
    } else {
        return None;
    }
    plain.then(|| sum + names + len.saturating_sub(1))
}

/// Characters of what holds nothing and is had without making anything; `None` of all else.
#[inline]
fn leaf(value: Borrowed<'_, '_, PyAny>) -> Option<usize> {
    if let Ok(text) = value.cast_exact::<PyString>() {
        quoted(&text)
    } else if value.is_none() {
        Some(4)
    } else if let Ok(flag) = value.cast_exact::<PyBool>() {
        Some(if flag.is_true() { 4 } else { 5 })
    } else if let Ok(number) = value.cast_exact::<PyInt>() {
        let number: i64 = number.extract().ok()?;
        let digits = number.unsigned_abs().checked_ilog10().unwrap_or(0) + 1;
        Some(digits as usize + usize::from(number < 0))
    } else {
        None
    }
}

/// Characters of a text in quotes.
fn quoted(text: &Bound<'_, PyString>) -> Option<usize> {
    let escapes = escapes(text.to_str().ok()?.as_bytes());
    Some(length(text) + 2 + escapes)
}

/// Characters that escapes add to a text: 64 bytes at once, which a compiler makes a few instructions, then eight, then one.
fn escapes(bytes: &[u8]) -> usize {
    let (blocks, rest) = bytes.as_chunks();
    let (words, rest) = rest.as_chunks();
    let each = |bytes: &[u8]| -> usize { bytes.iter().map(|&byte| added(byte)).sum() };
    let in_word = |word: &[u8; 8]| first_escaped(*word).map_or(0, |_| each(word));
    blocks.iter().map(added_to_block).sum::<usize>()
        + words.iter().map(in_word).sum::<usize>()
        + each(rest)
}

fn added_to_block(block: &[u8; 64]) -> usize {
    let escaped: u8 = block.iter().map(|&byte| u8::from(is_escaped(byte))).sum();
    // Line ends are the control characters of nearly all texts.
    let is_rare = |byte: u8| byte < b' ' && byte != b'\n';
    if escaped == 0 || !block.iter().fold(false, |any, &byte| any | is_rare(byte)) {
        return usize::from(escaped);
    }
    block.iter().map(|&byte| added(byte)).sum()
}

/// Characters that the escape of a byte adds, if it has one.
#[inline]
fn added(byte: u8) -> usize {
    const ADDED: [u8; 256] = {
        let (mut added, mut byte) = ([0; 256], 0);
        while byte < 256 {
            #[allow(clippy::cast_possible_truncation)]
            // there is no other way to count in a constant
            let is = byte as u8;
            added[byte] = is_escaped(is) as u8 + 4 * is_wide(is) as u8;
            byte += 1;
        }
        added
    };
    usize::from(ADDED[usize::from(byte)])
}

/// Whether the escape of a byte has six characters rather than two: control characters but for `\b \t \n \f \r`.
const fn is_wide(byte: u8) -> bool {
    byte < 0x08 || byte == 0x0b || byte.wrapping_sub(0x0e) < 0x12
}

fn write(value: &Bound<'_, PyAny>, json: &mut Vec<u8>, depth: usize) -> Option<()> {
    if let Ok(text) = value.cast_exact::<PyString>() {
        quote(text.to_str().ok()?, json);
    } else if value.is_none() {
        json.extend_from_slice(b"null");
    } else if let Ok(flag) = value.cast_exact::<PyBool>() {
        let word: &[u8] = if flag.is_true() { b"true" } else { b"false" };
        json.extend_from_slice(word);
    } else if let Ok(number) = value.cast_exact::<PyInt>() {
        let number: i64 = number.extract().ok()?;
        json.extend_from_slice(number.to_string().as_bytes());
    } else if let Ok(number) = value.cast_exact::<PyFloat>() {
        let is_finite = number.value().is_finite();
        let number = number.repr().ok().filter(|_| is_finite)?;
        json.extend_from_slice(number.to_str().ok()?.as_bytes());
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

fn entries(dict: &Bound<'_, PyDict>, json: &mut Vec<u8>, depth: usize) -> Option<()> {
    json.push(b'{');
    for (k, (key, value)) in dict.iter().enumerate() {
        if k > 0 {
            json.push(b',');
        }
        quote(key.cast_exact::<PyString>().ok()?.to_str().ok()?, json);
        json.push(b':');
        write(&value, json, depth)?;
    }
    json.push(b'}');
    Some(())
}

fn items<'py>(
    values: impl Iterator<Item = Bound<'py, PyAny>>,
    json: &mut Vec<u8>,
    depth: usize,
) -> Option<()> {
    json.push(b'[');
    for (k, value) in values.enumerate() {
        if k > 0 {
            json.push(b',');
        }
        write(&value, json, depth)?;
    }
    json.push(b']');
    Some(())
}

const fn is_escaped(byte: u8) -> bool {
    byte < b' ' || byte == b'"' || byte == b'\\'
}

/// The first of eight bytes that has to be escaped, by the ways to find a byte below n, or a zero byte, in a word (S. E.
/// Anderson, "Bit Twiddling Hacks"). Eight at once: one by one they cost more than all else of a text.
const fn first_escaped(word: [u8; 8]) -> Option<usize> {
    const ONES: u64 = u64::MAX / 255;
    const HIGH: u64 = ONES << 7;
    let word = u64::from_le_bytes(word);
    let quotes = word ^ (ONES * b'"' as u64);
    let slashes = word ^ (ONES * b'\\' as u64);
    let below = word.wrapping_sub(ONES * b' ' as u64) & !word;
    let quotes = quotes.wrapping_sub(ONES) & !quotes;
    let slashes = slashes.wrapping_sub(ONES) & !slashes;
    // Behind the first byte that is found, others may be marked by mistake.
    match (below | quotes | slashes) & HIGH {
        0 => None,
        found => Some(found.trailing_zeros() as usize / 8),
    }
}

/// Writes a text in quotes: escapes are those of the `json` module. Eight bytes are taken over before anything in them is found,
/// which costs less than to copy just so many.
fn quote(text: &str, json: &mut Vec<u8>) {
    json.push(b'"');
    let mut rest = text.as_bytes();
    json.reserve(rest.len() + 16);
    while let Some((&word, behind)) = rest.split_first_chunk::<8>() {
        let len = json.len();
        json.extend_from_slice(&word);
        rest = match first_escaped(word) {
            None => behind,
            Some(ahead) => {
                json.truncate(len + ahead);
                escape(word[ahead], json);
                &rest[ahead + 1..]
            }
        };
    }
    for &byte in rest {
        if is_escaped(byte) {
            escape(byte, json);
        } else {
            json.push(byte);
        }
    }
    json.push(b'"');
}

#[inline]
fn escape(byte: u8, json: &mut Vec<u8>) {
    let short = match byte {
        b'"' | b'\\' => byte,
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        0x08 => b'b',
        0x0c => b'f',
        _ => {
            json.extend_from_slice(b"\\u00");
            json.push(b'0' + (byte >> 4));
            json.push(b"0123456789abcdef"[usize::from(byte & 15)]);
            return;
        }
    };
    json.extend_from_slice(&[b'\\', short]);
}
