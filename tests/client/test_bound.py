"""The real client on models that take their thinking back only with nothing changed before it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.binding import Binding

from . import stub_api
from .test_gateway import Behind

if TYPE_CHECKING:
    from pathlib import Path

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


def read_files(behind: Behind, *args: str) -> PrintResult:
    """A session that reads one file after the other."""
    files = behind.files("py", [SOURCE.replace("part", f"part{n}") for n in range(READS)])
    calls = [stub_api.tool("Read", {"file_path": str(path)}) for path in files]
    turns = [replace(turn, usage={}) for turn in (*calls, stub_api.text("read all"))]
    behind.client.stub.script(*turns)
    return behind.print("go", *args, model=MODEL)


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
