//! What the Rust benchmarks are given: texts and requests out of a seed, the same on every machine.

// Each benchmark uses its own part of this.
#![allow(dead_code)]

use backcut::{Buffers, Document, Foreign, History, JsonValue, Value};
use serde_json::{Value as Raw, json};

use crate::support::random::Random;

/// Messages of a request, read where they stand.
#[derive(Clone, Copy)]
pub struct Talk<'t>(pub &'t [JsonValue<'static>]);

impl History for Talk<'_> {
    type Value = JsonValue<'static>;

    fn len(&self) -> usize {
        self.0.len()
    }

    fn message(&self, index: usize) -> Result<JsonValue<'static>, Foreign> {
        match self.0.get(index) {
            Some(message) => Ok(message.clone()),
            None => Err(Foreign(Box::new("no such message"))),
        }
    }
}

/// The items of a JSON array, which stays for the life of the program.
pub fn items(array: &str) -> Vec<JsonValue<'static>> {
    let text: &'static [u8] = array.to_owned().leak().as_bytes();
    let buffers = Box::leak(Box::<Buffers>::default());
    let document = Box::leak(Box::new(Document::read(text, buffers).unwrap()));
    let root = document.root();
    (0..).map_while(|at| root.item(at)).collect()
}

/// What English is mostly made of, more or less in order.
const WORDS: &str = "the of and to in a is that for it was on with be as by this are from at or not have but what all were when we there \
    can been which their if will each about how up out them then she many some so these would other into has more two like him see time \
    could no make than first its who now people my made over did down only way find use may water long little very after words called \
    just where most know get through back much before also around another came come work three word must because does part even place \
    well such here take why things help put years different away again off went old number great tell men say small every found still \
    between name should home big give air line set own under read last never us left end along while might next sound below saw \
    something thought both few those always looked show large often together asked house world going want school important until form \
    food keep children feet land side without boy once animals life enough took sometimes four head above kind began almost live page \
    got earth need far hand high year mother light parts country father let night following picture being study second eyes soon \
    times story boys since white days ever paper hard near sentence better best across during today others however sure means knew try \
    told young miles sun ways thing whole hear example heard several change answer room sea against top turned learn point city play";

const ENDINGS: [&str; 8] = ["", "", "", "", "s", "ing", "ed", "ly"];

const SYLLABLES: [&str; 16] = [
    "ka", "ro", "ven", "ti", "mal", "os", "der", "qui", "lan", "fe", "zu", "strom", "pi", "gra",
    "ne", "chy",
];

/// Words, of which a few come all the time, many now and then, and some are names that nobody has heard of.
pub struct Speaker {
    random: Random,
    words: Vec<&'static str>,
}

impl Speaker {
    pub fn new(seed: u64) -> Self {
        Self {
            random: Random(seed),
            words: WORDS.split_whitespace().collect(),
        }
    }

    fn word(&mut self) -> String {
        let random = &mut self.random;
        if random.once_in(12) {
            return (0..2 + random.below(3))
                .map(|_| *random.pick(&SYLLABLES))
                .collect();
        }
        // The smaller of two: the front of the list comes more often.
        let len = self.words.len();
        let at = random.below(len).min(random.below(len));
        let ending = *random.pick(&ENDINGS);
        [self.words[at], ending].concat()
    }

    /// Sentences, a paragraph now and then.
    pub fn english(&mut self, bytes: usize) -> String {
        let mut text = String::with_capacity(bytes + 100);
        while text.len() < bytes {
            let mut sentence = self.word();
            sentence[..1].make_ascii_uppercase();
            for _ in 0..4 + self.random.below(14) {
                sentence.push_str(if self.random.once_in(12) { ", " } else { " " });
                sentence.push_str(&self.word());
            }
            text.push_str(&sentence);
            text.push_str(if self.random.once_in(6) {
                ".\n\n"
            } else {
                ". "
            });
        }
        text
    }

    /// Something like Python.
    pub fn code(&mut self, bytes: usize) -> String {
        let mut text = String::with_capacity(bytes + 100);
        while text.len() < bytes {
            let [name, other, third] = [(); 3].map(|()| self.word());
            let number = self.random.below(10_000);
            let line = match self.random.below(6) {
                0 => format!("\n\ndef {name}_{other}(self, {third}: int = {number}) -> None:\n"),
                1 => format!("    if {name}.{other}({third}[{number}:]) != \"{other}\":\n"),
                2 => format!("        return self._{name}({other}, key=lambda x: x.{third})\n"),
                3 => format!("    # {name} {other} {third}\n"),
                4 => format!("        raise ValueError(f\"{name} {{{other}!r}} is no {third}\")\n"),
                _ => format!("    {name}{number} = {{\"{other}\": [{third}, 0x{number:x}]}}\n"),
            };
            text.push_str(&line);
        }
        text
    }

    /// Records, one a line.
    pub fn json(&mut self, bytes: usize) -> String {
        let mut text = String::with_capacity(bytes + 200);
        while text.len() < bytes {
            let [name, path, note] = [(); 3].map(|()| self.word());
            let (id, size) = (self.random.next(), self.random.below(1_000_000));
            let share = f64::from(u16::try_from(self.random.below(10_000)).unwrap()) / 10_000.0;
            let record = json!({"id": format!("call_{id:016x}"), "path": format!("/srv/{name}/{path}.json"), "size": size, "share": share,
                "tags": [name, note], "ok": size % 3 > 0, "next": null});
            text.push_str(&record.to_string());
            text.push('\n');
        }
        text
    }

    /// What a tool answers.
    fn answer(&mut self) -> String {
        let bytes = 100 + self.random.below(1_200);
        match self.random.below(3) {
            0 => self.english(bytes),
            1 => self.code(bytes),
            _ => self.json(bytes),
        }
    }

    /// An agent at work for `OpenAI`: a system message, then rounds of six: a question, two calls with their results, an answer.
    pub fn chat(&mut self, len: usize) -> Vec<Raw> {
        let message = |k: usize| match k % 6 {
            _ if k == 0 => json!({"role": "system", "content": self.english(600)}),
            1 => json!({"role": "user", "content": self.english(120)}),
            2 | 4 => {
                let arguments = json!({"path": self.word(), "page": k}).to_string();
                let function = json!({"name": "read_log", "arguments": arguments});
                json!({"role": "assistant", "content": null, "tool_calls": [{"id": format!("call_{k}"), "type": "function", "function": function}]})
            }
            3 | 5 => {
                json!({"role": "tool", "tool_call_id": format!("call_{}", k - 1), "content": self.answer()})
            }
            _ => json!({"role": "assistant", "content": self.english(200)}),
        };
        (0..len).map(message).collect()
    }

    /// The same for Anthropic, which has no system message and answers in blocks.
    pub fn anthropic(&mut self, len: usize) -> Vec<Raw> {
        let message = |k: usize| match k % 6 {
            0 => json!({"role": "user", "content": self.english(120)}),
            1 | 3 => {
                let call = json!({"type": "tool_use", "id": format!("toolu_{k}"), "name": "read_log", "input": {"path": self.word(), "page": k}});
                json!({"role": "assistant", "content": [{"type": "text", "text": self.english(60)}, call]})
            }
            2 | 4 => {
                json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": format!("toolu_{}", k - 1), "content": self.answer()}]})
            }
            _ => {
                json!({"role": "assistant", "content": [{"type": "text", "text": self.english(200)}]})
            }
        };
        (0..len).map(message).collect()
    }
}
