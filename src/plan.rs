//! What a trim would do: kept messages, edits, notice, report. Nothing is built here.

use crate::cap::PartCut;
use crate::format::Format;

/// A message that is sent in another shape than it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// Its place in the history.
    pub index: usize,
    /// Each text that changes, in order.
    pub cuts: Vec<PartCut>,
}

/// The text that stands for what was cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// The text.
    pub text: String,
    /// Role of the message that carries it.
    pub role: &'static str,
    /// That message's place in the result.
    pub at: usize,
    /// Whether it is put in front of a user turn's text rather than into a message of its own.
    pub folded: bool,
}

/// What one trim did; the fields are explained in `docs/report.md`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, clippy::struct_excessive_bools)] // four independent facts, not a state
pub struct Report {
    pub window_trimmed: bool,
    pub messages_original: usize,
    pub messages_sent: usize,
    pub window_orphans_dropped: usize,
    pub task_dropped: bool,
    pub tools_truncated: usize,
    pub chars_capped: u64,
    pub chars_sent: u64,
    pub tokens_sent: Option<u64>,
    pub first_changed: Option<usize>,
    pub over_budget: bool,
    pub thinking_invalidated: bool,
    pub format: Format,
}

/// What a trim would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Messages of the head, all kept.
    pub head: usize,
    /// The task that is kept in front of the tail.
    pub task: Option<usize>,
    /// Where the tail begins; all behind it is kept.
    pub tail: usize,
    /// Changes to kept messages, in order of index.
    pub edits: Vec<Edit>,
    /// The notice that is placed.
    pub notice: Option<Notice>,
    /// What is reported.
    pub report: Report,
}

impl Plan {
    /// Indices of the kept messages, in order.
    pub fn kept(&self) -> impl Iterator<Item = usize> {
        (0..self.head)
            .chain(self.task)
            .chain(self.tail..self.report.messages_original)
    }

    /// Whether the result is the history itself.
    #[must_use]
    pub fn is_unchanged(&self) -> bool {
        self.report.first_changed.is_none()
    }
}

/// The first place of the result where it differs from the history.
pub(crate) fn first_changed(
    head: usize,
    task: Option<usize>,
    tail: usize,
    edits: &[Edit],
    notice: Option<&Notice>,
) -> Option<usize> {
    // Where the kept messages stop standing at their own places.
    let moved = match task {
        Some(task) if task != head => Some(head),
        Some(task) if tail != task + 1 => Some(head + 1),
        None if tail != head => Some(head),
        _ => None,
    };
    // An edit behind that place is at or behind it in the result too; one before it stands at its own index.
    let edited = edits.first().map(|edit| edit.index);
    [moved, edited, notice.map(|notice| notice.at)]
        .into_iter()
        .flatten()
        .min()
}
