//! About how many tokens a text has, without a vocabulary.
//!
//! The text is split nearly as `o200k_base` splits it, and each piece is priced by its kind and its length instead of being
//! looked up. Everything is told from code points alone, so that no Unicode version matters. The prices are in hundredths of a
//! token and were fitted against exact counts; `benches/estimates.py` measures what they are worth on texts that the fit has not
//! seen. The twin, `backcut/approximate.py`, has the same figures and says the same rules in another way.

/// Hundredths in a token.
pub const UNIT: u64 = 100;

/// No byte costs more: the dearest is a word of one letter in two bytes, in a [`Lead::Tangled`] place.
pub const DEAREST: u64 = 2 * UNIT;

/// Any piece has at least one token.
const ONE: u64 = UNIT;

/// A sign that repeats the one before it; another one behind two different ones; what is no ASCII likewise.
const REPEAT: u64 = 2;
const ANOTHER: u64 = 30;
const WIDE_REPEAT: u64 = 6;

/// No token has more spaces than this, and few have more line ends.
const BLANKS: u64 = 128;
const LINES: u64 = 16;

/// Line ends, blanks and line ends again still are one token.
const MIXED: u64 = 2;

/// Behind so many bytes of letters and digits with nothing between them a text is no language: base64, hashes, keys.
const TANGLE: usize = 16;

/// What stands before a word.
#[derive(Clone, Copy)]
enum Lead {
    /// A blank, which is part of the word's first token.
    Blank,
    /// One other sign, which often is.
    Sign,
    /// Nothing that could be: a line end, several signs, the beginning.
    Bare,
    /// A letter or digit: the word goes on in another case, as in `camelCase`.
    Glued,
    /// Very many of them.
    Tangled,
}

/// What `bytes` of something cost: `first`, and for each byte (or letter) after the first `free` ones `each`.
struct Price {
    first: u64,
    free: usize,
    each: u64,
}

impl Price {
    const fn new(first: u64, free: usize, each: u64) -> Self {
        Self { first, free, each }
    }

    fn of(&self, length: usize) -> u64 {
        self.first + self.each * length.saturating_sub(self.free) as u64
    }
}

/// Words with at most one capital letter, by [`Lead`], in bytes.
const WORDS: [Price; 5] = [
    Price::new(100, 10, 75),
    Price::new(137, 8, 27),
    Price::new(100, 4, 15),
    Price::new(123, 10, 30),
    Price::new(154, 8, 70),
];

/// Words with more than one.
const CAPITALS: [Price; 5] = [
    Price::new(100, 2, 14),
    Price::new(220, 8, 27),
    Price::new(100, 2, 10),
    Price::new(100, 2, 97),
    Price::new(100, 2, 69),
];

/// A script: the price of a run of its letters, and what it costs more without a blank in front.
struct Script {
    run: Price,
    bare: u64,
}

const fn script(free: usize, each: u64, bare: u64) -> Script {
    let run = Price::new(ONE, free, each);
    Script { run, bare }
}

static GREEK: Script = script(2, 28, 160);
static CYRILLIC: Script = script(2, 25, 85);
static CAUCASIAN: Script = script(2, 31, 65);
static SEMITIC: Script = script(2, 43, 0);
static INDIC: Script = script(2, 34, 100);
static THAI: Script = script(2, 25, 160);
static BURMESE: Script = script(1, 48, 120);
static KANA: Script = script(1, 50, 0);
static HAN: Script = script(1, 69, 15);
static HANGUL: Script = script(1, 50, 65);

/// What a code point is to the estimate.
#[derive(Clone, Copy)]
enum Class {
    Break,
    Blank,
    Digit,
    Capital,
    /// Any other Latin letter, and what it costs beside the word's length.
    Letter(u64),
    Script(&'static Script),
    /// Anything else in ASCII.
    Sign,
    /// Anything else, and its price.
    Wide(u64),
}

/// The classes of ASCII, looked up: most texts have little else.
static ASCII: [Class; 128] = {
    let mut table = [Class::Sign; 128];
    let mut byte = 0_u8;
    while byte < 128 {
        table[byte as usize] = match byte {
            b'a'..=b'z' => Class::Letter(0),
            b'A'..=b'Z' => Class::Capital,
            b'0'..=b'9' => Class::Digit,
            b' ' | b'\t' | 0xb | 0xc => Class::Blank,
            b'\n' | b'\r' => Class::Break,
            _ => Class::Sign,
        };
        byte += 1;
    }
    table
};

fn class(c: char) -> Class {
    ASCII
        .get(c as usize)
        .copied()
        .unwrap_or_else(|| beyond_ascii(c))
}

fn beyond_ascii(c: char) -> Class {
    match c {
        '\u{85}'
        | '\u{a0}'
        | '\u{1680}'
        | '\u{2000}'..='\u{200a}'
        | '\u{2028}'
        | '\u{2029}'
        | '\u{202f}'
        | '\u{205f}'
        | '\u{3000}' => Class::Blank,
        '\u{c0}'..='\u{24f}' => Class::Letter(100),
        '\u{1e00}'..='\u{1eff}' => Class::Letter(30),
        '\u{370}'..='\u{3ff}' | '\u{1f00}'..='\u{1fff}' => Class::Script(&GREEK),
        '\u{400}'..='\u{52f}' => Class::Script(&CYRILLIC),
        '\u{530}'..='\u{58f}' | '\u{10a0}'..='\u{10ff}' => Class::Script(&CAUCASIAN),
        '\u{590}'..='\u{6ff}' | '\u{750}'..='\u{77f}' => Class::Script(&SEMITIC),
        '\u{900}'..='\u{dff}' => Class::Script(&INDIC),
        '\u{e00}'..='\u{eff}' => Class::Script(&THAI),
        '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' => Class::Script(&BURMESE),
        '\u{3040}'..='\u{30ff}' => Class::Script(&KANA),
        '\u{3400}'..='\u{9fff}' => Class::Script(&HAN),
        '\u{ac00}'..='\u{d7af}' => Class::Script(&HANGUL),
        // Signs of print that have tokens of their own, and emoji, which have one or two.
        '\u{80}'..='\u{bf}'
        | '\u{200b}'..='\u{206f}'
        | '\u{2190}'..='\u{21ff}'
        | '\u{2500}'..='\u{257f}'
        | '\u{3001}'..='\u{303f}'
        | '\u{ff00}'..='\u{ffef}' => Class::Wide(100),
        '\u{1f000}'..='\u{1faff}' => Class::Wide(200),
        _ => Class::Wide(75 * c.len_utf8() as u64),
    }
}

/// Hundredths of a token that `text` is estimated to have. One pass, O(bytes).
///
/// Never below 100/128 a byte, and additive where [`truncate`](crate::truncate) cuts.
pub fn price(text: &str) -> u64 {
    // No text costs that much.
    price_up_to(text, u64::MAX).unwrap_or(u64::MAX)
}

/// [`price`], or `None` as soon as it is more than `limit`. O(limit), but for one giant piece.
pub fn price_up_to(text: &str, limit: u64) -> Option<u64> {
    let mut rest = text;
    let mut total = 0;
    // Bytes of letters and digits that stand right before `rest`.
    let mut tangle = 0;
    while let Some(first) = rest.chars().next() {
        let (length, price) = piece(rest, first, &mut tangle);
        total += price;
        if total > limit {
            return None;
        }
        rest = &rest[length..];
    }
    Some(total)
}

/// The piece at the beginning of `text`: its bytes and its price.
fn piece(text: &str, first: char, tangle: &mut usize) -> (usize, u64) {
    let kind = class(first);
    match kind {
        Class::Digit => {
            let digits = text.bytes().take(3).take_while(u8::is_ascii_digit).count();
            *tangle += digits;
            return (digits, ONE);
        }
        Class::Capital | Class::Letter(_) => {
            let lead = match *tangle {
                0 => Lead::Bare,
                1..TANGLE => Lead::Glued,
                TANGLE.. => Lead::Tangled,
            };
            let (length, price) = word(text, lead);
            *tangle += length;
            return (length, price);
        }
        _ => *tangle = 0,
    }
    if let Class::Script(script) = kind {
        return letters(text, script, false);
    }
    // What stands in front of a letter belongs to it.
    let behind = &text[first.len_utf8()..];
    let next = behind.chars().next().map(class);
    if !matches!(kind, Class::Break) {
        let lead = first.len_utf8();
        let more = match kind {
            Class::Wide(price) => price.saturating_sub(ONE),
            _ => 0,
        };
        match next {
            Some(Class::Capital | Class::Letter(_)) => {
                let blank = matches!(kind, Class::Blank) && first == ' ';
                let (length, price) = word(behind, if blank { Lead::Blank } else { Lead::Sign });
                *tangle = length;
                return (lead + length, price + more);
            }
            Some(Class::Script(script)) => {
                let (length, price) = letters(behind, script, first == ' ');
                return (lead + length, price + more);
            }
            _ => {}
        }
    }
    match (kind, next) {
        (Class::Blank, Some(Class::Sign | Class::Wide(_))) if first == ' ' => {
            let (length, price) = signs(behind);
            (1 + length, price)
        }
        (Class::Blank | Class::Break, _) => blanks(text),
        _ => signs(text),
    }
}

/// Capitals and the small letters behind them.
fn word(text: &str, lead: Lead) -> (usize, u64) {
    let capitals = text.bytes().take_while(u8::is_ascii_uppercase).count();
    let small = text.as_bytes()[capitals..].iter();
    let mut length = capitals + small.take_while(|byte| byte.is_ascii_lowercase()).count();
    let mut beside = 0;
    for c in text[length..].chars() {
        let Class::Letter(more) = class(c) else { break };
        beside += more;
        length += c.len_utf8();
    }
    let prices = if capitals > 1 { &CAPITALS } else { &WORDS };
    let price = if length == 1 {
        ONE
    } else {
        prices[lead as usize].of(length) + beside
    };
    (length, price)
}

/// A run of letters of one script.
fn letters(text: &str, script: &'static Script, blank: bool) -> (usize, u64) {
    let mut length = 0;
    let mut count = 0;
    for c in text.chars() {
        match class(c) {
            Class::Script(other) if std::ptr::eq(other, script) => {
                length += c.len_utf8();
                count += 1;
            }
            _ => break,
        }
    }
    let bare = if blank || count == 1 { 0 } else { script.bare };
    (length, script.run.of(count) + bare)
}

/// A run of signs, and the line ends behind it.
fn signs(text: &str) -> (usize, u64) {
    let mut length = 0;
    let mut total = 0;
    let mut different = 0;
    let mut last = None;
    for c in text.chars() {
        let again = last == Some(c);
        total += match class(c) {
            Class::Sign if again => REPEAT,
            Class::Sign => {
                different += 1;
                match different {
                    1 => ONE,
                    2 => 0,
                    _ => ANOTHER,
                }
            }
            Class::Wide(_) if again => WIDE_REPEAT,
            Class::Wide(price) => price,
            _ => break,
        };
        last = Some(c);
        length += c.len_utf8();
    }
    let ends = text[length..]
        .bytes()
        .take_while(|byte| matches!(byte, b'\r' | b'\n'))
        .count();
    (length + ends, total + REPEAT * ends as u64)
}

/// White space: up to its last line end, or all but the last, which belongs to what follows.
fn blanks(text: &str) -> (usize, u64) {
    let mut length = 0;
    let mut last = 0;
    let mut turns = 0;
    let mut was_break = None;
    // Bytes and turns up to the last line end.
    let mut lines = (0, 0);
    for c in text.chars() {
        let is_break = match class(c) {
            Class::Break => true,
            Class::Blank => false,
            _ => break,
        };
        turns += u64::from(was_break.is_some_and(|before| before != is_break));
        was_break = Some(is_break);
        last = length;
        length += c.len_utf8();
        if is_break {
            lines = (length, turns);
        }
    }
    if let (1.., turns) = lines {
        let price = (lines.0 as u64).div_ceil(LINES) + turns.saturating_sub(MIXED);
        return (lines.0, ONE * price);
    }
    if length < text.len() && last > 0 {
        length = last;
    }
    (length, ONE * (length as u64).div_ceil(BLANKS))
}
