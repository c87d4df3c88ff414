"""Shares and limits by which an output is taken for a kind, described and shown."""

from __future__ import annotations

import json
from typing import Any

import pytest

from brimline.offload import dumps, judge, kinds, names, preview
from brimline.offload.preview import Excerpt


def kind(text: str, tool: str = "Bash", *files: str) -> str:
    """The kind of an output."""
    return kinds.kind_of_output(text, text.split("\n"), tool, list(files))


@pytest.mark.parametrize(
    ("text", "is_binary"),
    [
        ("x" * 99 + "\0", True),
        ("x" * 98 + "\x01\x02", False),
        ("x" * 97 + "\x01\x02\x03", True),
        ("x" * 90 + "\ufffd" * 10, False),
        ("x" * 89 + "\ufffd" * 11, True),
        ("x" * 90 + "\t\r\x1b\b\f\v" * 2, False),
        ("x" * 8_192 + "\0", False),
        ("x" * 8_191 + "\0", True),
    ],
)
def test_an_output_is_binary_by_what_no_text_holds(text: str, *, is_binary: bool) -> None:
    """A zero, two in a hundred controls, or a tenth of letters that could not be read."""
    assert (kind(text) == kinds.BINARY) is is_binary


@pytest.mark.parametrize(
    ("files", "taken_for"),
    [
        (["a.patch"], kinds.DIFF),
        (["A.LOG"], kinds.LOG),
        (["a.jsonl"], kinds.JSON),
        (["a.min.js"], kinds.DUMP),
        (["a.js"], kinds.CODE),
        (["a.md"], kinds.PROSE),
        (["a.md", "b.rst"], kinds.PROSE),
        (["a.md", "b.py"], ""),
        (["x.y/makefile"], ""),
        ([], ""),
    ],
)
def test_files_tell_their_kind_where_they_tell_the_same(files: list[str], taken_for: str) -> None:
    """By their endings, in either case; one without an ending tells nothing."""
    assert kinds._kind_by_file_names(files) == taken_for


@pytest.mark.parametrize(
    ("path", "is_one"),
    [
        ("CLAUDE.md", True),
        ("/p/docs/Readme.rst", True),
        ("/p/README", True),
        ("/p/.env", True),
        ("/p/.env.local", True),
        ("/p/prod.env.bak", True),
        ("/p/Dockerfile.dev", True),
        ("C:\\p\\a.toml", True),
        ("/p/a.yaml", True),
        ("/p/.claude.md/notes.txt", False),
        ("/p/a.md", False),
        ("/p/a.py", False),
        ("", False),
    ],
)
def test_what_is_read_to_be_obeyed_is_known_by_its_name(path: str, *, is_one: bool) -> None:
    """Settings, instructions, lock files; the folder tells nothing."""
    assert kinds.is_settings_or_instructions(path) is is_one


@pytest.mark.parametrize(
    ("at", "length", "is_seen"),
    [
        (49_980, 200_000, True),
        (60_000, 200_000, False),
        (199_980, 200_000, True),
        (60_000, 100_000, True),
        (50_500, 100_001, True),
    ],
)
def test_a_failure_is_looked_for_at_both_ends_of_a_large_output(
    at: int, length: int, *, is_seen: bool
) -> None:
    """Fifty thousand characters of each."""
    told = "\nFAILED x\n"
    text = ("x" * at + told).ljust(length, "y")[:length]

    assert kinds.reports_failure(text) is is_seen


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"a": 1}', ([{"a": 1}], "")),
        ('  [1]\n{"a": 1}  ', ([[1], {"a": 1}], "")),
        ('{"a": 1} rest', ([{"a": 1}], "rest")),
        ('{"a": 1} 5', ([{"a": 1}], "5")),
        ("[1]" + "x" * 6, None),
        ("[1]" + "x" * 5, ([[1]], "xxxxx")),
        ("{", None),
        ("5", None),
        ("", None),
    ],
)
def test_documents_are_most_of_a_text_or_none(
    text: str, found: tuple[list[Any], str] | None
) -> None:
    """More than a third of it; what follows them is told."""
    assert kinds.parse_json_documents_and_rest(text) == found


def test_four_hundred_documents_are_enough() -> None:
    """The rest is what follows."""
    found = kinds.parse_json_documents_and_rest("[1]\n" * 401)

    assert found is not None
    assert (len(found[0]), found[1]) == (400, "[1]")


def test_huge_documents_are_not_parsed() -> None:
    """From four million characters on they would hold the session up."""
    text = '["' + "x" * (4_000_000 - 4) + '"]'

    assert kinds.parse_json_documents_and_rest(text) is not None
    assert kinds.parse_json_documents_and_rest(text.replace('"]', 'x"]')) is None


@pytest.mark.parametrize(
    ("value", "is_dull"),
    [
        (None, True),
        (False, True),
        (True, False),
        (0, False),
        (0.0, False),
        ("", True),
        ([], True),
        ({}, True),
        ([0], False),
        ("https://a.test/b", True),
        ("see https://a.test/b", False),
        ("0123456789abcdef", True),
        ("0123456789abcde", False),
        ("2026-01-08T12:00:00Z", True),
        ("2026-01-08", False),
        ("toolu_01", True),
        ("x" * 40, True),
        ("x" * 39, False),
    ],
)
def test_a_value_is_dull_where_its_key_says_as_much(value: Any, *, is_dull: bool) -> None:
    """Nothing, links, hashes, times; a number is not."""
    assert dumps._is_uninformative(value) is is_dull


def test_texts_of_a_document_are_taken_in_their_order_as_far_as_there_is_room() -> None:
    """Two hundred thousand characters; what nobody wrote is left out."""
    value = {"a": ["one", {"b": "two"}], "c": "https://a.test/x", "d": 5, "e": "three"}
    assert dumps._json_prose_strings(value) == ["one", "two", "three"]

    long = "word " * 30_000
    assert [len(text) for text in dumps._json_prose_strings([long, long, "more"])] == [
        150_000,
        50_000,
    ]


def paths_of(count: int, budget: int = 4_000) -> str:
    """The description of a listing in one folder."""
    text = "\n".join(f"src/name_{n:05}.py" for n in range(count))
    return dumps.describe_dump(text, Excerpt(text), kinds.PATHS, budget)


def test_of_a_huge_listing_what_was_looked_at_is_told() -> None:
    """Both ends of it; a smaller one is counted whole."""
    assert paths_of(9_000).startswith("9,000 paths in 1 directories, with counts and names:\nsrc/")
    text = "\n".join(f"src/name_{n:05}.py" for n in range(20_000))
    looked = len(Excerpt(text).lines)

    first = paths_of(20_000).split("\n")[0]

    assert looked < 20_000
    assert first == (
        f"20,000 lines of paths; directories of {looked:,} looked at, with counts and names:"
    )


@pytest.mark.parametrize(
    ("text", "total", "lines"),
    [("", 0, []), ("a", 1, ["a"]), ("a\n", 1, ["a"]), ("a\n\n", 2, ["a", ""]), ("\n", 1, [""])],
)
def test_the_lines_of_an_output_are_counted_without_its_last_break(
    text: str, total: int, lines: list[str]
) -> None:
    """An empty output has none."""
    found = Excerpt(text)

    assert (found.total, found.lines, list(found.numbers)) == (total, lines, list(range(total)))


def test_of_a_huge_output_both_ends_and_what_alarms_are_looked_at() -> None:
    """By their true numbers; up to 180,000 characters all of it is."""
    rows = [f"line {n:06} is fine." for n in range(10_000)]
    rows[7_000] = "ERROR in the middle."
    whole = "\n".join(rows)

    assert len(Excerpt(whole[:180_000]).lines) == whole[:180_000].count("\n") + 1
    found = Excerpt(whole)
    numbers = list(found.numbers)
    assert found.total == 10_000
    assert [rows[number] for number in numbers] == found.lines
    assert 7_000 in numbers
    assert numbers == sorted(set(numbers))
    head = [number for number in numbers if number < 7_000]
    tail = [number for number in numbers if number > 7_000]
    assert head == list(range(120_000 // 21))
    assert tail == list(range(tail[0], 10_000))
    assert 60_000 - 42 < len("\n".join(found.lines[-len(tail) :])) <= 60_000


def test_a_line_longer_than_is_looked_at_says_how_much_is_missing() -> None:
    """Forty thousand characters of it; of a progress bar its last state."""
    found = Excerpt("x" * 40_000 + "\n" + "y" * 40_001 + "\n" + "z" * 40_000 + "\rdone")

    assert [len(line) for line in found.lines] == [40_000, 40_000, 4]
    assert found.beyond == {1: 1, 2: 0}
    found.left = 500
    assert found.pick_if_it_fits(1, 100)
    assert found.picks[1].endswith(f"…+{40_001 - 124}")


def test_a_line_is_shown_once_and_only_where_there_is_room() -> None:
    """With its frame: two numbers and the marks around them."""
    found = Excerpt("abc\ndef")
    assert found.frame == 9
    found.left = 12

    assert found.pick_if_it_fits(0, 10)
    assert found.left == 0
    assert found.pick_if_it_fits(0, 10)
    assert not found.pick_if_it_fits(1, 10)
    assert found.unseen == {1: "def"}
    assert found.shown_text([]) == "1-2: abc …"


def test_rows_say_which_lines_they_stand_for_and_the_names_in_them() -> None:
    """What comes before the first line has a row of its own."""
    found = Excerpt("a\nb\nc\nd\ne")
    found.left = 500
    for position in (1, 2):
        found.pick_if_it_fits(position, 10)
    named = [names.Name(line, f"name_{line}", names.SYMBOL) for line in (0, 1, 4)]

    assert found.shown_text(named) == "1: … name_0\n2: b … name_1\n3-5: c … name_4"


@pytest.mark.parametrize(
    ("length", "room"), [(5_000, 1_500), (7_500, 1_500), (20_000, 4_000), (29_000, 5_000)]
)
def test_of_content_a_fifth_is_shown_within_limits(length: int, room: int) -> None:
    """Fifteen hundred characters at least, five thousand at most."""
    rows = "\n".join(f"def step_{n:04}(total_{n:04}): return total_{n:04}" for n in range(900))
    text = rows[:length]
    case = judge.Case("Read", {"file_path": "/p/a.py"}, text, length)

    shown = preview.make_preview(case, "/p/a.py").partition('\n("A-B')[0]

    assert 0.88 * room <= len(shown) <= room


def test_json_takes_a_thousand_characters() -> None:
    """Names in it are hardly ever used next."""
    text = json.dumps([{"a": f"Some_Name_{n}", "b": f"of it {n}"} for n in range(900)])

    shown = preview.make_preview(judge.Case("Bash", {}, text, len(text)), "curl")

    assert 900 < len(shown) <= 1_000
    assert shown.endswith("(Lines are long: ask for --bytes A:B instead of --lines.)")


@pytest.mark.parametrize(("room", "shown"), [(9, 0), (10, 1), (19, 1), (20, 2), (29, 2), (30, 3)])
def test_a_folder_is_shown_where_its_label_fits(room: int, shown: int) -> None:
    """With two characters more; forty are kept for what is said of the others."""
    text = "\n".join(f"{folder}/name_{n}.py" for folder in ("aaa", "bbb", "ccc") for n in range(3))
    title = "9 paths in 3 directories, with counts and names:"

    found = dumps.describe_dump(text, Excerpt(text), kinds.PATHS, len(title) + 40 + room)

    labels = ["aaa/ (3)", "bbb/ (3)", "ccc/ (3)"][:shown]
    more = [f"…{3 - shown} more directories"] if shown < 3 else []
    assert found.split("\n") == [title, *labels, *more]


@pytest.mark.parametrize(
    ("left", "names_shown"),
    [(40, ""), (41, ": name_0…"), (50, ": name_0.py name_1…"), (90, ": name_0.py name_1.py")],
)
def test_names_of_a_folder_follow_where_there_is_more_room(left: int, names_shown: str) -> None:
    """Than is kept for a note."""
    text = "aaa/name_0.py\naaa/name_1.py"
    title = "2 paths in 1 directories, with counts and names:"

    found = dumps.describe_dump(text, Excerpt(text), kinds.PATHS, len(title) + 40 + 10 + left)

    assert found.split("\n") == [title, f"aaa/ (2){names_shown}"]


@pytest.mark.parametrize(
    ("first", "lengths"), [(199_998, [199_998, 2]), (199_999, [199_999, 1]), (200_000, [200_000])]
)
def test_of_the_texts_in_a_document_200000_characters_are_looked_at(
    first: int, lengths: list[int]
) -> None:
    """The last one as far as there is room."""
    texts = dumps._json_prose_strings({"a": " " * first, "b": ["some words"], "c": "more"})

    assert [len(text) for text in texts] == lengths
