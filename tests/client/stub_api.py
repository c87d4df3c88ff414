"""A scripted stand-in for the Messages API on loopback, and the log of what the client sent it."""

from __future__ import annotations

import itertools
import json
import threading
from collections import deque
from dataclasses import dataclass, field, replace
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.binding import Binding

Json = dict[str, Any]
Kind = Literal["main", "subagent", "compaction", "helper", "count_tokens"]

COMPACTION_PROMPT = "Your task is to create a detailed summary of the conversation so far"
SUMMARY = "<analysis>\nstub\n</analysis>\n\n<summary>\nSTUB-SUMMARY of the work so far.\n</summary>"
# Valid for every helper met so far: title generation asks for JSON, the others take any text.
HELPER_REPLY = '{"title": "stub title", "isNewTopic": false}'

_GATE_TIMEOUT_S = 120.0


def filled(occupancy_tokens: int, output_tokens: int = 20) -> Json:
    """Spread a wanted occupancy over the three prompt-side figures, as a warm cache does."""
    fresh = min(3, occupancy_tokens)
    created = min(500, occupancy_tokens - fresh)
    return {
        "input_tokens": fresh,
        "output_tokens": output_tokens,
        "cache_read_input_tokens": occupancy_tokens - fresh - created,
        "cache_creation_input_tokens": created,
    }


def measured(body: Json) -> int:
    """The tokens of a request, as far as its length tells."""
    return len(json.dumps(body)) // 3


@dataclass(frozen=True, slots=True)
class Turn:
    """One scripted answer: content blocks with their usage, or an HTTP error."""

    blocks: tuple[Json, ...] = ()
    usage: Json = field(default_factory=partial(filled, 10))
    """Empty: as long as the request is."""
    applied_edits: tuple[Json, ...] = ()
    """What the service says that it left out of the request."""
    status: int = 200
    error: str = ""
    gate: threading.Event | None = None
    """Keeps the stream open after the last block until this is set."""

    @property
    def stop_reason(self) -> str:
        """Why the model stopped, which follows from what it said."""
        return "tool_use" if any(b["type"] == "tool_use" for b in self.blocks) else "end_turn"


_tool_ids = itertools.count(1)


def text(reply: str, usage: Json | None = None) -> Turn:
    """Answer with text, which ends the turn."""
    return Turn(({"type": "text", "text": reply},), usage or filled(10))


def tool(name: str, arguments: Json, usage: Json | None = None) -> Turn:
    """Answer with one tool call."""
    return tools((name, arguments), usage=usage)


def tools(*calls: tuple[str, Json], usage: Json | None = None) -> Turn:
    """Answer with several tool calls in one message."""
    blocks = tuple(
        {"type": "tool_use", "id": f"toolu_stub{next(_tool_ids):06d}", "name": name, "input": args}
        for name, args in calls
    )
    return Turn(blocks, usage or filled(10))


def bash(command: str, usage: Json | None = None) -> Turn:
    """Answer with one Bash call."""
    return tool("Bash", {"command": command, "description": "stub"}, usage)


def rounds(*occupancies: int) -> list[Turn]:
    """Tool calls that take as long as the client takes to write its rows, as real ones do."""
    return [bash("sleep 0.3", filled(tokens)) for tokens in occupancies]


def agent(prompt: str = "look", usage: Json | None = None) -> Turn:
    """Answer with a subagent that is waited for."""
    task = {"description": "d", "prompt": prompt, "subagent_type": "general-purpose"}
    return tool("Agent", {**task, "run_in_background": False}, usage)


def held(turn: Turn, gate: threading.Event) -> Turn:
    """Stream a turn's blocks at once, but its end only when `gate` is set."""
    return replace(turn, gate=gate)


def too_long(used_tokens: int, maximum_tokens: int) -> Turn:
    """Refuse the request as the API does when the prompt exceeds the window."""
    message = f"prompt is too long: {used_tokens} tokens > {maximum_tokens} maximum"
    return Turn(status=400, error=message)


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it arrived."""

    kind: Kind
    body: Json

    @property
    def messages(self) -> list[Json]:
        """The conversation as the model would see it."""
        messages: list[Json] = self.body.get("messages", [])
        return messages

    def blocks(self, block_type: str) -> list[Json]:
        """All content blocks of one type, in order."""
        return [b for m in self.messages for b in _blocks(m) if b.get("type") == block_type]

    def results(self) -> list[str]:
        """The tool results as text."""
        return [_flat(block["content"]) for block in self.blocks("tool_result")]

    def errors(self) -> list[str]:
        """The tool results that tell of a failure or a refusal."""
        found = [block for block in self.blocks("tool_result") if block.get("is_error")]
        return [_flat(block["content"]) for block in found]

    def seen_text(self) -> str:
        """Every message flattened to text: what the model sees, system prompt aside."""
        return "\n".join(_flat(m.get("content")) for m in self.messages)


def _blocks(message: Json) -> list[Json]:
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [b for b in content or [] if isinstance(b, dict)]


def _flat(content: Any) -> str:
    """Join the text of blocks, descending into tool results."""
    if isinstance(content, list):
        return "\n".join(_flat(part) for part in content)
    if isinstance(content, dict):
        return _flat(content.get("text", content.get("content", "")))
    return content if isinstance(content, str) else ""


_FALLBACK = text("STUB-DONE")


class StubApi:
    """The server: script it, point a client at `url`, then read `requests`."""

    def __init__(self) -> None:
        """Bind a free loopback port; nothing is served before `start`."""
        self.helper_reply = HELPER_REPLY
        self.binding: Binding | None = None
        """Where it is set, the model thinks before each answer, and takes that back by a rule."""
        self._requests: list[Request] = []
        self._turns: deque[Turn] = deque()
        self._each: tuple[Turn, ...] = ()
        self._turns_of_sessions: dict[str, deque[Turn]] = {}
        self._subagent_turns: deque[Turn] = deque()
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._server = _Server(self)
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
        )

    def start(self) -> None:
        """Serve until `stop`."""
        self._thread.start()

    def stop(self) -> None:
        """Stop serving and free the port."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        """The base URL a client is given."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def script(self, *turns: Turn) -> None:
        """Queue answers for the main thread; when they run out, it is told the end."""
        with self._lock:
            self._turns.extend(turns)

    def script_each(self, *turns: Turn) -> None:
        """Give the same answers to every session, whichever of them asks first."""
        self._each = turns

    def script_subagents(self, *turns: Turn) -> None:
        """Queue answers for subagents, whichever asks first."""
        with self._lock:
            self._subagent_turns.extend(turns)

    def requests(self, kind: Kind | None = None) -> list[Request]:
        """List the requests received so far, of one kind or of all."""
        with self._lock:
            return [r for r in self._requests if kind in (None, r.kind)]

    def answer(self, request: Request) -> Turn:
        """Log a request and pick its answer; only main and subagent requests consume turns."""
        with self._lock:
            self._requests.append(request)
            if request.kind == "main":
                turns = self._turns
                if self._each:
                    session = str(request.body["metadata"]["user_id"])
                    turns = self._turns_of_sessions.setdefault(session, deque(self._each))
                return turns.popleft() if turns else _FALLBACK
            if request.kind == "subagent":
                return self._subagent_turns.popleft() if self._subagent_turns else _FALLBACK
        return text(SUMMARY if request.kind == "compaction" else self.helper_reply)

    def next_id(self, prefix: str) -> str:
        """Make an identifier no other answer of this server carries."""
        return f"{prefix}_stub{next(self._numbers):08d}"


def classify(path: str, headers: dict[str, str], body: Json) -> Kind:
    """Tell who asks, from the marks the client leaves on its requests."""
    if path.partition("?")[0].endswith("/count_tokens"):
        return "count_tokens"
    if any(COMPACTION_PROMPT in _flat(m.get("content")) for m in _unanswered(body)):
        return "compaction"
    if "x-claude-code-agent-id" in headers:
        return "subagent"
    return "main" if body.get("tools") else "helper"


def _unanswered(body: Json) -> list[Json]:
    """Messages since the last reply: newer models get system messages after the user's."""
    waiting = itertools.takewhile(
        lambda message: message.get("role") != "assistant", reversed(body.get("messages", []))
    )
    return list(waiting)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, api: StubApi) -> None:
        self.api = api
        super().__init__(("127.0.0.1", 0), _Handler)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
        """Keep the test output quiet."""

    def do_POST(self) -> None:
        """Answer the only method the client uses."""
        raw = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        body: Json = json.loads(raw)
        request = Request(classify(self.path, headers, body), body)
        turn = self._refusal(request) or self.server.api.answer(request)
        try:
            self._reply(request, turn)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def _refusal(self, request: Request) -> Turn | None:
        """What a service that binds its thinking says to thinking behind something else."""
        binding = self.server.api.binding
        if binding is None or request.kind not in ("main", "compaction", "count_tokens"):
            return None
        refusal = binding.refusal(request.body)
        return None if refusal is None else Turn(status=400, error=refusal)

    def _reply(self, request: Request, turn: Turn) -> None:
        if request.kind == "count_tokens" and turn.status == 200:
            self._send_json(200, {"input_tokens": len(json.dumps(request.body)) // 4})
        elif turn.status != 200:
            error = {"type": "invalid_request_error", "message": turn.error}
            self._send_json(turn.status, {"type": "error", "error": error})
        elif request.body.get("stream"):
            self._send_stream(turn, self._message(request, turn))
        else:
            self._send_json(200, self._message(request, turn))

    def _message(self, request: Request, turn: Turn) -> Json:
        binding = self.server.api.binding
        thought = [binding.thought(request.body)] if binding and request.kind == "main" else []
        return {
            "id": self.server.api.next_id("msg"),
            "type": "message",
            "role": "assistant",
            "model": request.body.get("model"),
            "content": [*thought, *turn.blocks],
            "stop_reason": turn.stop_reason,
            "stop_sequence": None,
            "usage": turn.usage or filled(measured(request.body)),
            "context_management": {"applied_edits": list(turn.applied_edits)},
        }

    def _send_json(self, status: int, payload: Json) -> None:
        raw = json.dumps(payload).encode()
        self.send_response(status)
        self.send_header("request-id", self.server.api.next_id("req"))
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def _send_stream(self, turn: Turn, message: Json) -> None:
        self.send_response(200)
        self.send_header("request-id", self.server.api.next_id("req"))
        self.send_header("content-type", "text/event-stream")
        # No length and no chunks: the end of the stream is the end of the connection.
        self.send_header("connection", "close")
        self.end_headers()
        for event in _events(message):
            if event["type"] == "message_delta" and turn.gate is not None:
                turn.gate.wait(_GATE_TIMEOUT_S)
            self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
            self.wfile.flush()
        self.close_connection = True


def _events(message: Json) -> Iterator[Json]:
    """Cut a finished message into the stream events that build it."""
    start = {**message, "content": [], "stop_reason": None, "context_management": None}
    start["usage"] = {**message["usage"], "output_tokens": 1}
    yield {"type": "message_start", "message": start}
    for index, block in enumerate(message["content"]):
        empty, *deltas = _opened(block)
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    ending = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    left_out = {"context_management": message["context_management"]}
    yield {"type": "message_delta", "delta": ending, "usage": message["usage"], **left_out}
    yield {"type": "message_stop"}


def _opened(block: Json) -> tuple[Json, ...]:
    """Split a block into its empty start and the deltas that fill it."""
    if block["type"] == "tool_use":
        partial = json.dumps(block["input"])
        return {**block, "input": {}}, {"type": "input_json_delta", "partial_json": partial}
    if block["type"] == "thinking":
        thought = {"type": "thinking_delta", "thinking": block["thinking"]}
        signed = {"type": "signature_delta", "signature": block["signature"]}
        return {**block, "thinking": "", "signature": ""}, thought, signed
    if block["type"] == "thinking":
        signed = {"type": "signature_delta", "signature": block["signature"]}
        return {**block, "signature": ""}, signed
    return {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
