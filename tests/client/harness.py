"""Runs the real client in a temporary home against the stub API: printed runs and live sessions."""

from __future__ import annotations

import itertools
import json
import os
import pty
import signal
import struct
import subprocess
import termios
import threading
import time
from dataclasses import dataclass
from fcntl import ioctl
from typing import TYPE_CHECKING, Any, Self

import pyte
from pexpect import EOF, TIMEOUT, fdpexpect

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from .stub_api import Request, StubApi

Json = dict[str, Any]

MODEL = "claude-sonnet-4-5"
API_KEY = "test-key-for-the-loopback-stub"
_ACCEPT_BYPASS = '{"skipDangerousModePermissionPrompt": true}'
SCREEN_COLUMNS, SCREEN_ROWS = 160, 50
_PRINT_TIMEOUT_S = 240.0
_SCREEN_TIMEOUT_S = 120.0
_EXIT_TIMEOUT_S = 10.0
_READ_TIMEOUT_S = 0.1
_PROMPT_SIGN = "\N{HEAVY RIGHT-POINTING ANGLE QUOTATION MARK ORNAMENT}"
_RULE = "\N{BOX DRAWINGS LIGHT HORIZONTAL}" * 10


class ClientTimeoutError(AssertionError):
    """The client did not get where the test wanted it in time; the message shows where it is."""


@dataclass(frozen=True, slots=True)
class PrintResult:
    """What one `-p` run left behind."""

    rc: int
    stdout: str
    stderr: str
    result: Json | None
    requests: list[Request]
    transcript: Path | None

    @property
    def session_id(self) -> str:
        """The session that was run."""
        assert self.result is not None, self.stdout + self.stderr
        return str(self.result["session_id"])

    @property
    def kinds(self) -> list[str]:
        """Who asked the API, in order."""
        return [request.kind for request in self.requests]

    @property
    def main(self) -> list[Request]:
        """What was asked for the conversation itself."""
        return [request for request in self.requests if request.kind == "main"]

    @property
    def rows(self) -> list[Json]:
        """The transcript's rows, or none where no transcript was written."""
        return read_rows(self.transcript) if self.transcript else []


class Client:
    """A client with a home, a config folder and a project of its own."""

    def __init__(self, binary: Path, stub: StubApi, root: Path) -> None:
        """Lay out the folders under `root` and seed the answers to the first-run dialogs."""
        self.binary = binary
        self.stub = stub
        # The client resolves its working folder, and keys trust and transcripts by the result.
        root = root.resolve()
        self.home, self.config = root / "home", root / "config"
        self.project, self.tmp = root / "project", root / "tmp"
        for folder in (self.home, self.config, self.project, self.tmp):
            folder.mkdir(parents=True)
        self._seed_state()

    def env(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        """Build the client's whole environment; nothing is inherited from ours."""
        return {
            "HOME": str(self.home),
            "CLAUDE_CONFIG_DIR": str(self.config),
            "TMPDIR": str(self.tmp),
            "CLAUDE_CODE_TMPDIR": str(self.tmp),
            "PATH": "/usr/bin:/bin:/usr/sbin:/sbin",
            "LANG": "C.UTF-8",
            "SHELL": "/bin/bash",
            "TERM": "xterm-256color",
            "ANTHROPIC_BASE_URL": self.stub.url,
            "ANTHROPIC_API_KEY": API_KEY,
            # The discard port refuses: whatever is not the stub stays unreachable.
            "HTTPS_PROXY": "http://127.0.0.1:9",
            "NO_PROXY": "127.0.0.1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            # Bypass mode refuses to run as root outside a sandbox.
            "IS_SANDBOX": "1",
            **(extra or {}),
        }

    def settings_path(self, scope: str = "user") -> Path:
        """Where the client reads settings of one scope: user, project or local."""
        if scope == "user":
            return self.config / "settings.json"
        name = "settings.json" if scope == "project" else "settings.local.json"
        return self.project / ".claude" / name

    def write_settings(self, settings: Json, scope: str = "user") -> None:
        """Add to one scope's settings file, which need not be there yet."""
        path = self.settings_path(scope)
        path.parent.mkdir(parents=True, exist_ok=True)
        before = json.loads(path.read_bytes()) if path.exists() else {}
        path.write_text(json.dumps(before | settings, indent=2), encoding="utf-8")

    def transcripts(self) -> list[Path]:
        """Main-thread transcripts of this home, oldest first."""
        found = self.config.glob("projects/*/*.jsonl")
        return sorted(found, key=lambda path: path.stat().st_mtime_ns)

    def run_print(
        self,
        prompt: str,
        *,
        model: str = MODEL,
        args: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
    ) -> PrintResult:
        """Run `claude -p` to its end."""
        before = len(self.stub.requests())
        command = self._command(model, ["-p", prompt, "--output-format", "json", *args])
        rc, stdout, stderr = self._run(command, self.env(env))
        result = _parsed(stdout)
        return PrintResult(
            rc, stdout, stderr, result, self.stub.requests()[before:], self._transcript_of(result)
        )

    def converse(
        self, *prompts: str, args: Sequence[str] = (), pause_s: float = 0
    ) -> tuple[Json, list[str]]:
        """Run `claude -p` on prompts, each sent so long after the one before was answered.

        Returns what the session said of itself at the last one, and the answers.
        """
        stream = ["--input-format", "stream-json", "--output-format", "stream-json", "--verbose"]
        begun: Json = {}
        answers: list[str] = []
        with subprocess.Popen(
            self._command(MODEL, ["-p", *stream, *args]),
            cwd=self.project,
            env=self.env(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
            start_new_session=True,
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            watchdog = threading.Timer(_PRINT_TIMEOUT_S, _kill_group, [process])
            watchdog.start()
            for prompt in prompts:
                time.sleep(pause_s * bool(answers))
                message = {"type": "user", "message": {"role": "user", "content": prompt}}
                process.stdin.write(json.dumps(message) + "\n")
                process.stdin.flush()
                for row in map(json.loads, process.stdout):
                    if row.get("subtype") == "init":
                        begun = row
                    if row["type"] == "result":
                        answers.append(row["result"])
                        break
            process.stdin.close()
            process.wait()
            watchdog.cancel()
        assert len(answers) == len(prompts), answers
        return begun, answers

    def interactive(
        self,
        *,
        model: str = MODEL,
        args: Sequence[str] = (),
        columns: int = SCREEN_COLUMNS,
        env: Mapping[str, str] | None = None,
    ) -> InteractiveClient:
        """Prepare a live session; enter it with `with`."""
        # By flag: accepted in a file, the client would write it into the user's settings.json.
        accept = [] if "--settings" in args else ["--settings", _ACCEPT_BYPASS]
        command = self._command(model, [*args, *accept])
        return InteractiveClient(command, self.env(env), self.project, columns)

    def _seed_state(self) -> None:
        state = {
            "hasCompletedOnboarding": True,
            "lastOnboardingVersion": "9.9.9",
            "theme": "dark",
            "customApiKeyResponses": {"approved": [API_KEY[-20:]], "rejected": []},
            "projects": {
                str(self.project): {
                    "hasTrustDialogAccepted": True,
                    "hasCompletedProjectOnboarding": True,
                }
            },
        }
        (self.config / ".claude.json").write_text(json.dumps(state), encoding="utf-8")

    def _command(self, model: str, args: Sequence[str]) -> list[str]:
        bypass = [] if "--permission-mode" in args else ["--permission-mode", "bypassPermissions"]
        return [str(self.binary), *args, "--model", model, *bypass]

    def _run(self, command: Sequence[str], env: Mapping[str, str]) -> tuple[int, str, str]:
        with subprocess.Popen(
            command,
            cwd=self.project,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            start_new_session=True,
        ) as process:
            try:
                stdout, stderr = process.communicate(timeout=_PRINT_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                _kill_group(process)
                stdout, stderr = process.communicate(timeout=_PRINT_TIMEOUT_S)
                raise ClientTimeoutError(f"no end\n{stdout}\n{stderr}") from None
        return process.returncode, stdout, stderr

    def _transcript_of(self, result: Json | None) -> Path | None:
        if result is None:
            return None
        session = result.get("session_id")
        return next((p for p in self.transcripts() if p.stem == session), None)


class InteractiveClient:
    """A live session on a pseudo-terminal, read through an emulated screen."""

    def __init__(
        self, command: Sequence[str], env: Mapping[str, str], cwd: Path, columns: int
    ) -> None:
        """Keep what is needed to start; `__enter__` starts."""
        self._start = (list(command), dict(env), cwd)
        self._columns = columns
        self._screen = pyte.Screen(columns, SCREEN_ROWS)
        self._stream = pyte.Stream(self._screen)

    def __enter__(self) -> Self:
        """Start the client on a terminal of its own."""
        command, env, cwd = self._start
        # Not pexpect.spawn: it forks this process, whose stub API runs in threads.
        ours, theirs = pty.openpty()
        ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", SCREEN_ROWS, self._columns, 0, 0))
        self._process = subprocess.Popen(
            command, cwd=cwd, env=env, stdin=theirs, stdout=theirs, stderr=theirs,
            start_new_session=True,
        )  # fmt: skip
        os.close(theirs)
        self._terminal = fdpexpect.fdspawn(
            ours, timeout=None, encoding="utf-8", codec_errors="replace", use_poll=True
        )
        return self

    def __exit__(self, *_: object) -> None:
        """Ask the client to leave, then make it, whatever state it is in."""
        if self._process.poll() is None:
            self._leave()
        _kill_group(self._process)
        self._process.wait(_EXIT_TIMEOUT_S)
        self._terminal.close()

    @property
    def pid(self) -> int:
        """The client's process id."""
        return self._process.pid

    @property
    def text(self) -> str:
        """The screen as last drawn, one line per row, trailing blanks cut."""
        return "\n".join(line.rstrip() for line in self._screen.display).rstrip()

    def wait_for(self, wanted: str | Callable[[str], bool]) -> str:
        """Read until the screen contains a text or satisfies a predicate; return the screen."""
        met = wanted if callable(wanted) else lambda screen: wanted in screen
        return self.wait_until(lambda: met(self.text), f"screen never met {wanted!r}")

    def wait_until(self, met: Callable[[], bool], complaint: str = "condition never met") -> str:
        """Keep the terminal drained until any condition holds; return the screen."""
        deadline = time.monotonic() + _SCREEN_TIMEOUT_S
        while not met():
            if not self._drain() or time.monotonic() > deadline:
                raise ClientTimeoutError(f"{complaint}; the screen is:\n{self.text}")
        return self.text

    def ready(self) -> str:
        """Wait for the input box."""
        return self.wait_for(_has_input_box)

    def say(self, line: str, *answers: str) -> str:
        """Type a line into the input box and wait for what comes of it; return the screen."""
        self.ready()
        self.send_line(line)
        for answer in answers:
            self.wait_for(answer)
        return self.text

    def send_keys(self, keys: str) -> None:
        """Type without pressing Enter."""
        self._terminal.send(keys)

    def send_line(self, line: str) -> None:
        """Type a line, see it on the screen, press Enter: pasted in one go, Enter is a newline."""
        self.send_keys(line)
        self.wait_for(lambda screen: line in _joined(screen))
        self.send_keys("\r")

    def _leave(self) -> None:
        deadline = time.monotonic() + _EXIT_TIMEOUT_S
        try:
            # Ctrl-C clears the input or asks to repeat; the second one ends the session.
            self.send_keys("\x03\x03")
            while self._process.poll() is None and time.monotonic() < deadline:
                self._drain()
        except OSError:
            pass

    def _drain(self) -> bool:
        """Feed what the client drew to the screen; False once it is gone."""
        try:
            self._stream.feed(self._terminal.read_nonblocking(65536, timeout=_READ_TIMEOUT_S))
        except TIMEOUT:
            return self._process.poll() is None
        except EOF:
            return False
        return True


def read_rows(transcript: Path) -> list[Json]:
    """Parse a transcript, line by line."""
    lines = transcript.read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines if line.strip()]


def _has_input_box(screen: str) -> bool:
    """Find the prompt sign under its rule; dialogs use the sign too, without one."""
    lines = [line.strip() for line in screen.splitlines()]
    return any(
        below.startswith(_PROMPT_SIGN) and above.startswith(_RULE)
        for above, below in itertools.pairwise(lines)
    )


def _joined(screen: str) -> str:
    """Undo the wrapping of the input box, as far as a typed line is concerned."""
    return " ".join(line.strip() for line in screen.splitlines())


def _parsed(stdout: str) -> Json | None:
    try:
        parsed = json.loads(stdout)
    except ValueError:
        return None
    return parsed if isinstance(parsed, dict) else None


def _kill_group(process: subprocess.Popen[Any]) -> None:
    """End the client and what it started: it leads a session of its own."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass
