//! Histories out of a seed: groups of every kind, broken ones too.

use serde_json::{Value as Raw, json};

/// splitmix64: every seed gives the same numbers on every machine.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).unwrap()
    }

    /// True once in `n` times.
    pub fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for k in (1..items.len()).rev() {
            items.swap(k, self.below(k + 1));
        }
    }
}

/// Pieces of which a text is made: clusters of several code points, wide and narrow, blanks, line breaks.
pub const PIECES: [&str; 16] = [
    "a",
    "word ",
    " ",
    "\n",
    "\r\n",
    "e\u{301}",
    "👩\u{200d}👩\u{200d}👧",
    "🇩🇪",
    "👍🏽",
    "漢字",
    "한",
    "\u{1112}\u{1161}\u{11ab}",
    "नि",
    "  ",
    "1234",
    "x\u{308}\u{323}",
];

/// A text of up to `most - 1` pieces.
pub fn text(random: &mut Random, most: usize) -> String {
    (0..random.below(most))
        .map(|_| *random.pick(&PIECES))
        .collect()
}

/// Ids from so few that they are used again, some absent, some empty.
fn id(random: &mut Random) -> Raw {
    match random.below(8) {
        0 => Raw::Null,
        1 => json!(""),
        k => json!(["a", "b", "c"][k % 3]),
    }
}

fn content(random: &mut Random) -> Raw {
    if random.once_in(4) {
        let part = |random: &mut Random| match random.below(4) {
            0 => {
                json!({"type": "image_url", "image_url": {"url": "https://example.org/i.png", "detail": "low"}})
            }
            1 => json!(text(random, 8)),
            _ => json!({"type": "text", "text": text(random, 8)}),
        };
        (0..random.below(4)).map(|_| part(random)).collect()
    } else {
        json!(text(random, 12))
    }
}

fn result(random: &mut Random, id: &Raw) -> Raw {
    let id = if random.once_in(12) { &Raw::Null } else { id };
    json!({"role": "tool", "tool_call_id": id, "content": content(random)})
}

/// A call with its results: some in disorder, some missing, some of other calls, some further back than they should be.
fn batch(random: &mut Random, history: &mut Vec<Raw>, late: &mut Vec<Raw>) {
    if random.once_in(6) {
        history.push(json!({"role": "assistant", "content": null, "function_call": {"name": "f", "arguments": "{}"}}));
        if !random.once_in(4) {
            history.push(json!({"role": "function", "name": "f", "content": text(random, 6)}));
        }
        return;
    }
    let ids: Vec<Raw> = (0..=random.below(3)).map(|_| id(random)).collect();
    let calls: Vec<Raw> = ids
        .iter()
        .map(|id| json!({"id": id, "type": "function", "function": {"name": "look_up", "arguments": text(random, 4)}}))
        .collect();
    let mut message = json!({"role": "assistant", "content": text(random, 3), "tool_calls": calls});
    if random.once_in(12) {
        message["function_call"] = json!({"name": "g", "arguments": "{\"x\":1}"});
    }
    history.push(message);
    let mut results: Vec<Raw> = ids.iter().map(|id| result(random, id)).collect();
    if random.once_in(3) {
        random.shuffle(&mut results);
    }
    for result in results {
        match random.below(10) {
            0 => {}
            1 => late.push(result),
            _ => history.push(result),
        }
    }
    if random.once_in(10) {
        let id = id(random);
        history.push(result(random, &id));
    }
    if random.once_in(14) {
        history.push(json!({"role": "function", "name": "f", "content": "orphan"}));
    }
}

/// A history of a head and up to `most` steps.
pub fn history(random: &mut Random, most: usize) -> Vec<Raw> {
    let mut history = Vec::new();
    for _ in 0..random.below(3) {
        let role = *random.pick(&["system", "developer"]);
        history.push(json!({"role": role, "content": text(random, 4)}));
    }
    let mut late = Vec::new();
    for _ in 0..random.below(most) {
        match random.below(9) {
            0..=2 => {
                let mut message = json!({"role": "user", "content": content(random)});
                if random.once_in(5) {
                    message["name"] = json!("Ada");
                }
                history.push(message);
            }
            3 => {
                history.push(
                    json!({"role": "assistant", "content": text(random, 8), "refusal": null}),
                );
            }
            4 if random.once_in(3) => history.push(json!({"role": "system", "content": "mid"})),
            _ => batch(random, &mut history, &mut late),
        }
        if random.once_in(3)
            && let Some(result) = late.pop()
        {
            history.push(result);
        }
    }
    history
}
