//! Keeps an LLM conversation inside a window.
//!
//! Given a message array, [`plan()`] finds from the back, in one pass, the longest tail that fits every ceiling and that a
//! provider will accept, and says exactly what it did. The rules stand in `docs/rules.md`, section by section as the
//! modules here.
//!
//! The crate is generic over how a message is read ([`Value`]) and how tokens are counted ([`Counter`]). Everything of
//! Python's is behind the feature `python`.

mod batch;
mod body;
mod cap;
mod check;
mod cost;
mod cut;
mod envelope;
mod error;
mod facts;
mod format;
mod groups;
mod json;
mod media;
mod plan;
#[cfg(feature = "python")]
mod python;
mod splice;
mod tokens;
mod value;
mod window;

pub use batch::{Lines, OnError};
pub use body::{Task, Trimmed, field};
pub use cap::TextCut;
pub use check::{Violation, check};
pub use cost::{FIGURES, Figures};
pub use cut::{count, plan};
pub use error::{Between, Ceiling, Error, Foreign, Misfit};
pub use facts::Role;
pub use format::{Format, Known};
pub use json::{Buffers, DEEPEST, Document, JsonText, JsonValue, Syntax};
pub use plan::{Edit, Notice, PartCut, Path, Plan, Report, Step};
pub use splice::Piece;
pub use tokens::{
    Counter, DEFAULT_CACHE_BYTES, Encoding, Estimate, Keep, Scaled, cache_bytes, set_cache_bytes,
    truncate,
};
pub use value::{History, Key, Lent, Text, Value};
pub use window::{Cap, Compat, Limits, NoticeRole, Overflow, Start, Thinking, ToolKeep, TrimTo};

#[cfg(feature = "python")]
#[pyo3::pymodule(gil_used = false)]
mod _core {
    #[pymodule_export]
    use crate::python::{
        Tokenizer, Window, check, count_messages, figures_of, limit_memory, memory_limits,
        request_field,
    };
}
