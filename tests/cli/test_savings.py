"""`brimline history --savings`: what a person and a program see of what was kept out."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from brimline.cli.registry import COMMANDS, Entry
from brimline.testing import SessionBuilder

if TYPE_CHECKING:
    from collections.abc import Callable

    from .conftest import Outcome

KEY = "sha256:" + "ab" * 32
STUB = f'[brimline stored 20000 bytes, 500 lines, exit 0, from "make all": {KEY}] Preview:\n' + (
    "line of the build\n" * 40
)
FIRST = "1f0c2d3e-aaaa-4bbb-8ccc-000000000001"
SECOND = "7c1e90aa-aaaa-4bbb-8ccc-000000000002"
ACCOUNT_KEYS = [
    "stubs",
    "stored_bytes",
    "would_have_shown_bytes",
    "stub_bytes",
    "recalls",
    "recalled_bytes",
    "kept_out_bytes",
    "estimated_tokens",
]
TALLY_KEYS = [
    "main",
    "subagents",
    "requests_after_a_stub",
    "estimated_token_requests",
    "measured_stubs",
]
SESSION_KEYS = [
    *("session_id", "project", "transcript", "first_at", "last_at"),
    *TALLY_KEYS,
    "fullest_request",
]


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(COMMANDS, "history", Entry("brimline.cli.history:history", "x"))


def transcript(world: Path, name: str, project: str = "importer") -> SessionBuilder:
    """A session file in the client's folder."""
    folder = world / "home" / ".claude" / "projects" / f"-home-dev-{project}"
    return SessionBuilder(
        str(folder / f"{name}.jsonl"), session_id=name, cwd=f"/home/dev/{project}"
    )


def replace(session: SessionBuilder, stub: str = STUB) -> None:
    """A command whose output was replaced."""
    session.tool_result(session.tool_call(50_000, "Bash", command="make all"), stub)


@pytest.fixture
def saved(world: Path) -> SessionBuilder:
    """A session with a stub, a recall and two requests after it, and one with nothing."""
    quiet = transcript(world, SECOND, "website")
    quiet.tool_result(quiet.tool_call(50_000, "Bash", command="ls"), "a\nb")
    os.utime(quiet.path, (1_790_000_000, 1_790_000_000))
    session = transcript(world, FIRST)
    replace(session)
    recall = session.tool_call(51_000, "Bash", command="brimline store get abababab --lines 1:9")
    session.tool_result(recall, "x" * 900)
    session.reply(52_000)
    return session


def document(brimline: Callable[..., Outcome], *options: str) -> Any:
    """What a program gets."""
    return json.loads(brimline("history", "--savings", "--json", *options).out)


def test_without_any_transcript_nothing_was_offloaded(brimline: Callable[..., Outcome]) -> None:
    """It is no error."""
    done = brimline("history", "--savings")

    assert (done.code, done.err) == (0, "")
    assert done.out == "Nothing was offloaded: none of 0 sessions on disk holds a stub.\n"
    assert document(brimline)["sessions"] == []


@pytest.mark.row("S3-01")
def test_savings_are_told_per_session_and_in_total(
    saved: SessionBuilder, brimline: Callable[..., Outcome]
) -> None:
    """Counted in bytes, estimated in tokens, less what came back."""
    found = document(brimline)

    assert list(found) == ["session_count", "sessions_with_offload", "sessions", "total", "notes"]
    assert (found["session_count"], found["sessions_with_offload"]) == (2, 1)
    (one,) = found["sessions"]
    assert list(one) == SESSION_KEYS
    assert list(one["main"]) == ACCOUNT_KEYS
    assert (one["session_id"], one["project"]) == (FIRST, "/home/dev/importer")
    main = one["main"]
    assert (main["stubs"], main["stored_bytes"], main["recalls"]) == (1, 20_000, 1)
    assert main["kept_out_bytes"] == 20_000 - len(STUB) - 900
    tokens = main["estimated_tokens"]
    assert tokens["would_have_shown"] == round(20_000 / 2.85)
    left = tokens["would_have_shown"] - tokens["stubs"] - tokens["recalled"]
    assert tokens["kept_out"] == pytest.approx(left, abs=2)
    assert one["requests_after_a_stub"] == 2
    assert one["estimated_token_requests"] > tokens["kept_out"]
    assert one["measured_stubs"] is None
    assert one["fullest_request"]["occupancy_tokens"] == 52_000
    assert list(found["total"]) == TALLY_KEYS
    assert found["total"]["main"] == main


def test_a_person_gets_a_table_and_the_sums(
    saved: SessionBuilder, brimline: Callable[..., Outcome]
) -> None:
    """What is estimated bears a mark."""
    lines = brimline("history", "--savings").out.splitlines()

    assert lines[0] == "Main threads, newest first (1 of 1 sessions)"
    assert lines[1].split()[-2:] == ["tokens", "(estimated)"]
    assert lines[2].split()[2:5] == ["1f0c2d3e", "importer", "1"]
    assert lines[2].split()[-1].startswith("~")
    assert lines[4] == "Total"
    assert lines[5] == "  1 output of 20.0 kB replaced, 1 recall"
    assert lines[6].split() == ["would", "have", "shown", "20.0", "kB", "~7,018", "tokens"]
    assert lines[8].split()[:4] == ["recalls", "took", "-900", "B"]
    assert "2 requests did not carry" in lines[10]


def test_one_session_is_told_in_full(
    saved: SessionBuilder, brimline: Callable[..., Outcome]
) -> None:
    """By its id or the start of it; also one in which nothing was offloaded."""
    text = brimline("history", "--savings", "--session", "1f0c").out
    nothing = brimline("history", "--savings", "--session", SECOND)

    assert text.startswith(f"Session {FIRST}\n  1 output of 20.0 kB replaced")
    assert "fullest request   52,000 tokens, measured; ~" in text
    assert nothing.code == 0
    assert nothing.out == (
        f"Session {SECOND}\n  Nothing was offloaded, and nothing was fetched back.\n"
    )


@pytest.mark.parametrize(
    ("session", "told"),
    [("ffff", "no transcript of a session 'ffff'"), ("", "no transcript of a session ''")],
)
def test_a_session_that_is_not_there_is_refused(
    session: str, told: str, saved: SessionBuilder, brimline: Callable[..., Outcome]
) -> None:
    """In one sentence."""
    done = brimline("history", "--savings", "--session", session)

    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(f"brimline: {told}")


def test_the_start_of_two_ids_is_refused(
    saved: SessionBuilder, world: Path, brimline: Callable[..., Outcome]
) -> None:
    """More of the id is needed."""
    replace(transcript(world, FIRST.replace("1f0c2", "1f0c9")))

    done = brimline("history", "--savings", "--session", "1f0c")

    assert done.err == "brimline: 2 sessions begin with '1f0c': write more of the id\n"


def test_all_lists_sessions_without_a_stub_too(
    saved: SessionBuilder, brimline: Callable[..., Outcome]
) -> None:
    """The one that was active last comes first."""
    found = document(brimline, "--all")
    lines = brimline("history", "--savings", "--all").out.splitlines()

    assert [one["session_id"] for one in found["sessions"]] == [FIRST, SECOND]
    assert lines[0] == "Main threads, newest first (2 of 2 sessions)"
    assert lines[3].split()[:2] == ["unknown", "7c1e90aa"]


def test_no_more_than_twenty_sessions_are_listed(
    world: Path, brimline: Callable[..., Outcome]
) -> None:
    """The total counts all of them."""
    for number in range(25):
        session = transcript(world, f"{number:08d}-aaaa")
        session.counter = number * 100
        replace(session)

    found = document(brimline)

    assert len(found["sessions"]) == 20
    assert found["total"]["main"]["stubs"] == 25
    assert len(document(brimline, "--all")["sessions"]) == 25


def test_subagents_are_told_apart(saved: SessionBuilder, brimline: Callable[..., Outcome]) -> None:
    """Their windows are their own."""
    other = SessionBuilder(f"{saved.path[:-6]}/subagents/agent-a1.jsonl", counter=700)
    replace(other)

    text = brimline("history", "--savings").out

    assert document(brimline)["total"]["subagents"]["stubs"] == 1
    assert "In windows of subagents\n  1 output of 20.0 kB replaced, 0 recalls" in text


def test_a_loss_is_called_a_loss(world: Path, brimline: Callable[..., Outcome]) -> None:
    """The client itself would have shown the beginning only."""
    session = transcript(world, FIRST)
    replace(session, STUB.replace("20000", "90000") + "more " * 500)

    text = brimline("history", "--savings").out

    assert document(brimline)["total"]["main"]["kept_out_bytes"] < 0
    assert "It cost more than it saved." in text


def test_the_clients_limit_for_commands_is_respected(
    saved: SessionBuilder, world: Path, brimline: Callable[..., Outcome]
) -> None:
    """A smaller one means that the client would have shown less."""
    settings = world / "home" / ".claude" / "settings.json"
    settings.write_text('{"bashOutputMaxChars": 4000}', encoding="utf-8")

    assert document(brimline)["total"]["main"]["would_have_shown_bytes"] == 2_300

    settings.write_text('{"bashOutputMaxChars": true}', encoding="utf-8")
    assert document(brimline)["total"]["main"]["would_have_shown_bytes"] == 20_000


def test_what_is_no_file_is_passed_over(
    saved: SessionBuilder, world: Path, brimline: Callable[..., Outcome]
) -> None:
    """A folder or a pipe with the name of a session must not hold anything up."""
    folder = Path(saved.path).parent
    (folder / "folder.jsonl").mkdir()
    os.mkfifo(folder / "pipe.jsonl")

    assert document(brimline)["session_count"] == 2


def test_a_file_that_cannot_be_read_is_noted(
    saved: SessionBuilder, monkeypatch: pytest.MonkeyPatch, brimline: Callable[..., Outcome]
) -> None:
    """The others are told all the same."""
    from brimline.offload import savings

    real = savings.read_session

    def failing(path: str, *rest: Any, **more: Any) -> Any:
        if SECOND in path:
            raise PermissionError(13, "Permission denied", path)
        return real(path, *rest, **more)

    monkeypatch.setattr(savings, "read_session", failing)

    found = document(brimline)

    assert found["total"]["main"]["stubs"] == 1
    assert found["notes"][0].endswith("could not be read: Permission denied")
    assert brimline("history", "--savings").out.startswith("note: ")


@pytest.mark.parametrize("options", [["--savings", "--compactions"], ["--all"]])
def test_options_that_do_not_go_together_are_refused(
    options: list[str], brimline: Callable[..., Outcome]
) -> None:
    """The command says which."""
    done = brimline("history", *options)

    assert done.code == 2
    assert "--savings" in done.err
