//! Shapes that belong to a format that is not there yet: named, not guessed at.

use crate::error::Foreign;
use crate::value::{Key, Text, Value};

/// The format of a message whose role is none of Chat Completions'.
pub(super) fn by_role<V: Value>(
    message: &V,
    role: Option<&str>,
) -> Result<Option<&'static str>, Foreign> {
    let text = |key| -> Result<Option<String>, Foreign> {
        Ok(message
            .get(key)?
            .and_then(|value| value.text())
            .map(|text| text.as_str().into_owned()))
    };
    let kind = message.get(Key::Kind)?;
    Ok(match role {
        Some("model") => Some("gemini"),
        _ if kind.is_none() && message.get(Key::Parts)?.is_some() => Some("gemini"),
        _ if matches!(text(Key::Kind)?.as_deref(), Some("request" | "response")) => {
            Some("pydantic-ai")
        }
        Some("toolResult" | "bashExecution" | "custom" | "branchSummary" | "compactionSummary") => {
            Some("pi")
        }
        _ => match text(Key::Type)?.as_deref() {
            Some("human" | "ai" | "tool" | "system" | "function") => Some("langchain"),
            Some(_) => Some("openai-responses"),
            None => None,
        },
    })
}

/// The format of a content part that Chat Completions does not have.
pub(super) fn by_part<V: Value>(
    part: &V,
    kind: Option<&str>,
) -> Result<Option<&'static str>, Foreign> {
    Ok(match kind {
        Some("tool_use" | "tool_result" | "thinking" | "redacted_thinking" | "server_tool_use") => {
            Some("anthropic")
        }
        Some("toolCall") => Some("pi"),
        Some("input_text" | "output_text") => Some("openai-responses"),
        Some(_) => None,
        None => (part.get(Key::ToolUse)?.is_some() || part.get(Key::ToolResult)?.is_some())
            .then_some("bedrock"),
    })
}
