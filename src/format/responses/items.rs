//! What an item is, and which other items it hangs together with.

use crate::error::{Foreign, ReadError};
use crate::facts::{Family, Links, Role, Tie, Turn};
use crate::format::{chat, id_at, misfit, no_message, text_at, wrong_word};
use crate::value::{Key, Lent, Text, Value};

const ROLES: &str = "one of system, developer, user, assistant";

/// What an item is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Message(Role),
    /// A call that waits for an output of its family.
    Call(Family),
    Output(Family),
    /// A call that the provider ran itself, its result included: what the model reads of it stands under these keys.
    Hosted(&'static [Key]),
    Reasoning,
    /// Tools that become available at this place.
    Tools,
    /// Asks for a compaction, at the very end.
    Trigger,
    /// Settings that hold from this place on.
    Settings,
    /// What nobody knows, and what says nothing but its texts: new types appear often, and most are the model's.
    Other,
}

impl Kind {
    /// The kind of that type; `None` for a message, whose role tells.
    pub(super) fn of(name: &str) -> Option<Self> {
        Some(match name {
            "message" => return None,
            "function_call" => Self::Call(Family::Tool),
            "function_call_output" => Self::Output(Family::Tool),
            "custom_tool_call" => Self::Call(Family::Custom),
            "custom_tool_call_output" => Self::Output(Family::Custom),
            "computer_call" => Self::Call(Family::Computer),
            "computer_call_output" => Self::Output(Family::Computer),
            "local_shell_call" => Self::Call(Family::LocalShell),
            "local_shell_call_output" => Self::Output(Family::LocalShell),
            "shell_call" => Self::Call(Family::Shell),
            "shell_call_output" => Self::Output(Family::Shell),
            "apply_patch_call" => Self::Call(Family::ApplyPatch),
            "apply_patch_call_output" => Self::Output(Family::ApplyPatch),
            "tool_search_call" => Self::Call(Family::ToolSearch),
            "tool_search_output" => Self::Output(Family::ToolSearch),
            "program" => Self::Call(Family::Program),
            "program_output" => Self::Output(Family::Program),
            "mcp_approval_request" => Self::Call(Family::Approval),
            "mcp_approval_response" => Self::Output(Family::Approval),
            "web_search_call" => Self::Hosted(&[Key::Action]),
            "file_search_call" => Self::Hosted(&[Key::Queries, Key::Results]),
            "code_interpreter_call" => Self::Hosted(&[Key::Code, Key::Outputs]),
            "image_generation_call" => Self::Hosted(&[Key::Result]),
            "mcp_call" => Self::Hosted(&[Key::Arguments, Key::Output, Key::Error]),
            "mcp_list_tools" => Self::Hosted(&[Key::Tools, Key::Error]),
            "reasoning" => Self::Reasoning,
            "additional_tools" => Self::Tools,
            "compaction_trigger" => Self::Trigger,
            "configuration_update" => Self::Settings,
            _ => Self::Other,
        })
    }

    /// What an item of the kind is in the conversation.
    pub(super) fn turn<V: Value>(self, item: &V) -> Result<Turn, Foreign> {
        Ok(match self {
            Self::Message(role) => chat::turn_of(role),
            Self::Trigger | Self::Settings => Turn::System,
            Self::Tools => Turn::Developer,
            Self::Output(family) if !is_by_provider(family, item)? => Turn::Result,
            // What the provider ran stands amid what the model said.
            Self::Call(_) | Self::Output(_) | Self::Hosted(_) | Self::Reasoning | Self::Other => {
                Turn::Model
            }
        })
    }
}

pub(super) fn role_named(name: &str) -> Option<Role> {
    Some(match name {
        "system" => Role::System,
        "developer" => Role::Developer,
        "user" => Role::User,
        "assistant" => Role::Assistant,
        _ => return None,
    })
}

/// What an item is by its type, or by its role where it has none.
pub(super) fn kind<V: Value>(item: &V) -> Result<Kind, ReadError> {
    // At a glance, where nothing is wrong with it.
    let (mut role, mut kind, mut is_odd) = (None, None, false);
    let looked = item.look(|key, value| {
        match key {
            Key::Role => role = value.word(role_named),
            Key::Type => {
                kind = value.word(Kind::of);
                is_odd = kind.is_none() && !is_message(value);
            }
            _ => {}
        }
        kind.is_none()
    });
    match (kind, role) {
        (Some(kind), _) => return Ok(kind),
        (None, Some(role)) if looked && !is_odd => return Ok(Kind::Message(role)),
        _ => {}
    }
    if !item.is_record() {
        return Err(no_message(item));
    }
    let name = item.get(Key::Type)?;
    let role = item.get(Key::Role)?;
    match name.as_ref().map(Value::text) {
        Some(None) => {
            let misfit = misfit("type", name.as_ref(), "a string or null");
            return Err(ReadError::Misfit(misfit));
        }
        Some(Some(name)) => {
            if let Some(kind) = Kind::of(&name.as_str()) {
                return Ok(kind);
            }
        }
        None if role.is_none() => {
            let misfit = misfit::<V>("type", None, "the type of an item, or a role");
            return Err(ReadError::Misfit(misfit));
        }
        None => {}
    }
    let word = role.as_ref().and_then(Value::word);
    word.as_deref()
        .and_then(role_named)
        .map(Kind::Message)
        .ok_or_else(|| wrong_word(Key::Role, role.as_ref(), ROLES))
}

/// Whether what stands under `type` leaves it to the role what the item is.
pub(super) fn is_message<V: Value>(kind: impl Lent<V>) -> bool {
    let is_message = |name: &str| (name == "message").then_some(());
    kind.is_null() || kind.word(is_message).is_some()
}

/// Whether the provider searched for tools itself: it does so within its own turn, and says the output or leaves it out.
fn is_by_server<V: Value>(item: &V) -> Result<bool, Foreign> {
    Ok(text_at(item, Key::Execution)?.is_some_and(|by| by.as_str() == "server"))
}

/// Whether an output comes from the provider.
fn is_by_provider<V: Value>(family: Family, item: &V) -> Result<bool, Foreign> {
    Ok(family == Family::Program || (family == Family::ToolSearch && is_by_server(item)?))
}

/// Whether a shell is the provider's, who then need not say what came of it.
fn is_hosted<V: Value>(item: &V) -> Result<bool, Foreign> {
    match item.get(Key::Environment)?.filter(Value::is_record) {
        Some(environment) => {
            Ok(text_at(&environment, Key::Type)?.is_some_and(|kind| kind.as_str() != "local"))
        }
        None => Ok(false),
    }
}

/// The keys under which an item's ids stand: that by which call and output find each other, and another that may do so.
pub(super) const fn id_keys(family: Family, is_call: bool) -> (Key, Option<Key>) {
    match (family, is_call) {
        (Family::Approval, true) => (Key::Id, None),
        (Family::Approval, false) => (Key::ApprovalRequestId, None),
        // The output names the call's `id` in an `id` of its own; many clients send `call_id` all the same.
        (Family::LocalShell, _) => (Key::CallId, Some(Key::Id)),
        _ => (Key::CallId, None),
    }
}

/// The ties of an item into `links`.
pub(super) fn link<V: Value>(
    kind: Kind,
    item: &V,
    links: &mut Links<V::Text>,
) -> Result<(), Foreign> {
    let (family, is_call) = match kind {
        Kind::Call(family) => (family, true),
        Kind::Output(family) => (family, false),
        Kind::Hosted(_) => {
            // What was approved goes back to the request.
            if let Some(request) = id_at(item, Key::ApprovalRequestId)? {
                let done = Tie::new(Family::Server, None);
                let mut done = done.called_by(Family::Approval, Some(request));
                done.optional = true;
                links.calls.push(done);
            }
            return Ok(());
        }
        _ => return Ok(()),
    };
    if family == Family::ToolSearch && is_by_server(item)? {
        return Ok(());
    }
    let (key, other) = id_keys(family, is_call);
    let other = match other {
        Some(key) => id_at(item, key)?,
        None => None,
    };
    let mut tie = match id_at(item, key)? {
        None => Tie::new(family, other),
        id => Tie::new(family, id).with_alias(other),
    };
    if !is_call {
        links.results.push(tie);
        return Ok(());
    }
    tie.optional = family == Family::Shell && is_hosted(item)?;
    if let Some(caller) = item.get(Key::Caller)?.filter(Value::is_record) {
        tie = tie.called_by(Family::Program, id_at(&caller, Key::CallerId)?);
    }
    links.calls.push(tie);
    Ok(())
}
