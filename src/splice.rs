//! From a plan to bytes: what is kept is copied, and only what changes is written. `docs/json.md` has the rules.

use std::ops::Range;

use crate::error::Foreign;
use crate::format::{Block, Format, notice_path};
use crate::json::{Document, JsonValue, Node, compact_cut, decode, escape, is, quote};
use crate::plan::{Notice, PartCut, Plan, Step};

/// A piece of what is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Bytes of the body.
    Kept(Range<usize>),
    /// New text.
    New(String),
}

/// The pieces that a plan makes of a body whose message array has `items`. O(kept messages).
pub(crate) fn splice(
    document: &Document<'_>,
    items: &[Node],
    plan: &Plan,
) -> Result<Vec<Piece>, Foreign> {
    let mut writer = Writer {
        document,
        format: plan.report.format,
        is_spaced: items.first().is_some_and(|&first| spaced(document, first)),
        pieces: Vec::new(),
        text: String::new(),
    };
    let span = |index: usize| document.span(items[index]);
    let (own, folded) = match &plan.notice {
        Some(notice) if notice.folded => (None, Some(notice)),
        notice => (notice.as_ref(), None),
    };
    let end = items.len() - 1;
    writer.copy(0..span(0).start);
    let mut edits = plan.edits.iter().peekable();
    let mut place = 0;
    for index in plan.kept() {
        if own.is_some_and(|notice| notice.at == place) {
            writer.notice(own, items, place > 0);
            writer.joint(items, 1);
            place += 1;
        } else if place > 0 {
            writer.joint(items, index);
        }
        while edits.next_if(|edit| edit.index < index).is_some() {}
        let cuts = match edits.next_if(|edit| edit.index == index) {
            Some(edit) => &edit.cuts[..],
            None => &[],
        };
        let notice = folded.filter(|notice| notice.at == place);
        if cuts.is_empty() && notice.is_none() {
            writer.copy(span(index));
        } else {
            writer.edited(items[index], cuts, notice)?;
        }
        place += 1;
    }
    // Behind all that is kept, as where nothing is.
    writer.notice(own.filter(|notice| notice.at >= place), items, place > 0);
    writer.copy(span(end).end..document.text().len());
    writer.flush();
    Ok(writer.pieces)
}

/// Whether the first colon of a value has white space behind it.
fn spaced(document: &Document<'_>, node: Node) -> bool {
    let mut members = document.members(node);
    members.next().is_some_and(|(_, value)| {
        let before = document.text().as_bytes()[document.span(value).start - 1];
        before != b':'
    })
}

/// The edits of one value, each with the way that is left to go.
type Cuts<'p> = Vec<(&'p [Step], &'p PartCut)>;

/// A notice, and the way that is left to where it goes.
#[derive(Clone, Copy)]
struct Fold<'p> {
    path: &'p [Step],
    text: &'p str,
}

struct Writer<'d> {
    document: &'d Document<'d>,
    format: Format,
    is_spaced: bool,
    pieces: Vec<Piece>,
    /// New text that is not among the pieces yet.
    text: String,
}

impl Writer<'_> {
    fn copy(&mut self, span: Range<usize>) {
        if span.is_empty() {
            return;
        }
        self.flush();
        match self.pieces.last_mut() {
            Some(Piece::Kept(last)) if last.end == span.start => last.end = span.end,
            _ => self.pieces.push(Piece::Kept(span)),
        }
    }

    fn flush(&mut self) {
        if !self.text.is_empty() {
            self.pieces.push(Piece::New(std::mem::take(&mut self.text)));
        }
    }

    fn quote(&mut self, text: &str) {
        let ascii = self.document.is_ascii();
        quote(text, ascii, &mut self.text);
    }

    fn escape(&mut self, text: &str) {
        let ascii = self.document.is_ascii();
        escape(text, ascii, &mut self.text);
    }

    const fn comma(&self) -> &'static str {
        if self.is_spaced { ", " } else { "," }
    }

    /// An object of texts.
    fn object(&mut self, members: &[(&str, &str)]) {
        let comma = self.comma();
        self.text.push('{');
        for (k, &(key, text)) in members.iter().enumerate() {
            self.text.push_str(if k > 0 { comma } else { "" });
            self.member(key);
            self.quote(text);
        }
        self.text.push('}');
    }

    fn member(&mut self, key: &str) {
        let colon = if self.is_spaced { ": " } else { ":" };
        self.quote(key);
        self.text.push_str(colon);
    }

    /// What stands in front of message `index`, or would stand between two messages if there were two.
    fn joint(&mut self, items: &[Node], index: usize) {
        match items.get(index - 1..=index) {
            Some(&[before, item]) => {
                let document = self.document;
                self.copy(document.span(before).end..document.span(item).start);
            }
            _ => self.text.push_str(self.comma()),
        }
    }

    /// A notice that is a message of its own, with a joint in front of it unless it is the first.
    fn notice(&mut self, notice: Option<&Notice>, items: &[Node], is_behind: bool) {
        if let Some(notice) = notice {
            if is_behind {
                self.joint(items, 1);
            }
            self.object(&[("role", notice.role), ("content", &notice.text)]);
        }
    }

    /// A notice in a list of blocks.
    fn block(&mut self, text: &str) {
        match self.format.block() {
            Block::Typed(kind) => self.object(&[("type", kind), ("text", text)]),
            Block::Bare => self.object(&[("text", text)]),
            Block::Text => self.quote(text),
        }
    }

    /// A notice where there was nothing.
    fn whole(&mut self, text: &str) {
        if self.format.block() == Block::Bare {
            self.text.push('[');
            self.block(text);
            self.text.push(']');
        } else {
            self.quote(text);
        }
    }

    /// A message with its edits, and with a notice if it is the one for it.
    fn edited(
        &mut self,
        message: Node,
        cuts: &[PartCut],
        notice: Option<&Notice>,
    ) -> Result<(), Foreign> {
        let path = match notice {
            Some(_) => notice_path(self.format, &JsonValue::new(self.document, message))?,
            None => None,
        };
        let fold = path.as_ref().zip(notice).map(|(path, notice)| Fold {
            path,
            text: &notice.text,
        });
        let cuts = cuts.iter().map(|cut| (&cut.path[..], cut)).collect();
        self.value(message, cuts, fold, None);
        Ok(())
    }

    /// A value, which stands under `key`, as that is written, if it is a member.
    fn value(&mut self, node: Node, cuts: Cuts<'_>, fold: Option<Fold<'_>>, key: Option<&str>) {
        let span = self.document.span(node);
        if cuts.is_empty() && fold.is_none() {
            return self.copy(span);
        }
        let here = cuts.iter().find(|(path, _)| path.is_empty());
        if let Some(cut) = here.and_then(|(_, cut)| cut.cut) {
            return self.cut(node, &cut, fold, key);
        }
        match self.document.byte(node) {
            b'[' => self.list(node, cuts, fold),
            b'{' => self.record(node, cuts, fold),
            b'"' => {
                self.copy(span.start..span.start + 1);
                self.before(fold);
                self.copy(span.start + 1..span.end);
            }
            b'n' => match fold {
                Some(fold) => self.whole(fold.text),
                None => self.copy(span),
            },
            _ => self.copy(span),
        }
    }

    /// The notice in front of a text.
    fn before(&mut self, fold: Option<Fold<'_>>) {
        if let Some(fold) = fold {
            self.escape(fold.text);
            self.escape("\n\n");
        }
    }

    /// What a cut leaves of a value.
    fn cut(
        &mut self,
        node: Node,
        cut: &crate::cap::TextCut,
        fold: Option<Fold<'_>>,
        key: Option<&str>,
    ) {
        if let Some((begin, end)) = self.document.string(node) {
            let (front, back) = self.document.ends(begin, end, cut);
            self.copy(begin - 1..begin);
            self.before(fold);
            self.copy(begin..front);
            if !cut.marker.is_empty() {
                self.escape(cut.marker);
            }
            self.copy(back..end + 1);
            return;
        }
        // What must be a mapping stays one.
        let key = match key.map(decode).as_deref() {
            Some("response" | "json") => Some("output"),
            Some("document") => Some("data"),
            _ => None,
        };
        if let Some(key) = key {
            self.text.push('{');
            self.member(key);
        }
        self.text.push('"');
        let ascii = self.document.is_ascii();
        compact_cut(self.document, node, cut, ascii, &mut self.text);
        self.text.push('"');
        if key.is_some() {
            self.text.push('}');
        }
    }

    fn list(&mut self, node: Node, cuts: Cuts<'_>, fold: Option<Fold<'_>>) {
        let (document, span) = (self.document, self.document.span(node));
        let items: Vec<Node> = document.items(node).collect();
        let spans: Vec<_> = items.iter().map(|&item| document.span(item)).collect();
        let block = fold.filter(|fold| fold.path.is_empty());
        let mut inner: Vec<Cuts<'_>> = vec![Vec::new(); items.len()];
        let mut gone = vec![false; items.len()];
        for (path, cut) in cuts {
            if let [Step::Item(k), rest @ ..] = path
                && *k < items.len()
            {
                inner[*k].push((rest, cut));
                gone[*k] |= rest.is_empty() && cut.cut.is_none();
            }
        }
        if gone.iter().all(|&gone| gone) {
            self.text.push('[');
            if let Some(fold) = block {
                self.block(fold.text);
            }
            self.text.push(']');
            return;
        }
        self.copy(span.start..spans[0].start);
        let mut alone = true;
        if let Some(fold) = block {
            self.block(fold.text);
            match &spans[..] {
                [first, second, ..] => self.copy(first.end..second.start),
                _ => self.text.push_str(self.comma()),
            }
        }
        for (k, inner) in inner.into_iter().enumerate().filter(|(k, _)| !gone[*k]) {
            if !alone {
                self.copy(spans[k - 1].end..spans[k].start);
            }
            alone = false;
            let fold = follow(fold, |step| *step == Step::Item(k));
            self.value(items[k], inner, fold, None);
        }
        let end = spans.last().map_or(span.end, |last| last.end);
        self.copy(end..span.end);
    }

    fn record(&mut self, node: Node, cuts: Cuts<'_>, mut fold: Option<Fold<'_>>) {
        let (document, span) = (self.document, self.document.span(node));
        let (mut from, mut groups) = (span.start, by_key(cuts));
        for (key, value) in document.members(node) {
            if groups.is_empty() && fold.is_none() {
                break;
            }
            let leads = |step: &Step| match step {
                Step::Key(known) => is(key, known.name()),
                Step::Name(name) => is(key, name),
                Step::Item(_) => false,
            };
            let group = groups.iter().position(|(step, _)| leads(step));
            let inner = group.map_or_else(Vec::new, |group| groups.swap_remove(group).1);
            let notice = follow(fold, leads);
            if notice.is_some() {
                fold = None;
            }
            if !inner.is_empty() || notice.is_some() {
                let written = document.span(value);
                self.copy(from..written.start);
                self.value(value, inner, notice, Some(key));
                from = written.end;
            }
        }
        // The notice goes into a member that is not there.
        if let Some(fold) = fold
            && let [Step::Key(key)] = fold.path
        {
            let last = document.members(node).last();
            let end = last.map_or(span.start + 1, |(_, value)| document.span(value).end);
            self.copy(from..end);
            if last.is_some() {
                self.text.push_str(self.comma());
            }
            self.member(key.name());
            self.whole(fold.text);
            from = end;
        }
        self.copy(from..span.end);
    }
}

/// The edits by the key with which their ways begin, each with the way behind it. There are few keys, however many edits.
fn by_key(cuts: Cuts<'_>) -> Vec<(&Step, Cuts<'_>)> {
    let mut groups: Vec<(&Step, Cuts<'_>)> = Vec::new();
    for (path, cut) in cuts {
        let [first, rest @ ..] = path else { continue };
        match groups.iter_mut().find(|(step, _)| *step == first) {
            Some((_, group)) => group.push((rest, cut)),
            None => groups.push((first, vec![(rest, cut)])),
        }
    }
    groups
}

/// The notice, one step further on its way, if that begins with such a step.
fn follow(fold: Option<Fold<'_>>, leads: impl Fn(&Step) -> bool) -> Option<Fold<'_>> {
    let fold = fold?;
    match fold.path {
        [first, path @ ..] if leads(first) => Some(Fold { path, ..fold }),
        _ => None,
    }
}
