//! A request as bytes: read, planned, spliced.

use crate::cut::{count, plan};
use crate::envelope::{Array, Messages, find, text_of};
use crate::error::Error;
use crate::json::{Buffers, DEEPEST, Document, JsonText, JsonValue};
use crate::plan::{Plan, Report};
use crate::splice::{Piece, splice};
use crate::tokens::Counter;
use crate::window::Limits;

/// What becomes of a body.
pub struct Trimmed {
    /// What is sent; `None`: the body as it is.
    pub pieces: Option<Vec<Piece>>,
    /// What was done.
    pub report: Report,
    /// Tokens of the whole request before, where they were asked for.
    pub tokens_before: Option<u64>,
}

/// How a body is read and counted.
pub struct Task<'a> {
    /// The window.
    pub limits: &'a Limits,
    /// What counts tokens; needed for a ceiling of tokens.
    pub counter: Option<&'a dyn for<'d> Counter<JsonText<'d>>>,
    /// The field that holds the messages, where it is none of the providers'.
    pub key: Option<&'a str>,
    /// Whether the tokens of the whole request are counted too.
    pub count_before: bool,
}

impl Task<'_> {
    /// Trims a body: a request of any provider, or a message array. O(bytes), of which only the kept messages are looked at closely.
    ///
    /// # Errors
    /// [`Error`]: it is no JSON, has no messages, or these cannot be trimmed.
    pub fn trim(&self, body: &[u8], buffers: &mut Buffers) -> Result<Trimmed, Error> {
        let document = Document::read(body, buffers)?;
        let request = find(&document.root(), self.key)?;
        let beside = (request.tools.as_ref(), request.system.as_ref());
        match request.array {
            Array::Messages(array) => {
                let messages = Messages::new(&array, request.fallback);
                let (plan, tokens_before) = self.plan(&messages, beside)?;
                let pieces = if plan.is_unchanged() {
                    None
                } else {
                    Some(splice(&document, &messages.items, &plan)?)
                };
                Ok(Trimmed {
                    pieces,
                    report: plan.report,
                    tokens_before,
                })
            }
            Array::Alone(json) => {
                let mut buffers = Buffers::default();
                // It lies deeper there than in the body, whose depth was seen to.
                let deepest = 2 * DEEPEST;
                let document = Document::read_within(deepest, json.as_bytes(), &mut buffers)?;
                let messages = Messages::new(&document.root(), request.fallback);
                let (plan, tokens_before) = self.plan(&messages, beside)?;
                Ok(Trimmed {
                    pieces: None,
                    report: plan.report,
                    tokens_before,
                })
            }
        }
    }

    fn plan<'d>(
        &self,
        messages: &Messages<'d>,
        (tools, system): (Option<&JsonValue<'d>>, Option<&JsonValue<'d>>),
    ) -> Result<(Plan, Option<u64>), Error> {
        let counter = self.counter.map(|counter| counter as &dyn Counter<_>);
        let plan = plan(messages, self.limits, counter, tools, system)?;
        let before = match counter.filter(|_| self.count_before) {
            None => None,
            Some(_) if plan.is_unchanged() => plan.report.tokens_sent,
            Some(counter) => {
                let format = Some(plan.report.format);
                let figures = &self.limits.figures;
                Some(count(messages, format, figures, counter, tools, system)?)
            }
        };
        Ok((plan, before))
    }
}

/// A text that a request has at its top, such as its `model`; `None` where it has none.
///
/// # Errors
/// [`Error::Json`]: the body is no JSON.
pub fn field(body: &[u8], name: &str, buffers: &mut Buffers) -> Result<Option<String>, Error> {
    let document = Document::read(body, buffers)?;
    Ok(text_of(&document.root(), name))
}
