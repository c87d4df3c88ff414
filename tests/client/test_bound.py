"""The real client on models that take their thinking back only with nothing changed before it."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.binding import Binding

from brimline.fast import paths

from . import modded, stub_api
from .test_gateway import Behind
from .test_purge import run_json

if TYPE_CHECKING:
    from pathlib import Path

    from .brimline_home import Installed
    from .harness import Client, PrintResult
    from .stub_api import Request, StubApi

MODEL = "claude-fable-5-2"
SOURCE = "\n".join(f"def part_{n}(value_{n}): return table_{n}[value_{n}]" for n in range(150))
READS = 16


@pytest.fixture(params=["error", "silent"])
def binding(request: pytest.FixtureRequest, stub: StubApi) -> Binding:
    """Both readings of the rule: a refusal, or thinking that is dropped without a word."""
    stub.binding = Binding(request.param)
    return stub.binding


@pytest.fixture
def behind(client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Behind:
    """A client behind the gateway, with a brim that is soon reached."""
    behind = Behind(client, tmp_path)
    own = behind.env
    monkeypatch.setattr(behind, "env", lambda: own() | {"BRIMLINE_COMPACTION_TOKENS": "60000"})
    return behind


def lines(request: Request) -> int:
    """How many results are a line of ours."""
    return sum("[brimline: " in result for result in request.results())


def read_files(behind: Behind, *args: str, model: str = MODEL, count: int = READS) -> PrintResult:
    """A session that reads one file after the other."""
    files = behind.files("py", [SOURCE.replace("part", f"part{n}") for n in range(count)])
    calls = [stub_api.tool("Read", {"file_path": str(path)}) for path in files]
    turns = [replace(turn, usage={}) for turn in (*calls, stub_api.text("read all"))]
    behind.client.stub.script(*turns)
    return behind.print("go", *args, model=model)


def test_behind_the_gateway_no_thinking_is_refused_or_dropped(
    behind: Behind, binding: Binding, client: Client
) -> None:
    """Near the brim old results go at once, with the thinking that this makes invalid.

    The same is sent after a restart; without the gateway the client heals itself, and behind it
    again nothing is refused that reaches the person.
    """
    first = read_files(behind)
    session = first.session_id

    assert (binding.refusals, sum(binding.failed)) == ([], 0)
    last = first.main[-1]
    assert lines(last) > 3
    assert 0 < len(last.blocks("thinking")) < READS
    again = behind.print("and now?", "--resume", session, model=MODEL)
    assert (binding.refusals, sum(binding.failed)) == ([], 0)
    assert again.main[-1].results()[: len(last.results())] == last.results()

    without = client.run_print("out", args=["--resume", session], model=MODEL)
    back = behind.print("in", "--resume", session, model=MODEL)

    assert [one.rc for one in (first, again, without, back)] == [0] * 4
    assert "STUB-DONE" in str(without.result)
    assert "STUB-DONE" in str(back.result)
    assert len(binding.refusals) <= 3


@pytest.mark.parametrize("model", [MODEL, "claude-sonnet-4-6"])
def test_an_expired_cache_costs_no_thinking(
    client: Client, stub: StubApi, tmp_path: Path, model: str
) -> None:
    """What is cold waits for the brim, whatever the model."""
    stub.binding = binding = Binding("silent") if model == MODEL else None
    behind = Behind(client, tmp_path)
    first = read_files(behind, model=model, count=26)
    with sqlite3.connect(paths.stand_ins_database(str(behind.home))) as database:
        database.execute("UPDATE requests SET at = at - 7200")
    database.close()

    later = behind.print("and now?", "--resume", first.session_id, model=model)

    assert (lines(first.main[-1]), lines(later.main[-1])) == (0, 0)
    if binding:
        assert len(later.main[-1].blocks("thinking")) == binding.taken_back[-1] == 27


@pytest.mark.parametrize("inside", ["balanced", pytest.param("off", marks=pytest.mark.long)])
def test_with_our_mod_in_the_client_the_gateway_leaves_the_brim_to_it(
    client: Client, installed: Installed, tmp_path: Path, binding: Binding, inside: str
) -> None:
    """Old results are shortened once, by the one or the other, and no thinking is refused."""
    done = installed.command("config", "set", "compaction.inside", inside)
    assert done.returncode == 0, done.stderr
    behind = Behind(client, tmp_path)
    behind.home = installed.data
    client.write_settings(modded.WINDOW)
    near, full = stub_api.filled(64_000), modded.FULL
    files = modded.write_files(client)
    single = [stub_api.tool("Read", {"file_path": str(path)}) for path in files[-4:]]
    client.stub.script(
        modded.read_all(files[:-4]),
        *(replace(turn, usage=near) for turn in single[:-1]),
        replace(single[-1], usage=full if inside == "balanced" else near),
    )

    run = behind.print("go", model=MODEL)

    assert run.rc == 0, run.stderr
    assert client.stub.requests("compaction") == []
    assert (binding.refusals, sum(binding.failed)) == ([], 0)
    before, last = run.main[-2:]
    assert (lines(before) > 0) is (inside == "off")
    assert lines(last) > 0
    assert installed.errors() == ""


def test_a_purged_session_goes_on_without_the_thinking_that_was_named(
    client: Client, installed: Installed, binding: Binding
) -> None:
    """Nothing is refused or dropped; restored, all is sent."""
    done = installed.command("config", "set", "offload.preset", "off")
    assert done.returncode == 0, done.stderr
    client.stub.script(*(stub_api.bash(f"seq {n} {n + 1500}") for n in range(6)))
    first = client.run_print("go", model=MODEL)
    assert first.transcript
    purge = ["session", "purge", str(first.transcript), "--threshold", "3000", "--yes"]

    whole = client.run_print("on", args=["--resume", first.session_id], model=MODEL).main[-1]
    told = run_json(installed, *purge, "--keep-recent", "2")
    session = ["--resume", told["copy_session"]]
    purged = client.run_print("on", args=session, model=MODEL).main[-1]
    again = run_json(installed, "session", "purge", told["copy"], "--dry-run")
    last = client.run_print("on", args=session, model=MODEL).main[-1]

    assert again["thoughts"] == len(last.blocks("thinking")) == 2
    assert len(whole.blocks("thinking")) == 7
    assert (told["thoughts_lost"], told["thoughts"]) == (7, 8)
    assert len(purged.blocks("thinking")) == 1
    assert lines(purged) == 6
    assert (binding.refusals, sum(binding.failed)) == ([], 0)

    first.transcript.unlink()
    back = run_json(installed, "session", "restore", told["copy"], "--yes")
    session = ["--resume", back["copy_session"]]
    restored = client.run_print("on", args=session, model=MODEL)
    assert restored.rc == 0, restored.stderr
    assert lines(restored.main[-1]) == 0
    assert (binding.refusals, sum(binding.failed)) == ([], 0)


def test_without_us_the_client_heals_what_it_changes_itself(
    client: Client, binding: Binding
) -> None:
    """Resuming is stable; another set of tools is refused once, and the session goes on."""
    client.stub.script(stub_api.bash("echo one"), stub_api.bash("echo two"))
    first = client.run_print("go", model=MODEL)
    client.run_print("on", args=["--resume", first.session_id], model=MODEL)
    assert (binding.refusals, sum(binding.failed)) == ([], 0)

    other = ["--resume", first.session_id, "--disallowedTools", "Edit"]
    last = client.run_print("on", args=other, model=MODEL)

    assert last.rc == 0
    assert len(binding.refusals) <= 1
    assert sum(binding.failed) > 0


@pytest.mark.parametrize("model", ["claude-sonnet-5", "claude-opus-5-5", "claude-haiku-5-5"])
def test_behind_another_address_the_client_gives_a_million_tokens(
    client: Client, model: str
) -> None:
    """It was said to take some models for smaller there: then a brim would be wrong."""
    done = client.run_print("hi", model=model)

    assert done.result is not None
    windows = [usage["contextWindow"] for usage in done.result["modelUsage"].values()]
    assert 1_000_000 in windows
