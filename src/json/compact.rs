//! Compact JSON, as `json.dumps(json.loads(text), separators=(",", ":"), ensure_ascii=False)` of Python writes it: no blanks, what is
//! not ASCII as it is, only the escapes that must be, numbers as Python shows them. It is what arguments count as.

use std::fmt::Write;

use super::text::{Meant, meant};
use super::{Document, Node};
use crate::cap::TextCut;

/// What compact JSON is written to.
trait Json {
    fn push(&mut self, sign: char);

    fn push_str(&mut self, text: &str);

    /// Half a pair of surrogates, which is a code point of its own.
    fn push_lone(&mut self, unit: u16);
}

impl Json for String {
    fn push(&mut self, sign: char) {
        self.push(sign);
    }

    fn push_str(&mut self, text: &str) {
        self.push_str(text);
    }

    fn push_lone(&mut self, _unit: u16) {
        self.push(char::REPLACEMENT_CHARACTER);
    }
}

/// Code points, which may be such halves.
#[derive(Default)]
struct Points(Vec<Result<char, u16>>);

impl Json for Points {
    fn push(&mut self, sign: char) {
        self.0.push(Ok(sign));
    }

    fn push_str(&mut self, text: &str) {
        self.0.extend(text.chars().map(Ok));
    }

    fn push_lone(&mut self, unit: u16) {
        self.0.push(Err(unit));
    }
}

/// The compact JSON of a value, each lone surrogate as U+FFFD. O(bytes).
pub(crate) fn compact(document: &Document<'_>, node: Node) -> String {
    let mut json = String::with_capacity(document.span(node).len());
    write(document, node, &mut json);
    json
}

/// What a cut leaves of the compact JSON of a value, with the escapes that it has in a string; those of lone surrogates stay. O(bytes).
pub(crate) fn compact_cut(
    document: &Document<'_>,
    node: Node,
    cut: &TextCut,
    ascii: bool,
    json: &mut String,
) {
    let mut points = Points::default();
    write(document, node, &mut points);
    let points = points.0;
    let marker: Vec<_> = cut.marker.chars().map(Ok).collect();
    let back = points.len().saturating_sub(cut.tail);
    for &point in points[..cut.head.min(points.len())]
        .iter()
        .chain(&marker)
        .chain(&points[back..])
    {
        match point {
            Ok(sign) => escape_sign(sign, ascii, json),
            Err(unit) => escape_unit(unit, json),
        }
    }
}

/// Values are at most [`DEEPEST`](super::DEEPEST) deep.
fn write(document: &Document<'_>, node: Node, json: &mut impl Json) {
    match document.byte(node) {
        b'{' => {
            json.push('{');
            for (k, (key, value)) in document.members(node).enumerate() {
                if k > 0 {
                    json.push(',');
                }
                string(key, json);
                json.push(':');
                write(document, value, json);
            }
            json.push('}');
        }
        b'[' => {
            json.push('[');
            for (k, item) in document.items(node).enumerate() {
                if k > 0 {
                    json.push(',');
                }
                write(document, item, json);
            }
            json.push(']');
        }
        b'"' => {
            let span = document.span(node);
            string(&document.text[span.start + 1..span.end - 1], json);
        }
        b't' | b'f' | b'n' => json.push_str(&document.text[document.span(node)]),
        _ => number(&document.text[document.span(node)], json),
    }
}

/// A string that is written like that between its quotes.
fn string(written: &str, json: &mut impl Json) {
    json.push('"');
    if written.contains("\\u") || written.contains("\\/") {
        let mut escaped = String::new();
        meant(written, |meant| match meant {
            Meant::Text(text) => json.push_str(text),
            Meant::Escaped(sign) => {
                escaped.clear();
                escape_sign(sign, false, &mut escaped);
                json.push_str(&escaped);
            }
            Meant::Lone(unit) => json.push_lone(unit),
        });
    } else {
        // All other escapes must be, so that Python writes them too.
        json.push_str(written);
    }
    json.push('"');
}

/// Writes a text in quotes, with the escapes that must be; `ascii`: and with those of all that is not ASCII.
pub(crate) fn quote(text: &str, ascii: bool, json: &mut String) {
    json.push('"');
    escape(text, ascii, json);
    json.push('"');
}

/// The same without the quotes.
pub(crate) fn escape(text: &str, ascii: bool, json: &mut String) {
    for sign in text.chars() {
        escape_sign(sign, ascii, json);
    }
}

fn escape_sign(sign: char, ascii: bool, json: &mut String) {
    let short = match sign {
        '"' | '\\' => sign,
        '\n' => 'n',
        '\r' => 'r',
        '\t' => 't',
        '\u{8}' => 'b',
        '\u{c}' => 'f',
        ' '..='~' => return json.push(sign),
        '\u{7f}'.. if !ascii => return json.push(sign),
        _ => {
            for &mut unit in sign.encode_utf16(&mut [0; 2]) {
                escape_unit(unit, json);
            }
            return;
        }
    };
    json.push('\\');
    json.push(short);
}

fn escape_unit(unit: u16, json: &mut String) {
    // Writing to a string does not fail.
    let _ = write!(json, "\\u{unit:04x}");
}

/// A number as Python reads and shows it: integers are exact, all others are doubles.
fn number(token: &str, json: &mut impl Json) {
    if !token.contains(['.', 'e', 'E']) {
        json.push_str(if token == "-0" { "0" } else { token });
        return;
    }
    let value: f64 = token.parse().unwrap_or(f64::NAN);
    if value.is_infinite() {
        json.push_str(if value > 0.0 { "Infinity" } else { "-Infinity" });
        return;
    }
    // The shortest digits that lead back to the value, as d.ddd and a power of ten.
    let shortest = format!("{value:e}");
    let (digits, power) = shortest.split_once('e').unwrap_or((&shortest, "0"));
    let power: i32 = power.parse().unwrap_or(0);
    let (sign, digits) = match digits.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", digits),
    };
    let digits = digits.replace('.', "");
    json.push_str(sign);
    // As `repr` has it: exponents from 16 on and below -4.
    if let Ok(whole) = usize::try_from(power)
        && whole < 16
    {
        let (front, back) = digits.split_at(digits.len().min(whole + 1));
        json.push_str(front);
        zeros(whole + 1 - front.len(), json);
        json.push('.');
        json.push_str(if back.is_empty() { "0" } else { back });
    } else if (-4..0).contains(&power) {
        json.push_str("0.");
        zeros(power.unsigned_abs() as usize - 1, json);
        json.push_str(&digits);
    } else {
        let (first, rest) = digits.split_at(1);
        let point = if rest.is_empty() { "" } else { "." };
        let sign = if power < 0 { '-' } else { '+' };
        json.push_str(&format!("{first}{point}{rest}e{sign}{:02}", power.abs()));
    }
}

fn zeros(count: usize, json: &mut impl Json) {
    json.push_str(&"0".repeat(count));
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn numbers_are_shown_as_python_shows_them() {
        for (written, shown) in [
            ("1", "1"),
            ("-0", "0"),
            ("-0.0", "-0.0"),
            ("1e0", "1.0"),
            ("1.50", "1.5"),
            ("1E400", "Infinity"),
            ("-1E400", "-Infinity"),
            ("1e15", "1000000000000000.0"),
            ("1e16", "1e+16"),
            ("123456789012345678.0", "1.2345678901234568e+17"),
            ("0.0001", "0.0001"),
            ("0.00001", "1e-05"),
            ("1.5e-7", "1.5e-07"),
            ("2e-324", "0.0"),
            ("1.7976931348623157e308", "1.7976931348623157e+308"),
            ("12345678901234567890123", "12345678901234567890123"),
        ] {
            let mut json = String::new();
            number(written, &mut json);
            assert_eq!(json, shown, "{written}");
        }
    }
}
