"""Frameworks with messages of their own. Those that keep the system prompt beside the list are given it there."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any

from conversations import Message, chars
from peers import token_count

from .peer import Call, Peer, batches, calls_of, drive, names_of


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
                used = [{"toolUse": {"toolUseId": given, "name": name, "input": json.loads(text)}} for given, name, text in calls_of(first)]
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
                yield AssistantMessage(content=calls or text, thought=text if calls else None, source="agent"), batch
            else:
                yield UserMessage(content=text, source="user"), batch

    def context(self, budget: int) -> Any:
        from autogen_core.model_context import BufferedChatCompletionContext

        return BufferedChatCompletionContext(budget, list(self.own))

    def call(self, budget: int) -> Call:
        context = self.context(budget)
        return lambda: drive(context.get_messages())

    def strange(self, own: Any) -> list[Message]:
        return [{"role": "user", "content": str(own.content)}]


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
        from agent_framework import Content
        from agent_framework import Message as Own

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

    def strange(self, own: Any) -> list[Message]:
        return [{"role": str(own.role), "content": own.text}]

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

    def strange(self, own: Any) -> list[Message]:
        return [{"role": str(own.role.value), "content": own.content, **own.additional_kwargs}]

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

    def strange(self, own: Any) -> list[Message]:
        return [{"role": own.role.value, "content": own.text}]

    def count(self, own: Sequence[Any]) -> int:
        return int(self.counter().count(list(own)))


class PydanticAi(Peer):
    package = "pydantic-ai-harness"
    name, unit, outside = "pydantic-ai-harness SlidingWindowCompaction", "estimate", True
    note = "keep_tokens is a floor by its own documentation, not a ceiling"

    def build(self, messages: Sequence[Message]) -> Iterator[tuple[Any, list[Message]]]:
        from pydantic_ai.messages import (
            ModelRequest,
            ModelResponse,
            TextPart,
            ToolCallPart,
            ToolReturnPart,
            UserPromptPart,
        )

        names = names_of(messages)
        for batch in batches(messages):
            if batch[0]["role"] == "assistant":
                parts: list[Any] = [TextPart(batch[0]["content"])] if batch[0]["content"] else []
                yield ModelResponse(parts + [ToolCallPart(name, text, given) for given, name, text in calls_of(batch[0])]), batch
                continue
            parts = []
            for one in batch:
                if one["role"] == "tool":
                    parts.append(ToolReturnPart(names.get(one["tool_call_id"], ""), one["content"], one["tool_call_id"]))
                else:
                    parts.append(UserPromptPart(one["content"]))
            yield ModelRequest(parts), batch

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

    def strange(self, own: Any) -> list[Message]:
        roles = {"user-prompt": "user", "text": "assistant"}  # calls and results stay as they are
        return [{"role": roles[part.part_kind], "content": str(part.content)} for part in own.parts]

    def count(self, own: Sequence[Any]) -> int:
        from pydantic_ai_harness.compaction._shared import estimate_token_count

        return int(estimate_token_count(list(own)))
