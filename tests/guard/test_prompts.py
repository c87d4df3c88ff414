"""What comes with a prompt: the tier, the user's reminder, the rate limits, in this order."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.hooks.processes import environment

from brimline.fast.decision import NOTE_BUDGET_CHARACTERS, Decision, merge_decisions
from brimline.guard import prompts
from brimline.state.session import SessionState
from brimline.testing import SessionBuilder, event, statusline_event

from .dialogue import SILENT, Talk

RULES = "Match effort to request complexity. No preambles."
NOW = 1_800_000_000.0
HEAD = "## Usage Limits - "
LIMITS = {"five_hour": {"used_percentage": 95}, "seven_day": {"used_percentage": 75}}
# What each part begins with, the most urgent one first.
OPENINGS = {
    "tier": "[brimline] Context tier L",
    "reminder": "[brimline] Reminder from",
    "limits": "## Usage Limits - 5h: 95%",
}
CHOICES = [chosen for size in range(4) for chosen in itertools.combinations(OPENINGS, size)]


@pytest.fixture
def rules(world: Path, talk: Talk) -> Path:
    """The file that holds the reminder."""
    file = world / "home" / "rules.md"
    file.write_text(RULES + "\n")
    talk.use(reminder__file=file)
    return file


@pytest.mark.row("S1-06", "S1-11", "S1-12")
@pytest.mark.parametrize("due", CHOICES, ids="+".join)
def test_the_most_urgent_note_comes_first(due: tuple[str, ...], talk: Talk, rules: Path) -> None:
    """A blank line between them; what cannot be measured leaves the others as they are."""
    if "reminder" not in due:
        rules.unlink()
    if "limits" in due:
        talk.show_window(200_000, LIMITS)
    talk.session.reply(155_000 if "tier" in due else 50_000)

    parts = [part for part in talk.at_prompt().note.split("\n\n") if part]

    assert [part[: len(OPENINGS[name])] for part, name in zip(parts, due, strict=True)] == [
        OPENINGS[name] for name in due
    ]
    talk.session.session_id = "unmeasurable"
    if "limits" in due:
        talk.show_window(200_000, LIMITS)
    others = talk.send(event("UserPromptSubmit", talk.session, transcript_path="/nowhere")).note
    assert others.split("\n\n") == ([part for part in parts if "tier L" not in part] or [""])


@pytest.mark.row("S1-12")
def test_the_longest_reminder_leaves_room_for_the_others(talk: Talk, rules: Path) -> None:
    """All three fit into what the client passes on whole; a note that does not is left out."""
    rules.write_text("x" * 50_000)
    talk.show_window(200_000, LIMITS)

    note = talk.at_prompt(155_000).note

    assert len(note) <= NOTE_BUDGET_CHARACTERS
    assert note.startswith(OPENINGS["tier"])
    assert "[truncated]" in note
    assert OPENINGS["limits"] in note
    long = [Decision(model_notes=(letter * 4_000,)) for letter in "abc"]
    assert merge_decisions(long).model_notes == ("a" * 4_000, "b" * 4_000)


@pytest.mark.row("S1-12")
def test_a_long_reminder_is_cut(talk: Talk, rules: Path) -> None:
    """With its head; one that just fits is whole."""
    room = prompts._LARGEST_CHARACTERS - len(f"{OPENINGS['reminder']} {rules} (`reminder.file`):\n")
    for size, end in ((room, "x"), (room + 1, "\n[truncated]")):
        rules.write_text("x" * size)
        note = talk.at_start().note
        assert (len(note), note.endswith(f"xx{end}")) == (prompts._LARGEST_CHARACTERS, True)


def test_a_repository_brings_no_other_one(talk: Talk, session: SessionBuilder, world: Path) -> None:
    """By a link, where the reminder lies in the project."""
    (world / "id_key").write_text("a private key")
    reminder = Path(session.cwd, "reminder.md")
    reminder.symlink_to(world / "id_key")
    talk.use(reminder__file=reminder)
    assert "private" not in talk.at_start().note + talk.at_prompt().note

    reminder.unlink()
    reminder.symlink_to("other.md")
    Path(session.cwd, "other.md").write_text(RULES)
    assert RULES in talk.at_prompt().note


@pytest.mark.row("S2-41", "S2-42", "S2-51")
def test_the_reminder_comes_with_a_start_and_when_it_changed(talk: Talk, rules: Path) -> None:
    """However the session starts, each time; unchanged, ten prompts cost nothing."""
    for source in ("startup", "startup", "resume", "clear", "compact"):
        expected = f"[brimline] Reminder from {rules} (`reminder.file`):\n{RULES}"
        assert talk.at_start(source).note == expected
    assert [talk.at_prompt() for _ in range(10)] == [SILENT] * 10
    rules.unlink()  # editors replace files; the same text is the same text
    assert talk.at_prompt() == SILENT
    rules.write_text(RULES)
    assert talk.at_prompt() == SILENT
    rules.write_bytes(b"Caf\xe9: ask before pushing.\n")

    assert "Caf\ufffd: ask before pushing." in talk.at_prompt().note
    assert talk.at_prompt() == SILENT
    talk.session.session_id = "another"  # which started without it
    assert "ask before pushing" in talk.at_prompt().note
    assert talk.after_tool() == SILENT


def test_what_was_told_with_a_prompt_is_on_record(talk: Talk, rules: Path) -> None:
    """How many notes it was; where there was none there is no line."""
    found = []
    for text, limits in (("", {}), (RULES, {}), ("Other rules.", LIMITS)):
        rules.write_text(text)
        talk.show_window(200_000, limits)
        talk.at_prompt()
        state = SessionState(talk.home_dir, talk.session.session_id)
        found.append(state.last_spooled_row_of("Told").get("notes"))

    assert found == [None, 1, 2]


@pytest.mark.row("S2-42")
@pytest.mark.parametrize(
    ("every", "heard"), [(0, "-------"), (1, "xxxxxxx"), (2, "-x-x-x-"), (3, "--x--x-")]
)
def test_it_is_repeated_as_often_as_is_set(every: int, heard: str, talk: Talk, rules: Path) -> None:
    """After so many prompts since it was given last; a compaction starts the count anew."""
    talk.use(reminder__every=every)
    talk.at_start()
    talk.at_prompt()
    talk.at_start("compact")

    assert "".join("x" if talk.at_prompt().note else "-" for _ in heard) == heard


@pytest.mark.row("S2-41")
def test_the_active_plan_is_named(talk: Talk, rules: Path, world: Path) -> None:
    """The plan written last since the session began; one from before may be another project's."""
    plans = world / "home" / ".claude" / "plans"
    plans.mkdir(parents=True)
    (plans / "old.md").write_text("plan")
    os.utime(plans / "old.md", (1_000, 1_000))
    assert talk.at_start().note.endswith(RULES)
    (plans / "new.md").write_text("plan")
    os.utime(plans / "new.md", (4_000_000_000, 4_000_000_000))

    assert talk.at_prompt() == SILENT
    assert talk.at_start().note.endswith(f"{RULES}\nActive plan: {plans}/new.md")


@pytest.mark.row("S2-51")
@pytest.mark.parametrize("letter", ["x", "ü", "🪟"])
@pytest.mark.parametrize("depth", [0, 3])
def test_a_long_text_is_cut_and_marked(letter: str, depth: int, talk: Talk, world: Path) -> None:
    """Within what leaves room for the others, however long the path is; one that fits is whole."""
    file = world.joinpath(*["d" * 200] * depth) / "rules.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(letter * 30_000)
    talk.use(reminder__file=file)

    note = talk.at_start().note

    assert note.endswith("\n[truncated]")
    assert prompts._LARGEST_CHARACTERS - 1_000 < len(note) <= prompts._LARGEST_CHARACTERS
    fitting = letter * (prompts._LARGEST_CHARACTERS - 1_000)
    file.write_text(fitting)
    assert talk.at_start().note.endswith(fitting)


@pytest.mark.parametrize("content", [None, b"", b" \n\t\n", "folder"])
def test_without_a_text_it_is_silent(content: bytes | str | None, talk: Talk, rules: Path) -> None:
    """Missing, blank, a folder or not set: silent, and no failure; `~` is the home folder."""
    talk.use(reminder__file="~/rules.md")
    assert RULES in talk.at_start().note
    rules.unlink()
    if content == "folder":
        rules.mkdir()
    elif isinstance(content, bytes):
        rules.write_bytes(content)

    assert [talk.at_start(), talk.at_prompt()] == [SILENT] * 2
    talk.unset("reminder__file")
    assert [talk.at_start(), talk.at_prompt()] == [SILENT] * 2


_NOBODY_IS_ASKED = """
import json, socket, subprocess, sys

def refused(*_, **__):
    raise AssertionError("somebody was asked")

socket.socket.connect = subprocess.Popen.__init__ = refused
from brimline.hooks import entry, statusline
from brimline.fast import paths
shown, prompt = [json.dumps(payload).encode() for payload in json.loads(sys.argv[1])]
statusline.respond(shown, paths.data_dir())
print(entry.respond("UserPromptSubmit", prompt, paths.data_dir()).decode())
"""


@pytest.mark.row("S2-43", "S2-44")
def test_limits_are_told_without_asking_anyone(talk: Talk, world: Path) -> None:
    """No connection, no process: the status line's own figures."""
    shown = statusline_event(talk.session, 200_000, None) | {"rate_limits": LIMITS}
    given = [shown, event("UserPromptSubmit", talk.session)]

    done = subprocess.run(
        [sys.executable, "-c", _NOBODY_IS_ASKED, json.dumps(given)],
        env=environment(world),
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert "5h: 95% [CRITICAL]" in done.stdout


@pytest.mark.row("S2-44")
@pytest.mark.parametrize(
    ("five_hour", "seven_day", "text"),
    [
        (
            (72, NOW + 2 * 3_600 + 3 * 60),
            (91.4, NOW + 76 * 3_600),
            "5h: 72% [WARNING] | resets in 2h 3m | 7d: 91% [CRITICAL] | resets in 3d 4h",
        ),
        ((70, None), None, "5h: 70% [WARNING]"),
        ((69.9, None), (89.9, None), "5h: 70% | 7d: 90% [WARNING]"),
        ((90, None), (140, None), "5h: 90% [CRITICAL] | 7d: 140% [CRITICAL]"),
        (None, (12, NOW + 60), "7d: 12% | resets in 0h 1m"),
        ((99, "2027-01-15T09:30:00Z"), None, "5h: 99% [CRITICAL] | resets in 1h 30m"),
        ((99, NOW), (71, None), "7d: 71% [WARNING]"),
        ((71, True), None, "5h: 71% [WARNING]"),
        ((71, "soon"), None, "5h: 71% [WARNING]"),
        ((71, {}), None, "5h: 71% [WARNING]"),
    ],
)
def test_the_line_holds_every_known_limit(five_hour: Any, seven_day: Any, text: str) -> None:
    """Share, mark and time to the reset; one that was reset since is not worth telling."""
    named = {"five_hour": five_hour, "seven_day": seven_day}
    limits = {
        name: limit and {"used_percentage": limit[0], "resets_at": limit[1]}
        for name, limit in named.items()
    }

    assert prompts.rate_limits_line(limits, NOW) == HEAD + text


@pytest.mark.row("S2-44")
def test_a_band_is_told_once_when_it_is_entered(talk: Talk) -> None:
    """And again after it was left; each limit has its own; on the way down nothing is said."""
    heard = ""
    for percent in (60, 72, 75, 91, 95, 85, 92, 60, 71):
        heard += "x" if _told(talk, five_hour=percent) else "-"
    assert heard == "-x-x--x-x"

    talk.session.session_id = "jump"
    assert "[CRITICAL]" in _told(talk, five_hour=95)
    assert _told(talk, five_hour=75) == ""
    assert "5h: 76% [WARNING]" in (line := _told(talk, five_hour=76, seven_day=71))
    assert "7d: 71% [WARNING]" in line
    assert _told(talk, five_hour=99, resets_in_s=-1) == ""
    assert "5h: 71% [WARNING]" in _told(talk, five_hour=71)


@pytest.mark.row("S2-44")
def test_limits_come_with_prompts_only_and_not_in_preset_off(talk: Talk) -> None:
    """A turn in progress is not interrupted; without a status line there is nothing to tell."""
    assert talk.at_prompt(50_000) == SILENT
    talk.show_window(200_000, LIMITS)
    assert [talk.after_tool(), talk.at_stop()] == [SILENT] * 2
    talk.use(guard__preset="off")
    assert talk.at_prompt() == SILENT
    talk.use(guard__preset="default")

    assert talk.at_prompt().note.startswith(HEAD)


@pytest.mark.parametrize(
    "limits",
    [
        *(None, {}, {"five_hour": None, "seven_day": None}, {"five_hour": 95}, {"five_hour": "95"}),
        *({"five_hour": {"used_percentage": odd}} for odd in ("95", None, True)),
        *({"five_hour": [95]}, {"another": {"used_percentage": 95}}),
    ],
)
def test_limits_of_another_shape_are_no_limits(limits: dict[str, Any] | None, talk: Talk) -> None:
    """Accounts without them send null; whatever else comes is not guessed at."""
    talk.show_window(200_000, limits)

    assert talk.at_prompt() == SILENT


def _told(talk: Talk, resets_in_s: float = 7_200, **percents: float) -> str:
    """Let the status line tell the limits, then ask with a prompt."""
    at = time.time() + resets_in_s
    limits = {name: {"used_percentage": p, "resets_at": at} for name, p in percents.items()}
    talk.show_window(200_000, limits)
    return talk.at_prompt().note
