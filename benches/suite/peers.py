"""Each trimmer as its users call it.

Nothing is imported before it is used: each peer has a process of its own, and one that is not installed is told as such.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar

import backcut
from conversations import Message, chars
from peers import MODEL, token_count

from . import frameworks
from .peer import Call, Peer

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

    def strange(self, own: Any) -> list[Message]:
        from langchain_core.messages import convert_to_openai_messages

        return convert_to_openai_messages([own])

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
    note = "the summary is a fixed text, and is not timed; the task would live on in it"

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
    frameworks.Strands,
    frameworks.AutogenBuffered,
    frameworks.AutogenHeadAndTail,
    frameworks.AutogenTokens,
    frameworks.AgentFramework,
    frameworks.LlamaIndex,
    frameworks.Haystack,
    frameworks.PydanticAi,
    TurnSafe,
    CtxCompact,
    ConvoPack,
)
BY_NAME = {peer.name: peer for peer in PEERS}
