"""Hooks as processes: exact answers, and silence with exit code 0 whatever goes wrong."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from brimline.hooks import table
from brimline.install.bundle import FAST_MODULES
from brimline.launch import bootstrap_code
from brimline.testing import SessionBuilder, bash_event, event

from .processes import (
    ROOT,
    build_bundle,
    copy_package,
    environment,
    errors,
    inventory,
    run_hook,
    spool,
)

EVENTS = tuple(table.EVENTS)
MEASURING = ("UserPromptSubmit", "PostToolUse", "PreCompact", "Stop")
NOTE = (
    "[brimline] Context tier L2. A good moment to write plan and open items to a file, "
    "then carry on. Next: ~145,120 of 200,000 tokens (transcript; window unverified), compaction "
    "expected at 167,000: 21,880 tokens left."
)


@pytest.mark.parametrize("name", ["PostToolUse", "UserPromptSubmit", "Stop"])
@pytest.mark.row("S1-05", "S4-10")
def test_a_quiet_hook_only_leaves_one_line(name: str, session: SessionBuilder, world: Path) -> None:
    """Far from the brim nothing is said, and the figures are on record."""
    session.reply(40_000)

    done = run_hook(world, name, bash_event(session, ""))

    assert _answer(done) == b""
    (line,) = spool(world)
    assert line.pop("at") > 0
    assert line.pop("ms") > 0
    assert line == {
        "v": 1,
        "event": name,
        "occupancy": 40_000,
        "tail": 120,
        "window": 200_000,
        "window_source": "model",
        "compaction": 167_000,
        "tier": 0,
        "offset": 0,
        "model": "claude-sonnet-4-6",
    }
    assert errors(world) == []


@pytest.mark.row("S1-16", "S1-23")
@pytest.mark.parametrize("name", ["PostToolUse", "UserPromptSubmit"])
def test_an_entered_tier_is_one_document(name: str, session: SessionBuilder, world: Path) -> None:
    """Exactly these bytes, once; the same event again is silent."""
    session.reply(145_000)
    payload = bash_event(session, "") if name == "PostToolUse" else event(name, session, prompt="")

    done = run_hook(world, name, payload)

    output = {"hookEventName": name, "additionalContext": NOTE}
    expected = json.dumps({"hookSpecificOutput": output}, separators=(",", ":"))
    assert _answer(done) == expected.encode()
    assert _answer(run_hook(world, name, payload)) == b""
    assert errors(world) == []


@pytest.mark.row("S0-38", "S3-05")
def test_a_subagents_event_is_not_measured(session: SessionBuilder, world: Path) -> None:
    """Its results never enter the main context, though it names the main transcript."""
    session.reply(160_000)
    payload = bash_event(session, agent_id="a654e4a971a422f27", agent_type="general-purpose")

    assert _answer(run_hook(world, "PostToolUse", payload)) == b""
    assert spool(world) == []


def test_the_baked_in_data_folder_is_used(session: SessionBuilder, world: Path) -> None:
    """As an entry of an earlier version names it; what the environment says is nothing to it."""
    session.reply(40_000)

    run_hook(world, "PostToolUse", bash_event(session), str(world / "baked"))

    assert list((world / "baked").rglob("spool.jsonl"))
    assert not (world / "brimline").exists()


@pytest.mark.parametrize("name", EVENTS)
@pytest.mark.parametrize(
    "payload",
    [b"", b"not json", b"[1, 2]", b'{"a":', b"\xff\xfe\x00", b"{}{", b'{"a":' * 100_000],
    ids=["empty", "text", "list", "cut", "bytes", "two", "deep"],
)
@pytest.mark.row("S0-23")
def test_a_garbled_event_is_answered_with_silence(name: str, payload: bytes, world: Path) -> None:
    """Exit code 0, nothing on stdout, and one line in the error log unless it was readable."""
    done = run_hook(world, name, payload)

    # The first of two documents is readable, and a compaction of nobody's session is one too.
    assert _answer(done) == b"" or (name, payload) == ("PreCompact", b"{}{")
    assert len(errors(world)) == (0 if payload == b"{}{" else 1)
    assert all(entry["event"] == name for entry in errors(world))


def test_ten_megabytes_of_event_are_read(session: SessionBuilder, world: Path) -> None:
    """A huge result is swapped or measured, and garbage of that size is only garbage."""
    session.reply(40_000)

    asked = {"command": "cat x.log"}
    done = run_hook(world, "PostToolUse", bash_event(session, "x" * 10_000_000, tool_input=asked))
    assert b"[brimline stored 10000000 bytes" in _answer(done)
    other = bash_event(session, "x" * 10_000_000, tool_name="Unheard")
    assert b"tier L4" in _answer(run_hook(world, "PostToolUse", other))
    assert errors(world) == []

    assert _answer(run_hook(world, "PostToolUse", b"x" * 10_000_000)) == b""
    assert len(errors(world)) == 1


@pytest.mark.row("S1-07")
@pytest.mark.parametrize(
    "kind", ["unnamed", "missing", "empty", "folder", "pipe", "device", "below a file", "NUL"]
)
@pytest.mark.parametrize("name", MEASURING)
@pytest.mark.row("S0-22", "S1-10")
def test_a_transcript_that_cannot_be_read_is_no_obstacle(
    kind: str, name: str, session: SessionBuilder, world: Path
) -> None:
    """None, or an empty one, is a session that has not begun; any other is one line in the log."""
    (world / "file").write_text("")
    os.mkfifo(world / "pipe")
    path = {
        "unnamed": None,
        "missing": f"{world}/later.jsonl",
        "empty": f"{world}/file",
        "folder": f"{world}/project",
        "pipe": f"{world}/pipe",
        "device": "/dev/zero",
        "below a file": f"{world}/file/session.jsonl",
        "NUL": "a\0b",
    }[kind]

    done = run_hook(world, name, event(name, session, transcript_path=path))

    assert (_answer(done) == b"") == (name != "PreCompact")  # a summary is steered all the same
    assert len(errors(world)) == (kind not in ("unnamed", "missing", "empty", "NUL"))


@pytest.mark.parametrize("name", ["PostToolUse", "SessionStart", "statusline"])
def test_an_event_that_never_ends_is_given_up(
    name: str, session: SessionBuilder, world: Path
) -> None:
    """Somebody may leave standard input open: the process ends in silence, with a line in the log.

    The time it waits is made short here.
    """
    code = (
        f"import sys; sys.path.insert(0, {ROOT!r})\nfrom brimline.hooks import entry\n"
        f"entry.STDIN_S = 0.2; entry.main({name!r})"
    )
    reading, writing = os.pipe()
    os.write(writing, json.dumps(event(name, session)).encode())
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", code],
            stdin=reading,
            env=environment(world),
            capture_output=True,
            check=False,
            timeout=60,
        )
    finally:
        os.close(writing)
        os.close(reading)

    assert _answer(done) == b""
    assert [error["event"] for error in errors(world)] == [name]


@pytest.mark.parametrize("name", MEASURING)
def test_a_pipe_in_the_place_of_the_spool_is_not_waited_for(
    name: str, session: SessionBuilder, world: Path
) -> None:
    """Nobody reads from it; what would be noted is lost, and a line in the log says so."""
    session.reply(50_000)
    folder = world / "brimline" / "sessions" / session.session_id
    folder.mkdir(parents=True)
    os.mkfifo(folder / "spool.jsonl")

    done = run_hook(world, name, bash_event(session) | event(name, session, prompt="go on"))

    assert done.returncode == 0
    assert errors(world)


@pytest.mark.row("S0-22", "S1-10")
def test_a_transcript_of_somebody_else_is_no_obstacle(session: SessionBuilder) -> None:
    """Permission denied is one line in the log, for root's tests too: the hook runs as nobody."""
    # Library and package may be out of reach for others: the change of user comes after loading.
    become = (
        f"import os, sys, tomllib; sys.path.insert(0, {ROOT!r})\n"
        "import brimline.hooks.entry, brimline.settings.values, brimline.state.logs\n"
        "import brimline.bulk.hook, brimline.gauge.hook, brimline.carry.hook\n"
        "import brimline.guard.hook, brimline.gauge.reading, brimline.state.session\n"
        "if os.geteuid() == 0: os.seteuid(65534)\n"
    )
    with tempfile.TemporaryDirectory() as folder:
        world = Path(folder)
        world.chmod(0o755)
        (world / "brimline").mkdir()
        (world / "brimline").chmod(0o777)
        session.path = str(world / "session.jsonl")
        session.reply(160_000)
        Path(session.path).chmod(0)
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", become + bootstrap_code(ROOT), "PostToolUse"],
            input=json.dumps(bash_event(session)).encode(),
            env=environment(world),
            capture_output=True,
            check=False,
            timeout=60,
        )

        assert _answer(done) == b""
        assert [entry["error"] for entry in errors(world)] == ["PermissionError"]


@pytest.mark.row("S0-25")
@pytest.mark.parametrize("name", EVENTS)
def test_an_unwritable_home_is_no_obstacle(name: str, session: SessionBuilder, world: Path) -> None:
    """Below a file nothing can be made, not even the log; the session goes on."""
    session.reply(160_000)
    (world / "file").write_text("kept")
    before = inventory(world)

    done = run_hook(
        world, name, event(name, session), extra={"BRIMLINE_HOME": f"{world}/file/home"}
    )

    assert (_answer(done) == b"") == (name != "PreCompact")  # a summary is steered all the same
    assert inventory(world) == before


@pytest.mark.row("S0-25")
@pytest.mark.parametrize("name", EVENTS)
def test_a_full_disk_is_no_obstacle(name: str, session: SessionBuilder, world: Path) -> None:
    """Nothing can be written anywhere: silence, and no half-written claims that mute a tier."""
    session.reply(160_000)

    done = run_hook(world, name, event(name, session), preexec=_forbid_growth)

    assert (_answer(done) == b"") == (name != "PreCompact")
    leftovers = [path.name for path in (world / "brimline").rglob("*") if path.is_file()]
    assert not [n for n in leftovers if n.endswith(".tmp") or n.startswith("spoke-")]
    if name in ("PostToolUse", "UserPromptSubmit"):
        assert b"tier L3" in _answer(run_hook(world, name, event(name, session)))


@pytest.mark.parametrize("name", [*EVENTS])
@pytest.mark.row("S0-25")
def test_a_package_that_is_gone_is_silence(name: str, session: SessionBuilder, world: Path) -> None:
    """After an uninstall by other means the entries in the client's settings do no harm.

    Only the status line, which a person sees, says what is the matter.
    """
    (world / "empty").mkdir()
    expected = b"brimline: package not found, run `brimline doctor`\n" * (name == "statusline")
    for root in (world / "empty", world / "nowhere"):
        done = run_hook(world, name, event(name, session), root=str(root))

        assert _answer(done) == expected


@pytest.mark.row("S0-25")
def test_a_package_without_a_module_is_silence(session: SessionBuilder, world: Path) -> None:
    """Half an upgrade: whichever module is cut short, exit code 0, no output."""
    session.reply(160_000)
    root = copy_package(world / "copy")
    modules = ["launch", "hooks/entry", "hooks/turn", "fast/io", "guard/monitor", "gauge/reading"]

    for module in modules:
        path = Path(root) / "brimline" / f"{module}.py"
        whole = path.read_bytes()
        for broken in (whole[: len(whole) // 2], b"\x00", b"def", b"raise SystemExit(2)\n"):
            path.write_bytes(broken)
            done = run_hook(world, "PostToolUse", bash_event(session), root=root)
            assert _answer(done) == b"", (module, broken[:20])
        path.unlink()
        assert _answer(run_hook(world, "PostToolUse", bash_event(session), root=root)) == b""
        path.write_bytes(whole)

    assert {entry["error"] for entry in errors(world)} >= {"SyntaxError", "SystemExit"}


@pytest.mark.parametrize(
    "damage", ["none", "empty", "cut", "garbage", "another version", "stale", "wrong"]
)
def test_an_unsound_bundle_costs_time(damage: str, session: SessionBuilder, world: Path) -> None:
    """The modules themselves answer, as if there were no bundle; with a sound one the same."""
    assert "brimline.gauge.window" in FAST_MODULES
    session.reply(160_000)
    root = copy_package(world / "copy")
    bundle = build_bundle(root)
    whole = bundle.read_bytes()
    if damage == "stale":
        window = Path(root) / "brimline" / "gauge" / "window.py"
        window.write_text(window.read_text().replace("compaction expected", "an end expected"))
    else:
        bundle.write_bytes(
            {
                "none": whole,
                "empty": b"",
                "cut": whole[: len(whole) // 2],
                "garbage": os.urandom(500),
                "another version": whole.replace(b"\x03", b"\x04", 1),
                "wrong": b"i\x05\x00\x00\x00",
            }[damage]
        )

    answer = _answer(run_hook(world, "PostToolUse", bash_event(session), root=root))

    if damage == "none":
        session.session_id = "without"
        bundle.unlink()
        assert answer == _answer(run_hook(world, "PostToolUse", bash_event(session), root=root))
    assert (b"an end expected" if damage == "stale" else b"compaction expected") in answer
    assert errors(world) == []


def test_no_fault_changes_more_than_the_data_folder(session: SessionBuilder, world: Path) -> None:
    """Neither the transcript nor the project nor the client's folder is touched by any event."""
    session.reply(160_000)
    before = inventory(world)
    gone = run_hook(world, "PostToolUse", bash_event(session), preexec=_close_pipes)
    assert (gone.returncode, gone.stdout) == (0, b"")  # a client that is gone

    for name in (*EVENTS, "statusline", "Notification"):
        good = event(name, session, prompt="x")
        for payload in (
            good,
            {},
            json.dumps(good).encode()[:-7],
            good | {"session_id": "../../up", "cwd": "\ud800"},
            good | {"transcript_path": {"a": 1}, "tool_response": [[[[]]]], "agent_id": 0},
        ):
            done = run_hook(world, name, payload)
            assert (done.returncode, done.stderr) == (0, b"")

    assert inventory(world, without=world / "brimline") == before
    assert not list((world / "brimline").rglob("*.tmp"))


def _answer(done: subprocess.CompletedProcess[bytes]) -> bytes:
    """What the client would read, after the promises that hold for every run."""
    assert done.returncode == 0
    assert done.stderr == b""
    return done.stdout


def _forbid_growth() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def _close_pipes() -> None:
    os.close(0)
    os.close(1)
