"""Kills of a gateway in the middle of conversations to which all layers apply.

After every restart the last request that had arrived is sent again, unchanged and at its own time:
the same bytes must arrive, markers for the cache included; only one that was refused for its length
may arrive shorter. Between two requests a block that was sent before may change by a decision that
was on record before the later one was sent; whatever else differs is a fault.
"""

from __future__ import annotations

import collections
import http.client
import importlib
import itertools
import json
import os
import random
import signal
import sqlite3
import sys
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, NamedTuple

from benchmarks import gateway
from brimline.compaction import blocks
from brimline.fast import paths

if TYPE_CHECKING:
    from collections.abc import Iterator

Json = dict[str, Any]
_REPLAYED = "x-replay-time"
# To the service a body of so many bytes fills the window, of one that was made or recorded.
_WINDOW_TOKENS, _MADE_BYTES, _RECORDED_BYTES = 200_000, 70_000, 600_000
_MOST_STEPS = 400
_OK = 200
_SETTLED_S = 0.1


class Asked(NamedTuple):
    """A request as the client sends it."""

    raw: bytes
    at: str


class Arrived(NamedTuple):
    """A request as it came to the service, and what was on record by then."""

    at: str
    raw: bytes
    decided: dict[str, float]
    was_refused: bool


@dataclass
class Tally:
    """What was seen."""

    kills: int = 0
    requests: int = 0
    refused: int = 0
    again: collections.Counter[str] = field(default_factory=collections.Counter)
    layers: collections.Counter[int] = field(default_factory=collections.Counter)
    faults: int = 0

    def __str__(self) -> str:
        """One line."""
        layers = ", ".join(f"layer {layer}: {n}" for layer, n in sorted(self.layers.items()))
        again = ", ".join(f"{n} {name}" for name, n in self.again.most_common())
        return (
            f"{self.kills} kills, {self.requests} requests, {self.refused} refused as too long; "
            f"stand-ins by {layers}; the last request again after the restart: {again}; "
            f"blocks changed between requests without a decision on record: {self.faults}"
        )


class Service:
    """Keeps what arrives, and refuses what exceeds the window."""

    def __init__(self, window_bytes: int) -> None:
        self.arrived: list[Arrived] = []
        self.stood_in: set[tuple[str, int]] = set()
        self.home = ""
        service = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: object) -> None:
                pass

            def do_POST(self) -> None:
                length = int(self.headers["content-length"])
                raw = self.rfile.read(length)
                if len(raw) < length:  # killed while it wrote
                    return
                refused = length > window_bytes
                record = on_record(service.home)
                service.stood_in.update((name, layer) for name, _, layer in record)
                decided = {name: at for name, at, _ in record}
                service.arrived.append(Arrived(self.headers[_REPLAYED], raw, decided, refused))
                body = json.dumps(_answer(length * _WINDOW_TOKENS // window_bytes)).encode()
                head = f"HTTP/1.1 {400 if refused else 200} -\r\ncontent-type: application/json\r\n"
                head += f"content-length: {len(body)}\r\n\r\n"
                try:
                    self.wfile.write(head.encode() + body)
                except OSError:
                    self.close_connection = True

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._server.handle_error = lambda *_: None  # type: ignore[method-assign] # the killed
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """End it."""
        self._server.shutdown()


def _answer(tokens: int) -> Json:
    if tokens > _WINDOW_TOKENS:
        message = f"prompt is too long: {tokens} tokens > {_WINDOW_TOKENS} maximum"
        return {"type": "error", "error": {"type": "invalid_request_error", "message": message}}
    usage = {"input_tokens": 3, "cache_read_input_tokens": tokens, "output_tokens": 9}
    return {"type": "message", "content": [], "usage": usage}


def on_record(home: str) -> list[tuple[str, float, int]]:
    """What stands in by the gateway's file: block, the time of its request, layer."""
    path = paths.stand_ins_database(f"{home}/brimline")
    try:
        database = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        try:
            return database.execute(
                "SELECT block, at, layer FROM stand_ins ORDER BY request"
            ).fetchall()
        finally:
            database.close()
    except sqlite3.Error:
        return []


def generated(mark: str) -> Iterator[Asked]:
    """A conversation with bulk, pages of files, long inputs and prose, of which most grow cold."""
    messages: list[Json] = [{"role": "user", "content": [{"type": "text", "text": f"Go {mark}."}]}]
    at = time.time()
    for n in range(_MOST_STEPS):
        messages = [*messages, *_step(mark, n)]
        # From time to time a pause in which the cache expires.
        at += 400 if n % 29 == 28 else 20
        tools = [{"name": "Read", "input_schema": {"type": "object"}}]
        body = {"model": "claude-sonnet-4-5", "tools": tools, "messages": messages}
        yield Asked(json.dumps(body).encode(), f"{at:.3f}")


def _step(mark: str, n: int) -> list[Json]:
    source = "".join(f"def {mark}_part{n}_{i}(value): return table{n}[{i}]\n" for i in range(150))
    log = "\n".join(f"2026-01-08 12:00:{i % 60:02d} {mark} {n} request {i}" for i in range(250))
    calls: list[tuple[str, Json, str]] = [
        ("Bash", {"command": f"journalctl -u {mark}{n}"}, log),
        ("Read", {"file_path": f"/w/{mark}{n}.py", "offset": 1}, source),
        ("Write", {"file_path": f"/w/{mark}new{n}.py", "content": source[:3_000]}, "written"),
        ("Grep", {"pattern": f"{mark}_part{n - 2}_7"}, source[:900]),
    ]
    name, arguments, result = calls[n % len(calls)]
    prose = f"Now comes step {n} of {mark}. " + f"It looks at what was planned for {n}. " * 12
    call = {"type": "tool_use", "id": f"{mark}t{n}", "name": name, "input": arguments}
    answer = {"type": "tool_result", "tool_use_id": f"{mark}t{n}", "content": result}
    return [
        {"role": "assistant", "content": [{"type": "text", "text": prose}, call]},
        {"role": "user", "content": [answer]},
    ]


def recorded(path: str) -> Iterator[Asked]:
    """A recorded session as if it began now, read by the judge's own reader.

    A gateway that starts drops what stood in a month ago.
    """
    sys.path.insert(0, os.environ["BENCH_JUDGE"])
    found = list(importlib.import_module("sessions").requests(path))
    shift = time.time() - found[0]["ts"]
    at = 0.0
    for one in found:
        # No two at the same time: it tells them apart.
        at = max(at + 0.001, (one["ts"] or 0.0) + shift)
        yield Asked(json.dumps(one["body"]).encode(), f"{at:.3f}")


def kills(home: str, count: int, session: str | None) -> str:
    """Conversations one after the other until so many kills; each with a record of its own."""
    chance, tally = random.Random(7), Tally()
    service = Service(_RECORDED_BYTES if session else _MADE_BYTES)
    for number in itertools.count():
        if tally.kills >= count:
            break
        service.home = f"{home}/{number}"
        os.mkdir(service.home)
        service.arrived = []
        asked = list(recorded(session) if session else generated(f"talk{number}"))
        _replay(service, asked, chance, tally, count)
        tally.requests += len(service.arrived)
        tally.refused += sum(one.was_refused for one in service.arrived)
        by_time = {one.at: one.raw for one in asked}
        for before, now in itertools.pairwise(service.arrived):
            tally.faults += _unexplained(by_time[before.at], by_time[now.at], before, now)
    tally.layers.update(layer for _, layer in service.stood_in)
    service.close()
    return str(tally)


def _replay(
    service: Service, asked: list[Asked], chance: random.Random, tally: Tally, count: int
) -> None:
    """One conversation, as far as the service takes it."""
    by_time = {one.at: one for one in asked}
    place = 0
    while tally.kills < count and place < len(asked):
        process = gateway.start(service.home, service.url)
        if service.arrived:
            last = service.arrived[-1]
            seen = len(service.arrived)
            _ask(process.url, by_time[last.at])
            tally.again[_compared(last, service.arrived[seen])] += 1
        timer = threading.Timer(chance.uniform(0.05, 1.0), process.stop, (signal.SIGKILL,))
        timer.start()
        try:
            while place < len(asked):
                if _ask(process.url, asked[place]) != _OK:
                    place = len(asked)
                place += 1
        except (OSError, http.client.HTTPException):
            tally.kills += 1
        timer.cancel()
        timer.join()
        if process.process.poll() is None:
            process.stop()
        time.sleep(_SETTLED_S)


def _ask(url: str, asked: Asked) -> int:
    return gateway.ask(url, "/v1/messages", asked.raw, "kill", {_REPLAYED: asked.at})[2]


def _flat(raw: bytes) -> list[Json]:
    """The blocks; where the cache is looked up is no part of what they say."""
    found = []
    for message in json.loads(raw)["messages"]:
        content = message["content"]
        parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
        found += [{k: v for k, v in part.items() if k != "cache_control"} for part in parts]
    return found


def _compared(before: Arrived, now: Arrived) -> str:
    if before.raw == now.raw:
        return "the same bytes"
    return "shorter after its refusal" if before.was_refused else "OTHER BYTES"


def _unexplained(earlier: bytes, later: bytes, before: Arrived, now: Arrived) -> int:
    """Blocks that differ though nothing was decided about them since the earlier request."""
    asked = [
        [block.id for block in blocks.read_blocks(json.loads(raw)) or ()]
        for raw in (earlier, later)
    ]
    arrived = [_flat(one.raw) for one in (before, now)]
    since = float(before.at)
    changed = 0
    for name, same, one, other in zip(*asked, *arrived, strict=False):
        if name != same:
            break  # the client itself went on with something else
        decided = now.decided.get(name, 0.0)
        is_known = decided > since or (before.was_refused and decided == since)
        changed += one != other and not is_known
    return changed
