//! Tokens of tool schemas. Source: openai-cookbook, "How to count tokens with tiktoken", section 6, walked through nested
//! schemas. `docs/rules.md`, section 2.

use super::{Figures, place};
use crate::error::{Error, Foreign};
use crate::format::{first_of, misfit_beside, records};
use crate::tokens::Counter;
use crate::value::{Key, Text, Value};

/// Schemas nested deeper than this are not walked: nobody writes them, and the walk is recursive.
const DEEPEST: usize = 64;

/// Nor are schemas of more parts: one that shares its parts with itself may be small in memory and without end on the wire.
const LARGEST: usize = 100_000;

/// Tokens of a request's tools. O(schema size).
pub(crate) fn tools<V: Value>(
    tools: &V,
    figures: &Figures,
    counter: &dyn Counter<V::Text>,
) -> Result<u64, Error> {
    // Bedrock has them in a `toolConfig`.
    let list = if tools.is_record() {
        tools.get(Key::Tools)?
    } else {
        None
    };
    let list = list.as_ref().unwrap_or(tools);
    // A tool of Gemini's, which declares several functions, may stand alone.
    let alone = (list.is_record() && declarations(list)?.is_some()).then_some(list);
    let Some(len) = list.list().or(alone.map(|_| 1)) else {
        return Err(misfit_beside("tools", tools, "a list of tools"));
    };
    let mut sum = 0;
    for k in 0..len {
        let Some(tool) = alone.cloned().or_else(|| list.item(k)) else {
            break;
        };
        if !is_tool(&tool)? {
            return Err(misfit_beside(place("tools", k), &tool, TOOL));
        }
        let mut one = |tool: &V| {
            let mut walk = Schemas {
                figures,
                counter,
                parts: 0,
            };
            sum += u64::from(figures.tool)
                + walk.tool(tool).map_err(|error| match error {
                    Walk::TooLarge => misfit_beside(place("tools", k), tool, SCHEMA),
                    Walk::Foreign(foreign) => Error::Foreign(foreign),
                })?;
            Ok::<(), Error>(())
        };
        match declarations(&tool)? {
            // A mark of Bedrock's prompt cache says nothing.
            None if tool.get(Key::CachePoint)?.is_some() => {}
            // Gemini declares several functions in one tool.
            Some(list) => {
                for declared in records(Some(&list)) {
                    one(&declared)?;
                }
            }
            None => one(&tool)?,
        }
    }
    Ok(if len == 0 {
        0
    } else {
        sum + u64::from(figures.tools_end)
    })
}

/// The functions that a tool of Gemini's declares.
fn declarations<V: Value>(tool: &V) -> Result<Option<V>, Foreign> {
    match tool.get(Key::FunctionDeclarationsCamel)? {
        Some(list) => Ok(Some(list)),
        None => tool.get(Key::FunctionDeclarations),
    }
}

/// Where a tool has its schema.
const SCHEMAS: [Key; 5] = [
    Key::Parameters,
    Key::InputSchema,
    Key::InputSchemaCamel,
    Key::ParametersJsonSchemaCamel,
    Key::ParametersJsonSchema,
];

const SCHEMA: &str = "a schema of at most 100,000 parts, nested at most 64 deep";

const TOOL: &str = "a mapping with function, custom, name or type";

/// Whether a value looks like a tool: anything else would be counted as next to nothing.
fn is_tool<V: Value>(tool: &V) -> Result<bool, Foreign> {
    if tool.is_record() {
        for key in [
            Key::Function,
            Key::Custom,
            Key::Name,
            Key::Type,
            Key::ToolSpec,
        ] {
            if tool.get(key)?.is_some() {
                return Ok(true);
            }
        }
        if declarations(tool)?.is_some() || tool.get(Key::CachePoint)?.is_some() {
            return Ok(true);
        }
        // A hosted tool of Gemini's: `{"googleSearch": {}}`.
        if let [(_, settings)] = tool.entries()?.as_slice() {
            return Ok(settings.is_record());
        }
    }
    Ok(false)
}

enum Walk {
    TooLarge,
    Foreign(Foreign),
}

impl From<Foreign> for Walk {
    fn from(foreign: Foreign) -> Self {
        Self::Foreign(foreign)
    }
}

/// A walk through the schemas of one tool.
struct Schemas<'c, T> {
    figures: &'c Figures,
    counter: &'c dyn Counter<T>,
    /// How many there were.
    parts: usize,
}

impl<T: Text> Schemas<'_, T> {
    fn tool<V: Value<Text = T>>(&mut self, tool: &V) -> Result<u64, Walk> {
        let record =
            |key| -> Result<Option<V>, Foreign> { Ok(tool.get(key)?.filter(Value::is_record)) };
        let inner = record(Key::Function)?
            .or(record(Key::Custom)?)
            .or(record(Key::ToolSpec)?)
            .unwrap_or_else(|| tool.clone());
        let mut line = string(&inner, Key::Name)?;
        line.push(':');
        line.push_str(&description(&inner)?);
        let schema = match first_of(&inner, &SCHEMAS)? {
            // Bedrock has it as `{"json": ...}`. Only there: a model of pydantic's has a method of that name.
            Some((Key::InputSchemaCamel, schema)) if schema.is_record() => {
                Some(schema.get(Key::Json)?.unwrap_or(schema))
            }
            found => found.map(|(_, schema)| schema),
        };
        let schema = schema.map_or(Ok(0), |schema| self.schema(&schema, 0))?;
        Ok(self.counter.count_str(&line)? + schema)
    }

    /// What a schema costs beside its name and description: its choices, its properties, its items, its variants and definitions.
    fn schema<V: Value<Text = T>>(&mut self, schema: &V, depth: usize) -> Result<u64, Walk> {
        if !schema.is_record() {
            return Ok(0);
        }
        self.parts += 1;
        if depth > DEEPEST || self.parts > LARGEST {
            return Err(Walk::TooLarge);
        }
        let mut sum = self.enumeration(schema)?;
        for key in [Key::Properties, Key::Defs, Key::Definitions] {
            let entries = schema
                .get(key)?
                .map_or(Ok(Vec::new()), |map| map.entries())?;
            if key == Key::Properties && !entries.is_empty() {
                sum += u64::from(self.figures.properties);
            }
            for (name, property) in entries {
                sum += u64::from(self.figures.property) + self.described(Some(&name), &property)?;
                sum += self.schema(&property, depth + 1)?;
            }
        }
        for key in [Key::AnyOf, Key::OneOf, Key::AllOf] {
            let variants = schema.get(key)?;
            let count = variants.as_ref().and_then(Value::list).unwrap_or(0);
            for variant in (0..count).filter_map(|k| variants.as_ref()?.item(k)) {
                sum += u64::from(self.figures.property) + self.described(None, &variant)?;
                sum += self.schema(&variant, depth + 1)?;
            }
        }
        for key in [Key::Items, Key::AdditionalProperties] {
            if let Some(inner) = schema.get(key)? {
                sum += self.schema(&inner, depth + 1)?;
            }
        }
        Ok(sum)
    }

    /// Tokens of `name:type:description`, without a name of `type:description`.
    fn described<V: Value<Text = T>>(&self, name: Option<&T>, schema: &V) -> Result<u64, Walk> {
        let mut line = String::new();
        if let Some(name) = name {
            line.push_str(&name.as_str());
            line.push(':');
        }
        if schema.is_record() {
            line.push_str(&kind(schema)?);
        }
        line.push(':');
        if schema.is_record() {
            line.push_str(&description(schema)?);
        }
        Ok(self.counter.count_str(&line)?)
    }

    /// E(property).
    fn enumeration<V: Value<Text = T>>(&self, property: &V) -> Result<u64, Walk> {
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
                None => item
                    .compact_json()?
                    .map_or_else(String::new, |json| json.as_str().into_owned()),
            };
            sum += u64::from(self.figures.item) + self.counter.count_str(&text)?;
        }
        Ok(sum.saturating_sub(self.figures.enumeration.into()))
    }
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
