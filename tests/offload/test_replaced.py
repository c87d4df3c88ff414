"""Results that a stub stands for, and what the client would have shown in their place."""

from __future__ import annotations

import pytest

from brimline.offload import replaced
from brimline.offload.exchanges import Call, Result

from .transcripts import bulk, numbered, stub

TEXT = bulk(20_000)
HAND_BACK = "  <tools-used>Bash</tools-used>\n  \n[Subagent hand-back] " + "x" * 500 + ":\n"


def result(text: str) -> Result:
    """An answer as the reader gives it."""
    return Result("toolu_1", text[:4_000], len(text), len(text.encode()))


def asked(tool: str, subject: str = "") -> Call:
    """A call as the reader gives it."""
    return Call("toolu_1", tool, subject, 100)


@pytest.mark.parametrize("ccm", [False, True])
@pytest.mark.parametrize(
    ("tool", "subject", "before"),
    [
        ("Bash", "make all", ""),
        ("mcp__lab__big", "", ""),
        ("WebFetch", "https://example.org", ""),
        ("WebSearch", "", 'Web search results for query: "x"\n\n'),
        ("Grep", "", "Found 1 file\n"),
        ("Agent", "", HAND_BACK),
    ],
)
def test_a_stub_is_found_where_the_client_shows_it(
    tool: str, subject: str, before: str, *, ccm: bool
) -> None:
    """At the beginning, or behind the words that the client puts before it."""
    shown = stub(TEXT, tool, subject, ccm=ccm)
    if tool == "Agent":
        shown = "\n".join("  " + line for line in shown.split("\n"))

    found = replaced.find(result(before + shown), asked(tool, subject))

    assert found == replaced.Replaced(tool, 20_000, 500)


@pytest.mark.parametrize("ccm", [False, True])
@pytest.mark.parametrize("old", [False, True])
def test_a_stub_in_a_file_has_line_numbers(*, old: bool, ccm: bool) -> None:
    """In the form of this client and of older ones."""
    path = "/home/dev/project/" + "long/" * 20 + "file.py"
    shown = numbered(stub(TEXT, "Read", path, ccm=ccm), old=old)

    assert replaced.find(result(shown), asked("Read", path)) == ("Read", 20_000, 500)


@pytest.mark.parametrize(
    ("text", "call"),
    [
        (f"a transcript:\n{stub(TEXT)}", asked("Bash", "make all")),
        (stub(TEXT, source="make all"), asked("Bash", "cat session.jsonl")),
        (stub(TEXT, "Read", "/a/b.py"), asked("Bash", "make all")),
        (numbered(stub(TEXT, "Read", "/a/b.py")), asked("Read", "/a/notes.md")),
        (stub(TEXT).replace("sha256:", "sha256:x"), asked("Bash", "make all")),
        (stub(TEXT).replace("20000 bytes", "content"), asked("Bash", "make all")),
        ("[brimline stored nothing\n" + stub(TEXT), asked("Bash", "make all")),
        ("Cached (5 lines, 10 bytes).", asked("Bash", "make all")),
        ("", asked("Bash", "make all")),
    ],
)
def test_a_stub_that_is_merely_printed_does_not_count(text: str, call: Call) -> None:
    """Not behind other output, not one of another call, not a damaged one."""
    assert replaced.find(result(text), call) is None


def test_long_commands_are_compared_as_far_as_the_stub_tells() -> None:
    """It shows sixty characters of a command, on one line."""
    command = "cd app &&\n  make   " + "target-with-a-name " * 20

    found = replaced.find(result(stub(TEXT, source=command)), asked("Bash", command))

    assert found is not None


def test_a_result_whose_call_is_missing_is_taken_at_its_word() -> None:
    """Transcripts hold results before their calls, and without them."""
    assert replaced.find(result(stub(TEXT)), None) == ("Bash", 20_000, 500)


@pytest.mark.parametrize(
    ("tool", "subject", "recalls"),
    [
        ("mcp__brimline__recall", "", True),
        ("mcp__plugin_brim_brimline__recall", "", True),
        ("mcp__brimline__context_status", "", False),
        ("mcp__memory__recall", "", False),
        ("Bash", "brimline store get 3f2a9c01 --lines 1:50", True),
        ("Bash", "cd x && ~/.local/bin/brimline store grep last foo | head", True),
        ("Bash", "brimline store list", False),
        ("Bash", "git grep brimline", False),
        ("Read", "brimline store get", False),
    ],
)
def test_recalls_are_told_from_other_calls(tool: str, subject: str, *, recalls: bool) -> None:
    """Through our server or through the command."""
    assert replaced.is_recall(asked(tool, subject)) is recalls


@pytest.mark.parametrize(
    ("tool", "stored", "characters"),
    [
        ("Bash", 30_000, 30_000),
        ("Bash", 30_001, 2_300),
        ("mcp__lab__big", 50_000, 50_000),
        ("mcp__lab__big", 60_000, 2_300),
        ("Agent", 40_000, 40_000),
        ("Grep", 2_000_000, 2_300),
    ],
)
def test_only_what_the_client_would_have_shown_is_credited(
    tool: str, stored: int, characters: int
) -> None:
    """Beyond its own limits it keeps outputs in a file, and shows their beginning."""
    found = replaced.Replaced(tool, stored, 100)

    assert replaced.shown(found, result("x" * 1_000), 2.85, 30_000) == (characters, characters)


def test_the_clients_limit_for_commands_can_be_moved() -> None:
    """It is a setting of the client's."""
    found = replaced.Replaced("Bash", 20_000, 100)

    assert replaced.shown(found, result("x" * 1_000), 2.85, 4_000).characters == 2_300


@pytest.mark.parametrize(
    ("head", "lines", "numbers"),
    [("     1→x", 1_500, 1_500 * 7), ("1\tx", 9, 18), ("1\tx", 1_500, 1_500 + 4_893)],
)
def test_line_numbers_are_part_of_a_file(head: str, lines: int, numbers: int) -> None:
    """The model would have seen them; each form has its own width."""
    found = replaced.Replaced("Read", 40_000, lines)

    shown = replaced.shown(found, result(head), 2.85, 30_000)

    assert shown == (40_000 + numbers, 40_000 + numbers) if "→" not in head else shown
    assert shown.size_bytes == 40_000 + numbers


def test_of_a_huge_file_one_page_is_credited() -> None:
    """The client shows no more at once."""
    found = replaced.Replaced("Read", 250_000, 5_000)

    assert replaced.shown(found, result("1\tx"), 2.2, 30_000).characters == 55_000


def test_bytes_become_characters_as_in_what_the_stub_shows() -> None:
    """Of other scripts a character takes several bytes."""
    found = replaced.Replaced("Bash", 60_000, 100)

    assert replaced.shown(found, result("ü" * 1_000), 2.85, 30_000) == (30_000, 60_000)
