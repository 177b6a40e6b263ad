//! The backward search: the longest tail that fits and is sound. `docs/rules.md`, sections 3 to 7.

mod grid;
mod request;
mod thena;
mod walk;

pub(crate) use request::check_roles;
pub use request::count;

use crate::error::{Ceiling, Error};
use crate::facts::Role;
use crate::plan::{Edit, Notice, Plan, Report, first_changed};
use crate::tokens::Counter;
use crate::value::{History, Value};
use crate::window::{Limits, NoticeRole, Overflow, Size, Start};
use walk::Walk;

/// The text type of a history.
pub(crate) type TextOf<H> = <<H as History>::Value as Value>::Text;

/// Plans a trim of `history`; nothing is changed and nothing is built.
///
/// `counter` counts tokens and is needed for `max_tokens`; with `None` the report has no tokens. `tools` and `system` stand
/// outside the array and count in the tokens of the request.
///
/// One pass from the back, O(kept messages); with [`Limits::trim_to`] O(messages). Messages before the cut are not
/// tokenized.
///
/// # Errors
/// [`Error`]: a message that cannot be read, a budget that cannot be met, or what the caller's own code raised.
pub fn plan<H: History>(
    history: &H,
    limits: &Limits,
    counter: Option<&dyn Counter<TextOf<H>>>,
    tools: Option<&H::Value>,
    system: Option<&H::Value>,
) -> Result<Plan, Error> {
    let auto = limits.format.is_none();
    if let Some(compat) = limits.compat {
        let plan = thena::plan(history, limits, compat);
        return request::roles_first(history, auto, 0, plan);
    }
    let walk = request::fixed_tokens(&limits.figures, counter, tools, system)
        .and_then(|fixed| Walk::new(history, limits, counter, fixed));
    match walk {
        Ok(mut walk) => {
            let found = Search::run(&mut walk);
            let unread = walk.unread();
            request::roles_first(history, auto, unread, found)
        }
        Err(error) => request::roles_first(history, auto, 0, Err(error)),
    }
}

/// What a cut tries to send besides the tail.
#[derive(Clone, Copy)]
struct Variant {
    notice: bool,
    task: bool,
}

/// Tried in this order at the newest group: the notice gives way first, then the task.
const VARIANTS: [Variant; 4] = [
    Variant {
        notice: true,
        task: true,
    },
    Variant {
        notice: false,
        task: true,
    },
    Variant {
        notice: true,
        task: false,
    },
    Variant {
        notice: false,
        task: false,
    },
];

/// A tail with what stands before it.
#[derive(Clone, Copy)]
struct Candidate {
    /// Where the tail begins.
    tail: usize,
    /// The user turn that is kept in front of it.
    task: Option<usize>,
    /// The user turn into which the notice is folded.
    fold: Option<usize>,
    size: Size,
}

/// The search over a walk.
struct Search<'w, 'a, H: History> {
    walk: &'w mut Walk<'a, H>,
    /// Where the newest group begins.
    newest: usize,
}

impl<'w, 'a, H: History> Search<'w, 'a, H> {
    fn run(walk: &'w mut Walk<'a, H>) -> Result<Plan, Error> {
        if walk.len == walk.head {
            // Of a lone head, which is always kept, only tokens are counted.
            let needed = walk.base.tokens;
            let broken = walk
                .limits
                .of(Ceiling::Tokens)
                .filter(|&limit| needed > limit);
            return match broken {
                Some(limit) if walk.limits.on_overflow == Overflow::Raise => Err(Error::Budget {
                    needed,
                    limit,
                    ceiling: Ceiling::Tokens,
                    index: None,
                }),
                broken => Ok(all(walk, broken.is_some())),
            };
        }
        let Some(reach) = walk.back_to_ceiling()? else {
            return Ok(all(walk, false));
        };
        let newest = walk.newest_group()?;
        walk.close_group(reach)?;
        if walk.limits.trim_to.is_some() {
            walk.read_all()?;
        }
        let mut search = Search { walk, newest };
        for variant in VARIANTS {
            let Some(least) = search.candidate(newest, variant)? else {
                continue;
            };
            if !variant.task
                && (search.walk.limits.start == Start::Any
                    || search.walk.task_before(newest)?.is_none())
            {
                continue;
            }
            if least.size.is_within(search.walk.limits.most()) {
                let found = match search.walk.limits.trim_to {
                    None => search.longest(least, reach, variant)?,
                    Some(share) => grid::cut(&mut search, least, variant, share)?,
                };
                return search.plan(found, variant, reach, false);
            }
        }
        search.overflow(newest, reach)
    }

    /// Whether a tail may begin at boundary `tail`.
    fn is_allowed(&mut self, tail: usize, variant: Variant) -> Result<bool, Error> {
        let walk = &mut *self.walk;
        let role = walk.role(tail);
        if role.is_system() {
            return Ok(false);
        }
        let anchored = variant.task && walk.limits.start == Start::User && role != Role::User;
        // Where no user turn begins the newest group or stands before it, no tail can begin with one, and all may be sent.
        let possible = walk.user_from(tail).is_some_and(|user| user <= self.newest);
        Ok(!anchored || !possible || walk.task_before(tail)?.is_some())
    }

    /// The candidate whose tail begins at boundary `tail`; `None` if none may begin there.
    fn candidate(&mut self, tail: usize, variant: Variant) -> Result<Option<Candidate>, Error> {
        if !self.is_allowed(tail, variant)? {
            return Ok(None);
        }
        let walk = &mut *self.walk;
        let mut size = walk.base + walk.suffix(tail);
        let mut task = None;
        if variant.task && walk.limits.start == Start::User && walk.role(tail) != Role::User {
            task = walk.task_before(tail)?;
            if let Some(task) = task {
                size = size + walk.task_size(task)?;
            }
        }
        let mut fold = None;
        // Where nothing is left out there is no notice.
        let whole =
            task.unwrap_or(tail) == walk.head && tail <= walk.head + usize::from(task.is_some());
        if variant.notice && !walk.carried && !whole {
            if walk.limits.notice_role == NoticeRole::User {
                if let Some(user) = task.or_else(|| walk.user_from(tail))
                    && let Some(change) = walk.fold(user)?
                {
                    fold = Some(user);
                    size = change.apply(size);
                }
            } else {
                size = size + walk.notice()?;
            }
        }
        Ok(Some(Candidate {
            tail,
            task,
            fold,
            size,
        }))
    }

    /// The longest tail that fits: tails only grow towards the front, so the first that fits, from the oldest on.
    fn longest(
        &mut self,
        least: Candidate,
        reach: usize,
        variant: Variant,
    ) -> Result<Candidate, Error> {
        let from = self
            .walk
            .boundaries()
            .partition_point(|&boundary| boundary >= reach);
        let most = self.walk.limits.most();
        for k in (0..from).rev() {
            let boundary = self.walk.boundaries()[k];
            if boundary >= least.tail {
                break;
            }
            if let Some(candidate) = self.candidate(boundary, variant)?
                && candidate.size.is_within(most)
            {
                return Ok(candidate);
            }
        }
        Ok(least)
    }

    /// Not even the newest group fits.
    fn overflow(&mut self, newest: usize, reach: usize) -> Result<Plan, Error> {
        let bare = Variant {
            notice: false,
            task: false,
        };
        let walk = &mut *self.walk;
        let size = walk.base + walk.suffix(newest);
        if walk.limits.on_overflow == Overflow::Raise
            && let Some((ceiling, limit)) = walk.limits.broken_by(size)
        {
            return Err(Error::Budget {
                needed: size.of(ceiling),
                limit,
                ceiling,
                index: Some(newest),
            });
        }
        self.plan(
            Candidate {
                tail: newest,
                task: None,
                fold: None,
                size,
            },
            bare,
            reach,
            true,
        )
    }

    /// The plan that sends `chosen`.
    fn plan(
        &mut self,
        chosen: Candidate,
        variant: Variant,
        reach: usize,
        over_budget: bool,
    ) -> Result<Plan, Error> {
        let walk = &mut *self.walk;
        if chosen.tail == walk.head {
            return Ok(all(walk, over_budget));
        }
        let task_dropped = !variant.task
            && walk.limits.start == Start::User
            && walk.role(chosen.tail) != Role::User
            && walk.task_before(chosen.tail)?.is_some();
        let notice = walk
            .limits
            .notice
            .as_ref()
            .filter(|_| variant.notice && !walk.carried)
            .and_then(|text| {
                if walk.limits.notice_role == NoticeRole::User {
                    let user = chosen.fold?;
                    let place = if chosen.task == Some(user) {
                        0
                    } else {
                        user - chosen.tail + usize::from(chosen.task.is_some())
                    };
                    return Some(Notice {
                        text: text.clone(),
                        role: Role::User.name(),
                        at: walk.head + place,
                        folded: true,
                    });
                }
                Some(Notice {
                    text: text.clone(),
                    role: walk.notice_role().name(),
                    at: walk.head,
                    folded: false,
                })
            });
        let (edits, chars_capped) = walk.edits(chosen.tail);
        let own_notice = notice.as_ref().is_some_and(|notice| !notice.folded);
        let sent = walk.head
            + usize::from(chosen.task.is_some())
            + (walk.len - chosen.tail)
            + usize::from(own_notice);
        Ok(Plan {
            head: walk.head,
            task: chosen.task,
            tail: chosen.tail,
            report: Report {
                window_trimmed: true,
                messages_original: walk.len,
                messages_sent: sent,
                window_orphans_dropped: walk.orphans(reach, chosen.tail),
                task_dropped,
                tools_truncated: edits.len(),
                chars_capped,
                chars_sent: chosen.size.chars,
                tokens_sent: walk.counter.map(|_| chosen.size.tokens),
                first_changed: first_changed(
                    walk.head,
                    chosen.task,
                    chosen.tail,
                    &edits,
                    notice.as_ref(),
                ),
                over_budget,
                thinking_invalidated: false,
                format: walk.format,
            },
            edits,
            notice,
        })
    }
}

/// Everything is sent.
fn all<H: History>(walk: &Walk<'_, H>, over_budget: bool) -> Plan {
    let (edits, chars_capped) = walk.edits(walk.head);
    let size = walk.base + walk.suffix(walk.head);
    Plan {
        head: walk.head,
        task: None,
        tail: walk.head,
        notice: None,
        report: Report {
            window_trimmed: false,
            messages_original: walk.len,
            messages_sent: walk.len,
            window_orphans_dropped: 0,
            task_dropped: false,
            tools_truncated: edits.len(),
            chars_capped,
            chars_sent: size.chars,
            tokens_sent: walk.counter.map(|_| size.tokens),
            first_changed: edits.first().map(|edit| edit.index),
            over_budget,
            thinking_invalidated: false,
            format: walk.format,
        },
        edits,
    }
}

/// The cuts of a shortened message as an edit.
fn edit(index: usize, capped: &crate::format::chat::Capped) -> Edit {
    Edit {
        index,
        cuts: capped.cuts.clone(),
    }
}
