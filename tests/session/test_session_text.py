"""What `brimline session` says for a person, document by document."""

from __future__ import annotations

from typing import Any

import pytest

from brimline.session import session_text
from brimline.session.faults import UNDONE
from brimline.session.session_text import _ROOM, _SHOWN_CHANGES, _SHOWN_KINDS, _SHOWN_LINES


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal in which nothing is wrapped."""
    monkeypatch.setenv("COLUMNS", "400")


def fault(line: int, **changes: Any) -> dict[str, Any]:
    """A fault of the document."""
    usual = {"kind": "orphan", "line": line, "meaning": "it hangs on nothing", "detail": "d"}
    return usual | {"mend": None, "in_context": True} | changes


CONTEXT: dict[str, Any] = {
    "occupancy_tokens": 5_000,
    "since_tokens_estimated": 70,
    "purged_since_tokens_estimated": 0,
    "next_request_tokens_estimated": 4_000,
    "parts": [
        {"kind": "k", "name": "texts", "tokens": 5_000, "share": 1.0},
        {"kind": "unexplained", "name": "unexplained", "tokens": 0, "share": 0.0},
    ],
    "repeated_reads": [],
}
NOT_CUT = {"cut_by_client": False}
DOCUMENT: dict[str, Any] = {
    "session_id": "s1",
    "transcript": "/t/s1.jsonl",
    "size_bytes": 12_000,
    "lines": 1,
    "turns": 1,
    "requests": 2,
    "compactions": 0,
    "first_at": "2026-01-08T15:49:03.000Z",
    "last_at": None,
    "models": {"m": 2},
    "occupancy_tokens": [1_000, 9_000, 5_000],
    "resume_tokens_estimated": 5_070,
    "resume_undoes_a_compaction": False,
    "lost_thinking": [],
    "cleared": [],
    "records": {f"kind{n}": n for n in range(_SHOWN_KINDS)},
    "context": CONTEXT,
    "largest_results": [],
    "faults": [],
    "notes": [],
}


def shown(**changes: Any) -> str:
    """One session in full."""
    return session_text.inspection_text(DOCUMENT | changes)


def test_a_session_is_told_in_full() -> None:
    """Counts in singular and plural, the occupancy's largest and last."""
    text = shown()

    for part in (
        "Session s1\n",
        "/t/s1.jsonl",
        "12.0 kB, 1 line\n",
        "2026-01-08 15:49Z to unknown",
        "1 turn, 2 requests, 0 compactions",
        "m (2 requests)",
        "at most 9,000, last 5,000 tokens",
        "sends ~5,070 tokens\n",
        "In the context: 5,000 tokens at the last request, ~70 since",
        f"kind{_SHOWN_KINDS - 1} {_SHOWN_KINDS - 1}\n",
    ):
        assert part in text
    assert text.endswith("\n\nStructure: sound")
    assert ", …" in shown(records={f"kind{n}": n for n in range(_SHOWN_KINDS + 1)})
    assert "at most" not in shown(occupancy_tokens=[])
    lost = shown(lost_thinking=[{"after_request": 1_200, "what": "all of it"}])
    assert "after request 1,200: all of it" in lost
    cleared = shown(cleared=[{"after_request": 36, "what": "22 results, by the client"}])
    assert "cleared" in cleared
    assert "after request 36: 22 results, by the client; `recall` finds them" in cleared


@pytest.mark.parametrize(
    ("purged", "said"),
    [
        (0, None),
        (30, "That was before a purge, which took out ~30: the next one ~4,000"),
    ],
)
def test_what_changed_since_the_last_request_is_told(purged: int, said: str | None) -> None:
    """With what the next one will take."""
    text = shown(context=CONTEXT | {"purged_since_tokens_estimated": purged})

    assert said in text if said else "That was before" not in text


def test_before_a_request_has_measured_it_a_context_is_estimated() -> None:
    """And says what is not counted."""
    text = shown(context=CONTEXT | {"occupancy_tokens": None})

    assert "In the context: ~70 since the session began or compacted; no request" in text


def test_a_resume_says_what_it_undoes_and_what_a_repair_changes() -> None:
    """Each where it is so."""
    undone = shown(resume_undoes_a_compaction=True)
    assert "sends ~5,070 tokens, undoing a mod's compaction\n" in undone
    mended = shown(faults=[fault(3, kind=UNDONE)])
    assert "tokens; after `brimline session repair` ~4,000\n" in mended
    assert "after `brimline" not in shown(faults=[fault(3)])


def test_faults_are_told_by_kind_the_first_ones_by_line() -> None:
    """Those that no request contains say so; what a repair mends is counted."""
    faults = [fault(line) for line in (1_007, *range(_SHOWN_LINES + 1, 1, -1))]
    number = len(faults)
    faults[-1] |= {"in_context": False, "mend": "cut", "detail": ""}
    text = shown(faults=faults, notes=[{"meaning": "odd", "count": 1_234}])

    begun = text.index("Structure")
    assert text[begun:].split("\n") == [
        f"Structure: {number} faults; `brimline session repair` mends 1",
        f"  {number} orphan: it hangs on nothing",
        "    line 2 (before the last compaction: in no request)",
        *[f"    line {line}: d" for line in range(3, _SHOWN_LINES + 2)],
        "    and 1 more",
        "  harmless: odd (1,234)",
    ]
    few = shown(faults=faults[:_SHOWN_LINES])
    assert f"Structure: {_SHOWN_LINES} faults\n" in few
    assert "more" not in few[few.index("Structure") :]
    assert "line 1,007: d" in few


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"in_context": True, "moved_out": True}, "in the context"),
        ({"in_context": False, "moved_out": True}, "moved out"),
        ({"in_context": False, "moved_out": False}, "compacted"),
        ({"in_context": False, "moved_out": False, "cut_by_client": True}, "cut"),
    ],
)
def test_a_large_result_is_told_with_where_it_is(change: dict[str, Any], where: str) -> None:
    """And of which request; a tool that nobody knows is unknown."""
    result = {"bytes": 2_000, "request": 1_234, "tool": None, "source": "make"}
    result |= {"cut_by_client": False} | change

    text = shown(largest_results=[result])

    row = text[text.index("Largest results") :].split("\n")[1]
    assert row == f"  2.0 kB  request 1,234  {where}  unknown  make"


PURGE: dict[str, Any] = {
    "path": "/t/s1.jsonl",
    "bytes": 12_000,
    "lines": 5,
    "requests": 1,
    "occupancy_tokens": None,
    "results": 1_200,
    "context_tokens_saved_estimated": 40,
    "disk_bytes_saved": 3_010,
    "kept": {"pinned": 2, "preserved": 0},
    "thoughts_lost": 0,
    "thoughts": 3,
    "thoughts_tokens_estimated": 900,
}


def test_a_purge_is_told() -> None:
    """What goes, what stays and why."""
    lines = session_text.purge_plan_text(PURGE).split("\n")

    assert lines[:2] == [
        "/t/s1.jsonl",
        "12.0 kB in 5 lines, 1 request, the last one unknown tokens",
    ]
    assert lines[2] == (
        "Lines in the place of 1,200 results: the next request is ~40 tokens (estimated) smaller."
    )
    assert lines[-1] == "Left as they are: pinned results (2)."
    nothing = session_text.purge_plan_text(PURGE | {"kept": {"pinned": 0}})
    assert "Left as they are" not in nothing
    assert "thought" not in nothing
    lost = session_text.purge_plan_text(PURGE | {"thoughts_lost": 2})
    assert "2 of 3 thoughts behind the first replaced result" in lost
    assert "(~900 tokens of the context)" in lost


def test_the_first_results_that_go_are_named() -> None:
    """The others are counted."""
    one = {"request": 7, "bytes": 2_000, "key": KEY, "tool": None, "source": "x"}

    assert session_text.results_to_purge_text([]) == ""
    some = session_text.results_to_purge_text([one] * _SHOWN_CHANGES).split("\n")
    assert len(some) == _SHOWN_CHANGES + 2
    assert some[-1].split() == ["request", "7", "2.0", "kB", "0" * 12, "a", "tool", "x"]
    more = session_text.results_to_purge_text([one] * (_SHOWN_CHANGES + 1))
    assert more.endswith("\n  … and 1 more (--json lists all)")


KEY = f"sha256:{0:064}"
REPAIR: dict[str, Any] = {
    "transcript": "/t/s1.jsonl",
    "mended": [],
    "left_alone": [],
    "after": None,
}


def test_a_repair_says_what_it_found_and_did() -> None:
    """Nothing, what it would do, or what is left."""

    def told(**changes: Any) -> list[str]:
        return session_text.repair_text(REPAIR | changes).split("\n")

    assert told() == ["/t/s1.jsonl", "Sound: no faults.", "Nothing to mend."]
    would = told(mended=[fault(1)])
    assert would[1] == "Faults that can be repaired:"
    assert would[-1] == "Would mend 1 fault; nothing was changed."
    left = told(left_alone=[fault(1), fault(2)])
    assert left[1] == "Left alone, as no repair of them is certain:"
    assert left[-1] == "Nothing to mend."


@pytest.mark.parametrize(("length", "cut"), [(_ROOM, False), (_ROOM + 1, True)])
def test_what_others_wrote_is_cut_to_a_line(length: int, cut: bool) -> None:
    """The detail of a fault, and who left thinking out."""
    text = "d" * length

    for told in (
        shown(faults=[fault(1, detail=text)]),
        shown(lost_thinking=[{"after_request": 1, "what": text}]),
    ):
        assert (text not in told) is cut


def test_figures_stand_to_the_right_and_words_to_the_left() -> None:
    """In every table, so that what is large is seen."""
    first = {"request": 7, "bytes": 2_000, "key": KEY, "tool": "Bash", "source": "x"}
    second = first | {"request": 1_234, "bytes": 20, "tool": "Grep", "source": "yy"}
    assert session_text.results_to_purge_text([first, second]).split("\n") == [
        "",
        "Results that would go:",
        "      request 7  2.0 kB  000000000000  Bash  x",
        "  request 1,234    20 B  000000000000  Grep  yy",
    ]
    here = (
        first
        | {"request": 1_234, "source": "make", "in_context": True, "moved_out": False}
        | NOT_CUT
    )
    gone = here | {"request": 5, "bytes": 20, "in_context": False, "moved_out": True}
    text = shown(largest_results=[here, gone | {"tool": "Grep"}]).split("\n")
    at = text.index("Largest results")
    assert text[at + 1 : at + 3] == [
        "  2.0 kB  request 1,234  in the context  Bash  make",
        "    20 B  request 5      moved out       Grep  make",
    ]
