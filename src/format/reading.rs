//! How the formats read values alike: texts, ids, lists, and what to say of anything else.

use crate::cost::Meter;
use crate::error::{Error, Foreign, Misfit, ReadError};
use crate::facts::Role;
use crate::value::{Key, Lent, Text, Value};

/// A part's text: the part itself, or what stands under `text`.
pub(crate) fn part_text<V: Value>(part: &V) -> Result<Option<V::Text>, Foreign> {
    match part.text() {
        Some(text) => Ok(Some(text)),
        None if part.is_record() => text_at(part, Key::Text),
        None => Ok(None),
    }
}

/// The text under a key of a record; `None` where there is none, or something else.
pub(crate) fn text_at<V: Value>(record: &V, key: Key) -> Result<Option<V::Text>, Foreign> {
    Ok(record.get(key)?.and_then(|value| value.text()))
}

/// Meters the texts of a part that nobody knows.
pub(crate) fn unknown_texts<V: Value>(
    part: &V,
    meter: &mut Meter<'_, V::Text>,
) -> Result<(), Foreign> {
    for key in [Key::Text, Key::Thinking, Key::Content] {
        if let Some(text) = text_at(part, key)? {
            return meter.text(&text);
        }
    }
    // Mistral's thinking is a list of texts.
    let thinking = part.get(Key::Thinking)?.filter(|it| it.list().is_some());
    let texts = match thinking {
        None => part.get(Key::Content)?,
        thinking => thinking,
    };
    for inner in records(texts.as_ref()) {
        if let Some(text) = text_at(&inner, Key::Text)? {
            meter.text(&text)?;
        }
    }
    Ok(())
}

/// The text under a key of a record that stands at `path`; an error if anything else is there.
pub(crate) fn string_at<V: Value>(
    record: &V,
    path: impl Fn() -> String,
    key: Key,
    expected: &'static str,
) -> Result<Option<V::Text>, ReadError> {
    record
        .get(key)?
        .map(|value| string(&value, || path() + "." + key.name(), expected))
        .transpose()
}

/// What `meant` makes of the word under a key of a record.
pub(crate) fn word_at<V: Value, R>(
    record: &V,
    key: Key,
    meant: impl Fn(&str) -> Option<R>,
) -> Result<Option<R>, Foreign> {
    let (mut word, mut plain) = (None, true);
    let looked = record.look(|at, value| {
        if at == key {
            let seen = |name: &str| {
                word = meant(name);
                Some(())
            };
            plain = value.word(seen).is_some() || value.is_null();
        }
        at != key
    });
    if looked && plain {
        return Ok(word);
    }
    let value = record.get(key)?;
    Ok(value
        .as_ref()
        .and_then(Value::word)
        .as_deref()
        .and_then(meant))
}

/// Whether a record has anything under one of these keys.
pub(crate) fn has_any<V: Value>(record: &V, keys: &[Key]) -> Result<bool, Foreign> {
    let mut has = false;
    let looked = record.look(|key, value| {
        has = keys.contains(&key) && !value.is_null();
        !has
    });
    Ok(has || (!looked && first_of(record, keys)?.is_some()))
}

/// The id under a key: an empty one is none, and so is what is no text.
pub(crate) fn id_at<V: Value>(record: &V, key: Key) -> Result<Option<V::Text>, Foreign> {
    Ok(text_at(record, key)?.filter(|id| id.chars() > 0))
}

/// Whether a text is empty or white space, as Python has it, in which providers ask that: with the four separators of ASCII.
pub(crate) fn is_blank<T: Text>(text: &T) -> bool {
    let is_white = |c: char| c.is_whitespace() || matches!(c, '\u{1C}'..='\u{1F}');
    text.as_str().chars().all(is_white)
}

/// The items of a list that are records; none of anything else.
pub(crate) fn records<V: Value>(list: Option<&V>) -> impl Iterator<Item = V> {
    (0..list.and_then(Value::list).unwrap_or(0))
        .filter_map(move |k| list?.item(k))
        .filter(Value::is_record)
}

/// The text of a value that must be one.
pub(crate) fn string<V: Value>(
    value: &V,
    path: impl Fn() -> String,
    expected: &'static str,
) -> Result<V::Text, ReadError> {
    value
        .text()
        .ok_or_else(|| ReadError::Misfit(misfit(path(), Some(value), expected)))
}

/// The text of a value that may be any JSON: a string as it is, all else compact.
pub(crate) fn text_or_json<V: Value>(
    value: &V,
    path: impl Fn() -> String,
) -> Result<V::Text, ReadError> {
    match value.text() {
        Some(text) => Ok(text),
        None => value.compact_json()?.ok_or_else(|| {
            ReadError::Misfit(misfit(path(), Some(value), "a string or a JSON value"))
        }),
    }
}

/// Meters a value that may be any JSON, as [`text_or_json`] makes a text of it.
pub(crate) fn meter_value<V: Value>(
    value: &V,
    path: impl Fn() -> String,
    meter: &mut Meter<'_, V::Text>,
) -> Result<(), ReadError> {
    meter_value_or(value, meter, || text_or_json(value, path))
}

/// The same where `text` makes a text of a value whose JSON is not plain.
pub(crate) fn meter_value_or<V: Value>(
    value: &V,
    meter: &mut Meter<'_, V::Text>,
    text: impl FnOnce() -> Result<V::Text, ReadError>,
) -> Result<(), ReadError> {
    if let Some(text) = value.text() {
        meter.text(&text)?;
    } else if !meter.value(value) {
        match value.made_json() {
            Some(json) => meter.made(&json)?,
            None => meter.text(&text()?)?,
        }
    }
    Ok(())
}

pub(crate) const STRING_OR_NULL: &str = "a string or null";

/// What stands at `path` is not what should.
pub(crate) fn misfit<V: Value>(
    path: impl Into<String>,
    found: Option<&V>,
    expected: &'static str,
) -> Misfit {
    let found = found.map_or_else(|| "nothing".to_owned(), Value::type_name);
    Misfit {
        path: path.into(),
        found,
        expected,
    }
}

/// What is no message at all.
pub(crate) fn no_message<V: Value>(value: &V) -> ReadError {
    ReadError::Misfit(misfit(
        "",
        Some(value),
        "a mapping or an object with a role",
    ))
}

/// The role of a message, one of those that `named` knows.
pub(crate) fn role_of<V: Value>(
    message: &V,
    named: impl Fn(&str) -> Option<Role>,
    expected: &'static str,
) -> Result<Role, ReadError> {
    let mut role = None;
    message.look(|key, value| {
        if key == Key::Role {
            role = value.word(&named);
        }
        key != Key::Role
    });
    if let Some(role) = role {
        return Ok(role);
    }
    if !message.is_record() {
        return Err(no_message(message));
    }
    let value = message.get(Key::Role)?;
    let word = value.as_ref().and_then(Value::word);
    word.as_deref()
        .and_then(named)
        .ok_or_else(|| wrong_word(Key::Role, value.as_ref(), expected))
}

/// The first of several keys under which a record has something.
pub(crate) fn first_of<V: Value>(record: &V, keys: &[Key]) -> Result<Option<(Key, V)>, Foreign> {
    for &key in keys {
        if let Some(value) = record.get(key)? {
            return Ok(Some((key, value)));
        }
    }
    Ok(None)
}

/// A role that the format does not have.
pub(crate) fn wrong_word<V: Value>(
    key: Key,
    value: Option<&V>,
    expected: &'static str,
) -> ReadError {
    wrong_word_at(key.name(), value, expected)
}

/// A word, at `path`, that the format does not have.
pub(crate) fn wrong_word_at<V: Value>(
    path: &str,
    value: Option<&V>,
    expected: &'static str,
) -> ReadError {
    let mut wrong = misfit(path, value, expected);
    if let Some(word) = value.filter(|value| value.word().is_some()) {
        wrong.found = word.shown();
    }
    ReadError::Misfit(wrong)
}

/// The same of what stands beside the messages: tools, a system text.
pub(crate) fn misfit_beside<V: Value>(
    path: impl Into<String>,
    found: &V,
    expected: &'static str,
) -> Error {
    Error::Format {
        index: None,
        misfit: misfit(path, Some(found), expected),
    }
}
