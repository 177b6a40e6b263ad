"""An independent judge of OpenAI Chat message arrays: what the provider's own rules refuse.

Written from what the provider is known to refuse, and nothing else. It imports nothing of backcut, so that backcut cannot
agree with itself by mistake.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

_ROLES = ("system", "developer", "user", "assistant", "tool", "function")


class Problem(NamedTuple):
    """One reason to refuse an array."""

    code: str
    index: int


def _get(thing: Any, key: str) -> Any:
    return thing.get(key) if isinstance(thing, Mapping) else getattr(thing, key, None)


def _parts(message: Any) -> Sequence[Any]:
    content = _get(message, "content")
    return content if isinstance(content, (list, tuple)) else ()


def _one(index: int, message: Any) -> list[Problem]:
    """What is wrong with a message whatever stands around it."""
    role, content = _get(message, "role"), _get(message, "content")
    calls, legacy = _get(message, "tool_calls"), _get(message, "function_call")
    found: list[str] = []
    if role not in _ROLES:
        found.append("unknown_role")
    if role == "assistant":
        speaks = calls or legacy is not None or _get(message, "refusal") is not None or _get(message, "audio") is not None
        if content is None and not speaks:
            found.append("null_content")
        if calls is not None and not calls:
            found.append("empty_tool_calls")
        if calls and legacy is not None:
            found.append("both_kinds_of_call")
        ids = [_get(call, "id") for call in calls or ()]
        if not all(ids):
            found.append("call_without_id")
        if len({i for i in ids if i}) < len([i for i in ids if i]):
            found.append("same_id_twice_in_a_batch")
    elif content is None:
        found.append("null_content")
    if role == "tool" and not _get(message, "tool_call_id"):
        found.append("result_without_id")
    if role == "tool" and any(not isinstance(part, str) and _get(part, "type") != "text" for part in _parts(message)):
        found.append("media_in_result")
    if role == "function" and not _get(message, "name"):
        found.append("function_without_name")
    return [Problem(code, index) for code in found]


def _answers(messages: Sequence[Any], start: int) -> int:
    """The end of the run of results that begins at ``start``."""
    end = start
    while end < len(messages) and _get(messages[end], "role") in ("tool", "function"):
        end += 1
    return end


def _batch(messages: Sequence[Any], index: int, end: int) -> tuple[list[Problem], bool]:
    """Judges the calls of ``messages[index]`` against the run behind it: the problems, and whether a call is unanswered."""
    message, run = messages[index], range(index + 1, end)
    problems: list[Problem] = []
    if _get(message, "tool_calls"):
        open_ids = [_get(call, "id") for call in _get(message, "tool_calls") if _get(call, "id")]
        nameless = len(_get(message, "tool_calls")) - len(open_ids)
        for i in run:
            given = _get(messages[i], "tool_call_id")
            if _get(messages[i], "role") != "tool" or (given and given not in open_ids) or (not given and not nameless and not open_ids):
                problems.append(Problem("result_without_call", i))
            elif given:
                open_ids.remove(given)
            elif nameless:
                nameless -= 1
            else:
                open_ids.pop(0)
        return problems, bool(open_ids or nameless)
    wanted = _get(_get(message, "function_call"), "name")
    answered = False
    for i in run:
        if answered or _get(messages[i], "role") != "function":
            problems.append(Problem("result_without_call", i))
            continue
        answered = True
        if _get(messages[i], "name") and _get(messages[i], "name") != wanted:
            problems.append(Problem("other_function", i))
    return problems, not answered


def problems(messages: Sequence[Any], *, accepts_live_end: bool = False) -> list[Problem]:
    """Every reason to refuse ``messages``; none means that the provider takes them.

    Args:
        messages: the array.
        accepts_live_end: whether a last batch whose results are still to come passes.
    """
    if not messages:
        return [Problem("empty", 0)]
    found = [problem for index, message in enumerate(messages) for problem in _one(index, message)]
    index = 0
    while index < len(messages):
        role = _get(messages[index], "role")
        if role == "assistant" and (_get(messages[index], "tool_calls") or _get(messages[index], "function_call") is not None):
            end = _answers(messages, index + 1)
            wrong, unanswered = _batch(messages, index, end)
            found += wrong
            live = end == len(messages)
            if unanswered and not (live and accepts_live_end):
                found.append(Problem("live_end" if live else "call_without_result", index))
            index = end
            continue
        if role in ("tool", "function"):
            found.append(Problem("result_without_call", index))
        index += 1
    return sorted(found, key=lambda problem: problem.index)


def is_sound(messages: Sequence[Any], *, accepts_live_end: bool = True) -> bool:
    """Whether nothing is wrong; a live end is, unless told otherwise, as it should be."""
    return not problems(messages, accepts_live_end=accepts_live_end)
