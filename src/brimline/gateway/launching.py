"""`brimline run`: a client behind a gateway of its own, and nothing left when it ends.

The socket is ours, the gateway a process that serves it: one that dies is started again on the same
socket, and what stands in for what is on disk, so that the client notices nothing. Where it cannot
be started again, the client is told what to do.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

from brimline import clientsettings
from brimline.errors import BrimlineError
from brimline.gateway import serving

if TYPE_CHECKING:
    import socket

CLIENT = "claude"
SERVICE = "https://api.anthropic.com"
_BASE_URL = "ANTHROPIC_BASE_URL"
_OTHER_SERVICES = {
    "CLAUDE_CODE_USE_BEDROCK": "Bedrock",
    "CLAUDE_CODE_USE_VERTEX": "Vertex",
    "CLAUDE_CODE_USE_FOUNDRY": "Foundry",
}
_PERCENT, _WINDOW = "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE", "CLAUDE_CODE_AUTO_COMPACT_WINDOW"
# Larger than any: the client takes the model's own window where that is smaller.
_ANY_WINDOW = "1000000"
_PASSED_ON = ("SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2")
# A gateway that lives no longer than this would not live longer the next time.
_SHORT_LIFE_S = 5.0
_GOODBYE_S = 5.0
_KILLED_EXIT = 128
_GONE = (
    "brimline's gateway has ended and could not be started again. Leave the client and go on with "
    "`brimline run -- --continue`, or without the gateway with `claude --continue`"
)


def run(arguments: list[str], compact_pct: int | None) -> int:
    """Run a client to its end; returns its exit code.

    Raises:
        BrimlineError: there is no client, or it would not use the service that the gateway speaks.
    """
    serving.require_libraries()
    client = shutil.which(CLIENT)
    if client is None:
        raise BrimlineError(f"`{CLIENT}` is not on the PATH: install Claude Code first")
    settings, rest = _split_settings(arguments)
    env = _client_env(settings)
    secret = serving.fresh_secret()
    with serving.listen(0) as listening:
        given = {_BASE_URL: serving.base_url(listening, secret)}
        if compact_pct is not None:
            given[_PERCENT] = str(compact_pct)
            given[_WINDOW] = str(env.get(_WINDOW) or _ANY_WINDOW)
        own_env = settings.get("env")
        settings["env"] = (own_env if isinstance(own_env, dict) else {}) | given
        gateway = _Gateway(listening, secret, _upstream(env))
        try:
            gateway.start()
            return _attend([client, "--settings", json.dumps(settings), *rest])
        finally:
            gateway.stop()


def _split_settings(arguments: list[str]) -> tuple[dict[str, Any], list[str]]:
    """What `--settings` among the client's arguments says, and the other arguments."""
    rest: list[str] = []
    told = ""
    words = iter(arguments)
    for word in words:
        if word == "--":
            rest += [word, *words]
        elif word == "--settings":
            told = next(words, "")
        elif word.startswith("--settings="):
            told = word.partition("=")[2]
        else:
            rest.append(word)
    if not told:
        return {}, rest
    try:
        if not told.lstrip().startswith("{"):
            with open(told, encoding="utf-8") as file:
                told = file.read()
        found = json.loads(told)
    except (OSError, ValueError) as error:
        raise BrimlineError(f"--settings cannot be read ({error})") from None
    if not isinstance(found, dict):
        raise BrimlineError("--settings holds no JSON object")
    return found, rest


def _client_env(settings: dict[str, Any]) -> dict[str, Any]:
    """The variables as the client would see them: its settings are stronger than ours."""
    env: dict[str, Any] = dict(os.environ)
    files = clientsettings.settings_files(os.getcwd()).values()
    found = [*map(clientsettings.read_settings, files)]
    # `--settings` stands above the files but for those of the organisation, which come last.
    found.insert(-1, settings)
    for one in found:
        own = one.get("env")
        env |= own if isinstance(own, dict) else {}
    return env


def _upstream(env: dict[str, Any]) -> str:
    for name, service in _OTHER_SERVICES.items():
        if str(env.get(name) or "").lower() not in ("", "0", "false", "no", "off"):
            raise BrimlineError(
                f"{name} is set: the gateway does not speak {service}'s protocol; "
                f"start `{CLIENT}` without it"
            )
    return str(env.get(_BASE_URL) or SERVICE)


def _attend(command: list[str]) -> int:
    """The client in the foreground: the terminal and its keys are all the client's."""
    process: subprocess.Popen[bytes] | None = None
    early: list[int] = []

    def pass_on(number: int, _frame: object = None) -> None:
        if process is None:
            early.append(number)  # it is being started
        else:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(number)

    numbers = [getattr(signal, name) for name in _PASSED_ON if hasattr(signal, name)]
    before = {number: signal.signal(number, pass_on) for number in numbers}
    # Keys reach the client by themselves: it is in the terminal's foreground like us.
    for number in (signal.SIGINT, signal.SIGQUIT):
        before[number] = signal.signal(number, lambda *_: None)
    try:
        process = subprocess.Popen(command)
        for missed in early:
            pass_on(missed)
        code = process.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return code if code >= 0 else _KILLED_EXIT - code


class _Gateway:
    """A gateway as a process, watched by a thread."""

    def __init__(self, listening: socket.socket, secret: str, upstream: str) -> None:
        self._listening = listening
        self._secret = secret
        self._upstream = upstream
        self._process: subprocess.Popen[bytes] | None = None
        self._lifeline: int | None = None
        self._ending = threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)

    def start(self) -> None:
        self._spawn()
        self._watcher.start()

    def stop(self) -> None:
        self._ending.set()
        if self._lifeline is not None:
            os.close(self._lifeline)
        process = self._process
        if process is not None:
            try:
                process.wait(_GOODBYE_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _spawn(self) -> None:
        reading, writing = os.pipe()
        if self._lifeline is not None:
            os.close(self._lifeline)
        self._lifeline = writing
        number = self._listening.fileno()
        command = [sys.executable, "-P", "-m", "brimline", "gateway", "--upstream", self._upstream]
        command += ["--inherited", str(number), str(reading)]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(number, reading),
            # Keys on the terminal are not for it, and its path is nobody else's business.
            start_new_session=True,
            env=os.environ | {"BRIMLINE_GATEWAY_PATH": self._secret},
        )
        os.close(reading)

    def _watch(self) -> None:
        while self._process is not None:
            since = time.monotonic()
            self._process.wait()
            if self._ending.is_set():
                return
            if time.monotonic() - since < _SHORT_LIFE_S:
                _tell_all(self._listening, _GONE, self._ending)
                return
            self._spawn()


def _tell_all(listening: socket.socket, message: str, ending: threading.Event) -> None:
    """Answer every request with a sentence for the person."""
    error = {"type": "error", "error": {"type": "invalid_request_error", "message": message}}
    body = json.dumps(error).encode()
    head = (
        "HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\nconnection: close\r\n"
        f"content-length: {len(body)}\r\n\r\n"
    )
    listening.settimeout(0.5)
    while not ending.is_set():
        try:
            connection, _ = listening.accept()
        except TimeoutError:
            continue
        except OSError:
            return
        with connection, contextlib.suppress(OSError):
            connection.settimeout(_GOODBYE_S)
            _read_request(connection)
            connection.sendall(head.encode() + body)


def _read_request(connection: socket.socket) -> None:
    """All that a request says: an answer before its end would be lost."""
    data = b""
    while b"\r\n\r\n" not in data and (part := connection.recv(65_536)):
        data += part
    head, _, rest = data.partition(b"\r\n\r\n")
    lines = head.lower().split(b"\r\n")
    told = [line.partition(b":")[2] for line in lines if line.startswith(b"content-length:")]
    left = (int(told[0]) if told and told[0].strip().isdigit() else 0) - len(rest)
    while left > 0 and (part := connection.recv(65_536)):
        left -= len(part)
