//! Reading a message at a glance: one that is not written as its constructor.

use super::Kind;
use crate::facts::{Family, Links, Role, Turn};
use crate::format::Reading;
use crate::format::chat;
use crate::format::glance::{self, Said, take_id, text_block, text_or_json};
use crate::value::{Key, Lent, Value};

/// The turn of a plain message and its characters, its ties into `links`.
#[inline(never)] // so that the glance of openai-chat stays small enough to be inlined
pub(super) fn glance<V: Value>(
    message: &V,
    how: Reading,
    links: &mut Links<V::Text>,
) -> Option<(Turn, u64)> {
    let own = fields(message).filter(|fields| !fields.constructed)?;
    let Some(Kind::Is(role)) = own.kind.or(own.role) else {
        return None;
    };
    // Without a content, the fields may stand a level further down.
    let Fields {
        id,
        content,
        listed,
        more,
        ..
    } = match own.data.filter(|_| own.content.is_none()) {
        Some(data) => fields(&data)?,
        None => Fields {
            data: None,
            kind: None,
            ..own
        },
    };
    let content = content.unwrap_or(Said::Text(0));
    let mut chars = content.chars(text_block)?;
    match role {
        Role::Tool | Role::Function => {
            let family = if role == Role::Tool {
                Family::Tool
            } else {
                Family::Legacy
            };
            let id = id.filter(|_| role == Role::Tool);
            links.results.push(glance::tie(family, id));
            if !how.shorten.leaves(chars) {
                return None;
            }
        }
        Role::Assistant => {
            let mut calls = false;
            for list in listed.into_iter().flatten() {
                for call in (0..list.list()?).map_while(|k| list.item(k)) {
                    chars += look_at(&call, links)?;
                    calls = true;
                }
            }
            if let Some(more) = more.filter(|_| !calls) {
                // Calls that stand nowhere else.
                let mut has_calls = false;
                let looked = more.look(|key, value| {
                    has_calls |=
                        matches!(key, Key::ToolCalls | Key::FunctionCall) && !value.is_null();
                    !has_calls
                });
                if has_calls || !looked {
                    return None;
                }
            }
        }
        _ => {}
    }
    Some((chat::turn_of(role), chars as u64))
}

/// What is looked at of a message.
struct Fields<V: Value> {
    kind: Option<Kind>,
    role: Option<Kind>,
    id: Option<V::Text>,
    content: Option<Said<V>>,
    listed: [Option<V>; 2],
    more: Option<V>,
    data: Option<V>,
    /// Whether the message is written as its constructor.
    constructed: bool,
}

fn fields<V: Value>(record: &V) -> Option<Fields<V>> {
    let mut found = Fields {
        kind: None,
        role: None,
        id: None,
        content: None,
        listed: [None, None],
        more: None,
        data: None,
        constructed: false,
    };
    let mut plain = true;
    let looked = record.look(|key, value| {
        match key {
            Key::Type => found.kind = value.word(Kind::of),
            Key::Role => found.role = value.word(Kind::of),
            Key::Content if !value.is_null() => found.content = Some(Said::<V>::of(value)),
            Key::ToolCallId => plain = take_id::<V>(value, &mut found.id),
            Key::ToolCalls => found.listed[0] = glance::keep::<V>(value),
            Key::InvalidToolCalls => found.listed[1] = glance::keep::<V>(value),
            Key::AdditionalKwargs => found.more = glance::keep::<V>(value),
            Key::Data => found.data = glance::keep::<V>(value),
            Key::Lc => found.constructed = !value.is_null(),
            _ => {}
        }
        plain
    });
    (looked && plain).then_some(found)
}

fn look_at<V: Value>(call: &V, links: &mut Links<V::Text>) -> Option<usize> {
    let (mut id, mut args, mut plain) = (None, None, true);
    let looked = call.look(|key, value| {
        match key {
            Key::Id => plain = take_id::<V>(value, &mut id),
            Key::Name => plain = glance::is_text_or_null::<V>(value),
            Key::Args => args = glance::keep::<V>(value),
            Key::Function => plain = value.is_null(),
            _ => {}
        }
        plain
    });
    // What a call says may stand under other names.
    let args = args.filter(|_| looked && plain)?;
    links.calls.push(glance::tie(Family::Tool, id));
    text_or_json(Some(&args))
}
