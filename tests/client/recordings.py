"""Records sessions in the real client, each twice: compacted by a mod, and never compacted.

    python -m tests.client.recordings [by_us/parallel …]

writes `tests/transcript/compacted_by_mods.tar.xz`, for whatever reads sessions to be compared on.
Of each conversation it keeps both files and what the service was sent: the last request, and what
a resume sends, as recorded and, where a resume undoes the compaction, after `session repair`.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import sys
import tarfile
import tempfile
import threading
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brimline.transcript import row

from .brimline_home import Installed
from .fetch import cache_dir, fetch
from .harness import MODEL, Client
from .modded import BRIM, place_by_handle, read_all
from .stub_api import Request, StubApi, Turn, agent, bash, filled, held, measured, text, tool
from .test_mod_compaction import png

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ARCHIVE = Path(__file__).parents[1] / "transcript" / "compacted_by_mods.tar.xz"
# In every file, so it is not a folder of the machine that records.
_ROOT = Path(tempfile.gettempdir()) / "brimline-recordings"
_LONG_AGO = 1_700_000_000
# Attachments in which the user or a hook speaks.
# For the client alone.
_BOOKKEEPING = frozenset(
    ("thinking_stripped", "advisor_stripped", "thinking_drop", "tool_results_cut", "credential_org")
) | {"prompt_snapshot", "prompt_render_point", "deferred_tools_record"}
_OURS = ("queued_command", "hook_additional_context", "hook_success", "task_reminder")


class Stage:
    """One conversation in a client of its own; `turns` are answers, `say` is what a person does."""

    def __init__(self, binary: Path, *, compacts: bool, usages: Sequence[dict[str, Any]]) -> None:
        """Begin; where `usages` are given the requests are measured as those of another take."""
        shutil.rmtree(_ROOT, ignore_errors=True)
        self.stub = _MeasuringStub(usages)
        self.stub.start()
        self.client = Client(binary, self.stub, _ROOT)
        self.installed = Installed(self.client)
        self.args: list[str] = []
        self.model = MODEL
        self.session_id = ""
        if compacts:
            self.client.write_settings(BRIM)

    def say(self, prompt: str, *turns: Turn, args: Sequence[str] = ()) -> None:
        """Send a prompt, which is answered by these turns and a last word."""
        self.stub.script(*turns, text(f"Done: {prompt}"))
        resumed = ["--resume", self.session_id] if self.session_id else []
        run = self.client.run_print(prompt, model=self.model, args=[*self.args, *resumed, *args])
        assert run.rc == 0, run.stderr
        assert set(run.kinds) <= {"main", "subagent", "helper"}, run.kinds
        self.session_id = run.session_id

    @property
    def transcript(self) -> Path:
        """The session's file."""
        return next(p for p in self.client.transcripts() if p.stem == self.session_id)

    def file(self, name: str, content: str | bytes) -> str:
        """Put a file into the project."""
        path = self.client.project / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    def files(self, first: int = 0) -> list[Path]:
        """Eight long files and fifteen short ones: as many calls as our mod leaves alone."""
        counts = [120] * 8 + [2] * 15
        return [
            Path(self.file(f"part{at}.txt", f"value {at} of the table, in words\n" * count))
            for at, count in enumerate(counts, first)
        ]


class _MeasuringStub(StubApi):
    """Measures requests by their length, or gives back what another take was measured."""

    def __init__(self, usages: Sequence[dict[str, Any]]) -> None:
        super().__init__()
        self._given = list(usages)
        self.usages: list[dict[str, Any]] = []

    def answer(self, request: Request) -> Turn:
        turn = super().answer(request)
        if request.kind != "main":
            return turn
        usage = self._given.pop(0) if self._given else filled(measured(request.body))
        self.usages.append(usage)
        return replace(turn, usage=usage)


def reads(stage: Stage, first: int = 0) -> list[Turn]:
    """Parallel reads, with which the window is full, and a call behind them."""
    return [read_all(stage.files(first)), bash("echo read")]


def parallel(stage: Stage) -> None:
    """Reads in one reply."""
    stage.say("Read all parts.", *reads(stage), bash("echo after"))


def failing(stage: Stage) -> None:
    """A check that fails, before the compaction and after it."""
    stage.file("Makefile", "test:\n\t@echo '1 failed'; exit 2\n")
    check = bash("make test")
    stage.say("Make the test pass.", check, *reads(stage), bash("make test"))


def edits(stage: Stage) -> None:
    """Files that are read, edited and written."""
    path = stage.file("a.py", "x = 1\n")
    old = {"file_path": path, "old_string": "x = 1", "new_string": "x = 2"}
    made = {"file_path": str(stage.client.project / "b.py"), "content": "y = 1\n" * 300}
    stage.say(
        "Change x.",
        tool("Read", {"file_path": path}),
        tool("Edit", old),
        tool("Write", made),
        *reads(stage),
    )
    stage.say("Commit it.", bash("git init -q . && git add a.py"))


def twice(stage: Stage) -> None:
    """Two compactions in one turn."""
    stage.say("Read the parts.", *reads(stage), *reads(stage, 100), bash("echo after"))


def pictured(stage: Stage) -> None:
    """A picture among the results."""
    path = stage.file("shot.png", png())
    look = tool("Read", {"file_path": path})
    stage.say("Look at the picture.", look, *reads(stage))


def delegated(stage: Stage) -> None:
    """A subagent's report."""
    stage.stub.script_subagents(bash("echo looked"), text("It reports nothing unusual."))
    stage.say("Have it looked at.", agent("look"), *reads(stage))


def queued(stage: Stage) -> None:
    """A message typed during work."""
    gate = threading.Event()
    wait = bash("while [ ! -e go ]; do sleep 0.1; done")
    first, *rest = reads(stage)
    stage.stub.script(held(first, gate), wait, *rest, text("ALL-IS-DONE"))
    with stage.client.interactive() as session:
        session.ready()
        session.send_line("Count the values.")
        session.wait_until(lambda: len(stage.stub.requests("main")) == 1)
        gate.set()
        session.wait_for("while [ ! -e go ]")
        session.send_line("Count the zeros, too.")
        session.wait_for("Count the zeros, too.")
        stage.file("go", "")
        session.wait_for("ALL-IS-DONE")
    (transcript,) = stage.client.transcripts()
    stage.session_id = transcript.stem


def planned(stage: Stage) -> None:
    """Plan mode."""
    stage.args = ["--permission-mode", "plan"]
    stage.say("Plan it.", *reads(stage))


def thought(stage: Stage) -> None:
    """Thinking before every call."""
    turns = [*reads(stage), bash("echo after")]
    for number, turn in enumerate(turns):
        block = {"type": "thinking", "thinking": f"Thought {number}.", "signature": f"s{number}"}
        turns[number] = replace(turn, blocks=(block, *turn.blocks))
    stage.say("Think it over.", *turns)


def resumed(stage: Stage) -> None:
    """Resumed before the compaction and after it."""
    stage.say("Begin.", bash("echo begun"))
    stage.say("Read all parts.", *reads(stage))
    stage.say("Go on.", bash("echo on"))


def forked(stage: Stage) -> None:
    """A fork of a session that was compacted."""
    stage.say("Read all parts.", *reads(stage))
    stage.say("Another way.", bash("echo other"), args=["--fork-session"])


BY_US = (
    *(parallel, failing, edits, twice, pictured, delegated, queued),
    *(planned, thought, resumed, forked),
)
BY_HANDLE = (parallel, edits, twice, thought, resumed)


def record(binary: Path, play: Callable[[Stage], None], *, by_handle: bool) -> dict[str, bytes]:
    """Play a conversation twice; returns the files of its recording."""
    usages: list[dict[str, Any]] = []
    files = {}
    for name, compacts in (("compacted", True), ("plain", False)):
        stage = Stage(binary, compacts=compacts, usages=usages)
        _place_mod(stage, by_handle=by_handle)
        play(stage)
        files[f"{name}.jsonl"] = slim(stage.transcript.read_bytes())
        usages = stage.stub.usages
        if compacts:
            sent = {"last": summed(stage.stub.requests("main")[-1])} | _resume(stage)
            files["sent.json"] = json.dumps(sent).encode()
        stage.stub.stop()
        assert stage.installed.errors() == ""
    return files


def _place_mod(stage: Stage, *, by_handle: bool) -> None:
    stage.installed.install(*["--no-mod"] * by_handle)
    stage.args = place_by_handle(stage.client) if by_handle else []


def _resume(stage: Stage) -> dict[str, Any]:
    """What a resume sends, before a repair and after one."""
    path, whole = stage.transcript, stage.transcript.read_bytes()
    found = {"resumed": summed(go_on(stage))}
    path.write_bytes(whole)
    os.utime(path, (_LONG_AGO, _LONG_AGO))
    done = stage.installed.command("session", "repair", str(path), "--yes", "--json")
    assert done.returncode == 0, done.stderr.decode()
    if json.loads(done.stdout)["changed"]:
        found["repaired"] = summed(go_on(stage))
        path.write_bytes(whole)
    return found


def go_on(stage: Stage) -> Request:
    """What the client sends when the session is resumed by somebody whose window is larger."""
    path = stage.client.settings_path()
    settings = json.loads(path.read_bytes())
    rest = {name: settings[name] for name in settings if name not in BRIM}
    path.write_text(json.dumps(rest), encoding="utf-8")
    stage.stub.script(text("Gone on."))
    args = ["--resume", stage.session_id]
    return stage.client.run_print("Go on.", model=stage.model, args=args).main[-1]


def summed(request: Request) -> dict[str, Any]:
    """How long a request was, and how many characters of it are of which kind."""
    said = [message for message in request.messages if message["role"] == "assistant"]
    kinds = {
        "assistant": replace(request, body={"messages": said}).blocks("text"),
        "tool_input": request.blocks("tool_use"),
        "tool_result": request.blocks("tool_result"),
        "thinking": request.blocks("thinking"),
    }
    characters = {kind: row.content_characters(blocks) for kind, blocks in kinds.items()}
    return {"tokens": measured(request.body), "characters": characters}


def slim(transcript: bytes) -> bytes:
    """A session without the client's own prompts, which are long, and not ours to hand on.

    What is sent of them keeps its length.
    """
    kept = []
    for line in transcript.splitlines():
        fields = json.loads(line)
        if fields["type"].startswith("api-request"):
            continue
        attachment = fields.get("attachment") or {}
        if attachment.get("type") in _BOOKKEEPING:
            fields["attachment"] = {"type": attachment["type"]}
        elif attachment and attachment["type"] not in _OURS:
            for part in ("attachment", "rendered"):
                fields[part] = _blanked(fields.get(part))
            fields["attachment"] |= {"type": attachment["type"]}
        kept.append(json.dumps(fields, separators=(",", ":"), ensure_ascii=False))
    return "".join(f"{line}\n" for line in kept).encode()


def _blanked(value: Any) -> Any:
    """The same with other letters."""
    if isinstance(value, dict):
        return {name: _blanked(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_blanked(item) for item in value]
    return "x" * len(value) if isinstance(value, str) else value


def main() -> None:
    """Record everything anew, or what is named."""
    fetched = fetch(cache_dir(os.environ))
    assert fetched.binary, fetched.reason
    plays = {f"by_us/{play.__name__}": play for play in BY_US}
    plays |= {f"by_handle/{play.__name__}": play for play in BY_HANDLE}
    wanted = sys.argv[1:] or list(plays)
    files = {} if wanted == list(plays) else unpacked()
    for name in wanted:
        made = record(fetched.binary, plays[name], by_handle=name.startswith("by_handle"))
        files |= {f"{name}/{file}": data for file, data in made.items()}
        print(name, {file: len(data) for file, data in made.items()}, flush=True)
    with tarfile.open(ARCHIVE, "w:xz") as archive:
        for name, data in sorted(files.items()):
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    shutil.rmtree(_ROOT)


def unpacked() -> dict[str, bytes]:
    """All files of the archive."""
    with tarfile.open(ARCHIVE) as archive:
        opened = [(entry.name, archive.extractfile(entry)) for entry in archive.getmembers()]
        return {name: file.read() for name, file in opened if file}


if __name__ == "__main__":
    main()
