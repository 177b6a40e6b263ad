//! Reading a message at a glance: nearly all are plain, and of a plain one characters and ties are had without holding on to
//! anything. What is not plain, or wrong, is left to [`read`](super::read), field by field.

use super::{role_named, turn_of};
use crate::facts::{Family, Links, Role, Tie, Turn};
use crate::format::Reading;
use crate::format::glance::is_text_or_null;
use crate::value::{Key, Lent, Text, Value};

/// The role of a plain message and its characters, its ties into `links`; `None` if it is not plain.
pub(crate) fn glance<V: Value>(
    message: &V,
    how: Reading,
    links: &mut Links<V::Text>,
) -> Option<(Turn, u64)> {
    let (mut role, mut id, mut calls) = (None, None, None);
    // Characters of the content, and of what only an assistant says.
    let (mut content, mut more) = (None, 0);
    let mut plain = true;
    let looked = message.look(|key, value| {
        match key {
            Key::Role => {
                role = value.word(role_named);
                plain = role.is_some();
            }
            Key::Content => {
                content = value.chars();
                plain = content.is_some() || value.is_null();
            }
            Key::ReasoningContent | Key::Reasoning => more += value.chars().unwrap_or(0),
            Key::ToolCallId => {
                id = value.text().filter(|id| id.chars() > 0);
                plain = id.is_some() || is_text_or_null::<V>(value);
            }
            Key::ToolCalls if !value.is_null() => calls = Some(value.keep()),
            // What clones add is for those who read.
            Key::Refusal
            | Key::FunctionCall
            | Key::Parts
            | Key::Thinking
            | Key::ToolPlan
            | Key::ReasoningDetails
            | Key::ToolResponses => plain = value.is_null(),
            _ => return true,
        }
        // Nothing else is looked at once all is known that counts for the role.
        let known = content.is_some()
            && match role {
                None | Some(Role::Assistant) => false,
                Some(Role::Tool) => id.is_some(),
                Some(_) => true,
            };
        plain && !known
    });
    let mut content = content.unwrap_or(0);
    let role = role.filter(|_| looked && plain)?;
    match role {
        Role::System | Role::Developer | Role::User | Role::Model => {}
        Role::Tool | Role::Function => {
            if !how.shorten.leaves(content) {
                return None;
            }
            links.results.push(if role == Role::Tool {
                Tie::new(Family::Tool, id)
            } else {
                Tie::new(Family::Legacy, None)
            });
        }
        Role::Assistant => {
            content += more;
            if let Some(calls) = calls {
                content += glance_at_calls(&calls, &mut links.calls)?;
            }
        }
    }
    Some((turn_of(role), content as u64))
}

/// Characters of plain calls.
fn glance_at_calls<V: Value>(calls: &V, ties: &mut Vec<Tie<V::Text>>) -> Option<usize> {
    let mut sum = 0;
    for call in (0..calls.list()?).map_while(|k| calls.item(k)) {
        let (mut id, mut function, mut plain) = (None, None, true);
        let looked = call.look(|key, value| {
            match key {
                Key::Id => {
                    id = value.text();
                    plain = id.is_some() || value.is_null();
                }
                Key::Function if !value.is_null() => function = Some(value.keep()),
                _ => return true,
            }
            plain && (id.is_none() || function.is_none())
        });
        let function = function.filter(|_| looked && plain)?;
        let (mut named, mut said) = (false, None);
        let looked = function.look(|key, value| {
            match key {
                Key::Name => {
                    named = value.chars().is_some();
                    plain = named || value.is_null();
                }
                Key::Arguments => {
                    said = value.chars();
                    plain = said.is_some() || value.is_null();
                }
                _ => return true,
            }
            plain && !(named && said.is_some())
        });
        sum += said.unwrap_or(0);
        if !looked || !plain {
            return None;
        }
        let id = id.filter(|id| id.chars() > 0);
        ties.push(Tie::new(Family::Tool, id));
    }
    Some(sum)
}
