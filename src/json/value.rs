//! Values of a JSON text as a source.

use std::borrow::Cow;
use std::cell::Cell;
use std::rc::Rc;

use super::{Document, JsonText, Node, compact, decode};
use crate::error::Foreign;
use crate::value::{Key, Lent, Value};

/// A value of a document.
#[derive(Clone)]
pub struct JsonValue<'d> {
    document: &'d Document<'d>,
    node: Node,
    /// The item that was asked for last, by its place, so that the one behind it is near.
    reached: Cell<Option<(usize, Node)>>,
}

impl<'d> JsonValue<'d> {
    pub(crate) fn new(document: &'d Document<'d>, node: Node) -> Self {
        Self {
            document,
            node,
            reached: Cell::new(None),
        }
    }

    pub(crate) fn document(&self) -> &'d Document<'d> {
        self.document
    }

    pub(crate) fn node(&self) -> Node {
        self.node
    }

    fn lent(&self) -> LentJson<'d> {
        LentJson {
            document: self.document,
            node: self.node,
        }
    }

    /// The value under a key that is no [`Key`]; `None` where it is absent or null.
    pub(crate) fn member(&self, name: &str) -> Option<Self> {
        let mut members = self.document.members(self.node);
        let (_, node) = members.find(|(key, _)| is(key, name))?;
        let value = Self::new(self.document, node);
        (!value.is_null()).then_some(value)
    }

    pub(crate) fn is_null(&self) -> bool {
        self.lent().is_null()
    }
}

/// Whether a key that is written like that is `name`.
#[inline]
pub(crate) fn is(written: &str, name: &str) -> bool {
    written == name || (written.contains('\\') && decode(written) == name)
}

/// The key that is written like that.
#[inline]
fn key_of(written: &str) -> Option<Key> {
    Key::of(written).or_else(|| {
        let escaped = written.contains('\\');
        escaped.then(|| Key::of(&decode(written))).flatten()
    })
}

impl<'d> Value for JsonValue<'d> {
    type Text = JsonText<'d>;
    type Lent<'v> = LentJson<'d>;

    fn get(&self, key: Key) -> Result<Option<Self>, Foreign> {
        Ok(self.member(key.name()))
    }

    #[inline]
    fn look(&self, mut look: impl FnMut(Key, LentJson<'d>) -> bool) -> bool {
        let document = self.document;
        if document.byte(self.node) != b'{' {
            return false;
        }
        for (name, node) in document.members(self.node) {
            if let Some(key) = key_of(name)
                && !look(key, LentJson { document, node })
            {
                break;
            }
        }
        true
    }

    fn text(&self) -> Option<JsonText<'d>> {
        self.lent().text()
    }

    fn word(&self) -> Option<Cow<'_, str>> {
        let (begin, end) = self.document.string(self.node)?;
        Some(decode(&self.document.text[begin..end]))
    }

    fn list(&self) -> Option<usize> {
        (self.document.byte(self.node) == b'[').then(|| self.document.items(self.node).count())
    }

    fn item(&self, index: usize) -> Option<Self> {
        let document = self.document;
        let node = match self.reached.get() {
            Some((at, node)) if at == index => node,
            Some((at, node)) if at < index => document.items_behind(node).nth(index - at - 1)?,
            _ => document.items(self.node).nth(index)?,
        };
        self.reached.set(Some((index, node)));
        Some(Self::new(document, node))
    }

    fn is_record(&self) -> bool {
        self.document.byte(self.node) == b'{'
    }

    fn entries(&self) -> Result<Vec<(JsonText<'d>, Self)>, Foreign> {
        let document = self.document;
        let entries = document.members(self.node).map(|(key, node)| {
            // Of a key only its text is asked for.
            let key = JsonText::Made(Rc::from(decode(key)));
            (key, Self::new(document, node))
        });
        Ok(entries.collect())
    }

    fn made_json(&self) -> Option<String> {
        Some(compact(self.document, self.node))
    }

    fn compact_json(&self) -> Result<Option<JsonText<'d>>, Foreign> {
        let json = compact(self.document, self.node);
        Ok(Some(JsonText::Made(Rc::from(json))))
    }

    fn type_name(&self) -> String {
        match self.document.byte(self.node) {
            b'{' => "an object",
            b'[' => "an array",
            b'"' => "a string",
            b't' | b'f' => "true or false",
            b'n' => "null",
            _ => "a number",
        }
        .to_owned()
    }

    fn shown(&self) -> String {
        const SHOWN: usize = 60;
        let text = &self.document.text[self.document.span(self.node)];
        if text.chars().nth(SHOWN).is_none() {
            return text.to_owned();
        }
        text.chars().take(SHOWN - 1).chain(['…']).collect()
    }
}

/// A value of a document, to look at.
#[derive(Clone, Copy)]
pub struct LentJson<'d> {
    document: &'d Document<'d>,
    node: Node,
}

impl<'d> Lent<JsonValue<'d>> for LentJson<'d> {
    #[inline]
    fn is_null(self) -> bool {
        self.document.byte(self.node) == b'n'
    }

    #[inline]
    fn chars(self) -> Option<usize> {
        let (begin, end) = self.document.string(self.node)?;
        Some(self.document.chars(begin, end))
    }

    #[inline]
    fn word<R>(self, meant: impl FnOnce(&str) -> Option<R>) -> Option<R> {
        let (begin, end) = self.document.string(self.node)?;
        meant(&decode(&self.document.text[begin..end]))
    }

    #[inline]
    fn text(self) -> Option<JsonText<'d>> {
        let (begin, end) = self.document.string(self.node)?;
        Some(JsonText::Written {
            document: self.document,
            begin,
            end,
        })
    }

    #[inline]
    fn keep(self) -> JsonValue<'d> {
        JsonValue::new(self.document, self.node)
    }
}
