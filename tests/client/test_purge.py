"""A purged copy in the real client: it goes on, and the session stays as it was."""

from __future__ import annotations

import itertools
import json
import os
import time
from typing import TYPE_CHECKING, Any

import pytest

from .fetch import VERSION
from .stub_api import bash, filled, text, tool
from .test_mod_versions import equip

if TYPE_CHECKING:
    from pathlib import Path

    from .brimline_home import Installed
    from .harness import Client, InteractiveClient, PrintResult
    from .stub_api import StubApi

# The pinned one, the newest, and two before it.
VERSIONS = [
    VERSION,
    *[pytest.param(name, marks=pytest.mark.long) for name in ("2.1.327", "2.1.310", "2.1.287")],
]
MEASURED_TOKENS = 60_000
_LONG_AGO_S = 3_600
BEFORE = "x = 1\n"


def rest(transcript: Path) -> None:
    """Make a session look as if nobody had written to it for a while."""
    moment = time.time() - _LONG_AGO_S
    os.utime(transcript, (moment, moment))


def run_json(installed: Installed, *arguments: str) -> dict[str, Any]:
    """A command's JSON."""
    done = installed.command(*arguments, "--json")
    assert done.returncode == 0, done.stderr.decode()
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def shown_whole(installed: Installed) -> None:
    """What is kept out from the beginning need not be purged."""
    done = installed.command("config", "set", "offload.preset", "off")
    assert done.returncode == 0, done.stderr


def small_file(client: Client) -> Path:
    """The file that the session edits."""
    path = client.project / "small.py"
    path.write_text(BEFORE, encoding="utf-8")
    return path


def turns(client: Client) -> list[Any]:
    """Large outputs, a file read twice, an edit, a task, and a small last call."""
    big, small = client.project / "big.py", small_file(client)
    big.write_text("".join(f"value_{n} = {n}\n" for n in range(1_500)), encoding="utf-8")
    edit = {"file_path": str(small), "old_string": "x = 1", "new_string": "x = 2"}
    return [
        bash("seq 1 3000"),
        tool("Read", {"file_path": str(big)}),
        tool("Read", {"file_path": str(small)}),
        tool("Edit", edit),
        tool("TaskCreate", {"subject": "Mend it", "description": "Mend it now"}),
        tool("Read", {"file_path": str(big)}),
        text("first done"),
    ]


def lines(run: PrintResult) -> int:
    """How many results of the last request are a line of ours."""
    return sum(result.startswith("[brimline: ") for result in run.main[-1].results())


def resumed(client: Client, stub: StubApi, *args: str) -> PrintResult:
    """What the client sends when a session goes on."""
    stub.script(text("gone on", filled(MEASURED_TOKENS)))
    run = client.run_print("go on", args=args)
    assert run.rc == 0, run.stderr
    return run


def money(installed: Installed) -> tuple[int, float]:
    """How many requests `brimline cost` counts, and what they cost."""
    told = run_json(installed, "cost")
    return told["total"]["requests"], told["total"]["dollars"]


@pytest.mark.row("S2-29", "S3-41", "S3-49", "S3-51", "S3-55")
@pytest.mark.parametrize("version", VERSIONS)
def test_a_purged_copy_goes_on_and_the_session_stays(
    version: str, stub: StubApi, tmp_path: Path
) -> None:
    """Resumed, continued, forked: old results are lines, pairs kept; the session is whole.

    No request is counted twice, by us or by the client, and the tasks are there.
    """
    client, installed = equip(version, stub, tmp_path)
    shown_whole(installed)
    stub.script(*turns(client))
    first = client.run_print("go")
    assert first.transcript
    rest(first.transcript)
    written, counted = first.transcript.read_bytes(), money(installed)

    purge = ["session", "purge", str(first.transcript), "--keep-recent", "2", "--yes"]
    told = run_json(installed, *purge)
    again = run_json(installed, *purge)
    assert first.transcript.read_bytes() == written
    assert (told["is_open"], told["copy_is_new"], again["copy_is_new"]) == (False, True, False)
    assert again["copy"] == told["copy"]
    assert money(installed) == counted
    copy = told["copy_session"]
    runs = [
        resumed(client, stub, "--continue"),
        resumed(client, stub, "--resume", copy, "--fork-session"),
        resumed(client, stub, "--resume", copy),
    ]
    whole = resumed(client, stub, "--resume", first.session_id)
    stub.script(tool("TaskList", {}), text("listed"))
    listed = client.run_print("Which tasks?", args=["--resume", copy]).main[-1].results()[-1]

    assert "Mend it" in listed
    assert [run.session_id == copy for run in runs] == [True, False, True]
    assert [lines(run) for run in (*runs, whole)] == [2, 2, 2, 0]
    request = runs[0].main[-1]
    calls = [block["id"] for block in request.blocks("tool_use")]
    assert calls == [block["tool_use_id"] for block in request.blocks("tool_result")]
    assert whole.main[-1].results()[0].startswith("1\n2\n3")
    sums = [run.result["total_cost_usd"] for run in runs if run.result]
    assert [one / sums[0] for one in sums] == pytest.approx([1, 2, 2])
    assert money(installed)[0] == counted[0] + 6
    assert installed.errors() == ""


@pytest.mark.parametrize("version", VERSIONS)
def test_a_session_is_purged_while_it_is_open(version: str, stub: StubApi, tmp_path: Path) -> None:
    """Its client notices nothing and goes on with all of it; the copy ends where it was made.

    Rewound, the copy puts the file back that the session had edited.
    """
    client, installed = equip(version, stub, tmp_path)
    shown_whole(installed)
    stub.script(*turns(client), text("second done"))
    with client.interactive() as session:
        session.say("FIRST-PROMPT", "first done")
        session.wait_until(lambda: "first done" in read_all(client))
        (path,) = client.transcripts()
        written = path.read_bytes()
        purge = ["session", "purge", str(path), "--keep-recent", "0", "--yes"]
        told = run_json(installed, *purge)
        assert path.read_bytes().startswith(written)
        session.say("SECOND-PROMPT", "second done")
        session.wait_until(lambda: "second done" in path.read_text())
    assert told["is_open"]
    assert stub.requests("main")[-1].results()[0].startswith("1\n2\n3")
    assert not run_json(installed, *purge)["is_open"]

    run = resumed(client, stub, "--resume", told["copy_session"])
    assert lines(run) >= 2
    assert "SECOND-PROMPT" not in run.main[-1].seen_text()
    with client.interactive(args=["--resume", told["copy_session"]]) as session:
        session.wait_for("gone on")
        rewind_to_first_prompt(session)
        session.wait_until(lambda: (client.project / "small.py").read_text() == BEFORE)
    assert installed.errors() == ""


def read_all(client: Client) -> str:
    """What stands in transcripts by now."""
    return "".join(path.read_text() for path in client.transcripts())


def rewind_to_first_prompt(session: InteractiveClient) -> None:
    """Take code and conversation back to before the first prompt."""

    def is_oldest_chosen() -> bool:
        chosen = ["\N{HEAVY RIGHT-POINTING ANGLE QUOTATION MARK ORNAMENT}", "FIRST-PROMPT"]
        lines = [line.split() for line in session.text.splitlines()]
        if (chosen, ["small.py", "+1", "-1"]) in itertools.pairwise(lines):
            return True
        session.send_keys("\x1b[A")  # one may come too early; at the top they do nothing
        return False

    session.say("/rewind", "Restore the code and/or conversation")
    session.wait_until(is_oldest_chosen)
    session.send_keys("\r")
    session.wait_for("Restore code and conversation")
    session.send_keys("\r")
