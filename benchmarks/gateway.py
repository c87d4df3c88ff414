"""What the gateway adds to the first byte, and whether it holds under load and kills.

    python benchmarks/gateway.py [--rounds 40] [--load 60] [--kills 100 [--session FILE]]

The first byte is measured against a bare pass-through of the same libraries, interleaved in one
run; the service answers at once, so that everything measured is between the two.
"""

from __future__ import annotations

import argparse
import asyncio
import collections
import http.client
import itertools
import json
import logging
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from typing import Any
from urllib.parse import urlsplit

Json = dict[str, Any]
_MEGABYTE = 1_000_000
_HERE = os.path.dirname(os.path.abspath(__file__))
_USAGE = {"input_tokens": 3, "cache_read_input_tokens": 9, "cache_creation_input_tokens": 5}
_ANSWER = json.dumps({"type": "message", "content": [], "usage": _USAGE}).encode()
_LOG = "\n".join(f"2026-01-08 12:00:{n % 60:02d} request {n} served" for n in range(400))
_HEADERS = {"content-type": "application/json", "x-api-key": "none"}
_TIMEOUT_S = 120.0


def main() -> None:
    """Run all parts that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=40, help="of the first byte")
    parser.add_argument("--load", type=float, default=0, help="seconds of 50 parallel streams")
    parser.add_argument("--kills", type=int, default=0, help="of the gateway during a replay")
    parser.add_argument("--session", help="a recorded one for the kills, read by BENCH_JUDGE")
    parser.add_argument("--serve", choices=("service", "bare"), help=argparse.SUPPRESS)
    parser.add_argument("--upstream", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        _serve(options.serve, options.upstream)
        return
    with tempfile.TemporaryDirectory() as home:
        if options.rounds:
            print(first_byte(home, options.rounds))
        if options.load:
            print(load(home, options.load))
        if options.kills:
            sys.path.insert(0, os.path.dirname(_HERE))
            from benchmarks.gateway_kills import kills

            print(kills(home, options.kills, options.session))


class Process:
    """A server that prints its base URL first."""

    def __init__(self, home: str, *command: str) -> None:
        env = {"PATH": os.environ["PATH"], "HOME": home, "BRIMLINE_HOME": f"{home}/brimline"}
        self.process = subprocess.Popen(
            [sys.executable, *command], stdout=subprocess.PIPE, text=True, env=env
        )
        assert self.process.stdout is not None  # noqa: S101 - it was asked for
        self.url = self.process.stdout.readline().strip()

    def stop(self, number: int = signal.SIGTERM) -> None:
        """End it."""
        self.process.send_signal(number)
        self.process.wait(_TIMEOUT_S)

    def peak_bytes(self) -> int | None:
        """The most memory that it took so far, where the system tells."""
        try:
            with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
                told = [line.split() for line in file if line.startswith("VmHWM")]
            return int(told[0][1]) * 1_024
        except (OSError, IndexError):
            return None


def _own(home: str, role: str, upstream: str = "") -> Process:
    return Process(home, os.path.join(_HERE, "gateway.py"), "--serve", role, "--upstream", upstream)


def start(home: str, upstream: str, *options: str) -> Process:
    """A gateway."""
    return Process(home, "-m", "brimline", "gateway", "--upstream", upstream, *options)


def _serve(role: str, upstream: str) -> None:
    import uvicorn

    from brimline.gateway import serving

    listening = serving.listen(0)
    print(f"http://127.0.0.1:{listening.getsockname()[1]}", flush=True)
    app: Any = _service if role == "service" else _Bare(upstream)
    logging.disable()  # of streams that are cut on purpose
    config = uvicorn.Config(app, lifespan="off", log_config=None, access_log=False)
    uvicorn.Server(config).run(sockets=[listening])


async def _body(receive: Any) -> bytes:
    parts = []
    while True:
        message = await receive()
        parts.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(parts)


async def _service(scope: Json, receive: Any, send: Any) -> None:
    body = await _body(receive)
    headers = [(b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    if scope["path"].startswith("/stream"):
        # The body's mark comes back in every part, so that a mix-up shows.
        mark = json.loads(body)["mark"]
        for part in parts_of(mark):
            await send({"type": "http.response.body", "body": part, "more_body": True})
            if not mark.startswith("slow"):
                await asyncio.sleep(0.005)
        if mark.startswith("cut"):
            raise ConnectionError("in the middle")
    await send(
        {"type": "http.response.body", "body": b"" if "stream" in scope["path"] else _ANSWER}
    )


def parts_of(mark: str) -> list[bytes]:
    """What is streamed for a mark: to slow readers 30 MB, to one that is cut off half."""
    count = 50 if mark.startswith("cut") else 100
    padding = b"." * (300_000 if mark.startswith("slow") else 0)
    return [b"%s %d%s\n" % (mark.encode(), n, padding) for n in range(count)]


class _Bare:
    """A pass-through that does nothing else."""

    def __init__(self, upstream: str) -> None:
        import httpx2

        self._upstream = upstream
        self._client = httpx2.AsyncClient(timeout=None)

    async def __call__(self, scope: Json, receive: Any, send: Any) -> None:
        body = await _body(receive)
        request = self._client.build_request("POST", self._upstream + scope["path"], content=body)
        response = await self._client.send(request, stream=True)
        headers = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        async for chunk in response.aiter_raw():
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body", "body": b""})
        await response.aclose()


def conversation(steps: int, size: int, mark: str, *, is_bulky: bool) -> Json:
    """A request of about so many bytes; with bulk in it, which the gateway replaces, or without."""
    each = size // steps
    messages: list[Json] = [{"role": "user", "content": [{"type": "text", "text": f"Go {mark}."}]}]
    for n in range(steps):
        line = f"def part{mark}{n}(value): return table{n}[value]\n"
        # Pages of a file pass at arrival, whatever their size.
        arguments = {"file_path": f"/w/m{n}.py", "offset": 1}
        call = {"type": "tool_use", "id": f"t{n}", "name": "Read", "input": arguments}
        result = {"type": "tool_result", "tool_use_id": f"t{n}", "content": line * (each // 45)}
        if is_bulky and n % 5 == 0:
            call |= {"name": "Bash", "input": {"command": f"journalctl -n {n}"}}
            result["content"] = f"{_LOG}\n{mark} {n}"
        messages += [
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": [result]},
        ]
    tools = [{"name": "Read", "input_schema": {"type": "object"}}]
    return {"model": "claude-sonnet-5", "tools": tools, "messages": messages, "mark": mark}


def ask(
    url: str,
    path: str,
    raw: bytes,
    session: str,
    more: dict[str, str] | None = None,
    pause_s: float = 0.0,
) -> tuple[float, bytes, int]:
    """Seconds to the first byte, the answer and its status; after a pause, if one is made."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=_TIMEOUT_S)
    try:
        connection.connect()
        start = time.perf_counter()
        headers = _HEADERS | {"X-Claude-Code-Session-Id": session} | (more or {})
        connection.request("POST", parts.path + path, raw, headers)
        response = connection.getresponse()
        first = response.read1(1)
        taken = time.perf_counter() - start
        time.sleep(pause_s)
        return taken, first + response.read(), response.status
    finally:
        connection.close()


def first_byte(home: str, rounds: int) -> str:
    """The table: medians, and ratios to the bare pass-through."""
    service = _own(home, "service")
    bare, gateway = _own(home, "bare", service.url), start(home, service.url)
    bodies = {
        "bare": (bare, conversation(3, _MEGABYTE, "plain", is_bulky=False)),
        "gateway, unchanged body": (gateway, conversation(3, _MEGABYTE, "plain", is_bulky=False)),
        "gateway, changed body": (gateway, conversation(40, _MEGABYTE, "bulky", is_bulky=True)),
    }
    times: dict[str, list[float]] = {name: [] for name in bodies}
    try:
        for turn in range(rounds + 2):
            for name, (process, body) in bodies.items():
                # Another mark each time: what was sent before would not be looked at anew.
                raw = json.dumps(body | {"mark": f"{turn}"}).encode()
                taken, _, _ = ask(process.url, "/v1/messages", raw, name.partition(",")[2])
                if turn > 1:
                    times[name].append(taken)
    finally:
        for process in (gateway, bare, service):
            process.stop()
    base = statistics.median(times["bare"])
    rows = ["| first byte, 1 MB | median ms | × bare |", "|---|---:|---:|"]
    for name, measured in times.items():
        middle = statistics.median(measured)
        rows.append(f"| {name} | {middle * 1_000:.1f} | {middle / base:.2f} |")
    return "\n".join(rows)


def load(home: str, seconds: float) -> str:
    """50 streams at once; each must get back its own marks, all of them, in order.

    Of ten, one reads nothing for two seconds while 30 MB wait for it, and one is cut off by the
    service: it must hear all that was sent and that it is not the end.
    """
    service = _own(home, "service")
    gateway = start(home, f"{service.url}/stream")
    begun, until = threading.Event(), 0.0
    wrong: list[str] = []
    done: collections.Counter[str] = collections.Counter()

    def stream(number: int) -> None:
        kind = {8: "slow", 9: "cut"}.get(number % 10, "usual")
        begun.wait(_TIMEOUT_S)
        for count in itertools.count():
            if time.monotonic() >= until:
                break
            mark = f"{kind}{number}n{count}"
            size = 4 * _MEGABYTE if number % 25 == 0 else 50_000
            body = conversation(10, size, mark, is_bulky=number % 2 == 0)
            if not _is_whole(gateway.url, mark, json.dumps(body).encode()):
                wrong.append(mark)
            done[kind] += 1

    threads = [threading.Thread(target=stream, args=(number,)) for number in range(50)]
    try:
        for thread in threads:
            thread.start()
        until = time.monotonic() + seconds
        begun.set()
        for thread in threads:
            thread.join()
        peak = gateway.peak_bytes()
    finally:
        gateway.stop()
        service.stop()
    told = f"{peak / 1e6:.0f} MB" if peak else "unknown"
    return (
        f"{done.total()} streams, {len(threads)} at once for {seconds:.0f} s, bodies up to 4 MB; "
        f"{done['slow']} to slow readers, {done['cut']} cut by the service: {len(wrong)} mixed up, "
        f"lost or ended as if whole {wrong[:2] or ''}; the gateway's peak was {told}"
    )


def _is_whole(url: str, mark: str, raw: bytes) -> bool:
    """Whether a stream brings what the service sends for its mark, and ends as it ended there."""
    expected = b"".join(parts_of(mark))
    pause_s = 2.0 if mark.startswith("slow") else 0.0
    try:
        _, answer, _ = ask(url, "/v1/messages", raw, mark, pause_s=pause_s)
    except http.client.IncompleteRead as error:
        return mark.startswith("cut") and error.partial == expected[1:]
    except (OSError, http.client.HTTPException):
        return False
    return not mark.startswith("cut") and answer == expected


if __name__ == "__main__":
    main()
