"""A compaction through the hook entry: saved before, handed back after, and what it costs."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from brimline.carry import card, hook, ledger
from brimline.carry.hook import _FOLD_EVERY_BYTES, _MOST_BYTES, _OWN_BYTES
from brimline.fast import io, paths
from brimline.hooks import entry
from brimline.state import logs
from brimline.state.session import SessionState
from brimline.testing import SessionBuilder, event

from .rows import ran

if TYPE_CHECKING:
    from collections.abc import Callable

    Answer = Callable[..., str]

RULE = "Never touch the billing tables."


@pytest.fixture
def talk(session: SessionBuilder) -> SessionBuilder:
    """A session with a rule in it."""
    session.prompt(f"Make the nightly import faster. {RULE}")
    session.reply(160_000)
    return session


@pytest.fixture
def answer(home_dir: str) -> Answer:
    """What an event is answered with: the text for the model or the summary, else all of it."""

    def respond(session: SessionBuilder, name: str, **fields: Any) -> str:
        raw = entry.respond(name, json.dumps(event(name, session, **fields)).encode(), home_dir)
        try:
            found = json.loads(raw)
        except ValueError:
            return raw.decode()
        return str(found.get("hookSpecificOutput", {}).get("additionalContext") or found)

    return respond


@pytest.mark.row("S3-13", "S3-82", "S4-25", "S4-35")
def test_before_instructions_after_the_card_and_nothing_later(
    answer: Answer, talk: SessionBuilder, home_dir: str
) -> None:
    """The summary is told what to hold, not what was said; the card comes once."""
    SessionState(home_dir, talk.session_id).claim_level(4, 0)
    asked = answer(talk, "PreCompact", trigger="auto", custom_instructions=None)
    given = answer(talk, "SessionStart", source="compact")
    answer(talk, "PostCompact", trigger="auto", compact_summary=f"The user said: {RULE}")
    later = answer(talk, "UserPromptSubmit", prompt="go on")
    second = answer(talk, "SessionStart", source="compact")

    assert "context tiers before this compaction no longer holds" in given
    assert "context tiers" not in second
    assert asked == card.INSTRUCTIONS
    assert given.startswith(card.OPENING)
    assert RULE in given
    assert RULE not in later
    folder = Path(paths.carry_session_dir(home_dir, talk.session_id))
    assert RULE in (folder / "checkpoint.md").read_text(encoding="utf-8")


@pytest.mark.row("S4-23")
def test_a_failed_save_is_told_and_a_later_good_one_clears_it(
    answer: Answer, talk: SessionBuilder, home_dir: str
) -> None:
    """The card says that it may be incomplete only where the checkpoint could not be written."""
    folder = paths.carry_session_dir(home_dir, talk.session_id)
    os.makedirs(f"{folder}/checkpoint.md")
    answer(talk, "PreCompact", trigger="auto")
    degraded = answer(talk, "SessionStart", source="compact")
    os.rmdir(f"{folder}/checkpoint.md")
    answer(talk, "PreCompact", trigger="auto")
    good = answer(talk, "SessionStart", source="compact")

    assert "could not be saved; this may be incomplete" in degraded
    assert "could not be saved" not in good
    assert RULE in good
    assert RULE in degraded


@pytest.mark.row("S4-22")
def test_only_a_manual_compaction_is_refused_and_only_once_a_minute(
    answer: Answer, talk: SessionBuilder, home_dir: str
) -> None:
    """An automatic one goes ahead whatever happens."""
    os.makedirs(f"{paths.carry_session_dir(home_dir, talk.session_id)}/checkpoint.md")

    automatic = answer(talk, "PreCompact", trigger="auto")
    first = answer(talk, "PreCompact", trigger="manual")
    second = answer(talk, "PreCompact", trigger="manual")

    assert automatic == second == card.INSTRUCTIONS
    assert "'decision': 'block'" in first
    assert "could not be saved" in first


@pytest.mark.row("S2-19", "S2-21")
def test_it_is_noted_which_messages_the_summary_holds(
    answer: Answer, talk: SessionBuilder, home_dir: str
) -> None:
    """Word for word, wherever lines were broken; nothing is said of paraphrases."""
    talk.prompt("and use\nport 8443")
    talk.prompt("third")
    answer(talk, "PreCompact", trigger="auto")
    given = answer(talk, "SessionStart", source="compact")
    answer(talk, "PostCompact", trigger="auto", compact_summary="He said: and use port\n8443.")

    spool = Path(home_dir, "sessions", talk.session_id, "spool.jsonl").read_text("utf-8")
    (line,) = [json.loads(one) for one in spool.splitlines() if '"Carried"' in one]
    assert (line["messages"], line["held"], line["card_characters"]) == (3, 1, len(given))


@pytest.mark.row("S3-82")
def test_it_can_be_switched_off(answer: Answer, talk: SessionBuilder, home_dir: str) -> None:
    """All of it."""
    io.replace_file(paths.user_config(home_dir), b"carry.enabled = false\n")
    answer(talk, "SessionStart", source="startup")

    asked = answer(talk, "PreCompact", trigger="auto")
    given = answer(talk, "SessionStart", source="compact")

    assert asked == ""
    assert RULE not in given


@pytest.mark.row("S3-81")
def test_the_users_own_instructions_replace_ours(answer: Answer, talk: SessionBuilder) -> None:
    """From a file in the client's folder."""
    own = Path(paths.client_config_dir(), "compact-instructions.txt")
    own.parent.mkdir(parents=True, exist_ok=True)
    own.write_text("Keep the names of all ships.", encoding="utf-8")

    assert answer(talk, "PreCompact", trigger="auto") == "Keep the names of all ships."


@pytest.mark.row("S4-35")
def test_after_clear_and_in_a_new_session_there_is_a_pointer_and_no_more(
    answer: Answer,
    talk: SessionBuilder,
    world: Path,
    project_dir: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The client's process links the two; an unfinished session is named by what is open."""
    monkeypatch.setenv("CLAUDE_PID", "4711")
    answer(talk, "SessionStart", source="startup")
    ran(talk, "pytest -q", "1 failed", failed=True)
    answer(talk, "SessionEnd", reason="clear")
    after = SessionBuilder(str(world / "b.jsonl"), session_id="b" * 8, cwd=project_dir)

    cleared = answer(after, "SessionStart", source="clear")
    fresh = answer(after, "SessionStart", source="startup")

    for text, where in (
        (cleared, "before /clear."),
        (fresh, "in an earlier session of this project."),
    ):
        assert text.startswith(f"[brimline] 1 failed check was recorded {where}")
        assert f"brimline carry card --session {talk.session_id}" in text
        assert "\n" not in text


def test_a_hook_reads_at_most_the_end_of_a_transcript(answer: Answer, talk: SessionBuilder) -> None:
    """Without a ledger, from the end backwards; the card says from where it knows."""
    talk.raw(b'{"type":"progress","x":"' + b"x" * 2 * _MOST_BYTES + b'"}\n')
    talk.prompt("the last thing said")
    answer(talk, "PreCompact", trigger="auto")
    given = answer(talk, "SessionStart", source="compact")

    assert "the last thing said" in given
    assert "MB before that were not read" in given
    assert RULE not in given


def test_the_ledger_is_folded_along_the_way(
    answer: Answer, talk: SessionBuilder, home_dir: str
) -> None:
    """After some megabytes, once; so a compaction of a long session knows its beginning."""
    for _ in range(3):
        talk.raw(b'{"type":"progress","x":"' + b"x" * (_FOLD_EVERY_BYTES + 9) + b'"}\n')
        talk.reply(100_000)
        answer(talk, "PostToolUse", tool_name="Bash", tool_response={"stdout": "x"})

    assert ledger.load(home_dir, talk.session_id).messages[0]["text"].endswith(RULE)
    marks = [n for n in os.listdir(f"{home_dir}/sessions/{talk.session_id}") if "carried" in n]
    assert len(marks) == 1
    given = answer(talk, "SessionStart", source="compact")
    assert RULE in given
    assert "were not read" not in given


def test_a_fork_knows_what_its_origin_knew(
    answer: Answer, talk: SessionBuilder, world: Path, project_dir: str
) -> None:
    """Its transcript begins at the last compaction; the rest stands in the origin's."""
    talk.compact(160_000)
    rows = Path(talk.path).read_bytes().splitlines(keepends=True)
    fork = SessionBuilder(str(world / "fork.jsonl"), session_id="f" * 8, cwd=project_dir)
    fork.raw(b"".join(rows[-2:]))
    fork.prompt("and now the docs")

    answer(fork, "PreCompact", trigger="auto")
    given = answer(fork, "SessionStart", source="compact")

    assert RULE in given
    assert "and now the docs" in given


@pytest.mark.row("S4-46")
def test_what_old_sessions_left_goes(talk: SessionBuilder, home_dir: str, answer: Answer) -> None:
    """By housekeeping, after the answer; the running session stays."""
    old = Path(paths.carry_session_dir(home_dir, "old"))
    old.mkdir(parents=True)
    (old / "ledger.json").write_bytes(b"{}")
    for path in (old / "ledger.json", old):
        os.utime(path, (1, 1))
    raw = json.dumps(event("SessionStart", talk, source="startup")).encode()
    turn = entry.open_turn("SessionStart", raw, home_dir)
    assert turn is not None

    entry.tidy(turn, seconds=60.0)

    assert not old.exists()
    assert ledger.load(home_dir, talk.session_id).messages


def filled_up_to(session: SessionBuilder, size: int) -> None:
    """Let a session's file be exactly that large, by a row that tells nothing."""
    head, end = b'{"type":"progress","x":"', b'"}\n'
    missing = size - os.path.getsize(session.path) - len(head) - len(end)
    session.raw(head + b"x" * missing + end)


@pytest.mark.parametrize(
    ("size", "is_read"), [(_FOLD_EVERY_BYTES - 1, False), (_FOLD_EVERY_BYTES, True)]
)
def test_what_is_new_is_read_on_along_the_way(
    answer: Answer, talk: SessionBuilder, home_dir: str, size: int, is_read: bool
) -> None:
    """Where the last reply begins that far behind what was read; the mark says how far."""
    filled_up_to(talk, size)
    talk.reply(100_000)
    turns = []
    for _ in range(2):
        raw = json.dumps(event("PostToolUse", talk, tool_name="Read", tool_response={})).encode()
        turn = entry.open_turn("PostToolUse", raw, home_dir)
        assert turn is not None
        entry.answer_turn(turn)
        turns.append(turn.reading.offset)
        talk.prompt("go on")
        talk.reply(100_000)

    folder = f"{home_dir}/sessions/{talk.session_id}"
    marks = [name for name in os.listdir(folder) if name.startswith("carried-")]
    assert turns[0] == size
    assert marks == ([f"carried-{size}"] if is_read else [f"carried-{turns[1]}"])


@pytest.mark.parametrize(
    ("blanks", "told"), [(_OWN_BYTES - 1, "x"), (_OWN_BYTES, card.INSTRUCTIONS)]
)
def test_of_the_users_own_instructions_so_many_bytes_are_read(
    answer: Answer, talk: SessionBuilder, blanks: int, told: str
) -> None:
    """Where there is nothing in them ours are given."""
    own = Path(paths.client_config_dir(), "compact-instructions.txt")
    own.parent.mkdir(parents=True, exist_ok=True)
    own.write_text(" " * blanks + "x", encoding="utf-8")

    assert answer(talk, "PreCompact", trigger="auto") == told


def test_where_carrying_is_switched_off_nothing_is_kept_or_read(
    answer: Answer, talk: SessionBuilder, home_dir: str
) -> None:
    """No event leaves a record of what was said."""
    io.replace_file(paths.user_config(home_dir), b"carry.enabled = false\n")
    filled_up_to(talk, _FOLD_EVERY_BYTES + 9)
    talk.reply(100_000)
    for name, fields in (
        ("SessionStart", {"source": "startup"}),
        ("PostToolUse", {"tool_name": "Read", "tool_response": {}}),
        ("Stop", {}),
        ("PostCompact", {"trigger": "auto", "compact_summary": RULE}),
        ("SessionEnd", {"reason": "clear"}),
    ):
        answer(talk, name, **fields)

    assert not os.path.exists(paths.carry_session_dir(home_dir, talk.session_id))
    spool = Path(home_dir, "sessions", talk.session_id, "spool.jsonl").read_text("utf-8")
    assert '"Carried"' not in spool


def test_a_save_that_failed_is_in_the_error_log_and_noted_beside_the_session(
    answer: Answer, talk: SessionBuilder, home_dir: str
) -> None:
    """With the session it is of; a later good one takes the note away."""
    folder = paths.carry_session_dir(home_dir, talk.session_id)
    own = Path(SessionState(home_dir, talk.session_id).folder)
    os.makedirs(f"{folder}/checkpoint.md")
    answer(talk, "PreCompact", trigger="auto")
    failures = logs.recent_failures(home_dir, 0.0)
    noted = (own / "carry-incomplete").exists()
    os.rmdir(f"{folder}/checkpoint.md")
    answer(talk, "PreCompact", trigger="auto")

    assert [(one["event"], one["session"]) for one in failures] == [("PreCompact", talk.session_id)]
    assert "the checkpoint in" in failures[0]["message"]
    assert (noted, (own / "carry-incomplete").exists()) == (True, False)
    assert len(logs.recent_failures(home_dir, 0.0)) == 1


def test_what_the_summary_holds_is_counted_beside_the_size_of_the_card(
    answer: Answer, talk: SessionBuilder, home_dir: str
) -> None:
    """Where there was no card it is nought; a summary without a word is none."""
    state = SessionState(home_dir, talk.session_id)
    talk.prompt("And keep it short.")
    answer(talk, "PreCompact", trigger="auto")
    answer(talk, "PostCompact", trigger="auto", compact_summary=" \n ")
    assert state.last_spooled_row_of("Carried") == {}
    answer(talk, "PostCompact", trigger="auto", compact_summary=f"It was said: {RULE}")
    first = state.last_spooled_row_of("Carried")
    given = answer(talk, "SessionStart", source="compact")
    answer(talk, "PostCompact", trigger="auto", compact_summary="And keep it\nshort. Really")
    second = state.last_spooled_row_of("Carried")

    assert (first["messages"], first["held"], first["card_characters"]) == (2, 0, 0)
    assert (second["messages"], second["held"]) == (2, 1)
    assert second["card_characters"] == len(given)


def test_a_checkpoint_is_written_where_a_tier_asks(talk: SessionBuilder, home_dir: str) -> None:
    """With why; where carrying is switched off there is none."""
    raw = json.dumps(event("Stop", talk)).encode()
    turn = entry.open_turn("Stop", raw, home_dir)
    assert turn is not None
    document = Path(paths.carry_session_dir(home_dir, talk.session_id), "checkpoint.json")
    turn.values["carry.enabled"] = False
    hook.checkpoint_or_raise_if_on(turn, "tier")
    assert not document.exists()
    turn.values["carry.enabled"] = True

    hook.checkpoint_or_raise_if_on(turn, "tier")

    told = json.loads(document.read_text())
    assert (told["trigger"], told["session"]) == ("tier", talk.session_id)
    assert told["transcript"] == talk.path
    assert told["reading"]["occupancy"] == 160_000
