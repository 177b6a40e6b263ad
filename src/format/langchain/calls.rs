//! Calls of a message: as `LangChain` lists them, else as the provider gave them.

use super::Found;
use crate::cost::{Meter, place};
use crate::error::{Foreign, ReadError};
use crate::facts::{Family, Tie};
use crate::format::{STRING_OR_NULL, id_at, meter_value, misfit, string};
use crate::value::{Key, Value};

/// Where the calls of a message stand.
pub(super) enum Calls<V> {
    /// In `tool_calls` and `invalid_tool_calls`: both are sent, so both want a result.
    Listed([Option<V>; 2]),
    /// In `additional_kwargs.tool_calls`.
    Additional(V),
    /// In `additional_kwargs.function_call`.
    Legacy(V),
}

/// The lists of [`Calls::Listed`].
const LISTS: [Key; 2] = [Key::ToolCalls, Key::InvalidToolCalls];

const CALL: &str = "a mapping with a name";

impl<V: Value> Calls<V> {
    /// The calls beside the content, if there are any.
    pub(super) fn of(record: &V) -> Result<Option<Self>, Foreign> {
        let is_filled = |list: &V| list.list() != Some(0);
        let mut fields = [const { None }; 3];
        let [calls, invalid] = LISTS;
        record.fields(&[calls, invalid, Key::AdditionalKwargs], &mut fields)?;
        let [calls, invalid, more] = fields;
        let listed = [calls.filter(is_filled), invalid.filter(is_filled)];
        if listed.iter().any(Option::is_some) {
            return Ok(Some(Self::Listed(listed)));
        }
        let Some(more) = more.filter(V::is_record) else {
            return Ok(None);
        };
        if let Some(calls) = more.get(Key::ToolCalls)?.filter(is_filled) {
            return Ok(Some(Self::Additional(calls)));
        }
        let legacy = more.get(Key::FunctionCall)?.filter(V::is_record);
        Ok(legacy.map(Self::Legacy))
    }

    /// Their ties; what is wrong with them does not matter.
    pub(super) fn link(&self, ties: &mut Vec<Tie<V::Text>>) -> Result<(), Foreign> {
        let mut link = |list: &V| {
            for call in (0..list.list().unwrap_or(0)).map_while(|k| list.item(k)) {
                let id = if call.is_record() {
                    id_at(&call, Key::Id)?
                } else {
                    None
                };
                ties.push(Tie::new(Family::Tool, id));
            }
            Ok(())
        };
        match self {
            Self::Listed(lists) => lists.iter().flatten().try_for_each(link),
            Self::Additional(list) => link(list),
            Self::Legacy(_) => {
                ties.push(Tie::new(Family::Legacy, None));
                Ok(())
            }
        }
    }

    /// What they cost.
    pub(super) fn read(
        &self,
        found: &Found<V>,
        meter: &mut Meter<'_, V::Text>,
    ) -> Result<(), ReadError> {
        match self {
            Self::Listed(lists) => {
                for (list, key) in lists.iter().zip(LISTS) {
                    if let Some(list) = list {
                        listed(list, &found.at(key.name()), meter)?;
                    }
                }
                Ok(())
            }
            Self::Additional(list) => {
                listed(list, &found.at("additional_kwargs.tool_calls"), meter)
            }
            Self::Legacy(call) => said(call, &found.at("additional_kwargs.function_call"), meter),
        }
    }
}

/// A list of calls.
fn listed<V: Value>(list: &V, path: &str, meter: &mut Meter<'_, V::Text>) -> Result<(), ReadError> {
    let Some(len) = list.list() else {
        let expected = "a list of calls or null";
        return Err(ReadError::Misfit(misfit(path, Some(list), expected)));
    };
    for k in 0..len {
        let Some(call) = list.item(k) else { break };
        let path = place(path, k);
        if !call.is_record() {
            return Err(ReadError::Misfit(misfit(path, Some(&call), CALL)));
        }
        let mut fields = [const { None }; 2];
        call.fields(&[Key::Id, Key::Function], &mut fields)?;
        let [id, function] = fields;
        if let Some(id) = id {
            string(&id, || path.clone() + ".id", STRING_OR_NULL)?;
        }
        match function.filter(V::is_record) {
            // As Chat Completions has it.
            Some(function) => said(&function, &(path + ".function"), meter)?,
            None => said(&call, &path, meter)?,
        }
    }
    Ok(())
}

/// What a call says: a name, and what it is called with.
pub(super) fn said<V: Value>(
    call: &V,
    path: &str,
    meter: &mut Meter<'_, V::Text>,
) -> Result<(), ReadError> {
    const SAID: [Key; 3] = [Key::Args, Key::Arguments, Key::Input];
    let mut fields = [const { None }; 4];
    let [args, arguments, input] = SAID;
    call.fields(&[Key::Name, args, arguments, input], &mut fields)?;
    let [name, said @ ..] = fields;
    let name = name.map(|name| string(&name, || format!("{path}.name"), "a string"));
    meter.call(name.transpose()?.as_ref())?;
    for (key, said) in SAID.into_iter().zip(said) {
        if let Some(said) = said {
            let at = || format!("{path}.{}", key.name());
            meter_value(&said, at, meter)?;
            break;
        }
    }
    Ok(())
}
