"""Each trimmer as its users call it, behind one face: the history in its own types, a call to time, and the way back.

Nothing is imported before it is used: each peer has a process of its own, and one that is not installed is told as such.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any, ClassVar

import backcut
from conversations import Message, chars
from peers import MODEL, token_count

Call = Callable[[], Any]


class Peer:
    """A trimmer with one history."""

    name: ClassVar[str]
    package: ClassVar[str] = "backcut"
    unit: ClassVar[str] = "tokens"
    """What its ceiling counts: ``messages``, ``characters``, ``estimate`` (tokens by guess) or ``tokens``."""
    outside: ClassVar[bool] = False
    """Whether the system prompt stands beside the list, so that it cannot be lost and is not counted."""
    note: ClassVar[str] = ""

    def __init__(self, history: Sequence[Message]) -> None:
        self.history = history
        self._from = int(self.outside and history[0]["role"] == "system")
        self.own: list[Any] = []
        self._places: dict[int, list[Message]] = {}
        """Which plain messages each of its own ones stands for, by identity."""
        for own, source in self.build(history[self._from :]):
            self.own.append(own)
            self._places[id(own)] = source

    def build(self, messages: Sequence[Message]) -> Iterator[tuple[Any, list[Message]]]:
        """Its own messages, each with the plain ones that it stands for."""
        return ((message, [message]) for message in messages)

    def call(self, budget: int) -> Call:
        """What is timed: all that a user of it runs for each request. What is prepared here is not timed."""
        raise NotImplementedError

    def kept(self, answer: Any) -> Iterable[Any]:
        """Its own messages of an answer."""
        return answer

    def stranger(self, own: Any) -> Message:
        """A message that it made or rewrote."""
        return dict(own)

    def count(self, own: Sequence[Any]) -> int:
        """By its own measure."""
        return len(own)

    def plain(self, answer: Any) -> list[Message]:
        """The request as it would be sent."""
        sent = list(self.history[: self._from])
        for own in self.kept(answer):
            sent += self._places.get(id(own)) or [self.stranger(own)]
        return sent

    def used(self, answer: Any) -> int:
        return self.count(list(self.kept(answer)))


def drive(coroutine: Any) -> Any:
    """The result of a coroutine that waits for nothing, without the price of an event loop."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value
    raise RuntimeError("it waits for something")


def batches(messages: Sequence[Message]) -> Iterator[list[Message]]:
    """The results of one turn together, all others alone: for those who put them into one message."""
    run: list[Message] = []
    for message in messages:
        if run and (message["role"] != "tool" or run[0]["role"] != "tool"):
            yield run
            run = []
        run.append(message)
    if run:
        yield run


def calls_of(message: Message) -> list[tuple[str, str, str]]:
    """Id, name and arguments of each call."""
    return [(call["id"], call["function"]["name"], call["function"]["arguments"]) for call in message.get("tool_calls") or ()]


def names_of(messages: Sequence[Message]) -> dict[str, str]:
    """The tool of each call, by its id; a result does not say it in Chat Completions."""
    return {given: name for message in messages for given, name, _ in calls_of(message)}


# backcut ----------------------------------------------------------------------------------------------------------------


class Backcut(Peer):
    """By tokens of the whole request."""

    name = "backcut, tokens"
    keyword: ClassVar[str] = "max_tokens"

    def call(self, budget: int) -> Call:
        window, history = backcut.context_window(**{self.keyword: budget}), list(self.own)
        return lambda: window.trim(history)

    def kept(self, answer: Any) -> Iterable[Any]:
        return answer.messages

    def count(self, own: Sequence[Any]) -> int:
        return backcut.count(own)


class BackcutChars(Backcut):
    name, unit, keyword = "backcut, characters", "characters", "max_chars"

    def count(self, own: Sequence[Any]) -> int:
        return chars(own[1:])


class BackcutMessages(Backcut):
    name, unit, keyword = "backcut, messages", "messages", "max_turns"

    def count(self, own: Sequence[Any]) -> int:
        return sum(message["role"] != "system" for message in own)


# LangChain --------------------------------------------------------------------------------------------------------------


class LangChain(Peer):
    package = "langchain-core"
    name, unit = "langchain-core trim_messages, message count", "messages"

    def build(self, messages: Sequence[Message]) -> Iterator[tuple[Any, list[Message]]]:
        from langchain_core.messages import convert_to_messages

        return zip(convert_to_messages(list(messages)), ([message] for message in messages), strict=True)

    def call(self, budget: int) -> Call:
        from langchain_core.messages import trim_messages

        own, count = list(self.own), self.count
        options = {"strategy": "last", "start_on": "human", "include_system": True, "allow_partial": False}
        return lambda: trim_messages(own, max_tokens=budget, token_counter=count, **options)

    def stranger(self, own: Any) -> Message:
        from langchain_core.messages import convert_to_openai_messages

        return convert_to_openai_messages([own])[0]

    @property
    def count(self) -> Any:  # its own function, not one around it: that is what is timed
        return len


class LangChainApproximate(LangChain):
    name, unit = "langchain-core trim_messages, approximate", "estimate"

    @property
    def count(self) -> Any:
        from langchain_core.messages.utils import count_tokens_approximately

        return count_tokens_approximately


class LangChainTiktoken(LangChain):
    name, unit = "langchain-core trim_messages, tiktoken", "tokens"
    note = "its counter adds up the contents; calls are not counted"

    @property
    def count(self) -> Any:
        tokens = token_count()
        return lambda listed: sum(tokens(message.content) for message in listed)


class Summarization(LangChainApproximate):
    package, outside = "langchain", True
    name = "langchain SummarizationMiddleware, cut search"
    note = "the summary is a fixed text, and is not timed"

    def call(self, budget: int) -> Call:
        from langchain.agents.middleware.summarization import SummarizationMiddleware
        from langchain_core.language_models.fake_chat_models import FakeListChatModel

        middleware = SummarizationMiddleware(FakeListChatModel(responses=[""]), keep=("tokens", budget))
        own = self.own

        def cut() -> list[Any]:
            at = middleware._determine_cutoff_index(own)
            return [*(middleware._build_new_messages("The work so far.") if at else ()), *own[at:]]

        return cut


class ClearToolUses(LangChainApproximate):
    package = "langchain"
    name = "langchain ClearToolUsesEdit"
    note = "clears old results above the ceiling; promises no ceiling"

    def call(self, budget: int) -> Call:
        from langchain.agents.middleware.context_editing import ClearToolUsesEdit

        edit, own, count = ClearToolUsesEdit(trigger=budget), self.own, self.count

        def clear() -> list[Any]:
            edited = copy.deepcopy(own)  # as its middleware does at each call
            edit.apply(edited, count_tokens=count)
            return edited

        return clear


# litellm ----------------------------------------------------------------------------------------------------------------


class LiteLlm(Peer):
    package = name = "litellm"
    name = "litellm trim_messages"

    def call(self, budget: int) -> Call:
        from litellm.utils import trim_messages

        own = list(self.own)
        return lambda: trim_messages(own, model=MODEL, max_tokens=budget)

    def count(self, own: Sequence[Any]) -> int:
        from litellm.utils import token_counter

        return int(token_counter(model=MODEL, messages=list(own)))


# Frameworks with messages of their own ------------------------------------------------------------------------------------


class Strands(Peer):
    package = "strands-agents"
    name, unit, outside = "strands SlidingWindowConversationManager", "messages", True

    def build(self, messages: Sequence[Message]) -> Iterator[tuple[Any, list[Message]]]:
        for batch in batches(messages):
            first = batch[0]
            if first["role"] == "tool":
                results = ((one["tool_call_id"], {"text": one["content"]}) for one in batch)
                content = [{"toolResult": {"toolUseId": given, "status": "success", "content": [text]}} for given, text in results]
                yield {"role": "user", "content": content}, batch
            else:
                said = [{"text": first["content"]}] if first["content"] else []
                used = [
                    {"toolUse": {"toolUseId": given, "name": name, "input": json.loads(text)}} for given, name, text in calls_of(first)
                ]
                yield {"role": first["role"], "content": said + used}, batch

    def call(self, budget: int) -> Call:
        from strands.agent.conversation_manager import SlidingWindowConversationManager

        manager = SlidingWindowConversationManager(window_size=budget)
        agent = SimpleNamespace(messages=list(self.own))  # it works in place

        def manage() -> list[Any]:
            manager.apply_management(agent)
            return agent.messages

        return manage


class AutogenBuffered(Peer):
    package = "autogen-core"
    name, unit, outside = "autogen-core BufferedChatCompletionContext", "messages", True

    def build(self, messages: Sequence[Message]) -> Iterator[tuple[Any, list[Message]]]:
        from autogen_core import FunctionCall
        from autogen_core.models import AssistantMessage, FunctionExecutionResult, FunctionExecutionResultMessage, UserMessage

        names = names_of(messages)
        for batch in batches(messages):
            first = batch[0]
            text = first["content"] or ""
            if first["role"] == "tool":
                results = [
                    FunctionExecutionResult(
                        content=one["content"], call_id=one["tool_call_id"], name=names.get(one["tool_call_id"], ""), is_error=False
                    )
                    for one in batch
                ]
                yield FunctionExecutionResultMessage(content=results), batch
            elif first["role"] == "assistant":
                calls = [FunctionCall(id=given, name=name, arguments=arguments) for given, name, arguments in calls_of(first)]
                made = AssistantMessage(content=calls, thought=text, source="agent") if calls else AssistantMessage(content=text, source="a")
                yield made, batch
            else:
                yield UserMessage(content=text, source="user"), batch

    def context(self, budget: int) -> Any:
        from autogen_core.model_context import BufferedChatCompletionContext

        return BufferedChatCompletionContext(budget, list(self.own))

    def call(self, budget: int) -> Call:
        context = self.context(budget)
        return lambda: drive(context.get_messages())

    def stranger(self, own: Any) -> Message:
        return {"role": "user", "content": str(own.content)}


class AutogenHeadAndTail(AutogenBuffered):
    name = "autogen-core HeadAndTailChatCompletionContext"

    def context(self, budget: int) -> Any:
        from autogen_core.model_context import HeadAndTailChatCompletionContext

        head = max(1, budget // 4)
        return HeadAndTailChatCompletionContext(head, max(1, budget - head - 1), list(self.own))


class AutogenTokens(AutogenBuffered):
    name, unit = "autogen-core TokenLimitedChatCompletionContext", "estimate"
    note = "a client that counts four characters a token"

    def count(self, own: Sequence[Any]) -> int:
        return sum(self._lengths.get(id(message)) or len(str(message.content)) for message in own) // 4

    def context(self, budget: int) -> Any:
        from autogen_core.model_context import TokenLimitedChatCompletionContext

        client = SimpleNamespace(count_tokens=lambda messages, tools=(): self.count(messages))
        return TokenLimitedChatCompletionContext(client, token_limit=budget, initial_messages=list(self.own))

    def __init__(self, history: Sequence[Message]) -> None:
        super().__init__(history)
        # As cheap as a counter can be: what is timed is how often it is asked.
        self._lengths = {key: chars(source) for key, source in self._places.items()}


class AgentFramework(Peer):
    package = "agent-framework-core"
    name, unit = "agent-framework TruncationStrategy", "estimate"
    note = "each call on new messages: it leaves its marks on them"

    def build(self, messages: Sequence[Message]) -> Iterator[tuple[Any, list[Message]]]:
        from agent_framework import Content, Message as Own

        for message in messages:
            if message["role"] == "tool":
                contents = [Content.from_function_result(message["tool_call_id"], result=message["content"])]
            else:
                contents = [Content.from_text(message["content"])] if message["content"] else []
                contents += [Content.from_function_call(given, name, arguments=text) for given, name, text in calls_of(message)]
            yield Own(message["role"], contents), [message]

    def call(self, budget: int) -> Call:
        from agent_framework import CharacterEstimatorTokenizer, TruncationStrategy, apply_compaction

        tokenizer = CharacterEstimatorTokenizer()
        strategy = TruncationStrategy(max_n=budget, compact_to=budget, tokenizer=tokenizer)
        self.own.clear()
        for own, source in self.build(self.history):
            self.own.append(own)
            self._places[id(own)] = source
        listed = list(self.own)
        return lambda: drive(apply_compaction(listed, strategy=strategy, tokenizer=tokenizer))

    def stranger(self, own: Any) -> Message:
        return {"role": str(own.role), "content": own.text}

    def count(self, own: Sequence[Any]) -> int:
        from agent_framework import CharacterEstimatorTokenizer, annotate_message_groups, included_token_count

        messages = list(own)
        annotate_message_groups(messages, tokenizer=CharacterEstimatorTokenizer())
        return int(included_token_count(messages))


class LlamaIndex(Peer):
    package = "llama-index-core"
    name, outside = "llama-index ChatMemoryBuffer", True
    note = "its counter sees contents; calls are not counted"

    def build(self, messages: Sequence[Message]) -> Iterator[tuple[Any, list[Message]]]:
        from llama_index.core.base.llms.types import ChatMessage

        for message in messages:
            extra = {key: message[key] for key in ("tool_calls", "tool_call_id") if message.get(key)}
            yield ChatMessage(role=message["role"], content=message["content"] or "", additional_kwargs=extra), [message]

    def call(self, budget: int) -> Call:
        from llama_index.core.memory import ChatMemoryBuffer

        memory = ChatMemoryBuffer.from_defaults(chat_history=list(self.own), token_limit=budget, tokenizer_fn=self._encode())
        return memory.get

    def stranger(self, own: Any) -> Message:
        return {"role": str(own.role.value), "content": own.content, **own.additional_kwargs}

    def count(self, own: Sequence[Any]) -> int:
        return len(self._encode()(" ".join(str(message.content) for message in own)))

    @staticmethod
    def _encode() -> Callable[[str], list[int]]:
        token_count()
        import tiktoken

        return tiktoken.get_encoding("o200k_base").encode_ordinary


class Haystack(Peer):
    package = "haystack-ai"
    name, unit = "haystack SlidingWindowCompactor", "estimate"

    def build(self, messages: Sequence[Message]) -> Iterator[tuple[Any, list[Message]]]:
        from haystack.dataclasses import ChatMessage, ToolCall

        origin: dict[str, Any] = {}
        for message in messages:
            text = message["content"]
            if message["role"] == "system":
                own = ChatMessage.from_system(text)
            elif message["role"] == "user":
                own = ChatMessage.from_user(text)
            elif message["role"] == "tool":
                own = ChatMessage.from_tool(text, origin[message["tool_call_id"]])
            else:
                calls = [ToolCall(name, json.loads(arguments), id=given) for given, name, arguments in calls_of(message)]
                origin.update({call.id: call for call in calls})
                own = ChatMessage.from_assistant(text or None, tool_calls=calls)
            yield own, [message]

    def counter(self) -> Any:
        from haystack.token_counters import ApproximateTokenCounter

        return ApproximateTokenCounter()

    def call(self, budget: int) -> Call:
        from haystack.hooks.compaction import SlidingWindowCompactor

        compactor, own, counter = SlidingWindowCompactor(), list(self.own), self.counter()

        def compact() -> list[Any]:
            # The hook that holds it counts first, and lets it work only above the mark.
            return (compactor.compact(own, budget, counter) if counter.count(own) > budget else None) or own

        return compact

    def stranger(self, own: Any) -> Message:
        return {"role": own.role.value, "content": own.text}

    def count(self, own: Sequence[Any]) -> int:
        return int(self.counter().count(list(own)))


class PydanticAi(Peer):
    package = "pydantic-ai-harness"
    name, unit = "pydantic-ai-harness SlidingWindowCompaction", "estimate"
    note = "keep_tokens is a floor by its own documentation, not a ceiling"

    def build(self, messages: Sequence[Message]) -> Iterator[tuple[Any, list[Message]]]:
        from pydantic_ai.messages import (
            ModelRequest,
            ModelResponse,
            SystemPromptPart,
            TextPart,
            ToolCallPart,
            ToolReturnPart,
            UserPromptPart,
        )

        names = names_of(messages)
        for batch in self._requests(messages):
            if batch[0]["role"] == "assistant":
                parts: list[Any] = [TextPart(batch[0]["content"])] if batch[0]["content"] else []
                yield ModelResponse(parts + [ToolCallPart(name, text, given) for given, name, text in calls_of(batch[0])]), batch
                continue
            parts = []
            for one in batch:
                if one["role"] == "tool":
                    parts.append(ToolReturnPart(names.get(one["tool_call_id"], ""), one["content"], one["tool_call_id"]))
                else:
                    parts.append((SystemPromptPart if one["role"] == "system" else UserPromptPart)(one["content"]))
            yield ModelRequest(parts), batch

    @staticmethod
    def _requests(messages: Sequence[Message]) -> Iterator[list[Message]]:
        """The system prompt and the first user turn are one request, and so are the results of a turn."""
        joined = 2 if len(messages) > 1 and messages[0]["role"] == "system" and messages[1]["role"] == "user" else 0
        if joined:
            yield list(messages[:2])
        yield from batches(messages[joined:])

    def call(self, budget: int) -> Call:
        from pydantic_ai.models.test import TestModel
        from pydantic_ai_harness.compaction import SlidingWindowCompaction, compact_now

        strategy, own, model = SlidingWindowCompaction(max_tokens=budget, keep_tokens=budget), list(self.own), TestModel()
        count = self.count

        def compact() -> list[Any]:
            if count(own) <= budget:
                return own
            return drive(compact_now(strategy, own, model=model))

        return compact

    def stranger(self, own: Any) -> Message:
        text = "\n".join(str(part.content) for part in own.parts if hasattr(part, "content"))
        return {"role": "user" if own.kind == "request" else "assistant", "content": text}

    def count(self, own: Sequence[Any]) -> int:
        from pydantic_ai_harness.compaction._shared import estimate_token_count

        return int(estimate_token_count(list(own)))


# Small libraries for plain dicts ------------------------------------------------------------------------------------------


class TurnSafe(Peer):
    package = "turnsafe"
    name, unit = "turnsafe fit", "estimate"

    def call(self, budget: int) -> Call:
        import turnsafe

        own = list(self.own)
        return lambda: turnsafe.fit(own, budget, "openai")

    def count(self, own: Sequence[Any]) -> int:
        import turnsafe

        return sum(map(turnsafe.approx_tokens, own))


class CtxCompact(Peer):
    package = "ctx-compact"
    name, unit = "ctx-compact compact", "estimate"

    def call(self, budget: int) -> Call:
        import ctx_compact

        own = list(self.own)
        return lambda: ctx_compact.compact(own, max_tokens=budget)

    def kept(self, answer: Any) -> Iterable[Any]:
        return answer.messages if hasattr(answer, "messages") else answer

    def count(self, own: Sequence[Any]) -> int:
        import ctx_compact

        return sum(map(ctx_compact.estimate_tokens, own))


class ConvoPack(Peer):
    package = "convopack"
    name, unit = "convopack pack_openai", "estimate"

    def call(self, budget: int) -> Call:
        import convopack

        packer, own = convopack.Packer(budget=budget), list(self.own)
        return lambda: packer.pack_openai(own)

    def count(self, own: Sequence[Any]) -> int:
        import convopack

        tokenizer = convopack.get_tokenizer("approx")
        return int(sum(tokenizer.count(message.get("content") or "") for message in own))


OURS: tuple[type[Backcut], ...] = (Backcut, BackcutChars, BackcutMessages)
PEERS: tuple[type[Peer], ...] = (
    *OURS,
    LangChain,
    LangChainApproximate,
    LangChainTiktoken,
    Summarization,
    ClearToolUses,
    LiteLlm,
    Strands,
    AutogenBuffered,
    AutogenHeadAndTail,
    AutogenTokens,
    AgentFramework,
    LlamaIndex,
    Haystack,
    PydanticAi,
    TurnSafe,
    CtxCompact,
    ConvoPack,
)
BY_NAME = {peer.name: peer for peer in PEERS}
