//! Observations: the content of results, shortened where a cap asks for it. `docs/rules.md`, section 3.3.

use super::{Reading, parts};
use crate::cap::{self, PartCut};
use crate::cost::{FIGURES, Meter};
use crate::error::ReadError;
use crate::facts::Role;
use crate::value::{Key, Text, Value};
use crate::window::Cap;

/// How observations are shortened.
#[derive(Clone, Copy)]
pub(crate) enum Shorten {
    Not,
    To(Cap),
    /// `ThenaJS`: this many characters, marker on top, and `tool` messages only.
    Thena(usize),
}

/// A shortened observation.
#[derive(Clone, Debug)]
pub(crate) struct Capped {
    pub cuts: Vec<PartCut>,
    /// Characters before the cap.
    pub from: u64,
    /// UTF-8 bytes before the cap; 0 unless they are measured.
    pub from_bytes: u64,
    /// Characters of its texts that are not cut at all.
    pub whole: u64,
    /// What its texts, as they are sent, are in the meter's characters and bytes.
    pub metered: (u64, u64),
}

impl Capped {
    /// Characters that are left of the observation, markers included.
    pub(crate) fn chars(&self) -> u64 {
        self.cuts
            .iter()
            .filter_map(|cut| cut.cut)
            .map(|cut| cut.chars() as u64)
            .sum::<u64>()
            + self.whole
    }

    /// What a grid takes the message for, whose sizes as sent are given: the observation counts as exactly the cap.
    pub(crate) fn measured(&self, cap: Cap, chars: u64, bytes: u64) -> (u64, u64) {
        let cap = cap.chars as u64;
        let scaled = u128::from(self.from_bytes) * u128::from(cap) / u128::from(self.from.max(1));
        (
            chars - self.metered.0 + cap,
            bytes - self.metered.1 + u64::try_from(scaled).unwrap_or(u64::MAX),
        )
    }
}

/// The content of a result, shortened if it is asked for and needed.
pub(super) fn read<V: Value>(
    content: &V,
    role: Role,
    how: Reading,
    meter: &mut Meter<'_, V::Text>,
) -> Result<Option<Box<Capped>>, ReadError> {
    let most = match how.shorten {
        Shorten::Not => None,
        Shorten::To(cap) => Some(cap.chars),
        Shorten::Thena(chars) => (role == Role::Tool).then_some(chars),
    };
    // The common case needs no list of texts: nothing is shortened, or a single text is short enough.
    let short = |most| content.text().is_some_and(|text| text.chars() <= most);
    if most.is_none_or(short) {
        parts::content(content, false, how.auto, meter)?;
        return Ok(None);
    }
    let texts = parts::observation_texts(content)?;
    let cuts = match how.shorten {
        Shorten::To(cap) => cap::cap(&texts, cap),
        Shorten::Thena(chars) => cap::cap_thena(&texts, chars),
        Shorten::Not => None,
    };
    let Some(cuts) = cuts else {
        parts::content(content, false, how.auto, meter)?;
        return Ok(None);
    };
    let whole = texts
        .iter()
        .filter(|(part, _)| cuts.binary_search_by_key(part, |cut| cut.part).is_err());
    let from_bytes = if meter.measures() {
        texts.iter().map(|(_, text)| text.bytes() as u64).sum()
    } else {
        0
    };
    Ok(Some(Box::new(Capped {
        from: texts.iter().map(|(_, text)| text.chars() as u64).sum(),
        from_bytes,
        whole: whole.map(|(_, text)| text.chars() as u64).sum(),
        metered: parts::cut_content(content, &cuts, how.auto, meter)?,
        cuts,
    })))
}

/// Characters of a message's content alone, and its cap, by `ThenaJS`'s rules.
pub(crate) fn thena<V: Value>(
    message: &V,
    role: Role,
    auto: bool,
    cap: Option<usize>,
) -> Result<(u64, Option<Box<Capped>>), ReadError> {
    let mut meter = Meter::new(&FIGURES, None, None, false);
    let Some(content) = message.get(Key::Content)? else {
        return Ok((0, None));
    };
    let shorten = cap.map_or(Shorten::Not, Shorten::Thena);
    let beside_calls = message.get(Key::ToolCalls)?.is_some();
    let capped = if role == Role::Tool {
        read(
            &content,
            role,
            Reading {
                auto,
                shorten,
                names: false,
            },
            &mut meter,
        )?
    } else {
        parts::content(&content, beside_calls, auto, &mut meter)?;
        None
    };
    Ok((meter.chars, capped))
}
