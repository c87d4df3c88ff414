"""`brimline history`: what a person and a program see of past sessions, compactions and savings."""

from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from brimline.fast import clock
from brimline.fast.io import append_line
from brimline.figures.totals import percentiles
from brimline.hooks import entry
from brimline.state.session import SessionState
from brimline.testing import SessionBuilder, event

from .conftest import process

if TYPE_CHECKING:
    from .conftest import Golden, Refused, Run

NAME = "1f0c2d3e-aaaa-4bbb-8ccc-000000000001"
START = 1_790_000_000.0
OVERVIEW = "session_count sessions compaction_count compactions_without_a_model results_moved_out "
OVERVIEW += "summary_characters summary_tokens kept_out notes"
LINE = (
    "session_id project model window_tokens first_at last_at turns requests "
    "peak_occupancy_tokens compactions messages blocks"
)
NOTICE = "at event tier tool occupancy_tokens"
INNER = {
    "turns": "number at occupancy_tokens growth_tokens requests compactions",
    "messages": NOTICE,
    "blocks": NOTICE,
    "cleared": "at results tokens by",
    "compactions": "session_id at trigger pre_tokens post_tokens summary_characters "
    "summary_source messages_of_the_user messages_in_summary card_characters "
    "moved_out freed_tokens rewritten_tokens seconds account model dollars uuid lost",
}
SESSION = f"{LINE} occupancy_tokens cleared title is_copy kept_out notes subagents"
SAVED = {
    "references": 2,
    "stored_bytes": 140_000,
    "recalls": 1,
    "would_have_shown_characters": 42_300,
    "reference_characters": 4_000,
    "recalled_characters": 1_000,
    "tokens_estimated": 13_088,
    "gateway_tokens": 0,
}


@pytest.fixture
def recorded_session(home_dir: str) -> str:
    """A session of two turns with a message, a block and a compaction; its id."""
    refusal = {"occupancy": 120_000, "offset": 20, "blocked": True, "tool": "Skill"}
    lines: list[dict[str, Any]] = [
        {"event": "SessionStart", "cwd": "/home/dev/project", "model": "claude-opus-5"},
        {"event": "UserPromptSubmit", "occupancy": 40_000, "offset": 10},
        {"event": "PostToolUse", "occupancy": 120_000, "offset": 20, "tier": 1, "spoke": 1},
        {"event": "PreToolUse"} | refusal,
        {"event": "PreCompact", "occupancy": 166_000, "offset": 30, "trigger": "auto", "tail": 50},
        {"event": "SessionStart", "source": "compact"},
        {"event": "PostCompact", "summary_characters": 9_000},
        {"event": "UserPromptSubmit", "occupancy": None, "offset": 0},
        {"event": "PostToolUse", "occupancy": 52_000, "offset": 40},
        {"event": "Cleared", "results": 22, "freed_tokens": 27_219},
    ]
    folder = SessionState(home_dir, NAME).folder
    for number, line in enumerate(lines):
        text = json.dumps({"v": 1, "at": START + number, "window": 200_000} | line)
        append_line(f"{folder}/spool.jsonl", text)
    return NAME


def transcript(world: Path, name: str) -> SessionBuilder:
    """A session file in the client's folder."""
    path = world / "home" / ".claude" / "projects" / "-home-dev-other" / f"{name}.jsonl"
    return SessionBuilder(str(path), session_id=name)


def test_an_empty_history_says_so(brimline: Run) -> None:
    """It is not an error."""
    assert brimline("history").out.startswith("No history yet")
    assert brimline("history", "--compactions").out.startswith("No compaction yet.")
    assert brimline("history", "--json").document["sessions"] == []


@pytest.mark.row("S2-21", "S2-48", "S2-50")
def test_the_pages_tell_sessions_turns_and_compactions(
    recorded_session: str, world: Path, brimline: Run, golden: Golden
) -> None:
    """Of what hooks saw; compactions also of a transcript from before the installation."""
    older = transcript(world, "older")
    older.now = START - 5_000
    older.reply(150_000)
    assert "No turn was recorded by hooks yet." in brimline("history", "--session", "older").out
    older.row("custom-title", customTitle="The import")
    older.compact(155_301, "manual", "x" * 12_000)
    older.reply(44_664)
    commands = ("", "--session 1f0c", "--compactions", "--session old")

    pages = [f"$ history {words}\n{brimline('history', *words.split()).out}" for words in commands]

    golden("history.txt", "\n".join(pages))


def test_a_session_has_its_title_and_a_copy_is_marked(
    world: Path, home_dir: str, brimline: Run
) -> None:
    """Also where there is room for little of it."""
    made = transcript(world, "older")
    made.row("custom-title", customTitle="The import")
    made.reply(50_000)
    assert "  title      The import\n" in brimline("history", "--session", "older").out
    os.makedirs(f"{home_dir}/copies")
    Path(home_dir, "copies", "older.json").write_text("{}")

    assert "  title      copy: The import\n" in brimline("history", "--session", "older").out
    assert brimline("history", "--session", "older", "--json").document["is_copy"] is True


@pytest.mark.row("S2-48")
def test_the_keys_are_stable(recorded_session: str, brimline: Run) -> None:
    """Other programs rely on them; unknown is null; compactions only come where asked for."""
    report = brimline("history", "--session", recorded_session, "--json").document
    plain = brimline("history", "--json").document
    listed = brimline("history", "--json", "--compactions").document

    assert " ".join(report) == SESSION
    assert report["occupancy_tokens"] == [40_000, 120_000, 166_000, 52_000]
    assert [turn["occupancy_tokens"] for turn in report["turns"]] == [40_000, None]
    for name, keys in INNER.items():
        assert {" ".join(one) for one in report[name]} == {keys}
    assert report["compactions"][0]["at"] == clock.format_utc(START + 6)
    assert " ".join(plain) == OVERVIEW
    assert " ".join(plain["sessions"][0]) == f"{LINE} title is_copy"
    assert listed.pop("compactions") == report["compactions"]
    assert listed == plain


@pytest.mark.parametrize("name", ["none", "", "../x", "*", "%", "abc"])
def test_an_unknown_or_ambiguous_session_is_told_in_a_sentence(
    name: str, home_dir: str, refused: Refused
) -> None:
    """Exit 1, nothing on the standard output."""
    for one in ("abc1", "abc2"):
        SessionState(home_dir, one).spool_event("SessionStart", {})
    told = f"no session {name!r} is known: `brimline history` lists them"
    told = "2 sessions begin with 'abc': write more of the id" if name == "abc" else told

    assert refused("history", "--session", name) == f"brimline: {told}\n"


def test_damage_is_noted_beside_the_figures(
    recorded_session: str, home_dir: str, brimline: Run
) -> None:
    """An unreadable spool, a torn line, a damaged line of the history: none stops the command."""
    append_line(f"{SessionState(home_dir, recorded_session).folder}/spool.jsonl", "torn")
    bad = SessionState(home_dir, "bad").folder
    os.makedirs(bad)
    os.symlink("spool.jsonl", f"{bad}/spool.jsonl")
    Path(home_dir, "history.jsonl").write_bytes(b'{"v":1,"session":"1f0c\n\xff\n')

    done = brimline("history")

    assert "1f0c2d3e" in done.out
    assert "note: 1 piece of spool files: damaged, without an event\n" in done.err
    assert "could not be read: " in done.err
    assert brimline("history", "--json").document["notes"]


def test_a_terminal_without_blocks_gets_plain_characters(
    recorded_session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some terminals and pipes know ASCII only."""
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")

    done = process("history", "--session", recorded_session)

    assert b"occupancy  .+%-\n" in done.stdout
    assert done.stdout.isascii()


def test_long_tables_end_with_the_latest(home_dir: str, world: Path, brimline: Run) -> None:
    """Their titles say how many there are in all."""
    for number in range(40):
        fields = {"occupancy": 1_000 + number, "offset": number}
        SessionState(home_dir, "abc").spool_event("UserPromptSubmit", fields)
    builder = transcript(world, "abc")
    for _ in range(50):
        builder.now += 10_000
        builder.compact(155_301)

    done = brimline("history", "--session", "abc")

    assert "Turns (last 30 of 40)" in done.out
    assert "Compactions (last 30 of 50)" in done.out
    assert "1,039" in done.out


@pytest.mark.row("S2-50")
def test_percentiles_are_values_that_occurred() -> None:
    """By the nearest rank, so that a p99 of few is simply the largest."""
    found = percentiles(list(range(1, 1_001)))

    assert found == {"count": 1_000, "p50": 500, "p95": 950, "p99": 990, "largest": 1_000}
    assert percentiles([]) is None


def test_a_compaction_copied_into_a_resumed_session_counts_once(world: Path, brimline: Run) -> None:
    """Clients copy the rows of a session that is resumed or forked into the new file."""
    first, second = transcript(world, "first"), transcript(world, "second")
    first.compact(165_000, summary="x" * 700)
    second.raw(Path(first.path).read_bytes())
    second.counter = first.counter
    second.compact(165_000, summary="x" * 900)

    every = brimline("history", "--compactions", "--json").document
    one = brimline("history", "--session", "second", "--json").document

    assert [found["summary_characters"] for found in every["compactions"]] == [700, 900]
    assert [found["summary_characters"] for found in one["compactions"]] == [900]


def test_the_messages_that_a_summary_holds_stand_beside_its_compaction(
    world: Path, home_dir: str, brimline: Run
) -> None:
    """The first compaction was before the installation: blank."""
    session = transcript(world, NAME)
    session.prompt("Never deploy on Fridays.")
    session.compact(155_301)
    session.now = time.time() - 60
    session.prompt("Use port 5433.")
    session.reply(160_000)
    summary = "He said: use it. Use port 5433."
    for name, fields in (
        ("PreCompact", {"trigger": "auto"}),
        ("SessionStart", {"source": "compact"}),
        ("PostCompact", {"trigger": "auto", "compact_summary": summary}),
    ):
        entry.respond(name, json.dumps(event(name, session, **fields)).encode(), home_dir)
    session.now = time.time()
    session.compact(166_000)

    first, second = brimline("history", "--compactions", "--json").document["compactions"]
    lines = brimline("history", "--compactions").out.splitlines()

    names = ("messages_of_the_user", "messages_in_summary")
    assert [first[name] for name in names] == [None, None]
    assert [second[name] for name in names] == [2, 1]
    assert second["card_characters"] > 200
    assert "1/2" in lines[3].split()


@pytest.mark.row("S3-01")
def test_what_was_kept_out_is_told_per_session_and_in_total(home_dir: str, brimline: Run) -> None:
    """What would have been shown, less references, less what came back."""
    spool = SessionState(home_dir, NAME)
    spool.spool_event("SessionStart", {"cwd": "/home/dev/importer", "source": "startup"})
    given = {"tool": "Bash", "key": "sha256:1", "shown": 2_000}
    spool.spool_event("Offloaded", given | {"bytes": 100_000, "would": 2_300})
    spool.spool_event("Offloaded", given | {"bytes": 40_000, "would": 40_000})
    spool.spool_event("Recalled", {"tool": "Bash", "shown": 1_000})
    SessionState(home_dir, "other").spool_event("SessionStart", {"cwd": "/home/dev/website"})
    told = "~13,088 tokens, 2 results replaced, 1 of them fetched back\n"

    assert brimline("history", "--json").document["kept_out"] == SAVED
    assert brimline("history", "--session", "1f0c2", "--json").document["kept_out"] == SAVED
    assert f"Kept out on arrival: {told}" in brimline("history").out
    assert f"  kept out  {told}" in brimline("history", "--session", "1f0c2").out
    assert "  kept out  nothing yet\n" in brimline("history", "--session", "other").out


def test_a_figure_that_only_the_status_line_knew_is_shown(world: Path, brimline: Run) -> None:
    """The hook had it from there when the prompt was sent; the transcript had no request yet."""
    session = transcript(world, NAME)
    session.now = time.time() - 60
    line = {"occupancy": 31_000, "window": 200_000, "transcript_path": session.path}
    SessionState(f"{world}/brimline", NAME).spool_event("UserPromptSubmit", line | {"spoke": 1})
    session.now = time.time() + 60
    session.prompt("go on")
    session.reply(40_000)

    found = brimline("history", "--session", NAME, "--json").document

    assert [turn["occupancy_tokens"] for turn in found["turns"]] == [31_000]
    assert [one["occupancy_tokens"] for one in found["messages"]] == [31_000]
    assert " 31,000 " in brimline("history", "--session", NAME).out


def test_a_compaction_without_a_model_is_named_among_the_others(
    recorded_session: str, home_dir: str, brimline: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At a glance, and in the list with what it moved out; inside the client times are whole."""
    moved = {"results": 15, "inputs": 0, "freed_tokens": 36_000, "seconds": 0.4}
    lines: list[dict[str, Any]] = [
        {"event": "UserPromptSubmit", "occupancy": 166_000, "offset": 50},
        {"event": "MovedOut", "trigger": "manual"} | moved,
        {"event": "SessionStart", "source": "compact"},
        {"event": "PostCompact", "summary_characters": 0},
        {"event": "PostToolUse", "occupancy": 90_000, "offset": 60},
    ]
    folder = SessionState(home_dir, recorded_session).folder
    for number, line in enumerate(lines):
        text = json.dumps({"v": 1, "at": START + 100 + number, "window": 200_000} | line)
        append_line(f"{folder}/spool.jsonl", text)

    glance = " ".join(brimline("history").out.split())
    assert "1 of 2 compactions without a model: nothing was summarised, 15 results moved" in glance
    assert "without a model, 15 results moved out" in brimline("history", "--compactions").out
    monkeypatch.setenv("COLUMNS", "70")
    narrow = brimline("history", "--compactions").out
    assert re.search(r"^\d\d-\d\d \d\d:\d\dZ  ", narrow, re.MULTILINE)
    assert "…" not in narrow


def test_a_session_has_as_many_turns_in_its_history_as_where_it_is_inspected(
    world: Path, brimline: Run
) -> None:
    """What the client wrote where prompts stand opens none, nor do words beside a refusal."""
    session = transcript(world, "told")
    session.prompt("Go")
    call = session.tool_call(50_000)
    block = {"type": "tool_result", "tool_use_id": call, "content": "No.", "is_error": True}
    words = {"type": "text", "text": "Use the other one."}
    session.row("user", message={"role": "user", "content": [block, words]})
    session.reply(51_000)
    session.prompt("[Request interrupted by user]")
    session.prompt("<local-command-stdout>Set.</local-command-stdout>")
    session.prompt("And now?")
    session.reply(52_000)

    turns = brimline("history", "--session", "told", "--json").document["turns"]

    assert len(turns) == 2
    assert brimline("session", "inspect", "told", "--json").document["turns"] == 2
