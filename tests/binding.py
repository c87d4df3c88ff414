"""A service's rule for bound thinking: a block is taken back only behind what it was made behind.

Its signature holds a hash of all that was sent before it: system, tools and messages, without
thinking, markers of the cache and the client's billing line, which differs in every request.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

Json = dict[str, Any]
THINKING = ("thinking", "redacted_thinking")
_BILLING = "x-anthropic-billing-header"


class Binding:
    """The rule, and what it has found so far."""

    def __init__(self, reading: str = "error") -> None:
        """Refuse (`error`), or leave out without a word (`silent`)."""
        self.reading = reading
        self.refusals: list[str] = []
        self.failed: list[int] = []
        """Of each request, how many of its thoughts were not taken back."""
        self.taken_back: list[int] = []
        self._numbers = itertools.count(1)

    def refusal(self, body: Json) -> str | None:
        """Look at a request; why it is refused, if it is."""
        paths = [path for path, _, is_valid in _thoughts(body) if not is_valid]
        self.failed.append(len(paths))
        self.taken_back.append(sum(is_valid for _, _, is_valid in _thoughts(body)))
        if not paths or self.reading != "error":
            return None
        self.refusals.append(paths[0])
        return (
            f"{paths[0]}: Invalid `signature` in `thinking` block. The block is bound to a "
            "different conversation. Remove the block, or send what came before it unchanged."
        )

    def thought(self, body: Json) -> Json:
        """Make a thought as the answer to a request."""
        *_, (_, _, prefix) = _walk(body)
        signature = f"{prefix}-{next(self._numbers)}"
        return {"type": "thinking", "thinking": "", "signature": signature}


def _thoughts(body: Json) -> Iterator[tuple[str, Json, bool]]:
    for path, block, prefix in _walk(body):
        if block is not None and block.get("type") in THINKING:
            yield path, block, str(block.get("signature")).partition("-")[0] == prefix


def _walk(body: Json) -> Iterator[tuple[str, Json | None, str]]:
    """Every block with a hash of all before it; at last that of everything."""
    hashed = _hash("", _head(body))
    for number, message in enumerate(body["messages"]):
        content = message["content"]
        parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
        for place, block in enumerate(parts):
            yield f"messages.{number}.content.{place}", block, hashed
            if block.get("type") not in THINKING:
                hashed = _hash(hashed, [message["role"], _plain(block)])
    yield "", None, hashed


def _head(body: Json) -> list[Any]:
    system = body.get("system") or []
    parts = system if isinstance(system, list) else [{"type": "text", "text": system}]
    kept = [_plain(part) for part in parts if not part.get("text", "").startswith(_BILLING)]
    tools = [_plain(tool) for tool in body.get("tools") or [] if not tool.get("defer_loading")]
    return [kept, sorted(tools, key=lambda tool: str(tool.get("name")))]


def _plain(block: Json) -> Json:
    return {name: value for name, value in block.items() if name != "cache_control"}


def _hash(before: str, said: Any) -> str:
    raw = before + json.dumps(said, sort_keys=True)
    return hashlib.blake2b(raw.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
