//! Observations: the content of results, shortened where a cap asks for it.

use super::parts;
use crate::cost::{FIGURES, Meter};
use crate::error::ReadError;
use crate::facts::{Links, Role};
use crate::format::Lead;
use crate::format::{Capped, Reading, Shorten, Sink};
use crate::value::{Key, Text, Value};

/// The content of a result, shortened if it is asked for and needed.
pub(super) fn read<V: Value>(
    content: &V,
    role: Role,
    sink: &mut Sink<'_, '_, V>,
) -> Result<(), ReadError> {
    let most = match sink.how.shorten {
        // ThenaJS knows no other results.
        Shorten::Thena(_) if role != Role::Tool => None,
        _ => sink.cap(),
    };
    // The common case needs no list of texts: nothing is shortened, or a single text is short enough.
    let short = |most| content.text().is_some_and(|text| text.chars() <= most);
    if most.is_none_or(short) {
        return parts::content(content, false, false, sink.meter);
    }
    sink.observation(|observation, sink| parts::observe(content, observation, sink.meter))
}

/// Characters of a message's content alone, and its cap, by `ThenaJS`'s rules.
pub(crate) fn thena<V: Value>(
    message: &V,
    role: Role,
    auto: bool,
    cap: Option<usize>,
) -> Result<(u64, Option<Capped>), ReadError> {
    let mut meter = Meter::new(&FIGURES, None, None, false);
    let Some(content) = message.get(Key::Content)? else {
        return Ok((0, None));
    };
    let how = Reading {
        auto,
        shorten: cap.map_or(Shorten::Not, Shorten::Thena),
        names: false,
        lead: Lead::All,
    };
    let mut links = Links::default();
    let mut sink = Sink::new(how, &mut meter, &mut links);
    if role == Role::Tool {
        read(&content, role, &mut sink)?;
    } else {
        let beside_calls = message.get(Key::ToolCalls)?.is_some();
        parts::content(&content, beside_calls, auto, sink.meter)?;
    }
    let capped = sink.capped.pop();
    Ok((meter.chars, capped))
}
