//! The grammar of JSON (RFC 8259) over an [`index`](super::index): is it one value, and which bracket closes which.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

use rustc_hash::FxBuildHasher;

use super::text::identity;
use super::{Buffers, Node, Syntax};

/// An open array or object.
struct Open {
    /// Which sign it is.
    sign: usize,
    is_object: bool,
    /// Where its keys begin among those of all open objects.
    keys: usize,
    /// Whether one of them is written with an escape.
    has_escapes: bool,
}

/// Objects with more keys than this are looked up in a set.
const FEW: usize = 16;

/// A text on its way through the grammar.
struct Parser<'t, 'b> {
    text: &'t str,
    bytes: &'t [u8],
    signs: &'b [u32],
    closes: &'b mut Vec<u32>,
    /// The next sign.
    next: usize,
    /// The first byte that has not been read.
    at: usize,
    open: Vec<Open>,
    /// The keys of the open objects, by their opening quotes among the signs.
    keys: Vec<u32>,
    /// What differs where most keys do, of each of them.
    prints: Vec<u64>,
    /// What is wrong inside of a string, if anything is.
    flaw: Option<Syntax>,
    deepest: usize,
    /// The hashes of the keys of open objects that have many: with a secret, since whoever writes a body must not choose them.
    wide: Vec<(usize, HashSet<u64, FxBuildHasher>)>,
    secret: RandomState,
}

/// Reads an indexed text; `closes` gets for each opening bracket which sign closes it. The value that it is. O(bytes).
///
/// `flaw`: what the index found wrong inside of the first string that is no sound one, or outside of strings, which is found here anew.
pub(super) fn read(
    text: &str,
    buffers: &mut Buffers,
    flaw: Option<Syntax>,
    deepest: usize,
) -> Result<Node, Syntax> {
    if buffers.closes.len() < buffers.count {
        buffers.closes.resize(buffers.count, 0);
    }
    let mut parser = Parser {
        text,
        bytes: text.as_bytes(),
        signs: &buffers.signs[..buffers.count],
        closes: &mut buffers.closes,
        next: 0,
        at: 0,
        open: Vec::with_capacity(32),
        keys: Vec::with_capacity(64),
        prints: Vec::with_capacity(64),
        flaw,
        deepest,
        wide: Vec::new(),
        secret: RandomState::new(),
    };
    let begin = parser.skip_blanks();
    if begin == text.len() {
        return Err(parser.ends());
    }
    parser.values()?;
    Ok(Node::new(begin, 0))
}

impl<'t> Parser<'t, '_> {
    /// The offset of the next sign; where there is none, the end.
    #[inline]
    fn sign(&self) -> usize {
        self.signs
            .get(self.next)
            .map_or(self.bytes.len(), |&sign| sign as usize)
    }

    #[inline]
    fn byte(&self, at: usize) -> Option<u8> {
        self.bytes.get(at).copied()
    }

    /// The first byte from `at` on that is not blank.
    #[inline]
    fn skip_blanks(&self) -> usize {
        let mut at = self.at;
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.byte(at) {
            at += 1;
        }
        at
    }

    /// The next sign with nothing but blanks in front of it.
    #[inline]
    fn sign_alone(&self, expected: &'static str) -> Result<usize, Syntax> {
        let sign = self.sign();
        if self.at == sign && sign < self.bytes.len() {
            return Ok(sign);
        }
        let begin = self.skip_blanks();
        if begin == self.bytes.len() {
            Err(self.ends())
        } else if begin < sign {
            Err(self.wrong(begin, expected))
        } else {
            Ok(sign)
        }
    }

    /// All values up to the end of the text.
    fn values(&mut self) -> Result<(), Syntax> {
        loop {
            if !self.value()? {
                continue;
            }
            loop {
                let Some(open) = self.open.last() else {
                    let rest = self.skip_blanks();
                    return if rest == self.bytes.len() {
                        Ok(())
                    } else {
                        Err(self.wrong(rest, "nothing behind the value"))
                    };
                };
                let is_object = open.is_object;
                let expected = if is_object {
                    "',' or '}'"
                } else {
                    "',' or ']'"
                };
                let sign = self.sign_alone(expected)?;
                match (self.bytes[sign], is_object) {
                    (b',', true) => {
                        self.step(sign);
                        self.key()?;
                        break;
                    }
                    (b',', false) => {
                        self.step(sign);
                        break;
                    }
                    (b'}', true) | (b']', false) => self.close(sign),
                    _ => return Err(self.wrong(sign, expected)),
                }
            }
        }
    }

    /// Reads a value, or opens it; whether it is over.
    #[inline]
    fn value(&mut self) -> Result<bool, Syntax> {
        let sign = self.sign();
        let begin = if self.at == sign {
            sign
        } else {
            self.skip_blanks()
        };
        if begin < sign {
            self.scalar(begin, sign)?;
            return Ok(true);
        }
        match self.byte(sign) {
            Some(b'"') => {
                self.string(sign)?;
                Ok(true)
            }
            Some(bracket @ (b'{' | b'[')) => {
                if self.open.len() == self.deepest {
                    return Err(Syntax::deep(sign));
                }
                let is_object = bracket == b'{';
                self.open.push(Open {
                    sign: self.next,
                    is_object,
                    keys: self.keys.len(),
                    has_escapes: false,
                });
                self.step(sign);
                let sign = self.sign();
                let closing = if is_object { b'}' } else { b']' };
                if self.byte(sign) == Some(closing) && self.skip_blanks() == sign {
                    self.close(sign);
                    return Ok(true);
                }
                if is_object {
                    self.key()?;
                }
                Ok(false)
            }
            Some(_) => Err(self.wrong(sign, "a value")),
            None => Err(self.ends()),
        }
    }

    #[inline]
    fn step(&mut self, sign: usize) {
        self.next += 1;
        self.at = sign + 1;
    }

    fn close(&mut self, sign: usize) {
        if let Some(open) = self.open.pop() {
            // As many signs as offsets, which fit.
            #[allow(clippy::cast_possible_truncation)]
            let closing = self.next as u32;
            self.closes[open.sign] = closing;
            self.keys.truncate(open.keys);
            self.prints.truncate(open.keys);
            if self
                .wide
                .last()
                .is_some_and(|(depth, _)| *depth > self.open.len())
            {
                self.wide.pop();
            }
        }
        self.step(sign);
    }

    /// The string that begins at the next sign: where it ends.
    #[inline]
    fn string(&mut self, sign: usize) -> Result<usize, Syntax> {
        let Some(&end) = self.signs.get(self.next + 1) else {
            return Err(Syntax::unclosed(sign));
        };
        let end = end as usize;
        if let Some(flaw) = self.flaw.take_if(|flaw| flaw.offset < end) {
            return Err(flaw);
        }
        self.next += 2;
        self.at = end + 1;
        Ok(end)
    }

    /// A key and its colon.
    #[inline]
    fn key(&mut self) -> Result<(), Syntax> {
        let sign = self.sign_alone("a key")?;
        if self.bytes[sign] != b'"' {
            return Err(self.wrong(sign, "a key"));
        }
        let quote = self.next;
        let end = self.string(sign)?;
        let print = print(self.bytes, sign + 1, end);
        if !self.is_new(quote, print) {
            return Err(Syntax::duplicate(sign, self.key_at(quote)));
        }
        let colon = self.sign_alone("':'")?;
        if self.bytes[colon] != b':' {
            return Err(self.wrong(colon, "':'"));
        }
        self.step(colon);
        Ok(())
    }

    /// The key whose opening quote is that sign, as it is written.
    fn key_at(&self, quote: usize) -> &'t str {
        &self.text[self.signs[quote] as usize + 1..self.signs[quote + 1] as usize]
    }

    /// Whether no key in front of this one in its object is the same.
    #[inline]
    fn is_new(&mut self, quote: usize, print: u64) -> bool {
        let Some(open) = self.open.last_mut() else {
            return true;
        };
        open.has_escapes |= print == ESCAPED;
        let (from, has_escapes) = (open.keys, open.has_escapes);
        let before = &self.prints[from..];
        if before.len() >= FEW {
            return self.is_new_among_many(from, quote);
        }
        if (has_escapes || before.contains(&print)) && self.is_among(from, quote) {
            return false;
        }
        self.prints.push(print);
        // As many signs as offsets, which fit.
        #[allow(clippy::cast_possible_truncation)]
        self.keys.push(quote as u32);
        true
    }

    #[cold]
    fn is_among(&self, from: usize, quote: usize) -> bool {
        let key = identity(self.key_at(quote));
        let mut before = self.keys[from..].iter();
        before.any(|&before| identity(self.key_at(before as usize)) == key)
    }

    #[cold]
    fn is_new_among_many(&mut self, from: usize, quote: usize) -> bool {
        let depth = self.open.len();
        let hash = |quote: usize| self.secret.hash_one(identity(self.key_at(quote)));
        let new = hash(quote);
        if self.wide.last().is_none_or(|(of, _)| *of != depth) {
            let before = self.keys[from..].iter();
            let before = before.map(|&quote| hash(quote as usize)).collect();
            self.wide.push((depth, before));
        }
        let is_new = self
            .wide
            .last_mut()
            .is_some_and(|(_, keys)| keys.insert(new));
        // As many signs as offsets, which fit.
        #[allow(clippy::cast_possible_truncation)]
        if is_new || !self.is_among(from, quote) {
            self.keys.push(quote as u32);
            self.prints.push(ESCAPED);
            true
        } else {
            false
        }
    }

    /// A number, `true`, `false` or `null` between `begin` and the next sign.
    fn scalar(&mut self, begin: usize, sign: usize) -> Result<(), Syntax> {
        let token = trim_end(&self.bytes[begin..sign]);
        let length = match token[0] {
            b't' if token.starts_with(b"true") => 4,
            b'f' if token.starts_with(b"false") => 5,
            b'n' if token.starts_with(b"null") => 4,
            b'-' | b'0'..=b'9' => number(token),
            _ => 0,
        };
        if length == token.len() {
            self.at = sign;
            return Ok(());
        }
        // Blanks inside: the value is over, and something else follows. Else it is the value that is wrong.
        let rest = begin + length;
        if length > 0 && matches!(self.bytes[rest], b' ' | b'\n' | b'\r' | b'\t') {
            self.at = rest;
            return Ok(());
        }
        Err(self.wrong(begin, "a value"))
    }

    fn ends(&self) -> Syntax {
        Syntax {
            offset: self.bytes.len(),
            found: "the end".to_owned(),
            expected: "more",
        }
    }

    fn wrong(&self, at: usize, expected: &'static str) -> Syntax {
        let found = self.text.get(at..).and_then(|rest| rest.chars().next());
        Syntax {
            offset: at,
            found: match found {
                Some(sign @ '!'..='~') => format!("'{sign}'"),
                Some(sign) => format!("U+{:04X}", u32::from(sign)),
                None => "the end".to_owned(),
            },
            expected,
        }
    }
}

/// Bytes without the blanks behind them. JSON has four kinds of those.
pub(super) fn trim_end(bytes: &[u8]) -> &[u8] {
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\n' | b'\r' | b'\t');
    let end = bytes.iter().rposition(|byte| !is_blank(byte));
    &bytes[..end.map_or(0, |last| last + 1)]
}

/// The length of the number with which a token begins, 0 if there is none.
fn number(token: &[u8]) -> usize {
    let digits = |from: usize| {
        let digits = token[from..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit());
        digits.count()
    };
    let mut end = usize::from(token[0] == b'-');
    let whole = digits(end);
    if whole == 0 || (whole > 1 && token[end] == b'0') {
        return 0;
    }
    end += whole;
    if token.get(end) == Some(&b'.') {
        let fraction = digits(end + 1);
        if fraction == 0 {
            return 0;
        }
        end += 1 + fraction;
    }
    if let Some(b'e' | b'E') = token.get(end) {
        let signed = usize::from(matches!(token.get(end + 1), Some(b'+' | b'-')));
        let exponent = digits(end + 1 + signed);
        if exponent == 0 {
            return 0;
        }
        end += 1 + signed + exponent;
    }
    end
}

/// The print of a key with an escape.
const ESCAPED: u64 = 0;

const ONES: u64 = u64::MAX / 255;

/// The first eight bytes of the key at `begin..end` and its length; no other key's is [`ESCAPED`].
#[inline]
fn print(bytes: &[u8], begin: usize, end: usize) -> u64 {
    let len = end - begin;
    let word = match bytes[begin..].first_chunk::<8>() {
        Some(first) => u64::from_le_bytes(*first),
        None => bytes[begin..]
            .iter()
            .rfold(0, |word, &byte| word << 8 | u64::from(byte)),
    };
    let word = if len < 8 {
        word & !(u64::MAX << (8 * len))
    } else {
        word
    };
    // A byte is a backslash where it is none but for these bits (S. E. Anderson, "Bit Twiddling Hacks").
    let slashes = word ^ (0x5c * ONES);
    let is_escaped = slashes.wrapping_sub(ONES) & !slashes & (ONES << 7) != 0;
    if is_escaped || (len > 8 && bytes[begin + 8..end].contains(&b'\\')) {
        return ESCAPED;
    }
    // A string has no NUL, so that a word with any byte is not 0; the empty key is.
    word ^ (len as u64) << 56 | u64::from(len == 0)
}
