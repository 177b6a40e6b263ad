//! Reading a history from the newest message back, with running sums.

mod thinking;

use std::num::NonZeroU64;

use super::TextOf;
use crate::cost::{Meter, longest_worth_counting};
use crate::error::{Ceiling, Error};
use crate::facts::{Links, Role, Turn};
use crate::format::Lead;
use crate::format::{self, Capped, NoticePlace, Reading, Shorten, Sink};
use crate::groups::Backward;
use crate::plan::{Edit, PartCut};
use crate::tokens::Counter;
use crate::value::History;
use crate::window::{Limits, NoticeRole, Size};

use super::request::Reader;
use thinking::Signed;
pub(super) use thinking::Stripped;

/// A message that was read, with sums over it and all behind it.
struct Message {
    turn: Turn,
    chars: u64,
    tokens: u64,
}

/// What folding a notice into a user turn changes.
#[derive(Clone, Copy)]
pub(super) struct Fold {
    chars: u64,
    /// Tokens of the text that gives way to the longer one.
    tokens_less: u64,
    tokens_more: u64,
}

impl Fold {
    pub fn apply(self, size: Size) -> Size {
        Size {
            chars: size.chars + self.chars,
            // Of what lies beyond a ceiling tokens were not counted, so that less may be there than gives way.
            tokens: (size.tokens + self.tokens_more).saturating_sub(self.tokens_less),
            ..size
        }
    }
}

/// A history, read from its end as far as somebody asked.
pub(super) struct Walk<'a, H: History> {
    history: &'a H,
    pub limits: &'a Limits,
    pub counter: Option<&'a dyn Counter<TextOf<H>>>,
    pub wire: Reader,
    reading: Reading,
    /// Whether nothing but characters is wanted, so that a glance is enough for a plain message.
    glances: bool,
    /// Number of messages.
    pub len: usize,
    /// Number of messages in the head.
    pub head: usize,
    /// The head's last turn.
    head_turn: Option<Turn>,
    /// Of the first message behind the head, the cuts that leave what stays in the head when it is cut.
    lead: Option<Vec<PartCut>>,
    /// What that costs by itself.
    lead_size: Size,
    /// Whether the head holds the notice already.
    pub carried: bool,
    /// What every request costs: head, tools, system, a carried notice.
    pub base: Size,
    /// The longest text that is worth tokenizing, in UTF-8 bytes.
    longest: Option<u64>,
    /// What was read of the body, newest first.
    messages: Vec<Message>,
    /// The size of all that was read.
    read: Size,
    /// For a grid: characters and UTF-8 bytes of each and all behind it.
    measures: Vec<(u64, u64)>,
    /// User turns among them, newest first.
    users: Vec<usize>,
    /// Shortened observations, newest first.
    capped: Vec<(usize, Vec<Capped>)>,
    /// Messages with signed thinking, newest first.
    signed: Vec<Signed>,
    groups: Backward<TextOf<H>>,
    /// The links of the message at hand; kept for their memory.
    links: Links<TextOf<H>>,
    /// The task that was found last.
    task: Option<usize>,
    /// The task that was measured last.
    task_size: Option<(usize, Size)>,
    /// In front of this index there is no user turn.
    no_user_before: usize,
    /// The user turn into which the notice was last thought folded, and what that changes.
    fold: Option<(usize, Option<Fold>)>,
    notice: Option<Size>,
}

impl<'a, H: History> Walk<'a, H> {
    /// Reads the head. `fixed`: tokens of the request beside its messages.
    pub fn new(
        history: &'a H,
        limits: &'a Limits,
        counter: Option<&'a dyn Counter<TextOf<H>>>,
        wire: Reader,
        fixed: u64,
    ) -> Result<Self, Error> {
        let reading = Reading {
            auto: wire.auto,
            shorten: limits.cap.map_or(Shorten::Not, Shorten::To),
            names: counter.is_some(),
            lead: Lead::All,
        };
        let len = history.len();
        let mut walk = Self {
            history,
            limits,
            counter,
            wire,
            reading,
            glances: counter.is_none() && limits.trim_to.is_none(),
            len,
            head: 0,
            head_turn: None,
            lead: None,
            lead_size: Size::default(),
            carried: false,
            base: Size {
                turns: 0,
                chars: 0,
                tokens: fixed,
            },
            longest: longest_worth_counting(counter, limits.max_tokens.map(NonZeroU64::get)),
            messages: Vec::with_capacity(len.min(256)),
            read: Size::default(),
            measures: Vec::new(),
            users: Vec::new(),
            capped: Vec::new(),
            signed: Vec::new(),
            groups: Backward::new(len, wire.format.merges()),
            links: Links::default(),
            task: None,
            task_size: None,
            no_user_before: 0,
            fold: None,
            notice: None,
        };
        while walk.head < len {
            let index = walk.head;
            let message = history.message(index)?;
            let turn = format::turn(wire.format, &message).map_err(|error| error.at(index))?;
            if !turn.is_system() {
                break;
            }
            let size = walk.head_size(index, Lead::All)?;
            walk.base.tokens += size.tokens;
            walk.head += 1;
            walk.head_turn = Some(turn);
            if let Some(notice) = &limits.notice
                && !walk.carried
                && format::carries(wire.format, &message, notice)?
            {
                walk.carried = true;
                walk.base.chars = size.chars;
            }
        }
        if walk.head < len {
            walk.lead = format::lead(wire.format, &history.message(walk.head)?)?;
            if walk.lead.is_some() {
                walk.lead_size.tokens = walk.head_size(walk.head, Lead::Only)?.tokens;
            }
        }
        Ok(walk)
    }

    /// The size of a message of the head, or of what the first one behind it leaves there.
    fn head_size(&self, index: usize, lead: Lead) -> Result<Size, Error> {
        let message = self.history.message(index)?;
        let mut meter = Meter::new(&self.limits.figures, self.counter, self.longest, false);
        let mut links = Links::default();
        let reading = Reading {
            lead,
            ..self.reading
        };
        let mut sink = Sink::new(reading, &mut meter, &mut links);
        format::read(self.wire.format, &message, &mut sink).map_err(|error| error.at(index))?;
        Ok(Size {
            turns: 1,
            chars: meter.chars,
            tokens: meter.tokens,
        })
    }

    /// How a message of the body is read.
    fn reading_of(&self, index: usize) -> Reading {
        if index == self.head && self.lead.is_some() {
            Reading {
                lead: Lead::Without,
                ..self.reading
            }
        } else {
            self.reading
        }
    }

    /// The cuts of the first message behind the head that leave what stays in the head, if anything does.
    pub fn lead(&self) -> Option<&[PartCut]> {
        self.lead.as_deref()
    }

    /// Whether a task and a tail are all of the body.
    pub fn is_whole(&self, tail: usize, task: Option<usize>) -> bool {
        task.unwrap_or(tail) == self.head && tail <= self.head + usize::from(task.is_some())
    }

    /// What every request costs that sends less than the body: `tail` is where its tail begins.
    pub fn base_of(&self, tail: usize, task: Option<usize>) -> Size {
        if tail > self.head && task != Some(self.head) {
            self.base + self.lead_size
        } else {
            self.base
        }
    }

    /// Where the part that was not read ends.
    pub fn unread(&self) -> usize {
        self.len - self.messages.len()
    }

    /// The place of a message that was read.
    fn at(&self, index: usize) -> &Message {
        &self.messages[self.len - 1 - index]
    }

    /// The turn of a message that was read.
    pub fn turn(&self, index: usize) -> Turn {
        self.at(index).turn
    }

    /// The size of `index` and all behind it.
    pub fn suffix(&self, index: usize) -> Size {
        if index == self.len {
            return Size::default();
        }
        let Message { chars, tokens, .. } = *self.at(index);
        Size {
            turns: (self.len - index) as u64,
            chars,
            tokens,
        }
    }

    /// The size of `index` and all behind it where something in front of it goes.
    pub fn suffix_behind_a_cut(&self, index: usize) -> Size {
        self.suffix(index) - self.saved_from(index)
    }

    /// The size of all that was read, were something in front of it cut.
    #[inline]
    fn so_far(&self) -> Size {
        if self.signed.is_empty() {
            return self.read;
        }
        self.read - self.saved_from(self.unread())
    }

    /// Characters and bytes of `index` and all behind it, as a grid measures them.
    pub fn measure(&self, index: usize) -> (u64, u64) {
        self.measures[self.len - 1 - index]
    }

    /// The first user turn at or behind `index`.
    pub fn user_from(&self, index: usize) -> Option<usize> {
        let behind = self.users.partition_point(|&user| user >= index);
        behind.checked_sub(1).map(|first| self.users[first])
    }

    /// Boundaries found so far, newest first.
    pub fn boundaries(&self) -> &[usize] {
        self.groups.boundaries()
    }

    /// Reads back until a ceiling is passed: the first message of the longest suffix that meets them all, `None` if the whole
    /// history does.
    pub fn back_to_ceiling(&mut self) -> Result<Option<usize>, Error> {
        let most = self.limits.most();
        while self.unread() > self.head {
            self.read_one(true)?;
            let base = self.base_of(self.unread(), None);
            if !(base + self.so_far()).is_within(most) {
                return Ok(Some(self.unread() + 1));
            }
        }
        // Where nothing is cut nothing is stripped.
        let whole = self.base + self.suffix(self.head);
        Ok((!whole.is_within(most)).then_some(self.head + 1))
    }

    /// Finds and reads the newest group: the last boundary that is not at a system message.
    pub fn newest_group(&mut self) -> Result<usize, Error> {
        let mut seen = 0;
        let newest = loop {
            match self.groups.boundaries().get(seen) {
                // The body begins with a message that is none of the system's, so this ends.
                Some(&boundary) if !self.turn_anywhere(boundary)?.is_system() => break boundary,
                Some(_) => seen += 1,
                None => self.scan_one()?,
            }
        };
        while self.unread() > newest {
            self.read_one(true)?;
        }
        Ok(newest)
    }

    /// Reads back until the group that holds `index` is whole. Tokens are counted only where a grid may need them.
    pub fn close_group(&mut self, index: usize) -> Result<(), Error> {
        let begin = loop {
            match self.boundaries().last() {
                Some(&boundary) if boundary <= index => break boundary,
                // Nothing is kept of an empty suffix.
                _ if index == self.len => break index,
                _ => self.scan_one()?,
            }
        };
        // Boundaries further back may have been found on the way; the group begins at the last one before `index`.
        let older = self
            .boundaries()
            .partition_point(|&boundary| boundary > index);
        let begin = self.boundaries().get(older).copied().unwrap_or(begin);
        while self.unread() > begin {
            self.read_one(self.wants_tokens())?;
        }
        Ok(())
    }

    /// Reads the rest, tokenizing only as long as the token ceiling holds.
    pub fn read_all(&mut self) -> Result<(), Error> {
        while self.unread() > self.head {
            self.read_one(self.wants_tokens())?;
        }
        Ok(())
    }

    /// Whether a grid needs the tokens of the next older message.
    fn wants_tokens(&self) -> bool {
        let tokens = self.base.tokens + self.so_far().tokens;
        self.limits.trim_to.is_some()
            && self
                .limits
                .of(Ceiling::Tokens)
                .is_some_and(|limit| tokens <= limit)
    }

    /// The turn of a message of the body, read or not.
    fn turn_anywhere(&self, index: usize) -> Result<Turn, Error> {
        if index >= self.unread() {
            return Ok(self.turn(index));
        }
        let message = self.history.message(index)?;
        format::turn(self.wire.format, &message).map_err(|error| error.at(index))
    }

    /// Looks at the links of the next older message and at nothing else.
    fn scan_one(&mut self) -> Result<(), Error> {
        let index = self.groups.unseen() - 1;
        let turn = self.turn_anywhere(index)?;
        let message = self.history.message(index)?;
        format::links(self.wire.format, &message, turn, &mut self.links)?;
        self.link(index, turn);
        Ok(())
    }

    /// Hands the links that were read to the groups.
    fn link(&mut self, index: usize, turn: Turn) {
        self.groups.push(turn, &mut self.links);
        self.links.clear();
        if index == self.head {
            self.groups.finish();
        }
    }

    /// Reads the next older message. Without `count` its tokens stay out of the sums, which nobody may ask for then.
    fn read_one(&mut self, count: bool) -> Result<(), Error> {
        let index = self.unread() - 1;
        let message = self.history.message(index)?;
        let reading = self.reading_of(index);
        let glance = if self.glances {
            format::glance(self.wire.format, &message, reading, &mut self.links)
        } else {
            None
        };
        let (turn, chars, tokens) = match glance {
            Some((turn, chars)) => (turn, chars, 0),
            None => self.read_closely(index, &message, reading, count)?,
        };
        self.read = self.read
            + Size {
                turns: 1,
                chars,
                tokens,
            };
        self.messages.push(Message {
            turn,
            chars: self.read.chars,
            tokens: self.read.tokens,
        });
        if turn == Turn::User {
            self.users.push(index);
        }
        if self.groups.unseen() > index {
            self.link(index, turn);
        } else {
            self.links.clear();
        }
        Ok(())
    }

    /// Reads a message for which a glance is not enough: its turn, characters and tokens.
    #[inline(never)] // so that what a glance is enough for stays short
    fn read_closely(
        &mut self,
        index: usize,
        message: &H::Value,
        reading: Reading,
        count: bool,
    ) -> Result<(Turn, u64, u64), Error> {
        let counter = if count { self.counter } else { None };
        let measured = self.limits.trim_to.is_some();
        let mut meter = Meter::new(&self.limits.figures, counter, self.longest, measured);
        let mut sink = Sink::new(reading, &mut meter, &mut self.links);
        let turn =
            format::read(self.wire.format, message, &mut sink).map_err(|error| error.at(index))?;
        let (capped, thinking) = (sink.capped, sink.thinking);
        if measured {
            let mut size = (meter.chars, meter.bytes);
            for capped in &capped {
                if let Some(cap) = self.limits.cap {
                    size = capped.measured(cap, size);
                }
            }
            let newer = self.measures.last().copied().unwrap_or_default();
            self.measures.push((newer.0 + size.0, newer.1 + size.1));
        }
        if !capped.is_empty() {
            self.capped.push((index, capped));
        }
        // The model alone thinks: nobody signs what stands in another's message.
        if let Some(thinking) = thinking.filter(|_| turn == Turn::Model) {
            self.sign(index, *thinking, meter.chars, meter.tokens);
        }
        Ok((turn, meter.chars, meter.tokens))
    }

    /// The nearest plain user turn before `index`. O(distance), once for all boundaries of a run.
    pub fn task_before(&mut self, index: usize) -> Result<Option<usize>, Error> {
        if let Some(task) = self.task
            && task < index
        {
            // Between the task and what was read there is no user turn, or another would have been found.
            let read = self.unread().max(task + 1);
            if read >= index || self.user_from(read).is_none_or(|user| user >= index) {
                return Ok(Some(task));
            }
        }
        for task in (self.no_user_before.max(self.head)..index).rev() {
            if self.turn_anywhere(task)? == Turn::User {
                self.task = Some(task);
                return Ok(Some(task));
            }
        }
        self.no_user_before = self.no_user_before.max(index);
        Ok(None)
    }

    /// The size of a user turn that is kept in front of a tail.
    pub fn task_size(&mut self, task: usize) -> Result<Size, Error> {
        match self.task_size {
            Some((of, size)) if of == task => Ok(size),
            _ => {
                let size = self.head_size(task, self.reading_of(task).lead)?;
                self.task_size = Some((task, size));
                Ok(size)
            }
        }
    }

    /// Whether a notice is folded into a user turn rather than a message of its own.
    pub fn folds(&self) -> bool {
        self.limits.notice_role == NoticeRole::User || !self.wire.format.has_system_turns()
    }

    /// The role of a notice that is a message of its own.
    pub fn notice_role(&self) -> Role {
        match self.limits.notice_role {
            NoticeRole::Auto if self.head_turn == Some(Turn::Developer) => Role::Developer,
            _ => Role::System,
        }
    }

    /// The size of a notice that is a message of its own.
    pub fn notice(&mut self) -> Result<Size, Error> {
        if let Some(size) = self.notice {
            return Ok(size);
        }
        let Some(text) = &self.limits.notice else {
            return Ok(Size::default());
        };
        let tokens = match self.counter {
            Some(counter) => {
                u64::from(self.limits.figures.message)
                    + counter.role(self.notice_role())?
                    + counter.count_str(text)?
            }
            None => 0,
        };
        let size = Size {
            turns: 0,
            chars: text.chars().count() as u64,
            tokens,
        };
        self.notice = Some(size);
        Ok(size)
    }

    /// What folding the notice into user turn `index` changes; `None` where nothing is folded.
    pub fn fold(&mut self, index: usize) -> Result<Option<Fold>, Error> {
        let Some(notice) = &self.limits.notice else {
            return Ok(None);
        };
        if let Some((of, change)) = self.fold
            && of == index
        {
            return Ok(change);
        }
        let message = self.history.message(index)?;
        let chars = notice.chars().count() as u64;
        let count = |text: &str| {
            self.counter
                .map_or(Ok(0), |counter| counter.count_str(text))
        };
        let change = match format::notice_place(self.wire.format, &message, notice)? {
            NoticePlace::There => None,
            NoticePlace::Alone => Some(Fold {
                chars,
                tokens_less: 0,
                tokens_more: count(notice)?,
            }),
            NoticePlace::Before(text) => {
                // As the turn was metered: a text that cannot fit is not tokenized here either.
                let meter = || Meter::new(&self.limits.figures, self.counter, self.longest, false);
                let (mut less, mut more) = (meter(), meter());
                less.text(&text)?;
                more.text_behind(&format!("{notice}\n\n"), &text)?;
                Some(Fold {
                    chars: chars + 2,
                    tokens_less: less.tokens,
                    tokens_more: more.tokens,
                })
            }
        };
        self.fold = Some((index, change));
        Ok(change)
    }

    /// Messages of the longest suffix that meets the ceilings, from `reach` on, that went because their group did.
    pub fn orphans(&self, reach: usize, tail: usize) -> usize {
        if reach >= tail {
            return 0;
        }
        // The boundaries around `reach`: the group goes from the one at or before it to the next behind it.
        let boundaries = self.boundaries();
        let older = boundaries.partition_point(|&boundary| boundary > reach);
        match boundaries.get(older) {
            Some(&start) if start < reach => {
                older
                    .checked_sub(1)
                    .map_or(self.len, |next| boundaries[next])
                    - reach
            }
            _ => 0,
        }
    }

    /// Edits of the shortened observations from `tail` on, oldest first, how many they are, and the characters that went.
    pub fn edits(&self, tail: usize) -> (Vec<Edit>, usize, u64) {
        let sent = self.capped.iter().rev().filter(|(index, _)| *index >= tail);
        let (mut count, mut gone) = (0, 0);
        let edits = sent
            .map(|(index, capped)| {
                count += capped.len();
                gone += capped.iter().map(|one| one.from - one.to).sum::<u64>();
                Edit {
                    index: *index,
                    cuts: capped.iter().flat_map(|one| one.cuts.clone()).collect(),
                }
            })
            .collect();
        (edits, count, gone)
    }
}
