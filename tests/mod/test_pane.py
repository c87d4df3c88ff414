"""The rows of the pane: the figures of `status`, a bar for each request, what the window holds."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from brimline.fast import paths, policy
from brimline.figures.totals import Compaction
from brimline.gauge import reading, session_status
from brimline.mod import pane, request
from brimline.state.session import SessionState, Snapshot
from brimline.testing import SessionBuilder
from brimline.transcript.typed import measure

ID = "1f0c2d3e-8a41-4f0b-b6a7-6f1f0a5b9c20"
FIGURES = {"_LEAST_ROWS": 3, "_MOST_ROWS": 8, "_WIDEST_BAR": 4, "_FAR": 3}
FIGURES |= {"_PARTS": 50, "_LEAST_COLUMNS": 24, "_LEAST_PARTS": 5}


@pytest.fixture(autouse=True)
def figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """The ones that these pages were drawn with."""
    for name, size in FIGURES.items():
        monkeypatch.setattr(pane, name, size)


def session(project_dir: str, *tokens: int) -> SessionBuilder:
    """A session whose requests took so many tokens, on a window of 200,000."""
    folder = paths.project_transcripts_dir(project_dir)
    built = SessionBuilder(f"{folder}/{ID}.jsonl", ID, project_dir)
    built.prompt("go")
    for size in tokens:
        built.reply(size)
    return built


def answer(home_dir: str, project_dir: str, columns: int = 60, height: int = 40) -> dict[str, Any]:
    """What Python answers for a pane of that size."""
    question = {"session": ID, "cwd": project_dir, "columns": columns, "rows": height}
    made = request.respond("pane", question, home_dir)
    document: dict[str, Any] = json.loads(json.dumps(made))
    return document


def rows(home_dir: str, project_dir: str, columns: int = 60, height: int = 40) -> list[Any]:
    """The rows of that answer."""
    made: list[Any] = answer(home_dir, project_dir, columns, height)["rows"]
    return made


def text(made: list[Any]) -> list[str]:
    """The rows without their styles."""
    return ["".join(piece for piece, _ in row).rstrip() for row in made]


def test_the_figures_are_those_of_status(home_dir: str, project_dir: str) -> None:
    """In its words; what the window holds adds up to the same figure."""
    built = session(project_dir, 40_000, 90_000, 140_000)
    found = session_status.status_document(
        built.path, measure(built.path), home_dir, policy.load(home_dir, project_dir)
    )

    shown = " ".join(" ".join(text(rows(home_dir, project_dir))).split())

    assert "in use 140,000 of 200,000 tokens (70%), tier L3" in shown
    assert "next request 140,120 (~120 more)" in shown
    assert found["compaction_tokens"] == 140_120 + 26_880
    assert "at 167,000, 26,880 tokens left after the next request" in shown
    assert "What the 140,000 tokens are" in shown
    assert "kept out" not in shown
    assert "compacted" not in shown


def test_each_request_is_a_bar_in_the_colour_of_its_tier(home_dir: str, project_dir: str) -> None:
    """Up to the line of the brim; below stand the numbers of the first and the last one."""
    session(project_dir, 40_000, 80_000, 120_000, 165_000)

    made = rows(home_dir, project_dir)

    lines = text(made)
    brim = lines.index("How it filled") + 1
    assert lines[brim].startswith(" 167k ┄┄┄")
    lowest = next(row for row in made if row[0][0] == "    0 ")
    assert lowest[1:] == [["████████", "green"], ["████", "cyan"], ["████", "red"]]
    assert lines[made.index(lowest) + 1] == "      1              4"


def test_a_brim_that_is_far_away_is_told_and_not_drawn(home_dir: str, project_dir: str) -> None:
    """The bars would be flat below it."""
    session(project_dir, 20_000, 30_000)
    lines = text(rows(home_dir, project_dir))
    assert "How it filled; compaction, at 167,000, is far above" in lines
    assert not any("┄" in line for line in lines)


def test_a_low_pane_has_the_parts_beside_the_bars(home_dir: str, project_dir: str) -> None:
    """So that most of it is seen without scrolling, and no row is wider than the pane."""
    session(project_dir, *range(10_000, 150_000, 1_000))
    lines = text(rows(home_dir, project_dir, columns=76, height=14))
    assert any(line.startswith("How it filled") and "What the" in line for line in lines)
    assert len(lines) <= 14
    assert max(map(len, lines)) <= 76


def test_a_low_pane_says_how_many_parts_it_has_no_room_for(home_dir: str, project_dir: str) -> None:
    """In a row with their sum; a part with next to no share has no row in any pane."""
    built = session(project_dir, 10_000)
    for at in range(8):
        call = built.tool_call(30_000 + at * 10_000, f"Tool{at}")
        built.tool_result(call, "x" * 30_000)
    built.reply(120_000)

    high = text(rows(home_dir, project_dir, columns=76, height=40))
    low = text(rows(home_dir, project_dir, columns=76, height=14))

    assert not any(" 0.0%" in line for line in high)
    assert not any(" more " in line for line in high)
    assert low[-1].endswith(" more (status --composition)")
    assert len(low) == 14
    assert _sum(low) == _sum(high) > 119_880


def _sum(lines: list[str]) -> int:
    """The tokens of the parts, those of single tools left out."""
    found = [re.search(r"([\d,]+) +[\d.]+%  \w", line[26:]) for line in lines]
    return sum(int(match[1].replace(",", "")) for match in found if match)


def test_a_request_that_the_client_alone_knows_is_the_last_bar(
    home_dir: str, project_dir: str
) -> None:
    """The mod leaves its figure before the session's file has the reply."""
    built = session(project_dir, 40_000, 80_000)
    state = SessionState(home_dir, ID)
    Path(state.folder).mkdir(parents=True)
    reading = {"v": 1, "at": built.now + 60, "occupancy_tokens": 95_000, "source": "client"}
    Path(state.folder, "mod-reading").write_text(json.dumps(reading))

    lines = text(rows(home_dir, project_dir))

    assert any("95,000 of 200,000" in line for line in lines)
    assert lines[lines.index("") + 1 :].count("      1          3") == 1


def test_a_session_without_a_request_is_unknown(home_dir: str, project_dir: str) -> None:
    """Before its file is there, and while it holds no request."""
    wanted = "Unknown: no model request since the session began or compacted."
    assert text(rows(home_dir, project_dir, columns=80)) == [wanted]
    session(project_dir)
    lines = text(rows(home_dir, project_dir, columns=80))
    assert lines[0].endswith("unknown: no model request since the session began or compacted")


def test_the_last_compaction_is_told_with_what_the_next_request_took(
    home_dir: str, project_dir: str
) -> None:
    """Before that request its size is unknown, and not told."""
    built = session(project_dir, 100_000, 165_000)
    built.compact(165_000, summary="x" * 4_000)

    early = " ".join(text(rows(home_dir, project_dir, columns=100)))
    built.reply(30_000)
    late = " ".join(text(rows(home_dir, project_dir, columns=100)))

    assert "compacted  from 165,000 tokens, by a summary of 4,000 characters" in early
    assert "compacted     from 165,000 to 30,000 tokens, by a summary of 4,000 characters" in late


def test_the_last_bar_has_the_colour_of_the_tier_that_is_told(
    home_dir: str, project_dir: str
) -> None:
    """A fast climb lifts the tier above that of the size alone; so it is on the status line."""
    session(project_dir, 40_000, 90_000, 118_000)
    made = rows(home_dir, project_dir)
    assert any("tier L2" in line for line in text(made))
    lowest = next(row for row in made if row[0][0] == "    0 ")
    assert lowest[-1] == ["████", "yellow"]


def test_after_a_compaction_nothing_is_told_of_what_was_before(
    home_dir: str, project_dir: str
) -> None:
    """As `status` does: the hook knows of it before the session's file tells."""
    built = session(project_dir, 100_000, 165_000)
    state = SessionState(home_dir, ID)
    state.save_snapshot(Snapshot(at=built.now + 0.5, occupancy_tokens=165_000))
    state.save_size_at_compaction(Path(built.path).stat().st_size)

    early = answer(home_dir, project_dir, columns=100)
    built.compact(165_000)
    late = answer(home_dir, project_dir, columns=100)

    lines = text(early["rows"])
    assert lines[0] == "  in use  unknown: no model request since the session began or compacted"
    assert "165,000" not in " ".join(lines)
    # So it is asked for again until the file has it.
    assert (early["is_behind"], late["is_behind"]) == (True, False)


GOLDEN = Path(__file__).parent / "golden" / "pane.txt"
SIZES = [(20, 9), (30, 40), (60, 5), (60, 18), (73, 24), (74, 24), (74, 9), (76, 12), (120, 40)]


def test_every_size_of_pane_is_as_it_was(home_dir: str, project_dir: str) -> None:
    """With one request, with a few, with many more than columns; a width more changes the order."""
    pages = []
    few = (9_000, 60_000, 61_000, 90_000, 120_000, 150_000, 164_000)
    for tokens in ((41_000,), few, tuple(range(10_000, 166_000, 900))):
        built = session(project_dir, tokens[0])
        for at, size in enumerate(tokens[1:]):
            call = built.tool_call(size, f"Tool{at % 7}", file_path=f"/src/{at % 3}.py")
            built.tool_result(call, "x" * (900 * (at % 7)))
        for columns, height in SIZES:
            made = answer(home_dir, project_dir, columns, height)
            assert made["is_behind"] is False
            styles = [
                " ".join(f"{len(piece)}{style}" for piece, style in row) for row in made["rows"]
            ]
            lines = [
                f"{line}  [{style}]" for line, style in zip(text(made["rows"]), styles, strict=True)
            ]
            pages.append(f"== {len(tokens)} requests, {columns} by {height}\n" + "\n".join(lines))
        Path(built.path).unlink()
    told = "\n".join(pages) + "\n"

    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.write_text(told, encoding="utf-8")
    assert told == GOLDEN.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("fields", "is_measured", "told"),
    [
        ({}, True, "by a summary"),
        ({"summary_characters": 0}, True, "by a summary of 0 characters"),
        ({"summary_characters": 4_000}, False, "by a summary of 4,000 characters"),
        ({"moved_out": 0}, True, "without a model, 0 results moved out"),
        ({"moved_out": 1}, True, "without a model, 1 result moved out"),
        ({"moved_out": 1_200}, True, "without a model, 1,200 results moved out"),
        ({"post_tokens": 30_000}, True, "by a summary"),
        ({"pre_tokens": 165_000}, True, "from 165,000 tokens, by a summary"),
        (
            {"pre_tokens": 165_000, "post_tokens": 30_000},
            True,
            "from 165,000 to 30,000 tokens, by a summary",
        ),
        (
            {"pre_tokens": 165_000, "post_tokens": 30_000},
            False,
            "from 165,000 tokens, by a summary",
        ),
        (
            {"pre_tokens": 0, "post_tokens": 0, "moved_out": 2},
            True,
            "from 0 to 0 tokens, without a model, 2 results moved out",
        ),
    ],
)
def test_a_compaction_is_told_by_what_is_known_of_it(
    fields: dict[str, Any], is_measured: bool, told: str, home_dir: str, project_dir: str
) -> None:
    """What was left is told once a request has measured it."""
    last = Compaction(0.0, 1.0, **fields)
    settings = policy.load(home_dir, project_dir)
    now = reading.measure_session(None, SessionState(home_dir, ID), settings)
    now.occupancy_tokens = 30_000 if is_measured else None

    assert pane._last_compaction_text(last, now) == told
