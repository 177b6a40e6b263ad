//! The pure core, stage by stage, on histories of an agent that calls a tool at every other step.
//!
//! `cargo bench --bench stages`; `-- --test` runs each stage once.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::cell::RefCell;
use std::collections::HashMap;
use std::hint::black_box;

use backcut::{
    Buffers, Cap, Counter, Document, Encoding, Foreign, Limits, Role, Task, ToolKeep, TrimTo,
    check, count, plan,
};
use criterion::{BenchmarkId, Criterion, Throughput};
use generated::{Talk, items};
use serde_json::{Value as Raw, json};
use support::{Exact, Messages, Str, most};

mod generated;
#[path = "../tests/support/mod.rs"]
mod support;

/// A built-in encoding that remembers each text by where it lies.
struct Remembered {
    encoding: Encoding,
    roles: [u64; Role::ALL.len()],
    known: RefCell<HashMap<(usize, usize), u64>>,
}

impl Remembered {
    fn new(encoding: Encoding) -> Self {
        Self {
            encoding,
            roles: Role::ALL.map(|role| encoding.count(role.name())),
            known: RefCell::default(),
        }
    }
}

impl Counter<Str<'_>> for Remembered {
    fn count(&self, text: &Str<'_>) -> Result<u64, Foreign> {
        let key = (text.0.as_ptr().addr(), text.0.len());
        let mut known = self.known.borrow_mut();
        Ok(*known
            .entry(key)
            .or_insert_with(|| self.encoding.count(text.0)))
    }

    fn count_str(&self, text: &str) -> Result<u64, Foreign> {
        Ok(self.encoding.count(text))
    }

    fn role(&self, role: Role) -> Result<u64, Foreign> {
        Ok(self.roles[role as usize])
    }

    fn is_bytewise(&self) -> bool {
        true
    }
}

/// A system message, then rounds of six: a question, two calls with their results, an answer.
fn history(len: usize) -> Vec<Raw> {
    let message = |k: usize| match k % 6 {
        _ if k == 0 => json!({"role": "system", "content": "You are a careful assistant."}),
        1 => {
            json!({"role": "user", "content": format!("Question {k}: what does the log of last night say?")})
        }
        2 | 4 => json!({"role": "assistant", "content": null, "tool_calls": [
            {"id": format!("call_{k}"), "type": "function", "function": {"name": "read_log", "arguments": format!("{{\"page\":{k}}}")}}
        ]}),
        3 | 5 => {
            let line = format!("{k:05} worker finished job in 12 ms, nothing to report\n");
            json!({"role": "tool", "tool_call_id": format!("call_{}", k - 1), "content": line.repeat(1 + k % 16)})
        }
        _ => {
            json!({"role": "assistant", "content": format!("Nothing out of the ordinary on page {k}, as far as I can see.")})
        }
    };
    (0..len).map(message).collect()
}

fn stages(criterion: &mut Criterion) {
    for len in [100, 1_000, 10_000] {
        let raw = history(len);
        let history = Messages(&raw);
        let counter = Remembered::new(Encoding::O200kBase);
        let tokens: &dyn Counter<Str> = &counter;
        let all = plan(&history, &Limits::default(), Some(tokens), None, None)
            .unwrap()
            .report;
        let half = |size: u64| most(size / 2);
        let cap = Some(Cap {
            chars: 100,
            keep: ToolKeep::HeadTail,
        });
        let none = Limits::default;
        let trims = [
            (
                "read and group",
                None,
                Limits {
                    max_turns: half(len as u64),
                    ..none()
                },
            ),
            (
                "half the chars",
                None,
                Limits {
                    max_chars: half(all.chars_sent),
                    ..none()
                },
            ),
            (
                "half the tokens, remembered",
                Some(tokens),
                Limits {
                    max_tokens: half(all.tokens_sent.unwrap()),
                    ..none()
                },
            ),
            (
                "8,000 tokens, remembered",
                Some(tokens),
                Limits {
                    max_tokens: most(8_000),
                    ..none()
                },
            ),
            ("cap every result", None, Limits { cap, ..none() }),
            (
                "trim_to",
                None,
                Limits {
                    max_chars: half(all.chars_sent),
                    trim_to: TrimTo::new(0.5),
                    ..none()
                },
            ),
        ];
        for (stage, counter, limits) in &trims {
            let mut group = criterion.benchmark_group(*stage);
            group
                .sample_size(30)
                .throughput(Throughput::Elements(len as u64));
            group.bench_function(BenchmarkId::from_parameter(len), |bencher| {
                bencher.iter(|| plan(black_box(&history), limits, *counter, None, None).unwrap());
            });
        }
        let mut group = criterion.benchmark_group("check");
        group
            .sample_size(30)
            .throughput(Throughput::Elements(len as u64));
        group.bench_function(BenchmarkId::from_parameter(len), |bencher| {
            bencher.iter(|| check(black_box(&history), None).unwrap());
        });
        group.finish();
        let mut group = criterion.benchmark_group("count");
        group
            .sample_size(10)
            .throughput(Throughput::Elements(len as u64));
        group.bench_function(BenchmarkId::from_parameter(len), |bencher| {
            let (exact, figures) = (Exact(Encoding::O200kBase), Limits::default().figures);
            bencher
                .iter(|| count(black_box(&history), None, &figures, &exact, None, None).unwrap());
        });
        group.finish();
        let halves = Limits {
            max_chars: half(all.chars_sent),
            ..none()
        };
        of_bytes(criterion, &raw, &halves);
    }
}

/// The same history as bytes: what splicing takes is what trimming takes more than reading and cutting together.
fn of_bytes(criterion: &mut Criterion, history: &[Raw], halves: &Limits) {
    let array = Raw::from(history).to_string();
    let mut buffers = Buffers::default();
    let messages = items(&array);
    let task = Task {
        limits: halves,
        counter: None,
        key: None,
        count_before: false,
    };
    let mut bench = |stage: &str, operation: &mut dyn FnMut()| {
        let mut group = criterion.benchmark_group(stage);
        group
            .sample_size(30)
            .throughput(Throughput::Bytes(array.len() as u64));
        group.bench_function(BenchmarkId::from_parameter(history.len()), |bencher| {
            bencher.iter(&mut *operation);
        });
    };
    bench("JSON: read", &mut || {
        black_box(Document::read(array.as_bytes(), &mut buffers).unwrap());
    });
    bench("JSON: cut", &mut || {
        black_box(plan(&Talk(&messages), halves, None, None, None).unwrap());
    });
    bench("JSON: read, cut and splice", &mut || {
        black_box(task.trim(array.as_bytes(), &mut buffers).unwrap().pieces);
    });
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    stages(&mut criterion);
    criterion.final_summary();
}
