//! How to read a message, whatever holds it.

use std::borrow::Cow;

use crate::error::Foreign;
use crate::format::{Format, Known};

/// Declares [`Key`] and its names in one list.
macro_rules! keys {
    ($($variant:ident = $name:literal),+ $(,)?) => {
        /// Every key that is ever read from a message, so that a source can prepare them once.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        #[allow(missing_docs)]
        pub enum Key { $($variant),+ }

        impl Key {
            /// All keys, in the order of their discriminants.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$variant),+];

            /// The key as it stands on the wire.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }

            /// The key of that name. O(1).
            #[must_use]
            #[inline]
            pub fn of(name: &str) -> Option<Self> {
                let mut slot = slot(name.as_bytes());
                while let Some(key) = SLOTS[slot] {
                    if key.name() == name {
                        return Some(key);
                    }
                    slot = (slot + 1) % SLOTS.len();
                }
                None
            }
        }
    };
}

keys! {
    Role = "role",
    Content = "content",
    ToolCalls = "tool_calls",
    ToolCallId = "tool_call_id",
    FunctionCall = "function_call",
    Refusal = "refusal",
    ReasoningContent = "reasoning_content",
    Reasoning = "reasoning",
    Audio = "audio",
    Name = "name",
    Id = "id",
    Function = "function",
    Custom = "custom",
    Arguments = "arguments",
    Input = "input",
    Type = "type",
    Text = "text",
    Thinking = "thinking",
    ImageUrl = "image_url",
    Url = "url",
    Source = "source",
    Data = "data",
    Detail = "detail",
    InputAudio = "input_audio",
    Parts = "parts",
    Kind = "kind",
    ToolUse = "toolUse",
    ToolResult = "toolResult",
    // Anthropic
    ToolUseId = "tool_use_id",
    Signature = "signature",
    Caller = "caller",
    ToolId = "tool_id",
    Stdout = "stdout",
    Stderr = "stderr",
    EncryptedStdout = "encrypted_stdout",
    CacheControl = "cache_control",
    IsError = "is_error",
    Title = "title",
    Context = "context",
    EncryptedContent = "encrypted_content",
    // Responses
    CallId = "call_id",
    Output = "output",
    Summary = "summary",
    Action = "action",
    Operation = "operation",
    Code = "code",
    Outputs = "outputs",
    Queries = "queries",
    Results = "results",
    Result = "result",
    Tools = "tools",
    Error = "error",
    ApprovalRequestId = "approval_request_id",
    Fingerprint = "fingerprint",
    FileData = "file_data",
    Actions = "actions",
    Execution = "execution",
    Environment = "environment",
    CallerId = "caller_id",
    Reason = "reason",
    Logs = "logs",
    // Gemini
    FunctionCallCamel = "functionCall",
    FunctionResponseCamel = "functionResponse",
    FunctionResponse = "function_response",
    ThoughtSignatureCamel = "thoughtSignature",
    ThoughtSignature = "thought_signature",
    Thought = "thought",
    Args = "args",
    Response = "response",
    InlineDataCamel = "inlineData",
    InlineData = "inline_data",
    MimeTypeCamel = "mimeType",
    MimeType = "mime_type",
    ExecutableCodeCamel = "executableCode",
    ExecutableCode = "executable_code",
    CodeExecutionResultCamel = "codeExecutionResult",
    CodeExecutionResult = "code_execution_result",
    FileDataCamel = "fileData",
    FunctionDeclarationsCamel = "functionDeclarations",
    FunctionDeclarations = "function_declarations",
    ParametersJsonSchemaCamel = "parametersJsonSchema",
    ParametersJsonSchema = "parameters_json_schema",
    ToolCallCamel = "toolCall",
    ToolCall = "tool_call",
    ToolResponseCamel = "toolResponse",
    ToolResponse = "tool_response",
    // Bedrock
    ToolUseIdCamel = "toolUseId",
    Json = "json",
    Image = "image",
    Document = "document",
    Video = "video",
    Status = "status",
    Format = "format",
    Bytes = "bytes",
    ReasoningContentCamel = "reasoningContent",
    ReasoningText = "reasoningText",
    RedactedContent = "redactedContent",
    CachePoint = "cachePoint",
    GuardContent = "guardContent",
    CitationsContent = "citationsContent",
    SearchResult = "searchResult",
    ToolSpec = "toolSpec",
    InputSchemaCamel = "inputSchema",
    // Pi
    Message = "message",
    ToolCallIdCamel = "toolCallId",
    ThinkingSignature = "thinkingSignature",
    Redacted = "redacted",
    StopReason = "stopReason",
    Api = "api",
    Provider = "provider",
    Command = "command",
    ExcludeFromContext = "excludeFromContext",
    // LangChain
    Lc = "lc",
    Kwargs = "kwargs",
    InvalidToolCalls = "invalid_tool_calls",
    AdditionalKwargs = "additional_kwargs",
    Extras = "extras",
    Base64 = "base64",
    // pydantic-ai
    PartKind = "part_kind",
    ToolName = "tool_name",
    ProviderName = "provider_name",
    MediaType = "media_type",
    VendorMetadata = "vendor_metadata",
    Transcript = "transcript",
    ProviderDetails = "provider_details",
    Instructions = "instructions",
    // Clones of Chat Completions
    ToolResponses = "tool_responses",
    ToolPlan = "tool_plan",
    Images = "images",
    ReasoningDetails = "reasoning_details",
    Description = "description",
    Parameters = "parameters",
    InputSchema = "input_schema",
    Properties = "properties",
    Items = "items",
    Enum = "enum",
    AnyOf = "anyOf",
    OneOf = "oneOf",
    AllOf = "allOf",
    Defs = "$defs",
    Definitions = "definitions",
    AdditionalProperties = "additionalProperties",
}

/// Where a name is looked for first: by its length and the bytes at its ends, which tell nearly all keys apart.
#[inline]
#[allow(clippy::cast_possible_truncation)] // a few bits of the length
const fn slot(name: &[u8]) -> usize {
    let len = name.len();
    if len == 0 {
        return 0;
    }
    let ends = [name[0], name[len / 2], name[len - 1], name[(len - 1) / 3]];
    let hash = u32::from_le_bytes(ends) ^ (len as u32 & 0xff) << 12;
    (hash.wrapping_mul(0x9e37_79b1) >> 22) as usize
}

/// The keys by their names: open addressing, at most a fifth full.
static SLOTS: [Option<Key>; 1024] = {
    let mut slots = [None; 1024];
    let mut k = 0;
    while k < Key::ALL.len() {
        let mut at = slot(Key::ALL[k].name().as_bytes());
        while slots[at].is_some() {
            at = (at + 1) % slots.len();
        }
        slots[at] = Some(Key::ALL[k]);
        k += 1;
    }
    slots
};

/// A piece of text. Cloning is cheap: a reference, never the bytes.
pub trait Text: Clone {
    /// Length in code points. O(1) where the source knows it.
    fn chars(&self) -> usize;

    /// Length in UTF-8 bytes; a lone surrogate is three.
    fn bytes(&self) -> usize;

    /// The text as UTF-8, each lone surrogate as U+FFFD: as many code points as [`chars`](Self::chars) says.
    fn as_str(&self) -> Cow<'_, str>;

    /// At least the first `chars` code points, as [`as_str`](Self::as_str) has them, where that is less work than all.
    fn front(&self, _chars: usize) -> Cow<'_, str> {
        self.as_str()
    }

    /// Whether the two are equal.
    fn same(&self, other: &Self) -> bool;

    /// A string that is the same for two texts just where these are [`same`](Self::same): lone surrogates are told apart in it.
    fn key(&self) -> String {
        self.as_str().into_owned()
    }
}

/// Somebody's value, read in place: a mapping, an object with attributes, a list, a text, or something else.
pub trait Value: Clone {
    /// How this source holds text.
    type Text: Text;

    /// A value inside of this one, lent for a look.
    type Lent<'v>: Lent<Self>;

    /// The value under `key`; `None` where it is absent or null.
    ///
    /// # Errors
    /// What the caller's own object raised.
    fn get(&self, key: Key) -> Result<Option<Self>, Foreign>;

    /// Shows the entries under keys that are known, in the source's order, until `look` returns false. Each is lent for
    /// the look and may be kept, which costs more. Returns false, and shows nothing, where this is no plain mapping.
    ///
    /// `look` must not run anybody else's code.
    fn look(&self, look: impl FnMut(Key, Self::Lent<'_>) -> bool) -> bool;

    /// Puts the values under several keys into `fields`, which comes empty, as [`get`](Self::get) finds them. It is filled in
    /// place, since moving what was just written costs more than finding it.
    ///
    /// # Errors
    /// What the caller's own object raised.
    fn fields<const N: usize>(
        &self,
        keys: &[Key; N],
        fields: &mut [Option<Self>; N],
    ) -> Result<(), Foreign> {
        let mut left = N;
        let looked = self.look(|key, value| {
            if let Some(at) = keys.iter().position(|&wanted| wanted == key) {
                if !value.is_null() {
                    fields[at] = Some(value.keep());
                }
                left -= 1;
            }
            left > 0
        });
        if !looked {
            for (field, &key) in fields.iter_mut().zip(keys) {
                *field = self.get(key)?;
            }
        }
        Ok(())
    }

    /// The text, if this is one.
    fn text(&self) -> Option<Self::Text>;

    /// The text, if this is one, where it would be a word of the format, such as a role: short, and looked at only.
    fn word(&self) -> Option<Cow<'_, str>>;

    /// The number of items, if this is a list.
    fn list(&self) -> Option<usize>;

    /// Item `index` of a list; `None` behind its end.
    fn item(&self, index: usize) -> Option<Self>;

    /// Whether keys can be read from this.
    fn is_record(&self) -> bool;

    /// Names and values of a mapping, in order; empty for anything else.
    ///
    /// # Errors
    /// What the caller's own object raised.
    fn entries(&self) -> Result<Vec<(Self::Text, Self)>, Foreign>;

    /// Name and value of a mapping that has one entry alone, whose name is a text.
    ///
    /// # Errors
    /// What the caller's own object raised.
    fn only_entry(&self) -> Result<Option<(Self::Text, Self)>, Foreign> {
        let mut entries = self.entries()?;
        Ok(if entries.len() == 1 {
            entries.pop()
        } else {
            None
        })
    }

    /// The value as compact JSON (no blanks, non-ASCII as it is); `None` where it is not JSON.
    ///
    /// # Errors
    /// What the caller's own object raised.
    fn compact_json(&self) -> Result<Option<Self::Text>, Foreign>;

    /// The same where it is made without the source's help; `None` where the source is to be asked.
    fn made_json(&self) -> Option<String> {
        None
    }

    /// Characters of [`compact_json`](Self::compact_json), where they are had without making it; nobody else's code runs.
    fn json_chars(&self) -> Option<usize> {
        None
    }

    /// What pydantic-ai sends of a value that is no text: its JSON, where classes have one too; of a value whose JSON is a string,
    /// that string. `None` where there is none.
    ///
    /// # Errors
    /// What the caller's own object raised.
    fn sent(&self) -> Result<Option<Self::Text>, Foreign> {
        self.compact_json()
    }

    /// The name of the value's type, for an error.
    fn type_name(&self) -> String;

    /// The value itself, shortened, for an error.
    fn shown(&self) -> String;
}

/// A value that is lent for a look: nothing is held on to.
pub trait Lent<V: Value>: Copy {
    /// Whether it is null.
    fn is_null(self) -> bool;

    /// Length of a text in code points.
    fn chars(self) -> Option<usize>;

    /// A text that would be a word of the format, as what `meant` makes of it.
    fn word<R>(self, meant: impl FnOnce(&str) -> Option<R>) -> Option<R>;

    /// A text, to keep.
    fn text(self) -> Option<V::Text>;

    /// The value, to keep.
    fn keep(self) -> V;
}

/// A message array.
pub trait History {
    /// A message.
    type Value: Value;

    /// Number of messages.
    fn len(&self) -> usize;

    /// Whether there is none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The message at `index`.
    ///
    /// # Errors
    /// [`Foreign`] where the array has become shorter since the call began.
    fn message(&self, index: usize) -> Result<Self::Value, Foreign>;

    /// The format of a history in which no message tells.
    fn fallback(&self) -> Format {
        Format::OpenaiChat
    }

    /// What is known of it from an earlier look.
    fn known(&self) -> Option<Known> {
        None
    }

    /// Told what was found of the messages in front.
    fn remember(&self, _known: Known) {}
}
