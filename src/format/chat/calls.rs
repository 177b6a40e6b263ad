//! Calls of an assistant message: `tool_calls`, and the legacy `function_call`.

use super::{STRING_OR_NULL, string};
use crate::cost::{Meter, place};
use crate::error::{Foreign, ReadError};
use crate::facts::{Family, Links, Role, Tie, Ties};
use crate::format::misfit;
use crate::value::{Key, Text, Value};

/// The calls of an assistant message as links, their cost into `meter`.
pub(super) fn read<V: Value>(
    tool_calls: Option<&V>,
    function_call: Option<&V>,
    meter: &mut Meter<'_, V::Text>,
) -> Result<Links<V::Text>, ReadError> {
    let mut ties = Ties::new();
    if let Some(calls) = tool_calls {
        listed(calls, &mut ties, meter)?;
    }
    if let Some(call) = function_call {
        function(call, || "function_call".to_owned(), Key::Arguments, meter)?;
        ties.push(Tie {
            family: Family::Legacy,
            id: None,
        });
    }
    Ok(if ties.is_empty() {
        Links::None
    } else {
        Links::Calls(ties)
    })
}

/// `tool_calls`: their ties, their cost.
fn listed<V: Value>(
    calls: &V,
    ties: &mut Ties<V::Text>,
    meter: &mut Meter<'_, V::Text>,
) -> Result<(), ReadError> {
    let Some(len) = calls.list() else {
        return Err(ReadError::Misfit(misfit(
            "tool_calls",
            Some(calls),
            "a list of calls or null",
        )));
    };
    ties.reserve(len);
    for k in 0..len {
        let Some(call) = calls.item(k) else { break };
        let at = |inner: &'static str| move || place("tool_calls", k) + inner;
        if !call.is_record() {
            return Err(ReadError::Misfit(misfit(at("")(), Some(&call), CALL)));
        }
        let [id, function_said, custom_said] =
            call.fields(&[Key::Id, Key::Function, Key::Custom])?;
        let (said, kind, arguments) = match (function_said, custom_said) {
            (Some(said), _) => (said, ".function", Key::Arguments),
            (None, Some(said)) => (said, ".custom", Key::Input),
            (None, None) => return Err(ReadError::Misfit(misfit(at("")(), Some(&call), CALL))),
        };
        let id = id
            .map(|id| string(&id, at(".id"), STRING_OR_NULL))
            .transpose()?;
        function(&said, at(kind), arguments, meter)?;
        ties.push(Tie {
            family: Family::Tool,
            id: id.filter(|id| id.chars() > 0),
        });
    }
    Ok(())
}

const CALL: &str = "a mapping with function or custom";

/// What a call says: a name, and arguments or input.
fn function<V: Value>(
    call: &V,
    path: impl Fn() -> String,
    arguments: Key,
    meter: &mut Meter<'_, V::Text>,
) -> Result<(), ReadError> {
    if !call.is_record() {
        return Err(ReadError::Misfit(misfit(
            path(),
            Some(call),
            "a mapping with a name",
        )));
    }
    let [name, said] = call.fields(&[Key::Name, arguments])?;
    let name = name
        .map(|name| string(&name, || path() + ".name", "a string"))
        .transpose()?;
    meter.call(name.as_ref())?;
    let Some(said) = said else { return Ok(()) };
    if let Some(text) = said.text() {
        meter.text(&text)?;
    } else if let Some(json) = said.compact_json()? {
        meter.made(&json)?;
    } else {
        let path = path() + "." + arguments.name();
        let expected = "a string or a JSON value";
        return Err(ReadError::Misfit(misfit(path, Some(&said), expected)));
    }
    Ok(())
}

/// The links of a message alone, where nothing else of it is used: what is wrong with it does not matter.
pub(crate) fn links<V: Value>(message: &V, role: Role) -> Result<Links<V::Text>, Foreign> {
    let id = |value: Option<V>| {
        value
            .and_then(|value| value.text())
            .filter(|id| id.chars() > 0)
    };
    Ok(match role {
        Role::Tool => Links::Result(Tie {
            family: Family::Tool,
            id: id(message.get(Key::ToolCallId)?),
        }),
        Role::Function => Links::Result(Tie {
            family: Family::Legacy,
            id: None,
        }),
        Role::Assistant => {
            let calls = message.get(Key::ToolCalls)?;
            let function_call = message.get(Key::FunctionCall)?;
            let mut ties = Ties::new();
            for k in 0..calls.as_ref().and_then(Value::list).unwrap_or(0) {
                let call = calls
                    .as_ref()
                    .and_then(|calls| calls.item(k))
                    .filter(Value::is_record);
                let id = match call {
                    Some(call) => id(call.get(Key::Id)?),
                    None => None,
                };
                ties.push(Tie {
                    family: Family::Tool,
                    id,
                });
            }
            if function_call.is_some_and(|call| call.is_record()) {
                ties.push(Tie {
                    family: Family::Legacy,
                    id: None,
                });
            }
            if ties.is_empty() {
                Links::None
            } else {
                Links::Calls(ties)
            }
        }
        Role::System | Role::Developer | Role::User => Links::None,
    })
}
