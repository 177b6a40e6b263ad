//! Observations: what a tool gave back, shortened where a cap asks for it. `docs/rules.md`, section 3.3.

use super::{Shorten, Sink, part_text};
use crate::cap::{self, Slice, TextCut};
use crate::error::{Foreign, ReadError};
use crate::plan::{PartCut, Path, to};
use crate::value::{Key, Text, Value};
use crate::window::Cap;

/// A shortened observation.
#[derive(Clone, Debug)]
pub(crate) struct Capped {
    pub cuts: Vec<PartCut>,
    /// Characters before the cap.
    pub from: u64,
    /// Characters that are left, markers included.
    pub to: u64,
    /// UTF-8 bytes before the cap; 0 unless they are measured.
    from_bytes: u64,
    /// What its texts, as they are sent, are in the meter's characters and bytes.
    metered: (u64, u64),
}

impl Capped {
    /// What a grid takes the message for, whose sizes as sent are given: the observation counts as exactly the cap.
    pub(crate) fn measured(&self, cap: Cap, (chars, bytes): (u64, u64)) -> (u64, u64) {
        let cap = cap.chars as u64;
        let scaled = u128::from(self.from_bytes) * u128::from(cap) / u128::from(self.from.max(1));
        (
            chars - self.metered.0 + cap,
            bytes - self.metered.1 + u64::try_from(scaled).unwrap_or(u64::MAX),
        )
    }
}

/// What stays of a text of which nothing is left.
const NOTHING: TextCut = TextCut {
    head: 0,
    tail: 0,
    marker: "",
};

/// A text of an observation.
struct Said<T> {
    path: Path,
    text: T,
    /// Whether the text costs anything; one that a picture carries does not.
    counts: bool,
    /// Whether the text stays, empty, where nothing of it is left, since its part says more.
    stays: bool,
}

/// The texts of one observation, collected as a cap needs them.
pub(crate) struct Observation<T> {
    texts: Vec<Said<T>>,
}

impl<T: Text> Observation<T> {
    /// Takes a text, which a cap may shorten.
    pub(crate) fn text(&mut self, path: Path, text: T, counts: bool) {
        self.texts.push(Said {
            path,
            text,
            counts,
            stays: false,
        });
    }

    /// Takes a text that is not all that its part says.
    pub(crate) fn text_beside(&mut self, path: Path, text: T) {
        self.texts.push(Said {
            path,
            text,
            counts: true,
            stays: true,
        });
    }
}

impl<V: Value> Sink<'_, '_, V> {
    /// Whether observations of more characters than this are shortened.
    pub(crate) fn cap(&self) -> Option<usize> {
        match self.how.shorten {
            Shorten::Not => None,
            Shorten::To(cap) => Some(cap.chars),
            Shorten::Thena(chars) => Some(chars),
        }
    }

    /// Reads the content of a result at `path`, of which `blocks` tells how many it has where it is no string: strings, and the
    /// texts of blocks that `is_text` lets, share the cap of an observation; `other` meters all else.
    pub(crate) fn content(
        &mut self,
        content: &V,
        path: impl Fn(Path) -> Path,
        blocks: impl FnOnce(&V) -> Result<usize, ReadError>,
        is_text: impl Fn(&V) -> Result<bool, Foreign>,
        mut other: impl FnMut(&V, usize, &mut Self) -> Result<(), ReadError>,
    ) -> Result<(), ReadError> {
        if let Some(text) = content.text() {
            return match self.cap() {
                Some(most) if text.chars() > most => self.observation(|observation, _| {
                    observation.text(path(to![Key::Content]), text, true);
                    Ok(())
                }),
                _ => Ok(self.meter.text(&text)?),
            };
        }
        let len = blocks(content)?;
        self.observation(|observation, sink| {
            for (k, block) in (0..len).map_while(|k| Some((k, content.item(k)?))) {
                match part_text(&block)? {
                    Some(text) if block.text().is_some() => {
                        observation.text(path(to![Key::Content, k]), text, true);
                    }
                    Some(text) if is_text(&block)? => {
                        observation.text(path(to![Key::Content, k, Key::Text]), text, true);
                    }
                    _ => other(&block, k, sink)?,
                }
            }
            Ok(())
        })
    }

    /// Reads an observation: `read` gives its texts to the observation and meters all else itself.
    pub(crate) fn observation(
        &mut self,
        read: impl FnOnce(&mut Observation<V::Text>, &mut Self) -> Result<(), ReadError>,
    ) -> Result<(), ReadError> {
        let mut observation = Observation { texts: Vec::new() };
        read(&mut observation, self)?;
        let texts = observation.texts;
        let lent: Vec<&V::Text> = texts.iter().map(|said| &said.text).collect();
        let slices = match self.how.shorten {
            Shorten::Not => None,
            Shorten::To(cap) => cap::cap(&lent, cap),
            Shorten::Thena(chars) => cap::cap_thena(&lent, chars),
        };
        let before = (self.meter.chars, self.meter.bytes);
        let slices = slices.unwrap_or_default();
        let (mut from, mut to, mut from_bytes) = (0, 0, 0);
        // Slices are in the order of the texts.
        let mut next = slices.iter().peekable();
        for (k, said) in texts.iter().enumerate() {
            let slice: Option<&Slice> = next.next_if(|slice| slice.text == k);
            let chars = said.text.chars() as u64;
            from += chars;
            match slice.map(|slice| slice.cut) {
                None => {
                    to += chars;
                    if said.counts {
                        self.meter.text(&said.text)?;
                    }
                }
                Some(Some(cut)) => {
                    to += cut.chars() as u64;
                    if said.counts {
                        self.meter.cut_text(&said.text, &cut)?;
                    }
                }
                Some(None) => {}
            }
        }
        if slices.is_empty() {
            return Ok(());
        }
        if self.meter.measures() {
            from_bytes = texts.iter().map(|said| said.text.bytes() as u64).sum();
        }
        let mut texts = texts;
        self.capped.push(Capped {
            cuts: slices
                .iter()
                .map(|slice| {
                    let said = &mut texts[slice.text];
                    let cut = slice.cut.or(said.stays.then_some(NOTHING));
                    PartCut::new(std::mem::take(&mut said.path), cut)
                })
                .collect(),
            from,
            to,
            from_bytes,
            metered: (self.meter.chars - before.0, self.meter.bytes - before.1),
        });
        Ok(())
    }
}
