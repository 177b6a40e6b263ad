//! Tokens of tool schemas. Source: openai-cookbook, "How to count tokens with tiktoken", section 6, walked through nested
//! schemas. `docs/rules.md`, section 2.

use super::{FIGURES, place};
use crate::error::{Error, Foreign, Misfit};
use crate::tokens::Counter;
use crate::value::{Key, Text, Value};

/// Schemas nested deeper than this are not walked: nobody writes them, and the walk is recursive.
const DEEPEST: usize = 64;

/// Tokens of a request's tools. O(schema size).
pub(crate) fn tools<V: Value>(tools: &V, counter: &dyn Counter<V::Text>) -> Result<u64, Error> {
    let wrong = |path: String, value: &V, expected| {
        let found = value.type_name();
        Error::Format {
            index: None,
            misfit: Misfit {
                path,
                found,
                expected,
            },
        }
    };
    let Some(len) = tools.list() else {
        return Err(wrong("tools".to_owned(), tools, "a list of tools"));
    };
    let mut sum = 0;
    for k in 0..len {
        let Some(tool) = tools.item(k) else { break };
        if !tool.is_record() {
            return Err(wrong(place("tools", k), &tool, "a mapping"));
        }
        sum += counter.tool_frame()
            + one_tool(&tool, counter).map_err(|error| match error {
                Walk::TooDeep => wrong(place("tools", k), &tool, "a schema nested at most 64 deep"),
                Walk::Foreign(foreign) => Error::Foreign(foreign),
            })?;
    }
    Ok(if len == 0 { 0 } else { sum + FIGURES.tools_end })
}

enum Walk {
    TooDeep,
    Foreign(Foreign),
}

impl From<Foreign> for Walk {
    fn from(foreign: Foreign) -> Self {
        Self::Foreign(foreign)
    }
}

fn one_tool<V: Value>(tool: &V, counter: &dyn Counter<V::Text>) -> Result<u64, Walk> {
    let record =
        |key| -> Result<Option<V>, Foreign> { Ok(tool.get(key)?.filter(Value::is_record)) };
    let inner = record(Key::Function)?
        .or(record(Key::Custom)?)
        .unwrap_or_else(|| tool.clone());
    let mut line = string(&inner, Key::Name)?;
    line.push(':');
    line.push_str(&description(&inner)?);
    let schema = match inner.get(Key::Parameters)? {
        Some(schema) => Some(schema),
        None => inner.get(Key::InputSchema)?,
    };
    Ok(counter.count_str(&line)?
        + schema.map_or(Ok(0), |schema| properties(&schema, counter, 0))?)
}

/// P(schema).
fn properties<V: Value>(
    schema: &V,
    counter: &dyn Counter<V::Text>,
    depth: usize,
) -> Result<u64, Walk> {
    if depth > DEEPEST {
        return Err(Walk::TooDeep);
    }
    let Some(map) = schema.get(Key::Properties)? else {
        return Ok(0);
    };
    let entries = map.entries()?;
    if entries.is_empty() {
        return Ok(0);
    }
    let mut sum = FIGURES.properties;
    for (name, property) in entries {
        let line = [
            &*name.as_str(),
            ":",
            &kind(&property)?,
            ":",
            &description(&property)?,
        ]
        .concat();
        sum +=
            FIGURES.property + counter.count_str(&line)? + nested(&property, counter, depth + 1)?;
    }
    Ok(sum)
}

/// E and P of a property, and of its items.
fn nested<V: Value>(
    property: &V,
    counter: &dyn Counter<V::Text>,
    depth: usize,
) -> Result<u64, Walk> {
    if !property.is_record() {
        return Ok(0);
    }
    if depth > DEEPEST {
        return Err(Walk::TooDeep);
    }
    let own = enumeration(property, counter)? + properties(property, counter, depth)?;
    Ok(own
        + property
            .get(Key::Items)?
            .map_or(Ok(0), |items| nested(&items, counter, depth + 1))?)
}

/// E(property).
fn enumeration<V: Value>(property: &V, counter: &dyn Counter<V::Text>) -> Result<u64, Walk> {
    let Some(list) = property.get(Key::Enum)? else {
        return Ok(0);
    };
    let len = list.list().unwrap_or(0);
    if len == 0 {
        return Ok(0);
    }
    let mut sum = 0;
    for item in (0..len).map_while(|k| list.item(k)) {
        let text = match item.text() {
            Some(text) => text.as_str().into_owned(),
            None => item.compact_json()?.unwrap_or_default(),
        };
        sum += FIGURES.item + counter.count_str(&text)?;
    }
    Ok(sum - FIGURES.enumeration)
}

/// The string under a key; empty where there is none.
fn string<V: Value>(record: &V, key: Key) -> Result<String, Foreign> {
    let text = record.get(key)?.and_then(|value| value.text());
    Ok(text
        .map(|text| text.as_str().into_owned())
        .unwrap_or_default())
}

/// The description without its last full stop.
fn description<V: Value>(record: &V) -> Result<String, Foreign> {
    let mut text = string(record, Key::Description)?;
    if text.ends_with('.') {
        text.pop();
    }
    Ok(text)
}

/// The type, or the types joined by `|`.
fn kind<V: Value>(property: &V) -> Result<String, Foreign> {
    let Some(value) = property.get(Key::Type)? else {
        return Ok(String::new());
    };
    if let Some(text) = value.text() {
        return Ok(text.as_str().into_owned());
    }
    let names = (0..value.list().unwrap_or(0)).filter_map(|k| value.item(k)?.text());
    Ok(names
        .map(|name| name.as_str().into_owned())
        .collect::<Vec<_>>()
        .join("|"))
}
