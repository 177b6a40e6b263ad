//! Reading a history from the newest message back, with running sums.

use std::num::NonZeroU64;

use super::TextOf;
use crate::cost::{Meter, longest_worth_counting};
use crate::error::{Ceiling, Error};
use crate::facts::{Role, Tie};
use crate::format::Format;
use crate::format::chat::{self, Capped, NoticePlace, Reading, Shorten};
use crate::groups::Backward;
use crate::plan::Edit;
use crate::tokens::Counter;
use crate::value::History;
use crate::window::{Limits, NoticeRole, Size};

/// A message that was read, with sums over it and all behind it.
struct Message {
    role: Role,
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
            tokens: size.tokens - self.tokens_less + self.tokens_more,
            ..size
        }
    }
}

/// A history, read from its end as far as somebody asked.
pub(super) struct Walk<'a, H: History> {
    history: &'a H,
    pub limits: &'a Limits,
    pub counter: Option<&'a dyn Counter<TextOf<H>>>,
    pub format: Format,
    reading: Reading,
    /// Whether nothing but characters is wanted, so that a glance is enough for a plain message.
    glances: bool,
    /// Number of messages.
    pub len: usize,
    /// Number of messages in the head.
    pub head: usize,
    /// The head's last role.
    head_role: Option<Role>,
    /// Whether the head holds the notice already.
    pub carried: bool,
    /// What every request costs: head, tools, system, a carried notice.
    pub base: Size,
    /// The longest text that is worth tokenizing, in UTF-8 bytes.
    longest: Option<u64>,
    /// What was read of the body, newest first.
    messages: Vec<Message>,
    /// For a grid: characters and UTF-8 bytes of each and all behind it.
    measures: Vec<(u64, u64)>,
    /// User turns among them, newest first.
    users: Vec<usize>,
    /// Shortened observations, newest first.
    capped: Vec<(usize, Box<Capped>)>,
    groups: Backward<TextOf<H>>,
    /// Calls and answers of the message at hand; kept for its memory.
    ties: Vec<Tie<TextOf<H>>>,
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
        fixed: u64,
    ) -> Result<Self, Error> {
        let auto = limits.format.is_none();
        let reading = Reading {
            auto,
            shorten: limits.cap.map_or(Shorten::Not, Shorten::To),
            names: counter.is_some(),
        };
        let len = history.len();
        let mut walk = Self {
            history,
            limits,
            counter,
            format: limits.format.unwrap_or(Format::OpenaiChat),
            reading,
            glances: counter.is_none() && limits.trim_to.is_none(),
            len,
            head: 0,
            head_role: None,
            carried: false,
            base: Size {
                turns: 0,
                chars: 0,
                tokens: fixed,
            },
            longest: longest_worth_counting(counter, limits.max_tokens.map(NonZeroU64::get)),
            messages: Vec::with_capacity(len.min(256)),
            measures: Vec::new(),
            users: Vec::new(),
            capped: Vec::new(),
            groups: Backward::new(len),
            ties: Vec::new(),
            task: None,
            task_size: None,
            no_user_before: 0,
            fold: None,
            notice: None,
        };
        while walk.head < len {
            let index = walk.head;
            let message = history.message(index)?;
            let role = chat::role(&message, auto).map_err(|error| error.at(index))?;
            if !role.is_system() {
                break;
            }
            let mut meter = Meter::new(&limits.figures, counter, walk.longest, false);
            chat::read(&message, reading, &mut meter, &mut Vec::new())
                .map_err(|error| error.at(index))?;
            walk.base.tokens += meter.tokens;
            walk.head += 1;
            walk.head_role = Some(role);
            if let Some(notice) = &limits.notice
                && !walk.carried
                && chat::is_content(&message, notice)?
            {
                walk.carried = true;
                walk.base.chars = meter.chars;
            }
        }
        Ok(walk)
    }

    /// Where the part that was not read ends.
    pub fn unread(&self) -> usize {
        self.len - self.messages.len()
    }

    /// The place of a message that was read.
    fn at(&self, index: usize) -> &Message {
        &self.messages[self.len - 1 - index]
    }

    /// The role of a message that was read.
    pub fn role(&self, index: usize) -> Role {
        self.at(index).role
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

    /// The size of all that was read.
    #[inline]
    fn so_far(&self) -> Size {
        self.messages.last().map_or(Size::default(), |oldest| Size {
            turns: self.messages.len() as u64,
            chars: oldest.chars,
            tokens: oldest.tokens,
        })
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
            if !(self.base + self.so_far()).is_within(most) {
                return Ok(Some(self.unread() + 1));
            }
        }
        Ok(None)
    }

    /// Finds and reads the newest group: the last boundary that is not at a system message.
    pub fn newest_group(&mut self) -> Result<usize, Error> {
        let mut seen = 0;
        let newest = loop {
            match self.groups.boundaries().get(seen) {
                // The body begins with a message that is none of the system's, so this ends.
                Some(&boundary) if !self.role_anywhere(boundary)?.is_system() => break boundary,
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

    /// The role of a message of the body, read or not.
    fn role_anywhere(&self, index: usize) -> Result<Role, Error> {
        if index >= self.unread() {
            return Ok(self.role(index));
        }
        let message = self.history.message(index)?;
        chat::role(&message, self.reading.auto).map_err(|error| error.at(index))
    }

    /// Looks at the links of the next older message and at nothing else.
    fn scan_one(&mut self) -> Result<(), Error> {
        let index = self.groups.unseen() - 1;
        let role = self.role_anywhere(index)?;
        chat::ties(&self.history.message(index)?, role, &mut self.ties)?;
        self.link(index, role);
        Ok(())
    }

    /// Hands the ties that were read to the groups.
    fn link(&mut self, index: usize, role: Role) {
        self.groups.push(role, &mut self.ties);
        self.ties.clear();
        if index == self.head {
            self.groups.finish();
        }
    }

    /// Takes up a message that was read, and its ties.
    #[inline]
    fn take(&mut self, index: usize, role: Role, chars: u64, tokens: u64) {
        let newer = self.messages.last();
        let (more_chars, more_tokens) = newer.map_or((0, 0), |newer| (newer.chars, newer.tokens));
        self.messages.push(Message {
            role,
            chars: chars + more_chars,
            tokens: tokens + more_tokens,
        });
        if role == Role::User {
            self.users.push(index);
        }
        if self.groups.unseen() > index {
            self.link(index, role);
        } else {
            self.ties.clear();
        }
    }

    /// Reads the next older message. Without `count` its tokens stay out of the sums, which nobody may ask for then.
    fn read_one(&mut self, count: bool) -> Result<(), Error> {
        let index = self.unread() - 1;
        let message = self.history.message(index)?;
        if self.glances
            && let Some((role, chars)) = chat::glance(&message, self.reading, &mut self.ties)
        {
            self.take(index, role, chars, 0);
            return Ok(());
        }
        let counter = if count { self.counter } else { None };
        let measured = self.limits.trim_to.is_some();
        let mut meter = Meter::new(&self.limits.figures, counter, self.longest, measured);
        let read = chat::read(&message, self.reading, &mut meter, &mut self.ties)
            .map_err(|error| error.at(index))?;
        if measured {
            let (chars, bytes) = match (&read.capped, self.limits.cap) {
                (Some(capped), Some(cap)) => capped.measured(cap, meter.chars, meter.bytes),
                _ => (meter.chars, meter.bytes),
            };
            let newer = self.measures.last().copied().unwrap_or_default();
            self.measures.push((newer.0 + chars, newer.1 + bytes));
        }
        if let Some(capped) = read.capped {
            self.capped.push((index, capped));
        }
        self.take(index, read.role, meter.chars, meter.tokens);
        Ok(())
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
            if self.role_anywhere(task)? == Role::User {
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
                let message = self.history.message(task)?;
                let mut meter = Meter::new(&self.limits.figures, self.counter, self.longest, false);
                chat::read(&message, self.reading, &mut meter, &mut Vec::new())
                    .map_err(|error| error.at(task))?;
                let size = Size {
                    turns: 1,
                    chars: meter.chars,
                    tokens: meter.tokens,
                };
                self.task_size = Some((task, size));
                Ok(size)
            }
        }
    }

    /// The role of a notice that is a message of its own.
    pub fn notice_role(&self) -> Role {
        match self.limits.notice_role {
            NoticeRole::Auto => self.head_role.unwrap_or(Role::System),
            NoticeRole::System | NoticeRole::User => Role::System,
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
        let change = match chat::notice_place(&message, notice)? {
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

    /// Edits of the shortened observations from `tail` on, oldest first, and the characters that went.
    pub fn edits(&self, tail: usize) -> (Vec<Edit>, u64) {
        let sent = self.capped.iter().rev().filter(|(index, _)| *index >= tail);
        let gone = sent
            .clone()
            .map(|(_, capped)| capped.from - capped.chars())
            .sum();
        (
            sent.map(|(index, capped)| super::edit(*index, capped))
                .collect(),
            gone,
        )
    }
}
