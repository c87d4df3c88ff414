"""Calls that fetch stored content: what they ask for, and which of its lines a text shows."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimline.offload import recall

KEY = "sha256:0123456789ab"
CONTENT = "one\n  two\n\nfour\n}\nsix\n}\n\n"


@pytest.mark.parametrize(
    ("command", "asked"),
    [
        (f"brimline store get {KEY}", [(KEY, "")]),
        (f"brimline store get {KEY} --lines 3:9", [(KEY, "3:9")]),
        (f"brimline store get --lines=3:9 --json {KEY}", [(KEY, "3:9")]),
        (f"cd x && /opt/bin/brimline store get '{KEY}' | head", [(KEY, "")]),
        (f"brimline store get --bytes 0:5 {KEY};ls", [(KEY, "")]),
        (f"env A=b /opt/python -I -m brimline store grep -C 2 {KEY} 'x y'", [(KEY, "")]),
        (f'echo "$(brimline store get {KEY} --lines 1:2)"', [(KEY, "1:2")]),
        ("brimline store get a; brimline store get b --lines 1:2", [("a", ""), ("b", "1:2")]),
        ("brimline store get", [("", "")]),
        ("brimline store list", []),
        ("brimline store", []),
        ("grep -r 'store get' brimline", []),
        ("", []),
    ],
)
def test_a_command_line_tells_what_it_fetches(command: str, asked: list[tuple[str, str]]) -> None:
    """Anywhere in the line, options before or behind the key; a listing fetches nothing."""
    found = recall.asked_for("Bash", {"command": command})

    assert [(one.name, one.lines) for one in found] == asked
    assert recall.is_ours("Bash", {"command": command}) == bool(asked)


@pytest.mark.parametrize(
    ("tool", "tool_input", "ours", "names"),
    [
        ("mcp__brimline__recall", {"key": "a", "lines": "1:5"}, True, ["a"]),
        ("mcp__plugin_brim_brimline__recall", {"key": "a"}, True, ["a"]),
        ("mcp__brimline__recall", {"query": "a"}, True, []),
        ("mcp__brimline__recall", {"key": 5}, True, []),
        ("mcp__brimline__context_status", {}, True, []),
        ("mcp__memory__recall", {"key": "a"}, False, []),
        ("Read", {"key": "a", "file_path": "/brimline"}, False, []),
        ("Bash", {"command": 5}, False, []),
    ],
)
def test_our_tools_are_told_from_others(
    tool: str, tool_input: dict[str, Any], names: list[str], *, ours: bool
) -> None:
    """By the server's name, which a plugin changes."""
    assert recall.is_ours(tool, tool_input) == ours
    assert [one.name for one in recall.asked_for(tool, tool_input)] == names


@pytest.mark.parametrize(
    ("shown", "asked", "lines"),
    [
        (CONTENT, "", (1, 9)),
        (CONTENT.strip(), "", (1, 9)),
        (f"before\n{CONTENT}\nafter", "", (1, 9)),
        ("one\n  two", "", (1, 3)),
        ("one\n  two", "1:2", (1, 3)),
        ("two\n\nfour", "2:4", (2, 4)),
        ("two\n\nfour\nand another log", "2:4", (2, 4)),
        ("}", "7:7", (7, 9)),
        ("}", "7", (7, 9)),
        ("}\n", "-2:", (7, 9)),
        ("six\n}", "", (6, 9)),
        ("six\n}", "1:2", (6, 9)),
        ("}", "", None),  # there are two
        ("o\nfour", "", None),
        ("ne\n  two\n\nfou", "", (2, 3)),
        ("ix", "", None),
        ("1:one\n4:four", "", None),
        ("", "", None),
        ("\n\n", "3:3", None),
        ("something else", "1:2", None),
        ("one", "5:2", (1, 1)),
        ("one", "999999999999999:", (1, 1)),
    ],
)
def test_only_lines_of_the_content_count_as_shown(
    shown: str, asked: str, lines: tuple[int, int] | None
) -> None:
    """Whole lines without a gap, with the blank ones that the client took off the ends."""
    assert recall.shown_lines(CONTENT, shown, asked) == lines


def test_the_header_of_our_tool_is_not_content() -> None:
    """What follows it is."""
    assert recall.body("[brimline recall sha256:0 (Read): all 2 lines]\na\nb") == "a\nb"
    assert recall.body("a\nb") == "a\nb"


def test_bytes_that_came_back_are_those_of_the_content() -> None:
    """A stretch of it, parts of a line included, or lines picked from it; nothing else."""
    assert recall.shown_bytes(CONTENT, "ne\n  tw") == 7
    assert recall.shown_bytes(CONTENT, "four\nanother log\none") == 9
    assert recall.shown_bytes(CONTENT, "another log") == 0
    assert recall.shown_bytes("ä\nb", "ä") == 2


@given(
    st.lists(st.sampled_from(["", " ", "a", "b", "}", "long line"]), min_size=1, max_size=12),
    st.data(),
)
def test_a_page_never_counts_for_lines_that_it_does_not_show(
    lines: list[str], data: st.DataObject
) -> None:
    """Whatever repeats: what is asked for by its numbers is found by them."""
    first = data.draw(st.integers(1, len(lines)))
    last = data.draw(st.integers(first, len(lines)))
    content, page = "\n".join(lines), "\n".join(lines[first - 1 : last])

    found = recall.shown_lines(content, page, f"{first}:{last}")

    if page.strip():
        assert found is not None
        outside = lines[found[0] - 1 : first - 1] + lines[last : found[1]]
        assert found[0] <= first
        assert found[1] >= last
        assert not "".join(outside).strip()


@given(st.text(max_size=40), st.text(max_size=40), st.text(max_size=8))
def test_any_text_gets_an_answer(content: str, shown: str, asked: str) -> None:
    """Lines that are there, or none."""
    found = recall.shown_lines(content, shown, asked)

    assert found is None or 1 <= found[0] <= found[1] <= content.count("\n") + 1
    assert recall.shown_bytes(content, shown) >= 0
    recall.in_command(f"brimline store get {shown} {asked}")
