//! `docs/rules.md` by brute force: builds every result that might be sent and measures it. No walk from the back, no sums, no
//! memory.

use std::collections::BTreeMap;

use backcut::{Cap, Ceiling, Edit, Limits, NoticeRole, Overflow, Start, Step, ToolKeep};
use serde_json::{Value as Raw, json};
use unicode_segmentation::UnicodeSegmentation;

use super::quarters;

pub fn role(message: &Raw) -> &str {
    message["role"].as_str().unwrap()
}

pub fn is_result(message: &Raw) -> bool {
    ["tool", "function"].contains(&role(message))
}

pub fn is_system(message: &Raw) -> bool {
    ["system", "developer"].contains(&role(message))
}

// Sizes

fn content_texts(content: &Raw) -> Vec<&str> {
    match content {
        Raw::String(text) => vec![text],
        Raw::Array(parts) => parts.iter().filter_map(part_text).collect(),
        _ => Vec::new(),
    }
}

fn part_text(part: &Raw) -> Option<&str> {
    part.as_str().or_else(|| part["text"].as_str())
}

fn functions(message: &Raw) -> Vec<&Raw> {
    let listed = message["tool_calls"].as_array();
    listed
        .into_iter()
        .flatten()
        .map(|call| &call["function"])
        .chain(message.get("function_call"))
        .collect()
}

fn texts(message: &Raw) -> Vec<&str> {
    let mut texts = content_texts(&message["content"]);
    texts.extend(message["refusal"].as_str());
    texts.extend(
        functions(message)
            .iter()
            .filter_map(|said| said["arguments"].as_str()),
    );
    texts
}

pub fn chars(message: &Raw) -> u64 {
    texts(message)
        .iter()
        .map(|text| text.chars().count() as u64)
        .sum()
}

/// The pictures, which are all of low detail here.
fn pictures(message: &Raw) -> u64 {
    let parts = message["content"].as_array().into_iter().flatten();
    parts.filter(|part| part["type"] == "image_url").count() as u64
}

pub fn tokens(message: &Raw) -> u64 {
    let calls: u64 = functions(message)
        .iter()
        .map(|said| 3 + quarters(said["name"].as_str().unwrap()))
        .sum();
    3 + quarters(role(message))
        + texts(message).into_iter().map(quarters).sum::<u64>()
        + message["name"]
            .as_str()
            .map_or(0, |name| 1 + quarters(name))
        + calls
        + 85 * pictures(message)
}

// Groups

type Call = (bool, Option<String>);

fn named(id: &Raw) -> Option<String> {
    id.as_str().filter(|id| !id.is_empty()).map(str::to_owned)
}

fn calls(message: &Raw) -> Vec<Call> {
    let listed = message["tool_calls"].as_array();
    let mut calls: Vec<Call> = listed
        .into_iter()
        .flatten()
        .map(|call| (false, named(&call["id"])))
        .collect();
    if message["function_call"].is_object() {
        calls.push((true, None));
    }
    calls
}

/// For each result the message whose call it answers.
pub fn answers(body: &[Raw]) -> Vec<Option<usize>> {
    let mut owner = vec![None; body.len()];
    let mut open: BTreeMap<String, usize> = BTreeMap::new();
    for (i, message) in body.iter().enumerate() {
        let result = (role(message) == "function", named(&message["tool_call_id"]));
        if is_result(message) {
            if let (None, (false, Some(id))) = (owner[i], &result) {
                owner[i] = open.remove(id);
            }
            continue;
        }
        let calls = calls(message);
        let mut free = calls.clone();
        let run = body[i + 1..]
            .iter()
            .take_while(|message| is_result(message))
            .count();
        for by_id in [true, false] {
            for j in i + 1..=i + run {
                let (legacy, id) = (
                    role(&body[j]) == "function",
                    named(&body[j]["tool_call_id"]),
                );
                let hit = if by_id {
                    free.iter()
                        .rposition(|call| call.0 == legacy && id.is_some() && call.1 == id)
                } else {
                    free.iter()
                        .position(|call| call.0 == legacy && (id.is_none() || call.1.is_none()))
                };
                if let (None, Some(hit)) = (owner[j], hit) {
                    free.remove(hit);
                    owner[j] = Some(i);
                }
            }
        }
        for id in calls.iter().filter_map(|call| call.1.as_ref()) {
            open.remove(id);
        }
        open.extend(free.into_iter().filter_map(|call| Some((call.1?, i))));
    }
    owner
}

/// Every index at which a group begins.
pub fn boundaries(body: &[Raw]) -> Vec<usize> {
    let owner = answers(body);
    let welded = |i: usize| (i..body.len()).any(|j| owner[j].is_some_and(|call| call < i));
    (0..body.len())
        .filter(|&i| i == 0 || (!is_result(&body[i]) && !welded(i)))
        .collect()
}

// The cap

/// Code point offsets of a text's cluster edges.
pub fn edges(text: &str) -> Vec<usize> {
    let mut edges = vec![0];
    for cluster in text.graphemes(true) {
        edges.push(edges[edges.len() - 1] + cluster.chars().count());
    }
    edges
}

/// What an observation becomes under the cap.
pub fn capped(message: &Raw, cap: Cap) -> Raw {
    let single = message["content"].is_string();
    let parts: Vec<Raw> = match &message["content"] {
        Raw::Array(parts) => parts.clone(),
        content => vec![content.clone()],
    };
    let places: Vec<usize> = (0..parts.len())
        .filter(|&k| part_text(&parts[k]).is_some())
        .collect();
    let texts: Vec<Vec<char>> = places
        .iter()
        .map(|&k| part_text(&parts[k]).unwrap().chars().collect())
        .collect();
    let total: usize = texts.iter().map(Vec::len).sum();
    if !is_result(message) || total <= cap.chars {
        return message.clone();
    }
    let starts: Vec<usize> = (0..texts.len())
        .map(|k| texts[..k].iter().map(Vec::len).sum())
        .collect();
    let end = |k: usize| starts[k] + texts[k].len();
    let marker = match cap.keep {
        ToolKeep::Head => "\n… [truncated]",
        ToolKeep::Tail => "… [truncated]\n",
        ToolKeep::HeadTail => "\n… [truncated]\n",
    };
    let mut left: Vec<Option<String>> = Vec::new();
    if let Some(room) = cap.chars.checked_sub(marker.chars().count()) {
        let (head, tail) = match cap.keep {
            ToolKeep::Head => (room, 0),
            ToolKeep::Tail => (0, room),
            ToolKeep::HeadTail => (room - room / 2, room / 2),
        };
        let p = (0..texts.len())
            .filter(|&k| starts[k] <= head)
            .max()
            .unwrap();
        let q = (0..texts.len())
            .filter(|&k| end(k) >= total - tail)
            .min()
            .unwrap();
        let edges_of = |k: usize| {
            let edges = edges(&texts[k].iter().collect::<String>());
            let start = starts[k];
            edges.into_iter().map(move |edge| edge + start)
        };
        let front = edges_of(p).filter(|&edge| edge <= head).max().unwrap();
        let back = edges_of(q)
            .filter(|&edge| edge >= total - tail)
            .min()
            .unwrap();
        let pieces: Vec<(String, String)> = (0..texts.len())
            .map(|k| {
                let of = |keep: &dyn Fn(usize) -> bool| {
                    (0..texts[k].len())
                        .filter(|&at| keep(starts[k] + at))
                        .map(|at| texts[k][at])
                        .collect()
                };
                (of(&|at| at < front), of(&|at| at >= back))
            })
            .collect();
        let last_front = pieces.iter().rposition(|(front, _)| !front.is_empty());
        let first_back = pieces.iter().position(|(_, back)| !back.is_empty());
        let spare = if cap.keep == ToolKeep::Tail {
            texts.len() - 1
        } else {
            0
        };
        let bearer = last_front.or(first_back).unwrap_or(spare);
        for (k, (front, back)) in pieces.iter().enumerate() {
            let marker = if k == bearer { marker } else { "" };
            let text = [front, marker, back].concat();
            let was_empty = texts[k].is_empty() && (k < p || k > q);
            left.push((!text.is_empty() || was_empty).then_some(text));
        }
    } else {
        for (k, text) in texts.iter().enumerate() {
            let room = cap.chars.saturating_sub(starts[k]);
            left.push((room > 0).then(|| text.iter().take(room).collect()));
        }
    }
    let mut sent = message.clone();
    if single {
        sent["content"] = json!(left[0].clone().unwrap_or_default());
        return sent;
    }
    let mut content = Vec::new();
    for (k, part) in parts.into_iter().enumerate() {
        match places.iter().position(|&place| place == k) {
            None => content.push(part),
            Some(text) => content.extend(left[text].take().map(|text| with_text(part, text))),
        }
    }
    sent["content"] = Raw::Array(content);
    sent
}

fn with_text(mut part: Raw, text: String) -> Raw {
    if part.is_string() {
        return Raw::String(text);
    }
    part["text"] = Raw::String(text);
    part
}

/// What a plan's edit makes of a message.
pub fn edited(message: &Raw, edit: &Edit) -> Raw {
    let mut sent = message.clone();
    if let Some(text) = message["content"].as_str() {
        assert_eq!((edit.cuts.len(), edit.cuts[0].path.len()), (1, 1));
        sent["content"] = json!(edit.cuts[0].cut.unwrap().apply(text));
        return sent;
    }
    let mut content = Vec::new();
    for (k, part) in message["content"].as_array().unwrap().iter().enumerate() {
        match edit.cuts.iter().find(|cut| cut.path[1] == Step::Item(k)) {
            None => content.push(part.clone()),
            Some(cut) => content.extend(
                cut.cut
                    .map(|cut| with_text(part.clone(), cut.apply(part_text(part).unwrap()))),
            ),
        }
    }
    sent["content"] = Raw::Array(content);
    sent
}

// The search

/// What should come out.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    Sent(Sent),
    Budget {
        ceiling: Ceiling,
        needed: u64,
        limit: u64,
        index: Option<usize>,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub struct Sent {
    pub messages: Vec<Raw>,
    pub kept: Vec<usize>,
    /// Place, role, folded.
    pub notice: Option<(usize, String, bool)>,
    pub chars: u64,
    pub tokens: u64,
    pub first_changed: Option<usize>,
    pub orphans: usize,
    pub task_dropped: bool,
    pub over_budget: bool,
}

struct World<'a> {
    history: &'a [Raw],
    /// The body as it came, and as it is capped.
    original: &'a [Raw],
    body: Vec<Raw>,
    head: usize,
    limits: &'a Limits,
    carried: bool,
}

/// The tail's begin and the task in front of it, in the body.
type Kept = (usize, Option<usize>);

const CEILINGS: [Ceiling; 3] = [Ceiling::Turns, Ceiling::Chars, Ceiling::Tokens];

/// What the rules say of a trim. `eighths` are those of `trim_to`, exact in binary; tokens are [`Quarters`](super::Quarters).
pub fn plan(history: &[Raw], limits: &Limits, eighths: Option<u64>) -> Outcome {
    let head = history
        .iter()
        .take_while(|message| is_system(message))
        .count();
    let original = &history[head..];
    let cap = |message: &Raw| {
        limits
            .cap
            .map_or_else(|| message.clone(), |cap| capped(message, cap))
    };
    let notice = limits.notice.as_deref();
    let world = World {
        history,
        original,
        body: original.iter().map(cap).collect(),
        head,
        limits,
        carried: notice.is_some()
            && history[..head]
                .iter()
                .any(|message| message["content"].as_str() == notice),
    };
    world.plan(eighths)
}

impl World<'_> {
    fn plan(&self, eighths: Option<u64>) -> Outcome {
        let n = self.body.len();
        let whole = self.sent((0, None), false);
        if n == 0 {
            return match self.limit(Ceiling::Tokens) {
                Some(limit)
                    if whole.tokens > limit && self.limits.on_overflow == Overflow::Raise =>
                {
                    Outcome::Budget {
                        ceiling: Ceiling::Tokens,
                        needed: whole.tokens,
                        limit,
                        index: None,
                    }
                }
                limit => Outcome::Sent(Sent {
                    over_budget: limit.is_some_and(|limit| whole.tokens > limit),
                    ..whole
                }),
            };
        }
        if self.fits((0, None), false) {
            return Outcome::Sent(whole);
        }
        let boundaries = boundaries(&self.body);
        let starts: Vec<usize> = boundaries
            .into_iter()
            .filter(|&b| !is_system(&self.body[b]))
            .collect();
        let newest = starts[starts.len() - 1];
        let strict = self.limits.start == Start::User
            && self.body[..=newest]
                .iter()
                .any(|message| role(message) == "user");
        let mut variants = vec![(true, true), (false, true)];
        if self.task(newest).is_some() {
            variants.extend([(true, false), (false, false)]);
        }
        for (notice, task) in variants {
            let candidates: Vec<Kept> = starts
                .iter()
                .map(|&b| (b, if task { self.task(b) } else { None }))
                .filter(|&(b, kept)| {
                    !(strict && task) || kept.is_some() || role(&self.body[b]) == "user"
                })
                .collect();
            if !self.fits(candidates[candidates.len() - 1], notice) {
                continue;
            }
            let kept = match eighths {
                Some(eighths) => self.on_grid(&candidates, notice, eighths),
                None => *candidates
                    .iter()
                    .find(|&&kept| self.fits(kept, notice))
                    .unwrap(),
            };
            return Outcome::Sent(Sent {
                orphans: self.orphans(kept.0),
                task_dropped: !task,
                ..self.sent(kept, notice)
            });
        }
        let least = (newest, None);
        match CEILINGS
            .into_iter()
            .find(|&ceiling| self.breaks(ceiling, least, false))
        {
            Some(ceiling) if self.limits.on_overflow == Overflow::Raise => Outcome::Budget {
                ceiling,
                needed: self.size(ceiling, least, false),
                limit: self.limit(ceiling).unwrap(),
                index: Some(self.head + newest),
            },
            _ => Outcome::Sent(Sent {
                orphans: self.orphans(newest),
                task_dropped: self.task(newest).is_some(),
                over_budget: true,
                ..self.sent(least, false)
            }),
        }
    }

    fn limit(&self, ceiling: Ceiling) -> Option<u64> {
        match ceiling {
            Ceiling::Turns => self.limits.max_turns,
            Ceiling::Chars => self.limits.max_chars,
            Ceiling::Tokens => self.limits.max_tokens,
        }
        .map(std::num::NonZeroU64::get)
    }

    fn size(&self, ceiling: Ceiling, kept: Kept, notice: bool) -> u64 {
        match ceiling {
            Ceiling::Turns => (self.body.len() - kept.0 + usize::from(kept.1.is_some())) as u64,
            Ceiling::Chars => self.sent(kept, notice).chars,
            Ceiling::Tokens => self.sent(kept, notice).tokens,
        }
    }

    /// What a ceiling sees of a tail alone.
    fn behind(&self, ceiling: Ceiling, begin: usize) -> u64 {
        let size = |begin| self.size(ceiling, (begin, None), false);
        size(begin) - size(self.body.len())
    }

    fn breaks(&self, ceiling: Ceiling, kept: Kept, notice: bool) -> bool {
        self.limit(ceiling)
            .is_some_and(|limit| self.size(ceiling, kept, notice) > limit)
    }

    fn fits(&self, kept: Kept, notice: bool) -> bool {
        CEILINGS
            .into_iter()
            .all(|ceiling| !self.breaks(ceiling, kept, notice))
    }

    /// The user turn that is kept in front of a tail.
    fn task(&self, begin: usize) -> Option<usize> {
        if self.limits.start == Start::Any || role(&self.body[begin]) == "user" {
            return None;
        }
        (0..begin).rev().find(|&i| role(&self.body[i]) == "user")
    }

    /// Builds the result and measures it.
    fn sent(&self, (begin, task): Kept, with_notice: bool) -> Sent {
        let indices: Vec<usize> = task.into_iter().chain(begin..self.body.len()).collect();
        let mut body: Vec<Raw> = indices.iter().map(|&i| self.body[i].clone()).collect();
        let mut messages = self.history[..self.head].to_vec();
        let mut places: Vec<Option<usize>> = (0..self.head).map(Some).collect();
        let mut notice = None;
        let text = self
            .limits
            .notice
            .as_ref()
            .filter(|_| with_notice && !self.carried && indices.len() < self.body.len());
        let mut extra = None;
        if let Some(text) = text {
            if self.limits.notice_role == NoticeRole::User {
                let user = body.iter().position(|message| role(message) == "user");
                if let Some(user) = user.filter(|&user| fold(&mut body[user], text)) {
                    notice = Some((self.head + user, "user".to_owned(), true));
                }
            } else {
                let last = messages.last().map_or("system", role);
                let role = if self.limits.notice_role == NoticeRole::Auto {
                    last
                } else {
                    "system"
                }
                .to_owned();
                extra = Some(json!({"role": role, "content": text}));
                notice = Some((self.head, role, false));
                places.push(None);
            }
        }
        messages.extend(extra.clone());
        messages.extend(body.iter().cloned());
        places.extend(indices.iter().map(|&i| Some(self.head + i)));
        let carried = if self.carried {
            self.limits
                .notice
                .as_ref()
                .map_or(0, |text| text.chars().count() as u64)
        } else {
            0
        };
        let changed = |&k: &usize| places[k] != Some(k) || messages[k] != self.history[k];
        let first_changed = (0..messages.len())
            .find(changed)
            .or_else(|| (messages.len() < self.history.len()).then_some(messages.len()));
        Sent {
            kept: places.iter().copied().flatten().collect(),
            notice,
            chars: carried + extra.iter().chain(&body).map(chars).sum::<u64>(),
            tokens: 3 + messages.iter().map(tokens).sum::<u64>(),
            first_changed,
            orphans: 0,
            task_dropped: false,
            over_budget: false,
            messages,
        }
    }

    /// Messages that met the ceilings but went with their group.
    fn orphans(&self, tail: usize) -> usize {
        let n = self.body.len();
        let reach = (0..n).find(|&r| self.fits((r, None), false)).unwrap_or(n);
        let mut edges = boundaries(&self.body);
        edges.push(n);
        let begin = *edges.iter().rfind(|&&b| b <= reach).unwrap();
        if begin == reach || begin >= tail {
            return 0;
        }
        edges.iter().find(|&&b| b > reach).unwrap() - reach
    }

    /// Rule 5.6. Candidates from the oldest to the newest group.
    fn on_grid(&self, candidates: &[Kept], notice: bool, eighths: u64) -> Kept {
        let newest = candidates[candidates.len() - 1];
        let cut = |ceiling: Ceiling| {
            let limit = self.limit(ceiling)?;
            let fitting = candidates
                .iter()
                .rev()
                .take_while(|&&kept| !self.breaks(ceiling, kept, notice))
                .count();
            let longest = candidates[candidates.len() - fitting];
            if fitting == candidates.len() && !self.breaks(ceiling, (0, None), false) {
                return Some(longest);
            }
            let size = if ceiling == Ceiling::Tokens {
                4 * limit
            } else {
                limit
            };
            let mut step = ((2 * (8 - eighths) * size + 8) / 16).max(1);
            while step > 1 {
                let mut k = 1;
                let at = loop {
                    match candidates
                        .iter()
                        .find(|kept| self.dropped(ceiling, kept.0) >= k * step)
                    {
                        Some(kept) if kept.0 < longest.0 => k += 1,
                        kept => break *kept.unwrap_or(&newest),
                    }
                };
                // At least half of the share, of what the ceiling sees of the tail.
                if 16 * self.behind(ceiling, at.0) >= eighths * self.behind(ceiling, longest.0) {
                    return Some(at);
                }
                step /= 2;
            }
            Some(longest)
        };
        CEILINGS
            .into_iter()
            .filter_map(cut)
            .max_by_key(|kept| kept.0)
            .unwrap()
    }

    /// P(b).
    fn dropped(&self, ceiling: Ceiling, begin: usize) -> u64 {
        let by_chars = ceiling == Ceiling::Chars;
        let size = |text: &str| {
            (if by_chars {
                text.chars().count()
            } else {
                text.len()
            }) as u64
        };
        let sum = |texts: &[&str]| texts.iter().map(|text| size(text)).sum::<u64>();
        let measure = |i: usize| {
            let original = &self.original[i];
            let beside = if by_chars { 0 } else { beside(original) };
            if self.body[i] == *original {
                return sum(&texts(original)) + beside;
            }
            // Of a result nothing but its content has texts, and all of them share the cap.
            let texts = content_texts(&original["content"]);
            let all: u64 = texts.iter().map(|text| text.chars().count() as u64).sum();
            self.limits.cap.unwrap().chars as u64 * sum(&texts) / all + beside
        };
        if ceiling == Ceiling::Turns {
            begin as u64
        } else {
            (0..begin).map(measure).sum()
        }
    }
}

/// What a message measures on the grid of tokens beside its texts: names, and four bytes for each token of frames and pictures.
fn beside(message: &Raw) -> u64 {
    let functions = functions(message);
    let names = functions.iter().filter_map(|said| said["name"].as_str());
    let bytes: usize = names.chain(message["name"].as_str()).map(str::len).sum();
    let frames = 4 + 3 * functions.len() + usize::from(message["name"].is_string());
    (bytes + 4 * frames) as u64 + 4 * 85 * pictures(message)
}

/// Puts a notice into a user turn; false where it stands there already.
pub fn fold(message: &mut Raw, notice: &str) -> bool {
    let there = match &message["content"] {
        Raw::String(text) => text == notice || text.starts_with(&format!("{notice}\n\n")),
        Raw::Array(parts) => parts.first().is_some_and(|part| {
            (part.is_string() || part["type"] == "text") && part_text(part) == Some(notice)
        }),
        _ => false,
    };
    if there {
        return false;
    }
    message["content"] = match message["content"].take() {
        Raw::String(text) => json!(format!("{notice}\n\n{text}")),
        Raw::Array(mut parts) => {
            parts.insert(0, json!({"type": "text", "text": notice}));
            Raw::Array(parts)
        }
        _ => json!(notice),
    };
    true
}
