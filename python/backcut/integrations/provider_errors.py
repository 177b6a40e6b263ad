"""Why a request is not sent, in the words and the shape of the provider that was asked: its SDKs raise their own errors from it."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from ..errors import BackcutError, BudgetError, FormatError, JsonError

__all__ = ["Refusal", "TooLargeError", "kind", "refusal"]


class TooLargeError(BackcutError):
    """A body that is longer than is allowed.

    Attributes:
        limit: the bytes that are allowed.
    """

    _fields = ("limit",)

    def __init__(self, limit: int) -> None:
        super().__init__(f"the body of the request is longer than {limit} bytes")
        self.limit = limit


class Refusal(NamedTuple):
    """A response."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes


def kind(error: BackcutError) -> str:
    """A stable name: ``budget``, ``too_large``, ``json``, ``format`` or ``option``."""
    kinds = {BudgetError: "budget", TooLargeError: "too_large", JsonError: "json", FormatError: "format"}
    return next((name for of, name in kinds.items() if isinstance(error, of)), "option")


def refusal(form: str, error: BackcutError) -> Refusal:
    """The response that a provider gives where ``error`` is what is wrong.

    Args:
        form: the wire format of the request; those that are no provider's get OpenAI's shape.
        error: what is wrong.

    Returns:
        Status 413 where the body is too long, else 400, with a body of JSON.
    """
    status = 413 if isinstance(error, TooLargeError) else 400
    message = str(error)
    if isinstance(error, BudgetError):
        # Clients look for their provider's words to know that a conversation has become too long.
        message = f"{_TOO_LONG.get(form, _TOO_LONG['openai-chat'])}: {message}"
    headers = [(b"content-type", b"application/json")]
    content: dict[str, Any]
    if form == "anthropic":
        name = "request_too_large" if status == 413 else "invalid_request_error"
        content = {"type": "error", "error": {"type": name, "message": message}}
    elif form == "gemini":
        content = {"error": {"code": status, "message": message, "status": "INVALID_ARGUMENT"}}
    elif form == "bedrock":
        headers.append((b"x-amzn-errortype", b"ValidationException"))
        content = {"message": message}
    else:
        param = _param(form, error)
        content = {"error": {"message": message, "type": "invalid_request_error", "param": param, "code": _CODES.get(kind(error))}}
    body = json.dumps(content).encode()
    headers.append((b"content-length", str(len(body)).encode()))
    return Refusal(status, headers, body)


_TOO_LONG = {
    "openai-chat": "Your input exceeds the context window of this model",
    "anthropic": "prompt is too long",
    "gemini": "The input token count exceeds the maximum number of tokens allowed",
    "bedrock": "Input is too long for requested model",
}

_CODES = {"budget": "context_length_exceeded", "too_large": "request_too_large", "format": "invalid_value"}
"""OpenAI's ``code``; of a body that is no JSON it has none."""


def _param(form: str, error: BackcutError) -> str | None:
    """The place that OpenAI names."""
    array = "input" if form == "openai-responses" else "messages"
    if not isinstance(error, FormatError):
        return array if isinstance(error, BudgetError) else None
    if isinstance(error, JsonError):
        return None
    if error.index is None:
        return error.path or array
    return f"{array}[{error.index}]" + (f".{error.path}" if error.path else "")
