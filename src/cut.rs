//! The backward search: the longest tail that fits and is sound. `docs/rules.md`, sections 3 to 7.

mod grid;
mod request;
mod thena;
mod walk;

pub(crate) use request::Reader;
pub use request::count;

use crate::error::{Ceiling, Error};
use crate::facts::{Role, Turn};
use crate::format::Format;
use crate::plan::{Edit, Notice, Plan, Report, first_changed};
use crate::tokens::Counter;
use crate::value::{History, Value};
use crate::window::{Limits, Overflow, Size, Start};
use walk::{Stripped, Walk};

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
    // ThenaJS knows one format, whatever stands beside its messages.
    let fallback = match limits.compat {
        Some(_) => Format::OpenaiChat,
        None => history.fallback(),
    };
    let wire = Reader::new(history, limits.format, fallback)?;
    if let Some(compat) = limits.compat {
        let plan = thena::plan(history, limits, compat, wire);
        return wire.roles_first(history, 0, plan);
    }
    let walk = request::fixed_tokens(&limits.figures, counter, tools, system)
        .and_then(|fixed| Walk::new(history, limits, counter, wire, fixed));
    match walk {
        Ok(mut walk) => {
            let found = Search::run(&mut walk);
            let unread = walk.unread();
            wire.roles_first(history, unread, found)
        }
        Err(error) => wire.roles_first(history, 0, Err(error)),
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
    /// Whether the two are all of the body.
    whole: bool,
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
        let task_stays = search.walk.wire.format.insists_on_user();
        for variant in VARIANTS {
            if !variant.task && task_stays {
                continue;
            }
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
        let turn = walk.turn(tail);
        if turn.is_system() {
            return Ok(false);
        }
        let anchored = variant.task && walk.limits.start == Start::User && turn != Turn::User;
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
        let mut task = None;
        if variant.task && walk.limits.start == Start::User && walk.turn(tail) != Turn::User {
            task = walk.task_before(tail)?;
        }
        // Where nothing is left out there is no notice, and nothing to strip.
        let whole = walk.is_whole(tail, task);
        let mut size = walk.base_of(tail, task)
            + if whole {
                walk.suffix(tail)
            } else {
                walk.suffix_behind_a_cut(tail)
            };
        if let Some(task) = task {
            size = size + walk.task_size(task)?;
        }
        let mut fold = None;
        if variant.notice && !walk.carried && !whole {
            if walk.folds() {
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
            whole,
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
            task: self.walk.wire.format.insists_on_user(),
        };
        // Where none may begin there, as where the body has no user turn in front, it is sent as it is.
        let found = self.candidate(newest, bare)?;
        let walk = &mut *self.walk;
        let least = found.unwrap_or(Candidate {
            tail: newest,
            task: None,
            fold: None,
            whole: newest == walk.head,
            size: walk.base_of(newest, None) + walk.suffix_behind_a_cut(newest),
        });
        let size = least.size;
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
        self.plan(least, bare, reach, true)
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
            && walk.turn(chosen.tail) != Turn::User
            && walk.task_before(chosen.tail)?.is_some();
        let lead = walk.lead().filter(|_| chosen.task != Some(walk.head));
        let (mut edits, tools_truncated, chars_capped) = walk.edits(chosen.tail);
        let changed = if chosen.whole {
            edits.first().map(|edit| edit.index)
        } else {
            Some(chosen.tail)
        };
        let stripped = changed.map_or_else(Stripped::default, |index| walk.strip(index));
        let size = if chosen.whole {
            chosen.size - stripped.saved
        } else {
            chosen.size
        };
        merge(&mut edits, stripped.edits);
        if let Some(cuts) = lead {
            let lead = Edit {
                index: walk.head,
                cuts: cuts.to_vec(),
            };
            edits.insert(0, lead);
        }
        let lead = lead.is_some();
        let front = walk.head + usize::from(lead);
        let text = walk
            .limits
            .notice
            .as_ref()
            .filter(|_| variant.notice && !walk.carried);
        let notice = text.and_then(|text| {
            let (text, folded) = (text.clone(), walk.folds());
            if !folded {
                return Some(Notice {
                    text,
                    role: walk.notice_role().name(),
                    at: walk.head,
                    folded,
                });
            }
            let user = chosen.fold?;
            let gone = stripped.left_out.partition_point(|&index| index < user);
            let place = if chosen.task == Some(user) {
                0
            } else {
                user - chosen.tail - gone + usize::from(chosen.task.is_some())
            };
            Some(Notice {
                text,
                role: Role::User.name(),
                at: front + place,
                folded,
            })
        });
        let own_notice = notice.as_ref().is_some_and(|notice| !notice.folded);
        let sent = front + usize::from(chosen.task.is_some()) + (walk.len - chosen.tail)
            - stripped.left_out.len()
            + usize::from(own_notice);
        let mut plan = Plan {
            head: walk.head,
            task: chosen.task,
            tail: chosen.tail,
            lead,
            left_out: stripped.left_out,
            report: Report {
                window_trimmed: !chosen.whole,
                messages_original: walk.len,
                messages_sent: sent,
                window_orphans_dropped: walk.orphans(reach, chosen.tail),
                task_dropped,
                tools_truncated,
                chars_capped,
                chars_sent: size.chars,
                tokens_sent: walk.counter.map(|_| size.tokens),
                first_changed: None,
                over_budget,
                thinking_invalidated: stripped.invalidated,
                format: walk.wire.format,
            },
            edits,
            notice,
        };
        plan.report.first_changed =
            first_changed(plan.kept(), walk.len, &plan.edits, plan.notice.as_ref());
        Ok(plan)
    }
}

/// Everything is sent.
fn all<H: History>(walk: &Walk<'_, H>, over_budget: bool) -> Plan {
    let (mut edits, tools_truncated, chars_capped) = walk.edits(walk.head);
    let mut size = walk.base + walk.suffix(walk.head);
    let (mut left_out, mut thinking_invalidated) = (Vec::new(), false);
    if let Some(first) = edits.first().map(|edit| edit.index) {
        let stripped = walk.strip(first);
        size = size - stripped.saved;
        merge(&mut edits, stripped.edits);
        left_out = stripped.left_out;
        thinking_invalidated = stripped.invalidated;
    }
    Plan {
        head: walk.head,
        task: None,
        tail: walk.head,
        lead: false,
        notice: None,
        report: Report {
            window_trimmed: false,
            messages_original: walk.len,
            messages_sent: walk.len - left_out.len(),
            window_orphans_dropped: 0,
            task_dropped: false,
            tools_truncated,
            chars_capped,
            chars_sent: size.chars,
            tokens_sent: walk.counter.map(|_| size.tokens),
            first_changed: edits.first().map(|edit| edit.index),
            over_budget,
            thinking_invalidated,
            format: walk.wire.format,
        },
        left_out,
        edits,
    }
}

/// Puts more edits to those that there are, both in order of index; a message that is in both gets one edit.
fn merge(edits: &mut Vec<Edit>, more: Vec<Edit>) {
    if more.is_empty() {
        return;
    }
    edits.extend(more);
    edits.sort_by_key(|edit| edit.index);
    edits.dedup_by(|later, earlier| {
        let same = later.index == earlier.index;
        if same {
            earlier.cuts.append(&mut later.cuts);
        }
        same
    });
}
