"""`brimline session inspect`: bytes and tokens apart, for programs and people, one or all."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from brimline.fast import paths
from brimline.testing import SessionBuilder, text_block

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from .conftest import Outcome

KEYS = [
    "session_id",
    "transcript",
    "size_bytes",
    "last_at",
    "turns",
    "requests",
    "compactions",
    "peak_tokens",
    "measured_tokens",
    "purged_since_tokens_estimated",
    "mendable_faults",
    "doubtful_faults",
    "lines",
    "longest_line_bytes",
    "first_at",
    "models",
    "records",
    "occupancy_tokens",
    "compaction_list",
    "disk_bytes",
    "context",
    "largest_results",
    "repeated_reads",
    "faults",
    "notes",
]


def _in_project(project_dir: str, name: str) -> SessionBuilder:
    folder = paths.project_transcripts(project_dir)
    return SessionBuilder(f"{folder}/{name}.jsonl", session_id=name, cwd=project_dir)


def _at_work(session: SessionBuilder) -> SessionBuilder:
    session.prompt("look around")
    for tokens in (30_000, 34_000):
        call = session.tool_call(tokens, "Read", file_path="/home/dev/project/big.py")
        session.tool_result(call, "line\n" * 2_000)
    session.reply(38_000, text_block("Done."))
    return session


def _document(outcome: Outcome) -> dict[str, Any]:
    assert outcome.code == 0, outcome.err
    found: dict[str, Any] = json.loads(outcome.out)
    return found


def test_the_document_has_its_keys_and_its_sums_are_right(
    brimline: Callable[..., Outcome], session: SessionBuilder
) -> None:
    """Bytes add up to the file, tokens to the last request and what came since."""
    _at_work(session)

    found = _document(brimline("session", "inspect", session.path, "--json"))

    assert list(found) == KEYS
    assert sum(one["bytes"] for one in found["disk_bytes"]) == os.path.getsize(session.path)
    context = found["context"]
    kinds = sum(one["tokens_estimated"] for one in context["kinds"])
    assert kinds == context["next_request_tokens_estimated"]
    assert context["measured_tokens"] == 38_000
    assert found["occupancy_tokens"] == [30_000, 34_000, 38_000]


def test_results_and_repeated_reads_are_named(
    brimline: Callable[..., Outcome], session: SessionBuilder
) -> None:
    """The tool, what it was asked, how much came back, in which request."""
    _at_work(session)

    found = _document(brimline("session", "inspect", session.path, "--json"))

    assert found["largest_results"][0] == {
        "bytes": 10_000,
        "tool": "Read",
        "source": "/home/dev/project/big.py",
        "request": 1,
        "in_context": True,
    }
    (again,) = found["repeated_reads"]
    assert (again["reads"], again["repeated_reads"], again["repeated_bytes"]) == (2, 1, 10_000)
    assert again["context_tokens_estimated"] > 1_000


@pytest.mark.row("S2-18", "S2-38")
def test_only_what_follows_the_last_compaction_is_in_the_context(
    brimline: Callable[..., Outcome], session: SessionBuilder
) -> None:
    """The disk keeps all; the context begins anew, and the compaction is listed with figures."""
    _at_work(session)
    session.compact(167_000, summary="S" * 400)
    session.prompt("go on")
    session.reply(21_000, text_block("Going on."))

    found = _document(brimline("session", "inspect", session.path, "--json"))

    (compaction,) = found["compaction_list"]
    assert compaction["trigger"] == "auto"
    assert (compaction["pre_tokens"], compaction["post_tokens"]) == (167_000, 21_000)
    assert compaction["summary_characters"] == 400
    kinds = {one["kind"]: one["tokens_estimated"] for one in found["context"]["kinds"]}
    assert "tool_result" not in kinds
    assert "summary" in kinds
    assert any(one["kind"] == "tool_result" for one in found["disk_bytes"])
    assert not any(one["in_context"] for one in found["largest_results"])


def test_without_a_request_the_context_is_only_estimated(
    brimline: Callable[..., Outcome], session: SessionBuilder
) -> None:
    """Nothing was measured since the compaction, and the page says so."""
    _at_work(session)
    session.compact(167_000)

    found = _document(brimline("session", "inspect", session.path, "--json"))
    page = brimline("session", "inspect", session.path).out

    assert found["context"]["measured_tokens"] is None
    assert not found["context"]["is_complete"]
    assert "no request has measured it yet" in page


def test_the_page_tells_bytes_from_tokens_and_draws_the_curve(
    brimline: Callable[..., Outcome], session: SessionBuilder
) -> None:
    """Estimates carry a tilde, copies that are never sent are called so."""
    _at_work(session)

    page = brimline("session", "inspect", session.path).out

    assert "In the context: 38,000 tokens at the last request, ~" in page
    assert "the client's copies of results (never sent)" in page
    assert "▇██" in page
    assert "Structure: sound" in page
    assert "1 of 2 reads again" in page


def test_faults_are_told_with_their_remedy(
    brimline: Callable[..., Outcome], session: SessionBuilder
) -> None:
    """Which lines, what it means, and the command that mends them."""
    _at_work(session)
    session.parent = "gone"
    session.prompt("go on")

    page = brimline("session", "inspect", session.path).out

    assert "Structure: 1 fault; `brimline session repair` mends 1" in page
    assert "1 dangling_parent" in page
    assert "line 7: follows line 6" in page


def test_without_a_name_it_is_the_newest_session_of_the_project(
    brimline: Callable[..., Outcome], project_dir: str
) -> None:
    """Named by its id, another one can be had."""
    old, new = _in_project(project_dir, "old"), _in_project(project_dir, "new")
    for age, session in enumerate((new, old)):
        _at_work(session)
        os.utime(session.path, (1_700_000_000 - age, 1_700_000_000 - age))

    assert _document(brimline("session", "inspect", "--json"))["session_id"] == "new"
    by_id = _document(brimline("session", "inspect", "--session", "old", "--json"))
    assert by_id["session_id"] == "old"


def test_all_sessions_of_the_project_stand_in_one_table(
    brimline: Callable[..., Outcome], project_dir: str
) -> None:
    """Newest first; those of other projects are not among them."""
    for age, name in enumerate(("newest", "older")):
        session = _at_work(_in_project(project_dir, name))
        os.utime(session.path, (1_700_000_000 - age, 1_700_000_000 - age))
    _at_work(_in_project("/another/project", "foreign"))

    found = _document(brimline("session", "inspect", "--all", "--json"))
    page = brimline("session", "inspect", "--all").out

    assert [one["session_id"] for one in found["sessions"]] == ["newest", "older"]
    assert [one["measured_tokens"] for one in found["sessions"]] == [38_000, 38_000]
    assert "foreign" not in page
    assert page.index("newest") < page.index("older")


def test_an_empty_session_has_nothing_in_it(
    brimline: Callable[..., Outcome], session: SessionBuilder
) -> None:
    """Zeros and unknowns, no failure."""
    session.raw(b"")

    found = _document(brimline("session", "inspect", session.path, "--json"))
    page = brimline("session", "inspect", session.path).out

    assert (found["size_bytes"], found["requests"], found["peak_tokens"]) == (0, 0, None)
    assert "active       unknown to unknown" in page


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["nowhere.jsonl"], 1, "is not there"),
        (["."], 1, "is no file"),
        (["--session", "absent"], 1, "no session absent"),
        (["--all", "x.jsonl"], 2, "--all takes no FILE"),
        (["x.jsonl", "--session", "y"], 2, "Give one of"),
        ([], 1, "no session of this project"),
    ],
)
def test_wrong_names_are_told_in_one_sentence(
    arguments: list[str], code: int, told: str, brimline: Callable[..., Outcome]
) -> None:
    """With the code for wrong usage, or for what is not there."""
    outcome = brimline("session", "inspect", *arguments)

    assert outcome.code == code
    assert told in outcome.err
    assert "Traceback" not in outcome.err


def test_a_file_that_is_no_session_is_refused(
    brimline: Callable[..., Outcome], world: Path
) -> None:
    """A text is not looked into."""
    (world / "notes.txt").write_text("hello\n", encoding="utf-8")

    outcome = brimline("session", "inspect", str(world / "notes.txt"))

    assert outcome.code == 1
    assert "is not a session's transcript" in outcome.err


def test_foreign_texts_cannot_drive_the_terminal(
    brimline: Callable[..., Outcome], session: SessionBuilder
) -> None:
    """Control characters in commands, names and types are not printed."""
    call = session.tool_call(1_000, "Ba\x1b[31msh", command="echo \x1b]0;owned\x07")
    session.tool_result(call, "x")
    session.row("we\x1bird")

    page = brimline("session", "inspect", session.path).out

    assert "\x1b" not in page
    assert "\x07" not in page


def test_a_line_that_is_too_long_is_not_said_to_be_never_sent(
    brimline: Callable[..., Outcome], session: SessionBuilder
) -> None:
    """Nobody looked into it, so nobody knows."""
    session.raw(b'{"type":"user","text":"' + b"x" * (9 << 20) + b'"}\n')

    told = brimline("session", "inspect", session.path).out

    (line,) = [line for line in told.splitlines() if "not looked into" in line]
    assert "never sent" not in line
