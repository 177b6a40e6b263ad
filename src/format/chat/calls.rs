//! Calls of an assistant message: `tool_calls`, and the legacy `function_call`.

use super::clones;
use crate::cost::{Meter, place};
use crate::error::{Foreign, ReadError};
use crate::facts::{Family, Links, Tie, Turn};
use crate::format::{STRING_OR_NULL, id_at, meter_value, misfit, string};
use crate::value::{Key, Text, Value};

/// The calls of an assistant message into `ties`, their cost into `meter`.
pub(super) fn read<V: Value>(
    tool_calls: Option<&V>,
    function_call: Option<&V>,
    meter: &mut Meter<'_, V::Text>,
    ties: &mut Vec<Tie<V::Text>>,
) -> Result<(), ReadError> {
    if let Some(calls) = tool_calls {
        listed(calls, ties, meter)?;
    }
    if let Some(call) = function_call {
        function(call, || "function_call".to_owned(), Key::Arguments, meter)?;
        ties.push(Tie::new(Family::Legacy, None));
    }
    Ok(())
}

/// `tool_calls`: their ties, their cost.
fn listed<V: Value>(
    calls: &V,
    ties: &mut Vec<Tie<V::Text>>,
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
        let mut fields = [const { None }; 3];
        call.fields(&[Key::Id, Key::Function, Key::Custom], &mut fields)?;
        let (said, kind, arguments) = match &fields {
            [_, Some(said), _] => (said, ".function", Key::Arguments),
            [_, None, Some(said)] => (said, ".custom", Key::Input),
            [_, None, None] => return Err(ReadError::Misfit(misfit(at("")(), Some(&call), CALL))),
        };
        let id = match &fields[0] {
            Some(id) => Some(string(id, at(".id"), STRING_OR_NULL)?),
            None => None,
        };
        function(said, at(kind), arguments, meter)?;
        let id = id.filter(|id| id.chars() > 0);
        ties.push(Tie::new(Family::Tool, id));
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
    let mut fields = [const { None }; 2];
    call.fields(&[Key::Name, arguments], &mut fields)?;
    let [name, said] = &fields;
    let name = match name {
        Some(name) => Some(string(name, || path() + ".name", "a string")?),
        None => None,
    };
    meter.call(name.as_ref())?;
    let Some(said) = said else { return Ok(()) };
    let at = || path() + "." + arguments.name();
    meter_value(said, at, meter)?;
    Ok(())
}

/// The ties of a message alone, where nothing else of it is used: what is wrong with it does not matter.
pub(super) fn links<V: Value>(
    message: &V,
    turn: Turn,
    links: &mut Links<V::Text>,
) -> Result<(), Foreign> {
    match turn {
        Turn::System | Turn::Developer | Turn::User => {}
        Turn::Result => {
            let is_tool = message
                .get(Key::Role)?
                .is_some_and(|role| role.word().is_some_and(|role| role == "tool"));
            if let Some(responses) = clones::responses_of(message)? {
                return clones::link(&responses, links);
            }
            links.results.push(if is_tool {
                Tie::new(Family::Tool, id_at(message, Key::ToolCallId)?)
            } else {
                Tie::new(Family::Legacy, None)
            });
        }
        Turn::Model => {
            if let Some(calls) = message.get(Key::ToolCalls)? {
                for call in (0..calls.list().unwrap_or(0)).map_while(|k| calls.item(k)) {
                    let id = if call.is_record() {
                        id_at(&call, Key::Id)?
                    } else {
                        None
                    };
                    links.calls.push(Tie::new(Family::Tool, id));
                }
            }
            if message
                .get(Key::FunctionCall)?
                .is_some_and(|call| call.is_record())
            {
                links.calls.push(Tie::new(Family::Legacy, None));
            }
        }
    }
    Ok(())
}
