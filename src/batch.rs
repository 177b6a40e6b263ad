//! Bodies that stand one on a line.

use memchr::memchr;

use crate::body::{Task, Trimmed};
use crate::error::Error;
use crate::json::Buffers;
use crate::plan::Report;
use crate::splice::Piece;

/// What becomes of a line that cannot be trimmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnError {
    /// It ends the work.
    Raise,
    /// It is left out.
    Skip,
    /// It stays as it is.
    Keep,
}

/// What became of many lines.
#[derive(Debug, Default)]
#[allow(missing_docs)] // as in a report, added up
pub struct Lines {
    /// The lines, trimmed.
    pub output: Vec<u8>,
    /// Ends of lines that were read.
    pub lines: usize,
    pub conversations: usize,
    /// Conversations that are sent in another form than they came.
    pub changed: usize,
    pub trimmed: usize,
    pub over_budget: usize,
    pub messages_before: usize,
    pub messages_after: usize,
    pub tools_truncated: usize,
    pub chars_capped: u64,
    pub tokens_before: u64,
    pub tokens_after: u64,
    /// What could not be trimmed, by the number of its line from 0.
    pub errors: Vec<(usize, Error)>,
    /// The report of each conversation, where they were asked for.
    pub reports: Vec<(usize, Report)>,
}

impl Task<'_> {
    /// Trims each line of `chunk`, which is whole lines. Blank lines stay as they are. O(bytes).
    pub fn trim_lines(
        &self,
        chunk: &[u8],
        on_error: OnError,
        reports: bool,
        buffers: &mut Buffers,
    ) -> Lines {
        let mut lines = Lines {
            output: Vec::with_capacity(chunk.len()),
            ..Lines::default()
        };
        for (number, line) in split(chunk).enumerate() {
            let body = line.strip_suffix(b"\n").unwrap_or(line);
            let body = body.strip_suffix(b"\r").unwrap_or(body);
            if body.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r')) {
                lines.output.extend_from_slice(line);
            } else {
                match self.trim(body, buffers) {
                    Ok(trimmed) => {
                        lines.add(body, &trimmed);
                        lines.output.extend_from_slice(&line[body.len()..]);
                        if reports {
                            lines.reports.push((number, trimmed.report));
                        }
                    }
                    Err(error) => {
                        // What a caller's own code raises is nothing of the line's.
                        let is_foreign = matches!(error, Error::Foreign(_));
                        lines.errors.push((number, error));
                        match on_error {
                            _ if is_foreign => return lines,
                            OnError::Raise => return lines,
                            OnError::Skip => {}
                            OnError::Keep => lines.output.extend_from_slice(line),
                        }
                    }
                }
            }
            lines.lines += usize::from(line.ends_with(b"\n"));
        }
        lines
    }
}

impl Lines {
    fn add(&mut self, body: &[u8], trimmed: &Trimmed) {
        let Trimmed {
            pieces,
            report,
            tokens_before,
        } = trimmed;
        match pieces {
            None => self.output.extend_from_slice(body),
            Some(pieces) => join(body, pieces, &mut self.output),
        }
        self.conversations += 1;
        self.changed += usize::from(pieces.is_some());
        self.trimmed += usize::from(report.window_trimmed);
        self.over_budget += usize::from(report.over_budget);
        self.messages_before += report.messages_original;
        self.messages_after += report.messages_sent;
        self.tools_truncated += report.tools_truncated;
        self.chars_capped += report.chars_capped;
        self.tokens_before += tokens_before.unwrap_or(0);
        self.tokens_after += report.tokens_sent.unwrap_or(0);
    }
}

/// The lines of a chunk, with their ends.
fn split(chunk: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = chunk;
    std::iter::from_fn(move || {
        let end = memchr(b'\n', rest).map_or(rest.len(), |at| at + 1);
        let (line, behind) = rest.split_at(end);
        rest = behind;
        (end > 0).then_some(line)
    })
}

/// Adds what a body's pieces are to `output`.
fn join(body: &[u8], pieces: &[Piece], output: &mut Vec<u8>) {
    for piece in pieces {
        output.extend_from_slice(match piece {
            Piece::Kept(span) => &body[span.clone()],
            Piece::New(text) => text.as_bytes(),
        });
    }
}
