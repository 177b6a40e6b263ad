//! How many instructions the key operations take, held against `instructions.json`: the same on a busy machine as on an idle one.
//!
//! `cargo bench --bench instructions` compares and fails where one takes 3 % more; `-- --update` writes down what it finds.
//!
//! Each operation runs in processes of its own under callgrind, once `REPETITIONS` times and once twice as often. Half the
//! repetitions cost the difference: start, input and the first, cold calls are in both. valgrind knows no AVX-512 and says so to
//! who asks, so that JSON is indexed by AVX2 here, also where AVX-512 would be taken otherwise.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::cell::RefCell;
use std::hint::black_box;
use std::num::NonZeroU64;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};

use backcut::{
    Buffers, Counter, Document, Encoding, Foreign, JsonText, JsonValue, Keep, Limits, OnError,
    Role, Task, Text, check, plan,
};
use generated::{Speaker, Talk, items};
use serde_json::{Value as Raw, json};

mod generated;
#[path = "../tests/support/mod.rs"]
mod support;

/// Calls that are counted.
const REPETITIONS: usize = 8;

/// More than that above the stored count is a failure.
const TOLERANCE: f64 = 0.03;

const ENCODING: Encoding = Encoding::O200kBase;

/// What is counted, by its number among the calls.
type Operation = Box<dyn FnMut(usize)>;

/// Makes what an operation needs, and gives the operation.
type Make = fn() -> Operation;

const OPERATIONS: [(&str, Make); 13] = [
    ("openai-chat by characters", || {
        trims(Speaker::new(1).chat(1_000))
    }),
    ("openai-chat by tokens, texts known", || by_tokens(false)),
    ("openai-chat by tokens, texts unknown", || by_tokens(true)),
    ("anthropic by characters", || {
        trims(Speaker::new(2).anthropic(1_000))
    }),
    ("agent loop, a new message a call", agent_loop),
    ("tokens of unseen English", || counts(Speaker::english)),
    ("tokens of unseen code", || counts(Speaker::code)),
    ("tokens of unseen JSON", || counts(Speaker::json)),
    ("truncate", truncates),
    ("check", checks),
    ("JSON: read", reads),
    ("JSON: trim", trims_body),
    ("JSON: trim lines", trims_lines),
];

/// Counts, and remembers the texts of one document by where they stand.
struct Remembering {
    known: RefCell<Vec<u64>>,
    roles: [u64; Role::ALL.len()],
}

impl Remembering {
    fn new() -> Self {
        Self {
            known: RefCell::default(),
            roles: Role::ALL.map(|role| ENCODING.count(role.name())),
        }
    }

    fn forget(&self) {
        self.known.borrow_mut().fill(0);
    }
}

impl Counter<JsonText<'_>> for Remembering {
    fn count(&self, text: &JsonText<'_>) -> Result<u64, Foreign> {
        let JsonText::Written { begin, .. } = *text else {
            return self.count_str(&text.as_str());
        };
        let mut known = self.known.borrow_mut();
        if known.len() <= begin {
            known.resize(begin * 2, 0);
        }
        if known[begin] == 0 {
            known[begin] = 1 + ENCODING.count(&text.as_str());
        }
        Ok(known[begin] - 1)
    }

    fn count_str(&self, text: &str) -> Result<u64, Foreign> {
        Ok(ENCODING.count(text))
    }

    fn role(&self, role: Role) -> Result<u64, Foreign> {
        Ok(self.roles[role as usize])
    }

    fn is_bytewise(&self) -> bool {
        true
    }
}

fn leaked(messages: Vec<Raw>) -> &'static [JsonValue<'static>] {
    items(&Raw::from(messages).to_string()).leak()
}

/// A ceiling of half the characters.
fn half_chars(messages: &[JsonValue<'static>]) -> Limits {
    let all = plan(&Talk(messages), &Limits::default(), None, None, None).unwrap();
    Limits {
        max_chars: NonZeroU64::new(all.report.chars_sent / 2),
        ..Limits::default()
    }
}

/// A ceiling of half the tokens.
fn half_tokens(messages: &[JsonValue<'static>], counter: &Remembering) -> Limits {
    let none = Limits::default();
    let all = plan(&Talk(messages), &none, Some(counter), None, None).unwrap();
    Limits {
        max_tokens: NonZeroU64::new(all.report.tokens_sent.unwrap() / 2),
        ..none
    }
}

fn trims(messages: Vec<Raw>) -> Operation {
    let messages = leaked(messages);
    let limits = half_chars(messages);
    Box::new(move |_| {
        black_box(plan(&Talk(messages), &limits, None, None, None).unwrap());
    })
}

fn by_tokens(forgets: bool) -> Operation {
    let messages = leaked(Speaker::new(1).chat(1_000));
    let counter = Remembering::new();
    let limits = half_tokens(messages, &counter);
    Box::new(move |_| {
        if forgets {
            counter.forget();
        }
        black_box(plan(&Talk(messages), &limits, Some(&counter), None, None).unwrap());
    })
}

fn agent_loop() -> Operation {
    const START: usize = 1_000;
    let messages = leaked(Speaker::new(3).chat(START + 2 * REPETITIONS));
    let counter = Remembering::new();
    let limits = half_tokens(&messages[..START], &counter);
    Box::new(move |call| {
        let talk = Talk(&messages[..=START + call]);
        black_box(plan(&talk, &limits, Some(&counter), None, None).unwrap());
    })
}

/// Another text with each call: the counted ones meet what the others before them have left in the cache of pieces.
fn counts(text: fn(&mut Speaker, usize) -> String) -> Operation {
    let mut speaker = Speaker::new(4);
    let texts = [(); 2 * REPETITIONS].map(|()| text(&mut speaker, 16_000));
    Box::new(move |call| {
        black_box(ENCODING.count(&texts[call]));
    })
}

fn truncates() -> Operation {
    let text = Speaker::new(5).english(100_000);
    Box::new(move |_| {
        black_box(ENCODING.truncate(&text, 1_000, Keep::Head));
        black_box(ENCODING.truncate(&text, 1_000, Keep::Tail));
    })
}

fn checks() -> Operation {
    let messages = leaked(Speaker::new(1).chat(1_000));
    Box::new(move |_| {
        black_box(check(&Talk(messages), None).unwrap());
    })
}

fn body(messages: &[Raw]) -> String {
    json!({"model": "gpt-4o", "messages": messages}).to_string()
}

fn reads() -> Operation {
    let body = body(&Speaker::new(1).chat(1_000));
    let mut buffers = Buffers::default();
    Box::new(move |_| {
        black_box(Document::read(body.as_bytes(), &mut buffers).unwrap());
    })
}

fn task(limits: &Limits) -> Task<'_> {
    Task {
        limits,
        counter: None,
        key: None,
        count_before: false,
    }
}

fn trims_body() -> Operation {
    let messages = Speaker::new(1).chat(1_000);
    let body = body(&messages);
    let limits = half_chars(leaked(messages));
    let mut buffers = Buffers::default();
    Box::new(move |_| {
        let trimmed = task(&limits).trim(body.as_bytes(), &mut buffers).unwrap();
        assert!(black_box(trimmed).pieces.is_some());
    })
}

fn trims_lines() -> Operation {
    let mut speaker = Speaker::new(6);
    let messages = speaker.chat(60);
    let limits = half_chars(leaked(messages));
    let lines: Vec<String> = (0..20).map(|_| body(&speaker.chat(60)) + "\n").collect();
    let chunk = lines.concat();
    let mut buffers = Buffers::default();
    Box::new(move |_| {
        let lines = task(&limits).trim_lines(chunk.as_bytes(), OnError::Raise, false, &mut buffers);
        assert!(black_box(lines).errors.is_empty());
    })
}

/// Instructions of a process that makes an operation and calls it `calls` times.
fn start(name: &str, calls: usize) -> Child {
    let mut command = Command::new("valgrind");
    command
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(std::env::current_exe().unwrap())
        .args(["--run", name, &calls.to_string()])
        // What a process finds there moves its stack, and may choose how libc copies.
        .env_clear()
        .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    command.spawn().unwrap()
}

fn collected(child: Child) -> u64 {
    let output = child.wait_with_output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    let line = told
        .lines()
        .find_map(|line| line.split_once("Collected : "));
    line.expect("callgrind says what it collected")
        .1
        .trim()
        .parse()
        .unwrap()
}

/// Instructions of one call.
fn measure(name: &str) -> u64 {
    let (once, twice) = (start(name, REPETITIONS), start(name, 2 * REPETITIONS));
    let once = collected(once);
    (collected(twice) - once) / REPETITIONS as u64
}

/// `release` and `host` of the compiler: a count is one of a compiler's.
fn compiler() -> (String, String) {
    let output = Command::new("rustc").arg("-vV").output().unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    let of = |key: &str| {
        let mut lines = told.lines();
        lines
            .find_map(|line| line.strip_prefix(key))
            .unwrap()
            .to_owned()
    };
    (of("release: "), of("host: "))
}

fn run(name: &str, calls: usize) {
    let (_, make) = OPERATIONS.iter().find(|(known, _)| *known == name).unwrap();
    let mut operation = make();
    (0..calls).for_each(&mut operation);
}

/// How much more there is than before, as a share.
#[allow(clippy::cast_precision_loss)] // counts are far below 2^53
fn change(before: Option<u64>, now: u64) -> Option<f64> {
    Some(now as f64 / before? as f64 - 1.0)
}

/// Counts all, tells each, and gives the names of those that are worse than `stored`.
fn count_all(stored: &Raw) -> (Raw, Vec<&'static str>) {
    let mut counts = json!({});
    let mut worse = Vec::new();
    for (name, _) in OPERATIONS {
        let now = measure(name);
        let change = change(stored["counts"][name].as_u64(), now);
        let said = match change {
            Some(change) => format!("{:+.2} %", change * 100.0),
            None => "new".to_owned(),
        };
        println!("{now:>10} {said:>9}  {name}");
        if change.is_some_and(|change| change > TOLERANCE) {
            worse.push(name);
        }
        counts[name] = now.into();
    }
    (counts, worse)
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, name, calls] = &arguments[..]
        && flag == "--run"
    {
        run(name, calls.parse().unwrap());
        return ExitCode::SUCCESS;
    }
    if cfg!(debug_assertions) {
        println!("skipped: only of what is optimised are instructions counted (cargo bench)");
        return ExitCode::SUCCESS;
    }
    if Command::new("valgrind").arg("--version").output().is_err() {
        println!("skipped: there is no valgrind to count instructions with");
        return ExitCode::SUCCESS;
    }
    let (rustc, target) = compiler();
    let home = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/instructions.json");
    let stored = std::fs::read_to_string(&home).unwrap_or_else(|_| "null".to_owned());
    let stored: Raw = serde_json::from_str(&stored).unwrap();
    let (counts, worse) = count_all(&stored);
    let is_same = stored["rustc"] == rustc && stored["target"] == target;
    let was = format!("rustc {} for {}", stored["rustc"], stored["target"]);
    let found = json!({"rustc": rustc, "target": target, "counts": counts});
    let updates = arguments.iter().any(|argument| argument == "--update");
    let place = if updates {
        home
    } else {
        Path::new(env!("CARGO_TARGET_TMPDIR")).join("instructions.json")
    };
    std::fs::write(&place, format!("{found:#}\n")).unwrap();
    println!("written to {}", place.display());
    if updates {
        ExitCode::SUCCESS
    } else if !is_same {
        println!(
            "not compared: the stored counts are those of {was}, not of rustc {rustc} for {target}"
        );
        ExitCode::SUCCESS
    } else if worse.is_empty() {
        ExitCode::SUCCESS
    } else {
        let worse = worse.join("; ");
        println!(
            "FAILED, more than {:.0} % above what is stored: {worse}",
            TOLERANCE * 100.0
        );
        println!("If it is worth that: cargo bench --bench instructions -- --update");
        ExitCode::FAILURE
    }
}
