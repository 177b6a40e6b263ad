//! Compact JSON, as `json.dumps(json.loads(text), separators=(",", ":"), ensure_ascii=False)` of Python writes it: no blanks, what is
//! not ASCII as it is, only the escapes that must be, numbers as Python shows them. It is what arguments count as.

use std::fmt::Write;

use super::text::decode;
use super::{Document, Node};

/// The compact JSON of a value. O(bytes).
pub(crate) fn compact(document: &Document<'_>, node: Node) -> String {
    let mut json = String::with_capacity(document.span(node).len());
    write(document, node, &mut json);
    json
}

/// Values are at most [`DEEPEST`](super::DEEPEST) deep.
fn write(document: &Document<'_>, node: Node, json: &mut String) {
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
fn string(written: &str, json: &mut String) {
    if written.contains("\\u") || written.contains("\\/") {
        quote(&decode(written), false, json);
    } else {
        // All other escapes must be, so that Python writes them too.
        json.push('"');
        json.push_str(written);
        json.push('"');
    }
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
        let short = match sign {
            '"' | '\\' => sign,
            '\n' => 'n',
            '\r' => 'r',
            '\t' => 't',
            '\u{8}' => 'b',
            '\u{c}' => 'f',
            ' '..='~' => {
                json.push(sign);
                continue;
            }
            '\u{7f}'.. if !ascii => {
                json.push(sign);
                continue;
            }
            _ => {
                for unit in sign.encode_utf16(&mut [0; 2]) {
                    // Writing to a string does not fail.
                    let _ = write!(json, "\\u{unit:04x}");
                }
                continue;
            }
        };
        json.push('\\');
        json.push(short);
    }
}

/// A number as Python reads and shows it: integers are exact, all others are doubles.
fn number(token: &str, json: &mut String) {
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
        json.extend(std::iter::repeat_n('0', whole + 1 - front.len()));
        json.push('.');
        json.push_str(if back.is_empty() { "0" } else { back });
    } else if (-4..0).contains(&power) {
        json.push_str("0.");
        json.extend(std::iter::repeat_n('0', power.unsigned_abs() as usize - 1));
        json.push_str(&digits);
    } else {
        let (first, rest) = digits.split_at(1);
        let point = if rest.is_empty() { "" } else { "." };
        let sign = if power < 0 { '-' } else { '+' };
        let _ = write!(json, "{first}{point}{rest}e{sign}{:02}", power.abs());
    }
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
