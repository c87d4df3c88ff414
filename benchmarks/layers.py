"""What the compaction layers give on recorded sessions, judged request by request.

    BENCH_CORPUS=DIR BENCH_JUDGE=DIR python benchmarks/layers.py [POLICY…]

The judge is a folder with `gateway_replay.py`, which replays sessions through a gateway over HTTP;
here the library stands in the place of the gateway, so that a policy takes seconds.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import itertools
import json
import os
import sys
from pathlib import Path
from typing import Any

from brimline import models
from brimline.compaction import blocks, compactor
from brimline.fast.policy import Policy
from brimline.gauge import window

_POLICIES: dict[str, dict[str, Any]] = {
    "L1 alone": {"worth_ratio": 2.0},
    "layers, thinking bound": {"is_bound": True},
    "layers, as shipped": {},
}
# The service's own editing, by its documented defaults: beyond so many tokens all results but the
# last three are cleared; the second figure is what that has to save.
_SERVICE = {"the service's own, clear_at_least 0": 0, "the service's own, 20k": 20_000}
_TRIGGER_TOKENS, _KEPT_RESULTS = 100_000, 3
_CLEARED = "[cleared to save context]"


class _Layers:
    """A policy by our library."""

    def __init__(self, settings: compactor.Settings) -> None:
        self._settings = settings
        self._state = compactor.State()

    def edit(self, body: Any) -> Any:
        model = models.lookup_model(body["model"])
        tokens = self._state.prompt_tokens
        nothing = Policy(values={"context_window": None}, client={}, learned={})
        size = window.resolve_window(
            nothing, model, statusline=None, observed=None, occupancy_tokens=tokens
        )
        brim = size.tokens - model.reserve_tokens
        settings = dataclasses.replace(self._settings, brim_tokens=brim)
        return compactor.compact(body, self._state, settings).body

    def observe(self, _body: Any, usage: dict[str, Any]) -> None:
        compactor.note_occupancy(self._state, usage)


class _Service:
    """What the service does by itself where it is asked to clear tool results."""

    def __init__(self, least_tokens: int) -> None:
        self._least = least_tokens
        self._cleared: set[str] = set()
        self._prompt_tokens = 0

    def edit(self, body: Any) -> Any:
        found = [block for block in blocks.read_blocks(body) or () if block.kind == blocks.RESULT]
        due = [block for block in found[:-_KEPT_RESULTS] if block.id not in self._cleared]
        saved = sum(block.tokens for block in due)
        if self._prompt_tokens > _TRIGGER_TOKENS and saved >= self._least:
            self._cleared.update(block.id for block in due)
        cleared = [block for block in found if block.id in self._cleared]
        places = {(block.message, block.place): {"content": _CLEARED} for block in cleared}
        return blocks.body_with_replaced_fields(body, places) if places else body

    def observe(self, _body: Any, usage: dict[str, Any]) -> None:
        self._prompt_tokens = blocks.prompt_tokens_of_usage(usage)


def _digests(body: Any) -> list[int]:
    """A figure for each block of a request, marks of the cache aside."""
    return [
        hash((message["role"], json.dumps(_unmarked(block), sort_keys=True)))
        for message in body["messages"]
        for block in _blocks(message["content"])
    ]


def _blocks(content: Any) -> list[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _unmarked(block: Any) -> Any:
    return {key: value for key, value in block.items() if key != "cache_control"}


class _Answer:
    status = 200

    def __init__(self, message: Any) -> None:
        self._data = json.dumps(message, ensure_ascii=False).encode()

    def read(self) -> bytes:
        return self._data

    def getheader(self, _name: str) -> str:
        return "application/json"


class _Upstream:
    """What the judge's own service does, without a socket."""

    def __init__(self) -> None:
        self.bodies: list[Any] = []
        self.raw = b""
        self.answer: Any = None
        self.usage: Any = None
        self.sent: list[Any] = []
        self.prefixes: list[tuple[list[int], list[int]]] = []

    def share_unchanged(self) -> tuple[int, int]:
        """How many requests leave all that was sent before as it was, of those that continue one.

        Where the client itself changed what it had sent, a request begins anew and is not counted.
        """
        going_on = [
            (old[1], new[1])
            for old, new in itertools.pairwise(self.prefixes)
            if new[0][: len(old[0])] == old[0]
        ]
        return sum(new[: len(old)] == old for old, new in going_on), len(going_on)

    def connection(self, policy: _Layers | _Service) -> Any:
        upstream = self

        class Connection:
            def __init__(self, *_: object, **__: object) -> None:
                self._answer = _Answer(None)

            def request(self, _method: str, _path: str, data: bytes, _headers: Any) -> None:
                body = json.loads(data)
                arrived = policy.edit(body)
                upstream.raw = data if arrived is body else b""
                upstream.sent.append(arrived)
                upstream.prefixes.append((_digests(body), _digests(arrived)))
                upstream.bodies.append(arrived)
                usage = upstream.usage(arrived)
                policy.observe(body, usage)
                told = upstream.answer
                self._answer = _Answer({**told, "usage": {**told["usage"], **usage}})

            def getresponse(self) -> _Answer:
                return self._answer

        return Connection


def main() -> None:
    """Print the judge's summary for every policy."""
    parser = argparse.ArgumentParser(description=__doc__)
    known = [*_POLICIES, *_SERVICE]
    parser.add_argument("policies", nargs="*", default=known, metavar="POLICY")
    parser.add_argument("--rows", action="store_true", help="print each session too")
    options = parser.parse_args()
    corpus, tools = (os.environ.get(name) for name in ("BENCH_CORPUS", "BENCH_JUDGE"))
    if not corpus or not tools:
        sys.exit("BENCH_CORPUS and BENCH_JUDGE name no folders: nothing to measure")
    sys.path.insert(0, tools)
    judge: Any = importlib.import_module("gateway_replay")
    for name in options.policies:
        rows = []
        unchanged = continuing = 0
        for path in sorted(Path(corpus).glob("*.jsonl")):
            made = compactor.Settings(**_POLICIES[name]) if name in _POLICIES else None
            policy = _Layers(made) if made else _Service(_SERVICE[name])
            upstream = _Upstream()
            judge.http.client.HTTPConnection = upstream.connection(policy)
            rows.append(judge.replay(str(path), "http://library", upstream))
            of_session = upstream.share_unchanged()
            unchanged, continuing = unchanged + of_session[0], continuing + of_session[1]
            if options.rows:
                print(json.dumps(rows[-1]), flush=True)
        share = f"{unchanged / max(1, continuing):.1%} of {continuing:,} requests"
        print(f"{name}: {judge.summary(rows)}", flush=True)
        print(f"  {share} change nothing that was sent before", flush=True)


if __name__ == "__main__":
    main()
