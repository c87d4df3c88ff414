"""The throwaway world of the benchmark: copies of the package, sessions, the processes to start.

The package is copied because an edit in the checkout during a run would make its bundle stale.
Nothing is inherited from the user's environment and nothing is written outside the folder.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import shutil
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import brimline
from benchmarks import typical_hook
from benchmarks.spawn import BenchError, Case
from brimline import testing
from brimline.fast import io, paths
from brimline.install import pythons
from brimline.install.entries import Wiring

if TYPE_CHECKING:
    from collections.abc import Callable

MEGABYTE = 1_000_000
EMPTY = "empty interpreter (`-I -S -c pass`)"
_WINDOW_TOKENS = 200_000
_QUIET_TOKENS = 60_000
_CROSSING_TOKENS = 125_000
_GROWTH_TOKENS = 180
_COMMAND_OUTPUT = "tests/test_module.py::test_that_something_holds PASSED\n" * 24
REPLACED_SIZES = (100_000, 10 * MEGABYTE)
BELOW = "PostToolUse with an output just below the threshold"
_INLINE_CHARACTERS = 30_000
_SPARE_BYTES = 300 * MEGABYTE
_SEED = 30


class World:
    """A folder with a home, a project, two copies of the package and some sessions."""

    def __init__(self, folder: str, interpreter: str) -> None:
        """Lay out the folders and precompile the package.

        Raises:
            BenchError: the interpreter cannot compile the package, or the first hook failed.
        """
        self.folder = folder
        self.interpreter = interpreter
        self.home_dir = f"{folder}/home/.claude/brimline"
        self.project = f"{folder}/project"
        self.measured: dict[str, int] = {}
        os.makedirs(self.home_dir, mode=0o700)
        os.makedirs(self.project)
        self.bundled = self._copy_package("bundled")
        self.plain = self._copy_package("plain")
        for bundle in Path(self.plain).glob("brimline/__pycache__/*.bin"):
            bundle.unlink()
        loads = [pythons.is_precompiled(interpreter, root) for root in (self.bundled, self.plain)]
        if loads != [True, False]:
            raise BenchError("The fast-path bundle is not where the benchmark expects it.")
        self._start_session()

    def environment(self) -> dict[str, str]:
        """Everything a process of this world sees."""
        return {
            "HOME": f"{self.folder}/home",
            "PATH": "/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "CLAUDE_CONFIG_DIR": f"{self.folder}/home/.claude",
            "CLAUDE_PROJECT_DIR": self.project,
            "BRIMLINE_HOME": self.home_dir,
        }

    def cases(self, sizes: list[int]) -> list[Case]:
        """The empty interpreter, quiet hooks at every size, and the others at the first size."""
        quiet = [self._quiet(quiet_name(size), size, self.bundled) for size in sizes]
        stdin = quiet[0].stdin
        return [
            Case(EMPTY, [self.interpreter, "-I", "-S", "-c", "pass"], stdin, _silent),
            *quiet,
            self._statusline(sizes[0]),
            self._crossing(sizes[0]),
            self._below_threshold(sizes[0]),
            *[self._before_compaction(size) for size in sizes[:2]],
            *[self._replacing(size, sizes[0]) for size in REPLACED_SIZES],
            self._quiet("quiet PostToolUse without the bundle", sizes[0], self.plain),
            Case(
                "typical Python hook (`python hook.py`)",
                [self.interpreter, os.path.abspath(typical_hook.__file__), "PostToolUse"],
                stdin,
                _silent,
            ),
        ]

    def check_records(self, starts: int) -> None:
        """See that every hook really measured: one that fails is silent too.

        Raises:
            BenchError: a hook logged an error, or left no record of its reading.
        """
        if os.path.exists(paths.error_log(self.home_dir)):
            raise BenchError("A hook logged an error during the run.")
        for session_id, tokens in self.measured.items():
            spool = Path(paths.session_dir(self.home_dir, session_id), "spool.jsonl")
            found = [json.loads(line) for line in spool.read_bytes().splitlines()]
            lines = [line for line in found if line["event"] == "PostToolUse"]
            if [line["occupancy"] for line in lines] != [tokens] * starts:
                raise BenchError("A hook did not record what it should have measured.")

    def _quiet(self, name: str, size_bytes: int, root: str) -> Case:
        stdin, _ = self._tool_event(_QUIET_TOKENS, size_bytes)
        return Case(name, self._command(root, "PostToolUse"), stdin, _silent)

    def _statusline(self, size_bytes: int) -> Case:
        session = self._session(_QUIET_TOKENS, size_bytes)
        payload = testing.statusline_event(session, _WINDOW_TOKENS, _QUIET_TOKENS)
        stdin = self._stdin(session, payload)
        return Case("status line", self._command(self.bundled, "statusline"), stdin, _shows_figures)

    def _crossing(self, size_bytes: int) -> Case:
        stdin, session_id = self._tool_event(_CROSSING_TOKENS, size_bytes)
        command = self._command(self.bundled, "PostToolUse")
        forget = _forget_announcements(paths.session_dir(self.home_dir, session_id))
        return Case("PostToolUse that crosses a tier", command, stdin, _speaks_once, forget)

    def _before_compaction(self, size_bytes: int) -> Case:
        """A session of which no ledger has been made yet: the dearest there is."""
        session = self._session(_QUIET_TOKENS, size_bytes)
        payload = testing.event("PreCompact", session, trigger="auto", custom_instructions=None)
        stdin = self._stdin(session, payload)

        def forget() -> None:
            shutil.rmtree(paths.carry_dir(self.home_dir), ignore_errors=True)

        command = self._command(self.bundled, "PreCompact")
        return Case(precompact_name(size_bytes), command, stdin, _steers, forget)

    def _below_threshold(self, size_bytes: int) -> Case:
        output = _log(7_000)
        stdin, _ = self._tool_event(_QUIET_TOKENS, size_bytes, output)
        return Case(BELOW, self._command(self.bundled, "PostToolUse"), stdin, _silent)

    def _replacing(self, output_bytes: int, size_bytes: int) -> Case:
        """An output that is stored for the first time, in a file as the client hands it over."""
        output = _log(output_bytes)
        whole = f"{self.folder}/output-{output_bytes}.txt"
        Path(whole).write_text(output, encoding="utf-8")
        persisted = {"persistedOutputPath": whole, "persistedOutputSize": len(output)}
        stdin, session_id = self._tool_event(
            _QUIET_TOKENS, size_bytes, output[:_INLINE_CHARACTERS], persisted
        )

        def forget() -> None:
            shutil.rmtree(f"{self.home_dir}/store", ignore_errors=True)
            # The same call again would pass.
            for offer in Path(paths.session_dir(self.home_dir, session_id)).glob("offload-*"):
                offer.unlink()

        command = self._command(self.bundled, "PostToolUse")
        return Case(replacing_name(output_bytes), command, stdin, _replaces, forget)

    def _tool_event(
        self,
        tokens: int,
        size_bytes: int,
        output: str = _COMMAND_OUTPUT,
        response: dict[str, Any] | None = None,
    ) -> tuple[str, str]:
        """A file with the event of a tool call, and the id of its session."""
        session = self._session(tokens, size_bytes)
        self.measured[session.session_id] = tokens
        # Nothing is swapped where the model could not fetch it back.
        event = testing.bash_event(session, output, permission_mode="bypassPermissions")
        event["tool_response"] |= response or {}
        return self._stdin(session, event), session.session_id

    def _command(self, root: str, event: str) -> list[str]:
        """What the installer writes into the settings."""
        launcher = f"{root}/bin/hook"
        wired = Wiring(self.interpreter, root, self.home_dir, launcher)
        if not os.path.exists(launcher):
            io.replace_file(launcher, wired.launcher_bytes(), 0o700)
        return wired.hook_argv(event)

    def _session(self, tokens: int, size_bytes: int) -> testing.SessionBuilder:
        """A session of about that size whose last request took that many tokens.

        The status line has seen it too, as it has in use.
        """
        number = len(os.listdir(self.folder))
        session = testing.SessionBuilder(
            f"{self.folder}/session-{number}.jsonl",
            session_id=f"{number:08d}-2222-4333-8444-555555555555",
            cwd=self.project,
            now=time.time() - 86_400,
        )
        _write_rows(session, tokens, min(size_bytes, MEGABYTE))
        _repeat(session.path, size_bytes)
        stdin = self._stdin(session, testing.statusline_event(session, _WINDOW_TOKENS, tokens))
        self._run("statusline", stdin)
        return session

    def _stdin(self, session: testing.SessionBuilder, payload: dict[str, Any]) -> str:
        kind = payload.get("hook_event_name", "statusline")
        path = f"{session.path.removesuffix('.jsonl')}.{kind}.json"
        Path(path).write_text(json.dumps(payload), encoding="utf-8")
        return path

    def _copy_package(self, name: str) -> str:
        root = f"{self.folder}/{name}"
        source = os.path.dirname(os.path.abspath(brimline.__file__))
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(source, f"{root}/brimline", ignore=ignored)
        problem = pythons.precompile_or_problem(self.interpreter, root)
        if problem:
            raise BenchError(problem)
        return root

    def _start_session(self) -> None:
        session = testing.SessionBuilder(f"{self.folder}/none.jsonl", cwd=self.project)
        payload = testing.event("SessionStart", session, source="startup")
        self._run("SessionStart", self._stdin(session, payload))

    def _run(self, event: str, stdin: str) -> None:
        with open(stdin, "rb") as file:
            done = subprocess.run(
                self._command(self.bundled, event),
                stdin=file,
                env=self.environment(),
                capture_output=True,
                check=False,
                timeout=60,
            )
        if done.returncode or os.path.exists(paths.error_log(self.home_dir)):
            raise BenchError(f"The {event} hook failed while the sessions were prepared.")


def quiet_name(size_bytes: int) -> str:
    """What the quiet hook at a transcript of that size is called."""
    return f"quiet PostToolUse, transcript of {size_name(size_bytes)}"


def precompact_name(size_bytes: int) -> str:
    """What the hook before a compaction at a transcript of that size is called."""
    return f"PreCompact without a ledger, transcript of {size_name(size_bytes)}"


def replacing_name(output_bytes: int) -> str:
    """What the hook that swaps an output of that size is called."""
    return f"PostToolUse that swaps {size_name(output_bytes)} for a reference"


def size_name(size_bytes: int) -> str:
    """A size as people say it."""
    if size_bytes >= 1_000 * MEGABYTE:
        return f"{size_bytes / (1_000 * MEGABYTE):.3g} GB"
    return f"{size_bytes / MEGABYTE:.3g} MB"


def has_room(folder: str, size_bytes: int) -> bool:
    """Whether a transcript of that size fits on the disk with something to spare."""
    return shutil.disk_usage(folder).free > size_bytes + _SPARE_BYTES


def _write_rows(session: testing.SessionBuilder, tokens: int, size_bytes: int) -> None:
    """Prompts, tool calls and results of very different lengths; the last row is a tool call."""
    results = random.Random(_SEED)
    lengths: list[int] = []
    while sum(lengths) + 1_500 * len(lengths) < size_bytes:
        lengths.append(min(30_000, int(results.lognormvariate(6.8, 1.2))))
    for index, length in enumerate(lengths):
        if index % 12 == 0:
            session.prompt("Now look at the next module and mend what the tests complain about.")
        earlier_tokens = tokens - _GROWTH_TOKENS * (len(lengths) - index)
        session.reply(earlier_tokens, testing.text_block("I will run the tests of that module."))
        call_id = session.tool_call(earlier_tokens, "Bash", command="make test")
        session.tool_result(call_id, (_COMMAND_OUTPUT * 24)[:length])
    session.tool_call(tokens, "Bash", command="make test")


def _repeat(path: str, size_bytes: int) -> None:
    """Let a transcript grow to its size by repeating its rows."""
    rows = Path(path).read_bytes()
    with open(path, "ab") as file:
        file.writelines(itertools.repeat(rows, round(size_bytes / len(rows)) - 1))
        # What is still to be written would disturb the measurement.
        file.flush()
        os.fsync(file.fileno())


def _forget_announcements(folder: str) -> Callable[[], None]:
    def forget() -> None:
        for claim in Path(folder).glob("spoke-*"):
            claim.unlink()

    return forget


def _log(size_bytes: int) -> str:
    """The output of a build with something wrong here and there."""
    chance = random.Random(_SEED)
    lines: list[str] = []
    length = 0
    while length < size_bytes:
        number = chance.randrange(100_000)
        kind = chance.choice(["compiling", "linking", "checking", "warning: unused", "testing"])
        lines.append(f"[{len(lines)}] {kind} src/module_{number % 977}/part_{number}.c\n")
        length += len(lines[-1])
    return "".join(lines)[:size_bytes]


def _steers(output: bytes) -> str | None:
    return None if b"In the summary keep" in output else "did not say what the summary should hold"


def _replaces(output: bytes) -> str | None:
    try:
        text = json.loads(output)["hookSpecificOutput"]["updatedToolOutput"]["stdout"]
    except (ValueError, KeyError, TypeError):
        return "did not print one JSON document with updatedToolOutput"
    return None if text.startswith("[brimline stored") else "did not refer to the output"


def _silent(output: bytes) -> str | None:
    return "printed something" if output else None


def _shows_figures(output: bytes) -> str | None:
    return None if b"30% of 200k window" in output else "did not show the figures"


def _speaks_once(output: bytes) -> str | None:
    try:
        document = json.loads(output)
        note = document["hookSpecificOutput"]["additionalContext"]
    except (ValueError, KeyError, TypeError):
        return "did not print one JSON document with additionalContext"
    return None if "L1" in note else "did not announce the tier that was entered"
