//! Where a notice goes in a user turn, and in what shape.

use crate::error::Foreign;
use crate::format::{Format, notice_path};
use crate::plan::Step;
use crate::value::{Key, Text, Value};

/// Where a notice goes that is folded into a user turn.
#[derive(Clone)]
pub(crate) enum NoticePlace<T> {
    /// The turn begins with it already, or has no room for it.
    There,
    /// In front of this text, with a blank line between.
    Before(T),
    /// Into a block of its own, or as the whole content.
    Alone,
}

/// A text in a list of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Block {
    /// `{"type": ..., "text": ...}`
    Typed(&'static str),
    /// `{"text": ...}`
    Bare,
    /// The text itself.
    Text,
}

/// What stands at the end of a path; `None` where nothing does.
pub(crate) fn at<V: Value>(value: &V, path: &[Step]) -> Result<Option<V>, Foreign> {
    let mut reached = value.clone();
    for step in path {
        let next = match step {
            Step::Key(key) => reached.get(*key)?,
            Step::Name(name) => {
                let mut entries = reached.entries()?.into_iter();
                entries
                    .find(|(key, _)| key.as_str() == name.as_str())
                    .map(|(_, value)| value)
            }
            Step::Item(index) => reached.item(*index),
        };
        match next {
            Some(next) => reached = next,
            None => return Ok(None),
        }
    }
    Ok(Some(reached))
}

/// Where `notice` would go in a plain user turn that has been read before.
pub(crate) fn notice_place<V: Value>(
    format: Format,
    message: &V,
    notice: &str,
) -> Result<NoticePlace<V::Text>, Foreign> {
    let Some(path) = notice_path(format, message)? else {
        return Ok(NoticePlace::There);
    };
    let Some(content) = at(message, &path)? else {
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
        None if first.is_record() && is_block(&first, format.block())? => {
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

/// Whether a record is a text in the shape of the format.
fn is_block<V: Value>(record: &V, block: Block) -> Result<bool, Foreign> {
    let kind = record.get(Key::Type)?;
    Ok(match block {
        Block::Typed(name) => kind.is_some_and(|kind| kind.word().is_some_and(|kind| kind == name)),
        Block::Bare => kind.is_none(),
        Block::Text => false,
    })
}
