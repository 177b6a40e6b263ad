//! What media say of themselves in their first bytes: the size of an image, the length of a sound. `docs/rules.md`, section 1.
//!
//! The crate `imagesize` would read images too, but from bytes that can be sought in; its answers would have to be given again
//! by the twin, to the letter and for every broken file; and most of it is formats that no provider takes.

mod base64;
mod image;
mod sound;

pub(crate) use image::{ImageSize, size};
pub(crate) use sound::{Duration, duration};

/// The base64 of a `data:` URL; `None` of any other.
pub(crate) fn data_of(url: &str) -> Option<&str> {
    /// What stands in front of the comma is a media type and little else.
    const LONGEST: usize = 256;

    let bytes = url.as_bytes();
    let comma = bytes.iter().take(LONGEST).position(|&byte| byte == b',')?;
    let head = url.get(..comma).filter(|head| head.is_ascii())?;
    let starts = head.get(..5)?.eq_ignore_ascii_case("data:");
    let ends = head.len().checked_sub(7).and_then(|at| head.get(at..))?;
    (starts && ends.eq_ignore_ascii_case(";base64")).then(|| &url[comma + 1..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_data_url_is_known_by_its_head() {
        assert_eq!(data_of("data:image/png;base64,AA,B"), Some("AA,B"));
        assert_eq!(data_of("DATA:;charset=x;BASE64,"), Some(""));
        for url in [
            "",
            "data:",
            "data:,AAAA",
            "data:base64,AAAA",
            "base64,AAAA",
            "xdata:;base64,AAAA",
            "https://example.org/a;base64,AAAA",
            "data:;base64 ,AAAA",
            "data:é;base64,AAAA",
            "é",
        ] {
            assert_eq!(data_of(url), None, "{url}");
        }
        let long = |filler: usize| format!("data:{};base64,AA", "x".repeat(filler));
        assert_eq!(data_of(&long(243)), Some("AA"));
        assert_eq!(data_of(&long(244)), None);
    }
}
