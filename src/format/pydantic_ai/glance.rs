//! Reading a message at a glance.

use super::Kind;
use crate::facts::{Family, Links, Turn};
use crate::format::glance::{self, Said, take_id, text_or_json};
use crate::format::{Lead, Reading};
use crate::value::{Key, Lent, Text, Value};

/// The turn of a plain message and its characters, its ties into `links`.
#[inline(never)] // so that the glance of openai-chat stays small enough to be inlined
pub(super) fn glance<V: Value>(
    message: &V,
    how: Reading,
    links: &mut Links<V::Text>,
) -> Option<(Turn, u64)> {
    let (mut is_request, mut parts, mut plain) = (None, None, true);
    let looked = message.look(|key, value| {
        match key {
            Key::Kind => {
                is_request = value.word(|kind| match kind {
                    "request" => Some(true),
                    "response" => Some(false),
                    _ => None,
                });
                plain = is_request.is_some();
            }
            Key::Parts => parts = glance::keep::<V>(value),
            // Parts of another format.
            Key::Content => plain = value.is_null(),
            _ => {}
        }
        plain
    });
    let is_request = is_request.filter(|_| looked && plain && how.lead == Lead::All)?;
    let (parts, mut sum) = (parts?, 0);
    let (mut instructs, mut converses) = (false, false);
    for part in (0..parts.list()?).map_while(|k| parts.item(k)) {
        let (kind, chars) = look_at(&part, is_request, how, links)?;
        instructs |= kind == Kind::System;
        converses |= kind != Kind::System;
        sum += chars;
    }
    let turn = match is_request {
        false => Turn::Model,
        true if !links.results.is_empty() => Turn::Result,
        true if instructs && !converses => Turn::System,
        true => Turn::User,
    };
    Some((turn, sum as u64))
}

fn look_at<V: Value>(
    part: &V,
    is_request: bool,
    how: Reading,
    links: &mut Links<V::Text>,
) -> Option<(Kind, usize)> {
    let (mut kind, mut id, mut content, mut args) = (None, None, None, None);
    let mut signed = false;
    let looked = part.look(|key, value| {
        match key {
            Key::PartKind => kind = value.word(|kind| Some(Kind::of(kind))),
            Key::Content => content = Some(Said::<V>::of(value)),
            // What is no id is none.
            Key::ToolCallId => _ = take_id::<V>(value, &mut id),
            Key::Args => args = glance::keep::<V>(value),
            Key::Signature => signed = value.chars().is_some_and(|chars| chars > 0),
            _ => {}
        }
        true
    });
    let kind = kind.filter(|_| looked)?;
    let content = content.unwrap_or(Said::Text(0));
    let chars = match (kind, is_request) {
        (Kind::System | Kind::Text, _) => text(&content)?,
        (Kind::Thinking, _) if !signed => text(&content)?,
        (Kind::Prompt, _) => content.chars(|item| Some(item.text()?.chars()))?,
        (Kind::Call, false) => {
            links.calls.push(glance::tie(Family::Tool, id));
            text_or_json(args.as_ref())?
        }
        (Kind::Return, true) => {
            links.results.push(glance::tie(Family::Tool, id));
            let chars = returned(&content)?;
            how.shorten.leaves(chars).then_some(chars)?
        }
        _ => return None,
    };
    Some((kind, chars))
}

/// Characters of a content that is text or nothing.
const fn text<V>(content: &Said<V>) -> Option<usize> {
    match content {
        Said::Text(chars) => Some(*chars),
        Said::Blocks(_) => None,
    }
}

/// Characters of what a tool gave back, where it holds no media.
fn returned<V: Value>(content: &Said<V>) -> Option<usize> {
    let Said::Blocks(value) = content else {
        return text(content);
    };
    let shows = |value: &V| {
        let mut shows = false;
        value.look(|key, value| {
            shows |= key == Key::Kind && !value.is_null();
            !shows
        });
        shows
    };
    let items = (0..value.list().unwrap_or(0)).map_while(|k| value.item(k));
    if shows(value) || items.into_iter().any(|item| shows(&item)) {
        return None;
    }
    glance::result(value)
}
