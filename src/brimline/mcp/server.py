"""`brimline mcp`: tools for the model over standard input and output, until the input ends.

A message is a line of JSON. Two revisions of the protocol are spoken, as each request has it: up to
2025-11-25 a client greets first; since 2026-07-28 every request says in its `_meta` which revision
it is of. Nothing of ours is read before the first call of a tool.
"""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from itertools import chain, repeat
from typing import IO, TYPE_CHECKING, Any

from brimline import __version__
from brimline.fast import paths

if TYPE_CHECKING:
    from collections.abc import Iterable

    Json = dict[str, Any]

# The revisions with a greeting; a client that asks for another one is offered the last.
GREETED = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
UNGREETED = "2026-07-28"
_META = "io.modelcontextprotocol/"
_ABOUT_US = {"name": "brimline", "version": __version__}
_NOT_TO_BE_KEPT = {"ttlMs": 0, "cacheScope": "private"}
_NO_METHOD, _BAD_PARAMS, _BAD_REVISION = -32601, -32602, -32022
_MOST_CALLS_AT_ONCE = 16
# By then the client has what it waits for.
_SHARE_AFTER_S, _SHARE_EVERY_S = 2.0, 300.0


def main(arguments: list[str]) -> None:
    """Serve as the client has it registered.

    Args:
        arguments: the folders written down at install, each behind its name.
    """
    told = dict(zip(arguments[::2], arguments[1::2], strict=False))
    paths.pin(told["--data"], told.get("--client", ""), told.get("--home", ""))
    serve()


def serve() -> None:
    """Answer the client that started this process until it closes our input."""
    # The client says goodbye with SIGINT; there is nothing to clean up and nobody to tell.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    threading.Thread(target=_share_with_team_repeatedly, daemon=True).start()
    incoming, outgoing = _take_standard_streams()
    Conversation(outgoing).follow(incoming)


def _take_standard_streams() -> tuple[IO[bytes], IO[bytes]]:
    """Our input and output; programs that a tool starts find nothing in their place."""
    streams = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1):
        os.dup2(nowhere, descriptor)
    return streams


def _share_with_team_repeatedly() -> None:
    """Keep the team's server up to date, where the user has named one."""
    for wait_s in chain([_SHARE_AFTER_S], repeat(_SHARE_EVERY_S)):
        time.sleep(wait_s)
        from brimline.mcp import tools

        tools.send_waiting_entries_to_team()


class Conversation:
    """What one client asks: each call of a tool is answered beside the others."""

    def __init__(self, outgoing: IO[bytes]) -> None:
        """Name where the answers go."""
        self._outgoing, self._writing = outgoing, threading.Lock()
        self._places = threading.Semaphore(_MOST_CALLS_AT_ONCE)
        self._wanted: set[str | int] = set()
        """Calls whose answer is still waited for."""

    def follow(self, incoming: Iterable[bytes]) -> None:
        """Take in lines to the end; calls that are still running are then answered to nobody."""
        for line in incoming:
            message = _parse_message(line)
            if not message:
                continue
            if message["method"] == "notifications/cancelled":
                number = message["params"].get("requestId")
                self._wanted -= {number} if isinstance(number, str | int) else set()
            elif message["method"] == "tools/call" and "id" in message:
                self._places.acquire()
                self._wanted.add(message["id"])
                threading.Thread(target=self._answer_call, args=(message,)).start()
            elif "id" in message:
                self._send(message["id"], reply(message))

    def _answer_call(self, message: Json) -> None:
        answer = reply(message)
        self._places.release()
        if message["id"] in self._wanted:
            self._wanted.discard(message["id"])
            self._send(message["id"], answer)

    def _send(self, number: str | int, answer: Json) -> None:
        line = json.dumps({"jsonrpc": "2.0", "id": number} | answer).encode()
        with self._writing:
            try:
                self._outgoing.write(line + b"\n")
                self._outgoing.flush()
            except OSError:  # the client is gone, and soon our input too
                pass


def _parse_message(line: bytes) -> Json | None:
    """A request or a notice with an object of parameters; None for everything else."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        return None
    if not isinstance(message.get("params"), dict):
        message["params"] = {}
    is_sound = isinstance(message.get("method"), str)
    return message if is_sound and isinstance(message.get("id", 0), str | int) else None


class _RefusalError(Exception):
    """A request that cannot be answered: the members of the error."""

    def __init__(self, code: int, message: str, **more: Any) -> None:
        super().__init__({"code": code, "message": message} | more)


def reply(message: Json) -> Json:
    """The answer to a request: `result` or `error`."""
    method, params = message["method"], message["params"]
    meta = params.get("_meta")
    revision = meta.get(f"{_META}protocolVersion") if isinstance(meta, dict) else None
    try:
        if revision is None or method == "initialize":
            return {"result": _result(method, params)}
        _refuse_unknown_revision(revision)
        result = _discovery() if method == "server/discover" else _result(method, params)
    except _RefusalError as error:
        return {"error": error.args[0]}
    stamp = {"resultType": "complete", "_meta": {f"{_META}serverInfo": _ABOUT_US}}
    return {"result": result | stamp | ({} if method == "tools/call" else _NOT_TO_BE_KEPT)}


def _result(method: str, params: Json) -> Json:
    """Return what a method gives that both revisions have, or that begins the earlier one."""
    from brimline.mcp import tools

    if method == "initialize":
        asked = _text_among(params, "protocolVersion")
        agreed = asked if asked in GREETED else GREETED[-1]
        return {"protocolVersion": agreed, "serverInfo": _ABOUT_US} | _introduction()
    if method == "ping":
        return {}
    if method == "tools/list":
        return {"tools": [] if tools.are_left_to_plugin() else tools.TOOLS}
    if method == "tools/call":
        name, arguments = _text_among(params, "name"), params.get("arguments") or {}
        if not isinstance(arguments, dict):
            raise _RefusalError(_BAD_PARAMS, "`arguments` must be an object")
        text, failed = tools.answer(name, arguments)
        return {"content": [{"type": "text", "text": text}], "isError": failed}
    raise _RefusalError(_NO_METHOD, "Method not found")


def _refuse_unknown_revision(revision: Any) -> None:
    if revision != UNGREETED:
        known = {"supported": [UNGREETED], "requested": revision}
        raise _RefusalError(_BAD_REVISION, "Unsupported protocol version", data=known)


def _discovery() -> Json:
    return {"supportedVersions": [UNGREETED]} | _introduction()


def _introduction() -> Json:
    from brimline.mcp import tools

    instructions = "" if tools.are_left_to_plugin() else tools.INSTRUCTIONS
    return {"capabilities": {"tools": {"listChanged": False}}, "instructions": instructions}


def _text_among(params: Json, name: str) -> str:
    if not isinstance(params.get(name), str):
        raise _RefusalError(_BAD_PARAMS, f"`{name}` must be a text")
    return str(params[name])
