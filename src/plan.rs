//! What a trim would do: kept messages, edits, notice, report. Nothing is built here.

use crate::cap::TextCut;
use crate::format::Format;
use crate::value::Key;

/// One step from a value to one inside of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A key of the format.
    Key(Key),
    /// A key of somebody's own.
    Name(String),
    /// An item of a list.
    Item(usize),
}

/// The way from a message to a value inside of it.
pub type Path = Vec<Step>;

/// What happens to one text, or part, of an edited message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartCut {
    /// Where it stands.
    pub path: Path,
    /// What stays of the text; `None`: the item of a list that stands there goes.
    pub cut: Option<TextCut>,
}

impl PartCut {
    /// A cut of the text at `path`; of one that goes, the whole part goes.
    pub(crate) fn new(mut path: Path, cut: Option<TextCut>) -> Self {
        if cut.is_none() {
            while path.len() > 1 && !matches!(path.last(), Some(Step::Item(_))) {
                path.pop();
            }
        }
        Self { path, cut }
    }
}

/// `to![Key::Content, k, Key::Text]`: a [`Path`] of keys and indices.
macro_rules! to {
    ($($step:expr),* $(,)?) => { vec![$($crate::plan::Step::from($step)),*] };
}
pub(crate) use to;

impl From<Key> for Step {
    fn from(key: Key) -> Self {
        Self::Key(key)
    }
}

impl From<usize> for Step {
    fn from(index: usize) -> Self {
        Self::Item(index)
    }
}

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
    /// Where the tail begins; all behind it is kept, but what [`left_out`](Self::left_out) names.
    pub tail: usize,
    /// Whether a part of the first message behind the head stays in front; an edit says which.
    pub lead: bool,
    /// Messages of the tail that go, since nothing of them is left.
    pub left_out: Vec<usize>,
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
        let tail = self.tail..self.report.messages_original;
        (0..self.head + usize::from(self.lead))
            .chain(self.task)
            .chain(tail.filter(|index| self.left_out.binary_search(index).is_err()))
    }

    /// Whether the result is the history itself.
    #[must_use]
    pub fn is_unchanged(&self) -> bool {
        self.report.first_changed.is_none()
    }
}

/// The first place of the result where it differs from the history.
pub(crate) fn first_changed(
    kept: impl Iterator<Item = usize>,
    original: usize,
    edits: &[Edit],
    notice: Option<&Notice>,
) -> Option<usize> {
    let edited = edits.first().map_or(usize::MAX, |edit| edit.index);
    let notice = notice.map_or(usize::MAX, |notice| notice.at);
    let mut sent = 0;
    for index in kept {
        if index != sent || index == edited || sent == notice {
            return Some(sent);
        }
        sent += 1;
    }
    (sent != original || notice == sent).then_some(sent)
}
