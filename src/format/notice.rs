//! Where a notice goes in a user turn.

use crate::error::Foreign;
use crate::value::{Key, Text, Value};

/// Where a notice goes that is folded into a user turn.
#[derive(Clone)]
pub(crate) enum NoticePlace<T> {
    /// The turn begins with it already.
    There,
    /// In front of this text, with a blank line between.
    Before(T),
    /// Into a part of its own, or as the whole content.
    Alone,
}

/// Where `notice` would go in a content: a string, or a list of strings and of records with `text`, where `is_text` tells which
/// of the records are texts.
pub(crate) fn notice_in<V: Value>(
    content: Option<&V>,
    notice: &str,
    is_text: impl FnOnce(&V) -> Result<bool, Foreign>,
) -> Result<NoticePlace<V::Text>, Foreign> {
    let Some(content) = content else {
        return Ok(NoticePlace::Alone);
    };
    if let Some(text) = content.text() {
        let there = text
            .front(notice.chars().count() + 2)
            .strip_prefix(notice)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with("\n\n"));
        return Ok(if there {
            NoticePlace::There
        } else {
            NoticePlace::Before(text)
        });
    }
    let Some(first) = content.item(0) else {
        return Ok(NoticePlace::Alone);
    };
    let text = match first.text() {
        Some(text) => Some(text),
        None if first.is_record() && is_text(&first)? => {
            first.get(Key::Text)?.and_then(|text| text.text())
        }
        None => None,
    };
    let there = text.is_some_and(|text| text.front(notice.chars().count() + 1) == notice);
    Ok(if there {
        NoticePlace::There
    } else {
        NoticePlace::Alone
    })
}
