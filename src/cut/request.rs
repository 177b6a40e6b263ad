//! What belongs to the request as a whole: its fixed tokens, its count, and the roles of all its messages.

use super::TextOf;
use crate::cost::{self, Figures, Meter};
use crate::error::Error;
use crate::facts::Role;
use crate::format::chat::{self, Reading, Shorten};
use crate::format::{Format, misfit_beside};
use crate::tokens::Counter;
use crate::value::{History, Value};

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
    let auto = format.is_none();
    check_roles(history, auto, 0, history.len())?;
    let mut sum = fixed_tokens(figures, Some(counter), tools, system)?;
    for index in 0..history.len() {
        let message = history.message(index)?;
        let mut meter = Meter::new(figures, Some(counter), None, false);
        let reading = Reading {
            auto,
            shorten: Shorten::Not,
            names: true,
        };
        chat::read(&message, reading, &mut meter, &mut Vec::new())
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
    let Some(len) = system.list() else {
        return Err(misfit_beside(
            "system",
            system,
            "a string or a list of texts",
        ));
    };
    for k in 0..len {
        let Some(part) = system.item(k) else { break };
        match chat::part_text(&part)? {
            Some(text) => sum += counter.count(&text)?,
            None => {
                return Err(misfit_beside(
                    cost::place("system", k),
                    &part,
                    "a string or a mapping with text",
                ));
            }
        }
    }
    Ok(sum)
}

/// Checks the roles of messages `from..to`, oldest first.
pub(crate) fn check_roles<H: History>(
    history: &H,
    auto: bool,
    from: usize,
    to: usize,
) -> Result<(), Error> {
    for index in from..to {
        let message = history.message(index)?;
        chat::role(&message, auto).map_err(|error| error.at(index))?;
    }
    Ok(())
}

/// Lets the error of the oldest wrong role go before any other. `unread`: in front of it no role has been looked at, except
/// those that the history is known to have in order.
pub(super) fn roles_first<H: History, R>(
    history: &H,
    auto: bool,
    unread: usize,
    found: Result<R, Error>,
) -> Result<R, Error> {
    match found {
        Err(error @ Error::Foreign(_)) => Err(error),
        Err(error) => {
            check_roles(history, auto, 0, history.len())?;
            Err(error)
        }
        Ok(found) => {
            let known = history.known().min(unread);
            check_roles(history, auto, known, unread)?;
            if known < unread {
                history.remember(unread);
            }
            Ok(found)
        }
    }
}
