//! What belongs to the request as a whole: its fixed tokens, its count, and the roles of all its messages.

use super::TextOf;
use crate::cost::{self, Figures, Meter};
use crate::error::{Between, Error, Foreign, ReadError};
use crate::facts::{Links, Role};
use crate::format::Lead;
use crate::format::{
    self, Detected, Format, Known, Reading, Shorten, Sink, misfit_beside, part_text, text_at,
};
use crate::tokens::Counter;
use crate::value::{History, Key, Value};

/// Tokens of a whole request: messages, `tools`, and `system` text that stands outside the array. O(text).
///
/// `format`: `None` decides from the shape. `figures`: what is counted beside text, [`Figures::of`] a model.
///
/// # Errors
/// [`Error`]: a message, a tool or a system text that cannot be read, or what the caller's own code raised.
pub fn count<H: History>(
    history: &H,
    format: Option<Format>,
    figures: &Figures,
    counter: &dyn Counter<TextOf<H>>,
    tools: Option<&H::Value>,
    system: Option<&H::Value>,
) -> Result<u64, Error> {
    let wire = Reader::new(history, format, history.fallback())?;
    wire.check_roles(history, 0, history.len())?;
    let mut sum = fixed_tokens(figures, Some(counter), tools, system)?;
    for index in 0..history.len() {
        let message = history.message(index)?;
        let mut meter = Meter::new(figures, Some(counter), None, false);
        let mut links = Links::default();
        let reading = Reading {
            auto: wire.auto,
            shorten: Shorten::Not,
            names: true,
            lead: Lead::All,
        };
        format::read(
            wire.format,
            &message,
            &mut Sink::new(reading, &mut meter, &mut links),
        )
        .map_err(|error| error.at(index))?;
        sum += meter.tokens;
    }
    Ok(sum)
}

/// Tokens of a request beside its messages; 0 where they are not asked for.
pub(super) fn fixed_tokens<V: Value>(
    figures: &Figures,
    counter: Option<&dyn Counter<V::Text>>,
    tools: Option<&V>,
    system: Option<&V>,
) -> Result<u64, Error> {
    let Some(counter) = counter else { return Ok(0) };
    let mut sum = u64::from(figures.reply);
    if let Some(tools) = tools {
        sum += cost::tools(tools, figures, counter)?;
    }
    if let Some(system) = system {
        sum += system_tokens(system, figures, counter)?;
    }
    Ok(sum)
}

/// `system` counts as one message.
fn system_tokens<V: Value>(
    system: &V,
    figures: &Figures,
    counter: &dyn Counter<V::Text>,
) -> Result<u64, Error> {
    let mut sum = u64::from(figures.message) + counter.role(Role::System)?;
    if let Some(text) = system.text() {
        return Ok(sum + counter.count(&text)?);
    }
    // Gemini's instruction is a message of parts, pydantic-ai's a text under `content`.
    let parts = if system.is_record() {
        match system.get(Key::Parts)? {
            Some(parts) => parts,
            None => return Ok(sum + system_part("system", system, counter)?),
        }
    } else {
        system.clone()
    };
    let Some(len) = parts.list() else {
        let expected = "a string or a list of texts";
        return Err(misfit_beside("system", system, expected));
    };
    for k in 0..len {
        let Some(part) = parts.item(k) else { break };
        sum += system_part(&cost::place("system", k), &part, counter)?;
    }
    Ok(sum)
}

/// A text, a mapping with one, or a mark of the prompt cache.
fn system_part<V: Value>(
    path: &str,
    part: &V,
    counter: &dyn Counter<V::Text>,
) -> Result<u64, Error> {
    if let Some(text) = part_text(part)? {
        return Ok(counter.count(&text)?);
    }
    if part.is_record() {
        if let Some(text) = text_at(part, Key::Content)? {
            return Ok(counter.count(&text)?);
        }
        if part.get(Key::CachePoint)?.is_some() {
            return Ok(0);
        }
    }
    Err(misfit_beside(path, part, "a string or a mapping with text"))
}

/// In which format a history is read.
#[derive(Clone, Copy)]
pub(crate) struct Reader {
    pub format: Format,
    /// Whether its shape decided.
    pub auto: bool,
    /// Messages in front that decide nothing.
    plain: usize,
    /// Messages in front whose roles have been looked at.
    lawful: usize,
}

impl Reader {
    /// The format that was asked for, else the one that the shape decides. O(messages up to the one that decides).
    ///
    /// `fallback`: the one of messages that do not tell.
    pub(crate) fn new<H: History>(
        history: &H,
        format: Option<Format>,
        fallback: Format,
    ) -> Result<Self, Error> {
        let found = match format {
            Some(format) => Detected {
                format,
                plain: 0,
                lawful: 0,
            },
            None => format::detect(history, fallback)?,
        };
        Ok(Self {
            format: found.format,
            auto: format.is_none(),
            plain: found.plain,
            lawful: found.lawful,
        })
    }

    /// Checks the roles of messages `from..to`, oldest first.
    pub(crate) fn check_roles<H: History>(
        &self,
        history: &H,
        from: usize,
        to: usize,
    ) -> Result<(), Error> {
        for index in from..to {
            let message = history.message(index)?;
            if let Err(error) = format::role(self.format, &message) {
                return Err(self.blame(index, &message, error)?);
            }
        }
        Ok(())
    }

    /// A wrong role, or another format's.
    fn blame<V: Value>(
        &self,
        index: usize,
        message: &V,
        error: ReadError,
    ) -> Result<Error, Foreign> {
        let hint = if self.auto {
            format::hint(message)?
        } else {
            None
        };
        Ok(match hint.filter(|&looks| looks != self.format) {
            Some(looks) => Error::Ambiguous {
                index,
                between: Between {
                    looks,
                    before: self.format,
                },
            },
            None => error.at(index),
        })
    }

    /// Lets the error of the oldest wrong role go before any other. `unread`: in front of it no role has been looked at, except
    /// those that the history is known to have in order.
    pub(super) fn roles_first<H: History, R>(
        &self,
        history: &H,
        unread: usize,
        found: Result<R, Error>,
    ) -> Result<R, Error> {
        match found {
            Err(error @ Error::Foreign(_)) => Err(error),
            Err(error) => {
                self.check_roles(history, 0, history.len())?;
                Err(error)
            }
            Ok(found) => {
                let known = history.known().filter(|known| known.format == self.format);
                let end = known.map_or(0, |known| known.end);
                let end = end.max(self.lawful).min(unread);
                self.check_roles(history, end, unread)?;
                let plain = self.plain.min(unread);
                if known.is_none_or(|known| known.end < unread || known.plain < plain) {
                    history.remember(Known {
                        end: known.map_or(unread, |known| known.end.max(unread)),
                        format: self.format,
                        plain,
                    });
                }
                Ok(found)
            }
        }
    }
}
