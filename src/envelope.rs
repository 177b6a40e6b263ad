//! A request of any provider as JSON: where its messages stand, and what beside them is counted.

use crate::error::{Error, Misfit};
use crate::format::Format;
use crate::json::{Document, JsonValue, Node, is};
use crate::value::{History, Key, Value};

/// Where messages stand: with most providers, in `OpenAI`'s Responses, with Gemini.
const ARRAYS: [&str; 3] = ["messages", "input", "contents"];

const SYSTEM: [&str; 5] = [
    "system",
    "instructions",
    "system_instruction",
    "systemInstruction",
    "system_message",
];

/// The second is what tools were called before.
const TOOLS: [&str; 2] = ["tools", "functions"];

/// What is read of a request.
pub(crate) struct Request<'d> {
    pub array: Array<'d>,
    pub tools: Option<JsonValue<'d>>,
    pub system: Option<JsonValue<'d>>,
    /// The format of messages that do not tell.
    pub fallback: Format,
}

/// Where the messages of a request stand.
pub(crate) enum Array<'d> {
    /// In this array.
    Messages(JsonValue<'d>),
    /// In a value of which nothing can go: the JSON of the array that it stands for.
    Alone(String),
}

/// A message array of a document.
pub(crate) struct Messages<'d> {
    document: &'d Document<'d>,
    pub items: Vec<Node>,
    fallback: Format,
}

impl<'d> Messages<'d> {
    pub(crate) fn new(array: &JsonValue<'d>, fallback: Format) -> Self {
        let document = array.document();
        Self {
            document,
            items: document.items(array.node()).collect(),
            fallback,
        }
    }
}

impl<'d> History for Messages<'d> {
    type Value = JsonValue<'d>;

    fn len(&self) -> usize {
        self.items.len()
    }

    fn message(&self, index: usize) -> Result<JsonValue<'d>, crate::error::Foreign> {
        match self.items.get(index) {
            Some(&node) => Ok(JsonValue::new(self.document, node)),
            None => Err(crate::error::Foreign(Box::new("no such message"))),
        }
    }

    fn fallback(&self) -> Format {
        self.fallback
    }
}

/// Finds the messages of a body, which is a request or their array itself. `key`: the field that holds them, where it is none of
/// the providers'. O(fields and messages).
///
/// # Errors
/// [`Error::Format`]: there is no such array.
pub(crate) fn find<'d>(body: &JsonValue<'d>, key: Option<&str>) -> Result<Request<'d>, Error> {
    if body.list().is_some() {
        return Ok(Request {
            array: Array::Messages(body.clone()),
            tools: None,
            system: None,
            fallback: Format::OpenaiChat,
        });
    }
    if !body.is_record() {
        return Err(no_array(key.unwrap_or(""), body.type_name()));
    }
    let Some((array, messages)) = messages_of(body, key) else {
        return Err(no_array(key.unwrap_or(""), shown(body)));
    };
    let alone = key.is_none().then(|| alone(array, &messages)).flatten();
    let (tools, system) = beside(body, array);
    let fallback = fallback(body, array, system.as_ref());
    let array = match alone {
        Some(alone) => Array::Alone(alone),
        None if messages.list().is_some() => Array::Messages(messages),
        None => return Err(no_array(array, messages.type_name())),
    };
    Ok(Request {
        array,
        tools,
        system,
        fallback,
    })
}

/// The field that holds the messages. What is no text and no list under the other names is something else.
fn messages_of<'d, 'k>(
    body: &JsonValue<'d>,
    key: Option<&'k str>,
) -> Option<(&'k str, JsonValue<'d>)> {
    if let Some(key) = key {
        return Some((key, body.member(key)?));
    }
    ARRAYS.into_iter().find_map(|name| {
        let found = body.member(name)?;
        let holds = name == "messages" || found.list().is_some() || found.text().is_some();
        let holds = holds || (name == "contents" && found.is_record());
        holds.then_some((name, found))
    })
}

/// A text that a request has at its top, such as its `model`.
pub(crate) fn text_of(body: &JsonValue<'_>, name: &str) -> Option<String> {
    let found = body.member(name)?;
    let word = found.word()?;
    Some(word.into_owned())
}

/// Whether a record has the key, whatever is under it.
fn has(record: &JsonValue<'_>, name: &str) -> bool {
    let mut members = record.document().members(record.node());
    members.any(|(key, _)| is(key, name))
}

/// The tools and the system text that are sent beside the messages.
fn beside<'d>(body: &JsonValue<'d>, array: &str) -> (Option<JsonValue<'d>>, Option<JsonValue<'d>>) {
    // Where Google's SDK takes all but the contents.
    let config = (array == "contents")
        .then(|| body.member("config"))
        .flatten();
    let places = || [Some(body), config.as_ref()].into_iter().flatten();
    let first = |names: &[&str]| {
        places().find_map(|place| names.iter().find_map(|name| place.member(name)))
    };
    let mut tools = places().flat_map(|place| TOOLS.iter().filter_map(|name| place.member(name)));
    let tools = tools.find(JsonValue::says_something).or_else(|| {
        // Of Bedrock; Gemini calls something else so, which holds no tools.
        body.member("toolConfig")?.member("tools")
    });
    (tools, first(&SYSTEM))
}

/// The format of a request whose messages do not tell.
fn fallback(body: &JsonValue<'_>, array: &str, system: Option<&JsonValue<'_>>) -> Format {
    match array {
        // Of Gemini's messages each tells.
        "contents" => return Format::OpenaiChat,
        "input" => return Format::OpenaiResponses,
        _ => {}
    }
    let first = system.and_then(|system| system.item(0));
    let is_bare = first.is_some_and(|first| first.is_record() && !has(&first, "type"));
    let is_there = |name| body.member(name).is_some();
    if is_bare || is_there("inferenceConfig") || is_there("toolConfig") {
        Format::Bedrock
    } else if is_there("system") || is_there("anthropic_version") {
        Format::Anthropic
    } else {
        Format::OpenaiChat
    }
}

/// The array that a shorthand stands for: a text alone is a message of the user's, and with Gemini a part is, or a list of texts and
/// parts.
fn alone(array: &str, messages: &JsonValue<'_>) -> Option<String> {
    let written = |value: &JsonValue<'_>| {
        let document = value.document();
        document.text()[document.span(value.node())].to_owned()
    };
    if array == "input" && messages.text().is_some() {
        let text = written(messages);
        return Some(format!(r#"[{{"role":"user","content":{text}}}]"#));
    }
    if array != "contents" {
        return None;
    }
    let len = messages.list();
    let listed: Vec<_> = match len {
        Some(len) => (0..len).filter_map(|k| messages.item(k)).collect(),
        None => vec![messages.clone()],
    };
    let is_content = |value: &JsonValue<'_>| {
        matches!(value.get(Key::Role), Ok(Some(_))) || matches!(value.get(Key::Parts), Ok(Some(_)))
    };
    if listed.iter().any(is_content) {
        return len.is_none().then(|| format!("[{}]", written(messages)));
    }
    let parts: Vec<_> = listed
        .iter()
        .map(|part| match part.text() {
            Some(_) => format!(r#"{{"text":{}}}"#, written(part)),
            None => written(part),
        })
        .collect();
    (!parts.is_empty()).then(|| format!(r#"[{{"role":"user","parts":[{}]}}]"#, parts.join(",")))
}

fn no_array(path: &str, found: String) -> Error {
    Error::Format {
        index: None,
        misfit: Misfit {
            path: path.to_owned(),
            found,
            expected: "an array of messages, alone or in an object under messages, input or contents",
        },
    }
}

/// An object by its keys.
fn shown(body: &JsonValue<'_>) -> String {
    const SHOWN: usize = 8;
    let document = body.document();
    let mut keys = document.members(body.node()).map(|(key, _)| key);
    let first: Vec<_> = keys.by_ref().take(SHOWN).collect();
    if first.is_empty() {
        return "an empty object".to_owned();
    }
    let more = if keys.next().is_some() { ", …" } else { "" };
    format!("an object with {}{more}", first.join(", "))
}
