"""What the commands take and show at both sides of their limits."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import click
import pytest

from brimline import clock
from brimline.carry.ledger import Ledger
from brimline.cli import carry_commands, cost_command, memory_commands, surface
from brimline.fast import paths
from brimline.memory import hits
from brimline.session import restore
from brimline.state.forgotten import Asked
from brimline.store import put
from brimline.testing import SessionBuilder

if TYPE_CHECKING:
    from .conftest import Refused, Run


@pytest.mark.parametrize(
    ("text", "ago_s"),
    [
        ("1h", 3_600),
        ("24h", 86_400),
        ("1d", 86_400),
        ("7d", 604_800),
        ("1w", 604_800),
        ("2w", 1_209_600),
        ("0h", 0),
        ("99999h", 359_996_400),
    ],
)
def test_since_some_hours_days_or_weeks_is_counted_from_now(text: str, ago_s: int) -> None:
    """To the second."""
    before = clock.now_s()
    begun = cost_command._parse_since(text)

    assert before <= begun + ago_s <= clock.now_s()


def test_since_a_day_is_from_its_beginning_here() -> None:
    """In the time of this machine."""
    begun = time.localtime(cost_command._parse_since("2026-11-01"))

    assert tuple(begun)[:6] == (2026, 11, 1, 0, 0, 0)


@pytest.mark.parametrize("text", ["100000h", "7", "d", "7m", "2026-13-01", "yesterday", "1.5d"])
def test_since_takes_nothing_else(text: str) -> None:
    """What it takes is said with what was given."""
    with pytest.raises(click.UsageError) as raised:
        cost_command._parse_since(text)

    told = f"--since takes a day (2026-11-01), 24h, 7d or 2w, not {text!r}"
    assert raised.value.message == told


@pytest.mark.parametrize(
    ("unit", "tiers", "said"),
    [
        ("used", "50,100", ""),
        ("used", "50,101", "guard.tiers must be 0 to 100 in the unit used"),
        ("used", "60,50", "guard.tiers must rise in the unit used: write 50,60"),
        ("remaining", "100,50", ""),
        ("remaining", "100.5,50", "guard.tiers must be 0 to 100 in the unit remaining"),
        ("to_compaction", "3,30", "guard.tiers must fall in the unit to_compaction: write 30,3"),
        ("tokens", "50000,100000", ""),
        ("tokens", "100000,50000", "guard.tiers must rise in the unit tokens: write 50000,100000"),
    ],
)
def test_tiers_are_points_up_to_a_hundred_in_their_order(
    unit: str, tiers: str, said: str, brimline: Run
) -> None:
    """Tokens have no such end."""
    assert brimline("config", "set", "guard.tier_unit", unit).code == 0

    done = brimline("config", "set", "guard.tiers", tiers)

    assert (done.code == 0) is (said == "")
    assert said in done.err


@pytest.mark.parametrize(
    ("words", "is_taken"),
    [
        ("store prune --dry-run --max-age-days 0", True),
        ("store prune --dry-run --max-age-days 1000000000", True),
        ("store prune --dry-run --max-age-days 1000000001", False),
        ("store prune --dry-run --max-size-mb 1000000000", True),
        ("store prune --dry-run --max-size-mb 1000000001", False),
        ("store prune --dry-run --max-size-mb -1", False),
        ("store list --limit 0", True),
        ("store list --limit -1", False),
        ("memory search x --limit 1", True),
        ("memory search x --limit 100", True),
        ("memory search x --limit 0", False),
        ("memory search x --limit 101", False),
        ("budget alerts --priority 0", True),
        ("budget alerts --priority 10", True),
        ("budget alerts --priority 11", False),
        ("budget alerts --priority -1", False),
        ("session purge --dry-run --threshold 1", True),
        ("session purge --dry-run --threshold 0", False),
        ("session purge --dry-run --keep-recent 0", True),
        ("session purge --dry-run --keep-recent -1", False),
        ("session backups --prune 0", True),
        ("session backups --prune -0.1", False),
    ],
)
def test_numbers_are_taken_within_their_limits(
    words: str, is_taken: bool, brimline: Run, project_dir: str
) -> None:
    """What is beyond is wrong usage, in one line."""
    path = f"{paths.project_transcripts_dir(project_dir)}/abc.jsonl"
    SessionBuilder(path, session_id="abc", cwd=project_dir).prompt("hello")

    done = brimline(*words.split())

    assert done.code == (0 if is_taken else 2), done
    assert is_taken or ("is not in the range" in done.err and done.err.count("\n") == 1)


def test_a_search_of_outputs_shows_one_at_least(refused: Refused) -> None:
    """Zero is no number of them."""
    assert "0 is not in the range x>=1" in refused("store", "search", "x", "--limit", "0", code=2)


@pytest.mark.parametrize(
    ("command", "usual"), [("store list", 20), ("store search needle", 10), ("memory search x", 10)]
)
def test_without_a_limit_a_list_has_its_usual_length(
    command: str, usual: int, home_dir: str, project_dir: str, brimline: Run
) -> None:
    """One more is left out."""
    entries: list[dict[str, Any]] = []
    for number in range(21):
        put.put(home_dir, b"needle %d" % number, {"cwd": project_dir})
        entry = {"id": str(number), "text": f"x number {number}", "project": project_dir}
        entries.append(entry | {"group": f"g{number}"})
    hits.open_memory(home_dir).add(entries)

    document = brimline(*command.split(), "--json").document

    shown = document.get("outputs", document.get("hits"))
    assert len(shown) == usual


@pytest.mark.parametrize(
    ("characters", "end", "shown"),
    [
        (68, "", "x" * 68),
        (69, "", "x" * 67 + "…"),
        (61, " (done)", "x" * 61 + " (done)"),
        (62, " (done)", "x" * 60 + "… (done)"),
    ],
)
def test_a_note_with_its_id_takes_78_characters(characters: int, end: str, shown: str) -> None:
    """What stands behind it included."""
    line = carry_commands._with_id({"id": "3f2a9c01"}, "x" * characters, end)

    assert line == f"3f2a9c01  {shown}"
    assert len(line) == 78


def test_the_parts_of_a_record_have_their_widths() -> None:
    """A path keeps its end; the result of a check is a few words; what is done says so."""
    record = Ledger("s1")
    record.plan = "/" + "p" * 90 + "/plan.md"
    record.pulls = ["https://" + "h" * 71]
    record.changed = {"/" + "c" * 77: 1}
    record.checks = {"a": {"command": "make", "result": "r" * 15}}
    record.notes = {"n": {"id": "n", "kind": "keep", "text": "t", "done": True}}

    parts = carry_commands._sections_by_title(record)

    assert parts["Plan"][0].endswith("/plan.md")
    assert len(parts["Plan"][0]) == 78
    assert parts["Pull requests"] == ["https://" + "h" * 69 + "…"]
    assert parts["Files changed"] == [*record.changed]
    assert parts["Checks"] == ["make: " + "r" * 13 + "…"]
    assert parts["Notes"] == ["n  keep: t (done)"]


@pytest.mark.parametrize(
    ("word", "above", "meant"),
    [
        ("sess", "", ["session"]),
        ("st", "", ["status", "store"]),
        ("s", "", []),
        ("statsu", "", ["status"]),
        ("inspcet", "session", ["session inspect"]),
        ("zzzz", "session", []),
        ("purgee", "", ["session purge"]),
        ("restroe", "", ["session restore"]),
        ("forget", "carry", ["carry forget", "store forget", "forget"]),
        ("list", "", ["store list", "memory list", "config list"]),
        ("show", "", ["carry show", "memory show", "rules show"]),
    ],
)
def test_a_mistyped_word_is_answered_with_what_was_meant(
    word: str, above: str, meant: list[str]
) -> None:
    """Three commands at most; in a group where nothing is near, none."""
    assert surface.suggest_commands(word, above) == meant


def test_a_group_alone_and_wrong_usage_end_with_2(brimline: Run) -> None:
    """A cancelled question with 1."""
    assert brimline("session").code == 2
    assert brimline("session", "nothing-like-it").code == 2
    assert brimline("rules", "show", "").code == 1


def test_old_backups_are_those_that_were_made_so_many_days_ago(
    project_dir: str, brimline: Run
) -> None:
    """To the second; younger ones stay."""
    path = f"{paths.project_transcripts_dir(project_dir)}/abc.jsonl"
    SessionBuilder(path, session_id="abc", cwd=project_dir).prompt("hello")
    now = time.time()
    names = {f"{path}.backup.20260101_00000{n}": age for n, age in enumerate((172_790, 172_800))}
    for name, age_s in names.items():
        Path(name).write_text("old")
        os.utime(name, (now - age_s, now - age_s))

    done = brimline("session", "backups", "--prune", "2", "--yes")

    assert done.out == "1 backup (3 B) deleted.\n"
    assert [backup.path for backup in restore.backups_of(path)] == [next(iter(names))]
    assert brimline("session", "backups", "--prune", "2").out == "0 backups (0 B) deleted.\n"


@pytest.mark.parametrize(
    ("count", "text"),
    [
        ((1, 1, 1, 1), "1 session, 1 entry, 1 output and 1 backup"),
        ((2, 0, 1_000, 3), "2 sessions, 0 entries, 1,000 outputs and 3 backups"),
    ],
)
def test_what_was_forgotten_is_counted_in_words(
    count: tuple[int, int, int, int], text: str
) -> None:
    """One of each is one."""
    document = dict(zip(("sessions", "entries", "outputs", "backups"), count, strict=True))

    assert memory_commands._deleted_counts_text(document) == text


def test_a_session_that_ended_at_midnight_did_not_end_before_that_day(world: Path) -> None:
    """A moment earlier it did."""
    moment = memory_commands._parse_day("2026-01-31")
    kept = {
        "at": SimpleNamespace(last_at=moment, project=str(world)),
        "before": SimpleNamespace(last_at=moment - 0.001, project=str(world)),
    }

    assert memory_commands._choose_sessions(kept, None, None, "2026-01-31") == Asked(
        ("before",), before=moment
    )


def test_a_list_of_settings_names_files_that_are_not_there(
    home_dir: str, project_dir: str, brimline: Run
) -> None:
    """And those that are, without a word more."""
    os.makedirs(home_dir)
    with open(paths.user_config(home_dir), "w", encoding="utf-8") as file:
        file.write("context_window = 5000\n")

    out = brimline("config", "list").out
    flat = out.replace("\n", " ")

    assert f"# user: {paths.user_config(home_dir)} # project" in flat
    assert f"# project: {paths.project_config(project_dir)}  (not there)" in flat
    assert json.loads(brimline("config", "list", "--json").out)["values"]["context_window"] == 5_000
