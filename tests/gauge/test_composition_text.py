"""What `status --composition` says: how much of each, in which order, with which bars."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from brimline.gauge import composition_text
from brimline.gauge.composition import Composition, FileTokens, Turn
from brimline.gauge.composition_text import SHOWN_TOOLS, TOP_FILES

if TYPE_CHECKING:
    from brimline.testing import SessionBuilder


def report(**fields: Any) -> dict[str, Any]:
    """A document of 1,000 tokens that has these parts."""
    made = Composition(occupancy_tokens=1_000, parts=Counter({"user": 1_000}))
    document = composition_text.composition_document(made) | {"session_id": "abc"}
    return document | fields


def part(kind: str, tokens: int) -> dict[str, Any]:
    """A part of a document."""
    return {"kind": kind, "name": f"the {kind}", "tokens": tokens}


def test_parts_are_told_largest_first_and_what_is_unexplained_last() -> None:
    """With their share to four digits; what took nothing is left out."""
    made = Composition(
        occupancy_tokens=3_000,
        parts=Counter({"user": 1_000, "hook": 2_000, "unexplained": -5, "client": 0}),
    )

    parts = composition_text.composition_document(made)["parts"]
    unknown = composition_text.composition_document(Composition())

    assert [(one["kind"], one["tokens"], one["share"]) for one in parts] == [
        ("hook", 2_000, 0.6667),
        ("user", 1_000, 0.3333),
        ("unexplained", -5, -0.0017),
    ]
    assert (unknown["parts"], unknown["occupancy_tokens"]) == ([], None)


@pytest.mark.parametrize(("count", "kept"), [(TOP_FILES, TOP_FILES), (TOP_FILES + 1, TOP_FILES)])
def test_files_are_told_the_largest_first(count: int, kept: int) -> None:
    """Of those that cost the same, by name, a few; all that were read again."""
    files = [FileTokens(f"/{number:02d}", 9, 2, number) for number in range(count)]
    files.append(FileTokens("/zz", 10, 1, 0))

    made = composition_text.composition_document(Composition(files=files))

    names = [one["file"] for one in made["tool_results_by_file"]]
    assert names == ["/zz", *(f"/{number:02d}" for number in range(kept - 1))]
    again = [one["tokens_repeated"] for one in made["repeated_reads"]]
    assert again == list(range(count - 1, 0, -1))


@pytest.mark.parametrize(
    ("room", "cells"),
    [
        *(
            (-8, 0),
            (composition_text._LEAST_CELLS - 1, 0),
            (composition_text._LEAST_CELLS, composition_text._LEAST_CELLS),
            (200, composition_text._BAR_CELLS),
        ),
        *(
            (composition_text._BAR_CELLS + more, composition_text._BAR_CELLS + min(more, 0))
            for more in (-1, 0, 1)
        ),
    ],
)
def test_a_bar_has_its_room(room: int, cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is never longer than the longest; a very short one would tell nothing."""
    monkeypatch.setenv("COLUMNS", str(composition_text._BEFORE_BAR + room))
    parts = [part("user", 1_000), part("hook", 500), part("client", 26), part("more", 2_000)]

    lines = composition_text.part_lines(report(parts=parts))[0].split("\n")

    assert [line.count("█") for line in lines] == [
        cells,
        round(cells / 2),
        round(cells * 0.026),
        cells,
    ]
    assert lines[0].split()[:2] == ["1,000", "100.0%"]
    assert lines[2].split()[:2] == ["26", "2.6%"]


def test_what_was_dropped_is_told_below_the_parts() -> None:
    """Where the last of them is less than nothing."""
    for tokens, said in ((-1_500, True), (0, False), (1, False)):
        lines = composition_text.part_lines(report(parts=[part("user", 5), part("x", tokens)]))
        told = "  1,500 tokens of what is listed were dropped; no record says which."
        assert lines[1:] == ([told] if said else [])


def test_a_few_tools_stand_below_their_results_and_nowhere_else() -> None:
    """The largest."""
    tools = [{"tool": f"Tool{number}", "tokens": 60 - number} for number in range(SHOWN_TOOLS + 1)]
    parts = [part("tool_result", 600), part("user", 400)]

    lines = composition_text.part_lines(report(parts=parts, tool_results_by_tool=tools))[0]

    rows = [line.split() for line in lines.split("\n")]
    assert [row[2] for row in rows[1:-1]] == [f"Tool{number}" for number in range(SHOWN_TOOLS)]
    assert rows[1][:2] == ["60", "6.0%"]
    assert rows[-1][:2] == ["400", "40.0%"]


def test_the_largest_files_what_was_read_again_and_the_largest_turns_are_shown() -> None:
    """One read is one, several are several; a title without rows is left out."""
    files = [
        {"file": f"/f{n}", "tokens": 1_000 - n, "reads": n}
        for n in range(composition_text._SHOWN_FILES + 1)
    ]
    again = [
        {"file": f"/a{n}", "tokens_repeated": 90 - n, "reads": 2}
        for n in range(composition_text._SHOWN_REPEATED + 1)
    ]
    hooks = [
        {"name": "SessionStart", "ours": True, "tokens": 1_200},
        {"name": "Stop", "ours": False, "tokens": 7},
    ]
    turns = [
        {
            "number": number,
            "prompt": f"prompt {number}",
            "requests": number,
            "in_context": number != 3,
            "parts": [part("floor", 9_000), part("summary", 9_000), part("user", number * 10)],
        }
        for number in range(composition_text._SHOWN_TURNS + 3)
    ]

    text = composition_text.text(
        report(
            parts=[part("user", 1_000)],
            tool_results_by_file=files,
            repeated_reads=again,
            hooks=hooks,
            turns=turns,
        )
    )
    sections = [section.split("\n") for section in text.split("\n\n")]

    assert sections[0] == ["Session abc", "  in use  1,000 tokens at the last request"]
    assert [section[0] for section in sections[2:]] == [
        *("Tool results by file", "Read again", "Injected by hooks", "Largest turns")
    ]
    assert [line.split()[-1] for line in sections[2][1:]] == [
        f"/f{n}" for n in range(composition_text._SHOWN_FILES)
    ]
    assert [line.split()[:3] for line in sections[2][1:4]] == [
        ["1,000", "0", "reads"],
        ["999", "1", "read"],
        ["998", "2", "reads"],
    ]
    assert [line.split()[0] for line in sections[3][1:]] == [
        str(90 - n) for n in range(composition_text._SHOWN_REPEATED)
    ]
    assert [line.split() for line in sections[4][1:]] == [
        ["1,200", "brimline", "SessionStart"],
        ["7", "others", "Stop"],
    ]
    assert [line.split() for line in sections[5][1:]] == [
        [str(n * 10), str(n), "requests", "turn", f"{n}:", "prompt", str(n)]
        for n in (*range(composition_text._SHOWN_TURNS + 2, 3, -1), 2)
    ]
    bare = composition_text.text(report(parts=[part("user", 1_000)], turns=turns[:1]))
    assert "turn" not in bare


def test_where_nothing_was_measured_that_is_said() -> None:
    """In one line below the session's name."""
    lines = composition_text.text(report(occupancy_tokens=None)).split("\n")

    assert lines[0] == "Session abc"
    assert lines[1].startswith("  where the tokens went  ")
    assert len(lines) == 2


def test_a_turn_is_told_with_what_it_added() -> None:
    """Its parts are shares of that."""
    turn = Turn(3, "go on", 2, parts=Counter({"user": 30, "hook": 10}))

    (told,) = composition_text.composition_document(Composition(turns=[turn]))["turns"]

    assert (told["number"], told["requests"], told["tokens_added"]) == (3, 2, 40)
    assert [(one["kind"], one["share"]) for one in told["parts"]] == [
        ("user", 0.75),
        ("hook", 0.25),
        ("unexplained", 0.0),
    ]


def test_a_session_that_asked_for_nothing_yet_is_known_by_its_file(
    session: SessionBuilder,
) -> None:
    """One that did by what its rows say."""
    session.prompt("go")
    before = composition_text.document(session.path)
    session.reply(40_000)

    assert before["session_id"] == "session"
    assert composition_text.text(before).startswith("Session session\n  where the tokens went  ")
    assert composition_text.document(session.path)["session_id"] == session.session_id
    assert before["transcript"] == session.path
