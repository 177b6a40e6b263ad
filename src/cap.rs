//! Where one observation is cut. `docs/rules.md`, section 3.3.

use unicode_segmentation::{GraphemeCursor, GraphemeIncomplete};

use crate::value::Text;
use crate::window::{Cap, ToolKeep};

/// What stays of one text: its first `head` and last `tail` code points, with `marker` between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TextCut {
    /// Code points that stay from the front.
    pub head: usize,
    /// Code points that stay from the back.
    pub tail: usize,
    /// What stands between the two.
    pub marker: &'static str,
}

impl TextCut {
    /// The cut text, in UTF-8.
    #[must_use]
    pub fn apply(&self, text: &str) -> String {
        [
            &text[..byte_of(text, self.head)],
            self.marker,
            &text[byte_from_back(text, self.tail)..],
        ]
        .concat()
    }

    /// Length of the cut text in code points.
    #[must_use]
    pub fn chars(&self) -> usize {
        self.head + self.tail + self.marker.chars().count()
    }
}

/// What happens to one text of an observation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slice {
    /// Its place among the observation's texts.
    pub text: usize,
    /// What stays of it; `None`: it goes.
    pub cut: Option<TextCut>,
}

impl ToolKeep {
    const fn marker(self) -> &'static str {
        match self {
            Self::Head => "\n… [truncated]",
            Self::Tail => "… [truncated]\n",
            Self::HeadTail => "\n… [truncated]\n",
        }
    }

    /// How a number of code points is shared between front and back.
    const fn share(self, room: usize) -> (usize, usize) {
        match self {
            Self::Head => (room, 0),
            Self::Tail => (0, room),
            Self::HeadTail => (room.div_ceil(2), room / 2),
        }
    }
}

/// The cuts that bring an observation to at most the cap, marker included; `None` if it is not longer.
///
/// O(cap) for a text whose grapheme clusters are short.
pub(crate) fn cap<T: Text>(texts: &[&T], cap: Cap) -> Option<Vec<Slice>> {
    let total: usize = texts.iter().map(|text| text.chars()).sum();
    if total <= cap.chars {
        return None;
    }
    let marker = cap.keep.marker();
    Some(match cap.chars.checked_sub(marker.chars().count()) {
        None => first_code_points(texts, cap.chars),
        Some(room) => {
            let (head, tail) = cap.keep.share(room);
            cut_texts(texts, total, head, tail, marker, cap.keep)
        }
    })
}

/// `ThenaJS`'s cap: the first code points, and the marker on top.
pub(crate) fn cap_thena<T: Text>(texts: &[&T], chars: usize) -> Option<Vec<Slice>> {
    let total: usize = texts.iter().map(|text| text.chars()).sum();
    (total > chars).then(|| {
        let mut cuts = first_code_points(texts, chars);
        // The marker stands at the end of what is left, however little.
        let marker = ToolKeep::Head.marker();
        let kept = cuts.iter_mut().find_map(|cut| cut.cut.as_mut());
        match kept {
            Some(kept) => kept.marker = marker,
            None => match last_kept(texts, chars) {
                Some((text, head)) => cuts.insert(
                    0,
                    Slice {
                        text,
                        cut: Some(TextCut {
                            head,
                            tail: 0,
                            marker,
                        }),
                    },
                ),
                None => {
                    cuts[0].cut = Some(TextCut {
                        head: 0,
                        tail: 0,
                        marker,
                    });
                }
            },
        }
        cuts
    })
}

/// The last text that lies wholly within the first `chars` code points, with its length.
fn last_kept<T: Text>(texts: &[&T], chars: usize) -> Option<(usize, usize)> {
    let mut start = 0;
    let mut last = None;
    for (k, text) in texts.iter().enumerate() {
        let len = text.chars();
        if start + len > chars {
            break;
        }
        if len > 0 {
            last = Some((k, len));
        }
        start += len;
    }
    last
}

/// Keeps the first `chars` code points of the joined texts, without a marker.
fn first_code_points<T: Text>(texts: &[&T], chars: usize) -> Vec<Slice> {
    let mut left = chars;
    let mut cuts = Vec::new();
    for (k, text) in texts.iter().enumerate() {
        let len = text.chars();
        if left == 0 || len > left {
            let cut = (left > 0).then_some(TextCut {
                head: left,
                tail: 0,
                marker: "",
            });
            cuts.push(Slice { text: k, cut });
        }
        left = left.saturating_sub(len);
    }
    cuts
}

/// Keeps at most `head` code points of the joined texts' front and `tail` of their back, marker between.
fn cut_texts<T: Text>(
    texts: &[&T],
    total: usize,
    head: usize,
    tail: usize,
    marker: &'static str,
    keep: ToolKeep,
) -> Vec<Slice> {
    let starts: Vec<usize> = texts
        .iter()
        .scan(0, |sum, text| {
            let start = *sum;
            *sum += text.chars();
            Some(start)
        })
        .collect();
    let end = |p: usize| starts.get(p + 1).copied().unwrap_or(total);
    // The front piece ends in p, the back piece begins in q, both moved to a cluster's edge.
    let p = (0..texts.len()).rfind(|&p| starts[p] <= head).unwrap_or(0);
    let front = starts[p] + front_piece(&texts[p].as_str(), head - starts[p]);
    let q = (0..texts.len())
        .find(|&q| total - tail <= end(q))
        .unwrap_or(texts.len() - 1);
    let back = end(q) - back_piece(&texts[q].as_str(), end(q) + tail - total);

    let of_front = |j: usize| front.min(end(j)).saturating_sub(starts[j]);
    let of_back = |j: usize| end(j).saturating_sub(back.max(starts[j]));
    let bearer = (0..texts.len())
        .rfind(|&j| of_front(j) > 0)
        .or_else(|| (0..texts.len()).find(|&j| of_back(j) > 0))
        .unwrap_or(if keep == ToolKeep::Tail {
            texts.len() - 1
        } else {
            0
        });

    let mut cuts = Vec::new();
    for (j, text) in texts.iter().enumerate() {
        let len = text.chars();
        let (head, tail) = (of_front(j), of_back(j));
        if j == bearer {
            cuts.push(Slice {
                text: j,
                cut: Some(TextCut { head, tail, marker }),
            });
        } else if head + tail == 0 {
            // An empty text in front of the cut or behind it was whole and stays so.
            let whole = len == 0 && (j < p || j > q);
            if !whole {
                cuts.push(Slice { text: j, cut: None });
            }
        } else if head + tail < len {
            cuts.push(Slice {
                text: j,
                cut: Some(TextCut {
                    head,
                    tail,
                    marker: "",
                }),
            });
        }
    }
    cuts
}

/// Byte offset of code point `chars` of `text`. O(offset).
fn byte_of(text: &str, chars: usize) -> usize {
    match text.as_bytes().get(..chars) {
        Some(front) if front.is_ascii() => chars,
        _ => text
            .char_indices()
            .nth(chars)
            .map_or(text.len(), |(at, _)| at),
    }
}

/// Byte offset of the last `chars` code points of `text`. O(what lies behind it).
fn byte_from_back(text: &str, chars: usize) -> usize {
    let at = text.len().saturating_sub(chars);
    if text.as_bytes()[at..].is_ascii() {
        return at;
    }
    text.char_indices()
        .rev()
        .nth(chars.wrapping_sub(1))
        .map_or(0, |(at, _)| at)
}

/// The most code points, up to `chars`, that the text may keep at its front without breaking a grapheme cluster.
fn front_piece(text: &str, chars: usize) -> usize {
    let at = byte_of(text, chars);
    let boundary = nearest_boundary(text, at, GraphemeCursor::prev_boundary);
    chars - text[boundary..at].chars().count()
}

/// The same at its back.
fn back_piece(text: &str, chars: usize) -> usize {
    let at = byte_from_back(text, chars);
    let boundary = nearest_boundary(text, at, GraphemeCursor::next_boundary);
    chars - text[at..boundary].chars().count()
}

type Step = fn(&mut GraphemeCursor, &str, usize) -> Result<Option<usize>, GraphemeIncomplete>;

/// `at` itself if it is a grapheme boundary, else the one that `step` finds from there.
pub(crate) fn nearest_boundary(text: &str, at: usize, step: Step) -> usize {
    let mut cursor = GraphemeCursor::new(at, text.len(), true);
    // The whole text is at hand, so the cursor never lacks context.
    if cursor.is_boundary(text, 0).unwrap_or(true) {
        return at;
    }
    step(&mut cursor, text, 0).ok().flatten().unwrap_or(at)
}
