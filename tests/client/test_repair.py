"""Broken sessions in the real client: what it makes of them, and what it sees once mended."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from brimline.bulk import stub as stubs
from brimline.fast import clock
from brimline.session.repair import MISSING_RESULT

from .brimline_home import Installed
from .modded import lines_in, read_all, write_files
from .stub_api import bash, filled, text, tools
from .test_mod_versions import equip
from .test_purge import VERSIONS, run_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from .harness import Client
    from .stub_api import Request, StubApi

    Lines = list[bytes]

# What two turns leave in the conversation, in order.
MARKS = [
    *("first prompt", "AAA-1", "BBB-2", "FIRST-END"),
    *("second prompt", "PAR-1", "PAR-2", "SECOND-END"),
]
SECOND_TURN = MARKS[4:]
# The client looks for a lost parent among rows of the last five seconds; real rows lie apart.
_APART_S = 60
_LONG_AGO = 1_700_000_000


@pytest.fixture
def recorded(client: Client, stub: StubApi) -> Path:
    """Two turns as the client records them."""
    return two_turns(client, stub)


def two_turns(client: Client, stub: StubApi) -> Path:
    """Two calls in a row, then two at once."""
    stub.script(
        bash("echo AAA-1", filled(20_000)),
        bash("echo BBB-2", filled(21_000)),
        text("FIRST-END", filled(22_000)),
    )
    first = client.run_print("first prompt")
    assert first.transcript
    pair = [("Bash", {"command": f"echo PAR-{n}", "description": "stub"}) for n in (1, 2)]
    stub.script(tools(*pair, usage=filled(23_000)), text("SECOND-END", filled(24_000)))
    client.run_print("second prompt", args=["--resume", first.transcript.stem])
    return first.transcript


def dangling(lines: Lines) -> None:
    """A prompt names a parent that is not there."""
    _change(lines, "second prompt", parentUuid="00000000-dead-4bad-8bad-000000000000")


def lost_reply(lines: Lines) -> None:
    """The last row of the first turn is gone."""
    del lines[_index(lines, "FIRST-END")]


def lost_call(lines: Lines) -> None:
    """The row of a call is gone; its result is not."""
    del lines[_index(lines, "echo BBB-2", "assistant")]


def lost_result(lines: Lines) -> None:
    """The row of a result is gone; its call is not."""
    del lines[_index(lines, "BBB-2", "user")]


def merged(lines: Lines) -> None:
    """A prompt and the row after it share a line."""
    at = _index(lines, "second prompt", "user")
    lines[at] = lines[at].rstrip(b"\n")


def cut(lines: Lines) -> None:
    """Nothing is there behind two calls: the client itself adds results that say so."""
    del lines[_index(lines, "echo PAR-2", "assistant") + 1 :]


def doubtful(lines: Lines) -> None:
    """A second root, where the client starts; two rows with one id, of which it takes the last."""
    _change(lines, "second prompt", parentUuid=None)
    at = _index(lines, "SECOND-END")
    lines.insert(at + 1, lines[at].replace(b"SECOND-END", b"OTHER-END"))


# How it is broken, what the client then sends where that is new, and what it sends after a repair.
CASES: list[tuple[Callable[[Lines], None], list[str] | None, list[str]]] = [
    (dangling, SECOND_TURN, MARKS),
    (lost_reply, None, [mark for mark in MARKS if mark != "FIRST-END"]),
    (lost_call, MARKS[3:], [mark for mark in MARKS if mark != "BBB-2"]),
    (lost_result, None, [mark for mark in MARKS if mark != "BBB-2"]),
    (merged, SECOND_TURN[1:], MARKS),
]


@pytest.mark.row("S3-44", "S3-45")
def test_a_broken_session_is_whole_again(client: Client, stub: StubApi, recorded: Path) -> None:
    """Unmended, the client sends what it can reach; mended, all there is, at every resume."""
    home = Installed(client)  # without hooks in the client's settings
    whole = recorded.read_bytes()
    for breaks, native, mended in CASES:
        recorded.write_bytes(whole)
        broken = _broken(recorded, breaks)
        if native is not None:
            assert _seen(_resumed(client, stub, recorded)) == native, breaks.__name__

        recorded.write_bytes(broken)
        report = _repaired(home, recorded)
        assert (report["after"]["faults"], recorded.read_bytes()) == ([], broken)
        mended_copy = Path(report["copy"])
        request = _resumed(client, stub, mended_copy)
        assert _seen(request) == mended, breaks.__name__
        if breaks is lost_call:
            # The model can have the content back by its key.
            found = stubs.first_reference_in(request.seen_text())
            assert found is not None
            assert home.command("store", "get", found.key).stdout == b"BBB-2"
        if breaks is lost_result:
            # The model sees the call, and that its outcome is unknown.
            assert len(request.blocks("tool_use")) == len(request.blocks("tool_result")) == 4
            (failed,) = request.errors()
            assert MISSING_RESULT in failed
    assert _seen(_resumed(client, stub, mended_copy)) == mended

    recorded.write_bytes(whole)
    _broken(recorded, cut)
    assert not _repaired(home, recorded)["changed"]
    assert len(_resumed(client, stub, recorded).errors()) == 2

    recorded.write_bytes(whole)
    broken = _broken(recorded, doubtful)
    report = _repaired(home, recorded)
    assert not report["changed"]
    assert [fault["kind"] for fault in report["left_alone"]] == ["differing_rows"]
    assert recorded.read_bytes() == broken
    request = _resumed(client, stub, recorded)
    assert _seen(request) == SECOND_TURN[:-1]
    assert "OTHER-END" in request.seen_text()


@pytest.mark.parametrize("version", VERSIONS)
def test_an_open_session_is_mended_and_taken_back_in_copies(
    version: str, stub: StubApi, tmp_path: Path
) -> None:
    """Its client goes on with what it has; the mended copy has all, the other no compaction."""
    client, installed = equip(version, stub, tmp_path)
    path = two_turns(client, stub)
    _broken(path, dangling)
    stub.script(text("GONE-ON"))
    with client.interactive(args=["--resume", path.stem]) as session:
        session.wait_for("SECOND-END")
        mended = run_json(installed, "session", "repair", str(path), "--yes")
        session.say("go on", "GONE-ON")
        session.wait_until(lambda: "GONE-ON" in path.read_text())
    assert (mended["is_open"], mended["after"]["faults"]) == (True, [])
    assert _seen(stub.requests("main")[-1]) == SECOND_TURN
    copy = Path(mended["copy"])
    assert _seen(_resumed(client, stub, copy)) == MARKS

    stub.script(read_all(write_files(client)), text("ALL-READ"), text("STILL-SHORT"))
    with client.interactive(args=["--resume", copy.stem]) as session:
        session.say("read", "ALL-READ")
        session.say("/compact")
        session.wait_until(lambda: '"compact_boundary"' in copy.read_text())
        session.ready()
        undo = ("session", "restore", str(copy), "--before-compaction", "--yes")
        undone = run_json(installed, *undo)
        session.say("SHORT?", "STILL-SHORT")
        session.wait_until(lambda: "STILL-SHORT" in copy.read_text())
    assert undone["is_open"]
    assert lines_in(stub.requests("main")[-1])
    request = _resumed(client, stub, Path(undone["copy"]))
    assert (_seen(request), lines_in(request)) == (MARKS, [])
    assert "SHORT?" not in request.seen_text()
    assert installed.errors() == ""


def _broken(transcript: Path, breaks: Callable[[Lines], None]) -> bytes:
    """Set the rows a minute apart, break them, and let them rest."""
    lines = []
    for number, data in enumerate(transcript.read_bytes().splitlines()):
        row = json.loads(data)
        moment = clock.parse_utc(row.get("timestamp"))
        if moment is not None:
            row["timestamp"] = clock.format_utc(moment - 10_000 + _APART_S * number)
        lines.append(_line(row))
    breaks(lines)
    transcript.write_bytes(b"".join(lines))
    return transcript.read_bytes()


def _repaired(home: Installed, transcript: Path) -> dict[str, Any]:
    os.utime(transcript, (_LONG_AGO, _LONG_AGO))
    done = home.command("session", "repair", str(transcript), "--yes", "--json")
    assert done.returncode == 0, done.stderr.decode()
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def _resumed(client: Client, stub: StubApi, transcript: Path) -> Request:
    stub.script(text("gone on"))
    run = client.run_print("go on", args=["--resume", transcript.stem])
    assert run.rc == 0, run.stderr
    return run.main[-1]


def _seen(request: Request) -> list[str]:
    told = request.seen_text()
    return [mark for mark in MARKS if mark in told]


def _index(lines: Lines, mark: str, kind: str | None = None) -> int:
    """The first row of a conversation that holds a text."""
    for number, data in enumerate(lines):
        row = json.loads(data)
        talks = row["type"] in ("user", "assistant") and kind in (None, row["type"])
        if talks and mark in json.dumps(row["message"]):
            return number
    raise AssertionError(f"no row with {mark}")


def _change(lines: Lines, mark: str, **fields: Any) -> None:
    at = _index(lines, mark, "user")
    lines[at] = _line(json.loads(lines[at]) | fields)


def _line(row: dict[str, Any]) -> bytes:
    return json.dumps(row, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"
