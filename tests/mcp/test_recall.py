"""The tool `recall` by key: exact content in answers that fit, and one sentence for what is not."""

from __future__ import annotations

import functools
import os
import re
from pathlib import Path
from typing import Any

import pytest

from brimline.errors import StoreError
from brimline.mcp import pages, recall
from brimline.store import forget, grep, layout, plan, prune, put, read

NUMBERED = b"".join(b"line %d of the output\n" % number for number in range(1, 5_001))


def ask(home_dir: str, **arguments: Any) -> str:
    """What the model gets."""
    answer = recall.answer(home_dir, "/home/dev/project", arguments)
    assert answer.startswith("[brimline recall")
    assert pages.width(answer) <= pages.LARGEST_CHARACTERS
    return answer


def parts(answer: str) -> tuple[str, str]:
    """The first line and the rest."""
    head, _, body = answer.partition("\n")
    return head, body


def test_a_small_output_comes_back_whole(home_dir: str) -> None:
    """The first line says what it is."""
    meta = {"tool": "Bash", "source": 'make "all"\n  -j8', "exit": 2}
    key = put.put(home_dir, b"one\ntwo \xc3\xbc\n\nfour", meta)

    head, body = parts(ask(home_dir, key=key))

    assert head == f"[brimline recall {key[:19]} (Bash \"make 'all' -j8\" exit 2): all 4 lines]"
    assert body == "one\ntwo ü\n\nfour"


@pytest.mark.parametrize(
    "written",
    ["{}", "{:.15}", " {} ", "`{}`", "{:.19}…", "{:.19}...", "[{}]"],
)
def test_a_key_is_understood_as_models_write_it(home_dir: str, written: str) -> None:
    """Whole or shortened, with what stood around it."""
    key = put.put(home_dir, b"content", {})

    assert parts(ask(home_dir, key=written.format(key)))[1] == "content"
    assert parts(ask(home_dir, key=key[7:].upper()))[1] == "content"


def test_a_large_output_comes_in_pages_that_say_how_to_go_on(home_dir: str) -> None:
    """Following what the answers say gives every byte, once."""
    key = put.put(home_dir, NUMBERED, {})
    head, body = parts(ask(home_dir, key=key))
    read_back = [body]
    heads = [head]
    while found := re.search(r'next: lines="([^"]+)"\]$', heads[-1]):
        head, body = parts(ask(home_dir, key=key, lines=found[1]))
        heads.append(head)
        read_back.append(body)

    assert "\n".join(read_back).encode() + b"\n" == NUMBERED
    assert re.search(r": lines 1-1,\d\d\d of 5,000; next", heads[0])
    assert heads[-1].endswith("-5,000 of 5,000]")


def test_a_single_line_of_a_megabyte_is_paged_as_well(home_dir: str) -> None:
    """Minified files are one line."""
    content = "".join(f"{number:09d};" for number in range(10_000))
    key = put.put(home_dir, content.encode(), {})
    read_back, lines = "", ""
    for _ in range(10):
        head, body = parts(ask(home_dir, key=key, lines=lines))
        read_back += body
        found = re.search(r'next: lines="([^"]+)"', head)
        if not found:
            break
        assert "line 1 of 1, characters" in head
        lines = found[1]

    assert read_back == content


def test_a_range_of_lines_is_exact(home_dir: str) -> None:
    """Counted from 1, both ends included."""
    key = put.put(home_dir, NUMBERED, {})

    head, body = parts(ask(home_dir, key=key, lines="100:102"))

    assert head.endswith(": lines 100-102 of 5,000]")
    assert body.splitlines() == [f"line {number} of the output" for number in (100, 101, 102)]
    assert parts(ask(home_dir, key=key, lines=4_999))[1] == "line 4999 of the output"
    assert parts(ask(home_dir, key=key, lines="-1:"))[1] == "line 5000 of the output"


def test_a_pattern_shows_its_lines_with_those_around(home_dir: str) -> None:
    """With numbers that can be asked for."""
    key = put.put(home_dir, NUMBERED, {})

    head, body = parts(ask(home_dir, key=key, pattern=r"line (7|40)\b"))

    assert head.endswith(": 2 of 5,000 lines match 'line (7|40)\\\\b']")
    rows = body.splitlines()
    assert rows[2] == "7: line 7 of the output"
    assert rows[0].startswith("5- ")
    assert rows[5] == "--"


def test_a_pattern_within_a_range_keeps_the_numbers(home_dir: str) -> None:
    """They are those of the whole output."""
    key = put.put(home_dir, NUMBERED, {})

    head, body = parts(ask(home_dir, key=key, pattern="line 7", lines="60:80"))

    assert head.endswith(": 10 of lines 60-80 (of 5,000) match 'line 7']")
    matching = [row.partition(":")[0] for row in body.splitlines() if re.match(r"\d+: ", row)]
    assert matching == [str(number) for number in range(70, 80)]


def test_many_matches_come_in_pages(home_dir: str) -> None:
    """Each says how far it goes and how to go on."""
    key = put.put(home_dir, NUMBERED, {})
    seen: list[str] = []
    lines = ""
    for _ in range(20):
        head, body = parts(ask(home_dir, key=key, pattern="output", lines=lines))
        seen += [row.split(":")[0] for row in body.splitlines() if re.match(r"\d+: ", row)]
        found = re.search(r'next: lines="([^"]+)"', head)
        if not found:
            break
        lines = found[1]

    assert seen == [str(number) for number in range(1, 5_001)]


def test_empty_lines_match_too(home_dir: str) -> None:
    """The last one as well."""
    key = put.put(home_dir, b"one\n\ntwo\n\n", {})

    assert parts(ask(home_dir, key=key, pattern="^$"))[0].endswith("2 of 4 lines match '^$']")


def test_no_match_is_an_answer(home_dir: str) -> None:
    """Not a failure."""
    key = put.put(home_dir, b"one\n", {})

    assert "0 of 1 lines match 'absent'" in ask(home_dir, key=key, pattern="absent")


def test_of_a_long_line_the_part_around_the_match_is_shown(home_dir: str) -> None:
    """With the length of the line."""
    key = put.put(home_dir, b"x" * 50_000 + b"needle" + b"y" * 50_000, {})

    answer = ask(home_dir, key=key, pattern="needle")

    assert "needle" in parts(answer)[1]
    assert "(100,006 characters)" in answer
    assert len(answer) < 2_000


@pytest.mark.parametrize("pattern", ["(", "(a+)+$", "x" * 1_001])
def test_a_pattern_that_is_wrong_or_hangs_is_refused(home_dir: str, pattern: str) -> None:
    """In one sentence."""
    key = put.put(home_dir, b"a" * 40 + b"b\n", {})

    with pytest.raises(StoreError):
        ask(home_dir, key=key, pattern=pattern)


def test_binary_content_is_never_shown(home_dir: str) -> None:
    """Neither as a page nor by a pattern."""
    key = put.put(home_dir, b"\x89PNG\r\n\x1a\n\x00\x00secret", {})

    for more in ({}, {"lines": "1:2"}, {"pattern": "secret"}):
        answer = ask(home_dir, key=key, **more)
        assert answer.endswith("saves it]")
        assert "binary, 16 bytes" in answer
        assert "secret" not in answer


def test_bytes_that_are_no_text_are_mentioned(home_dir: str) -> None:
    """What is shown is then not what is stored, byte for byte."""
    key = put.put(home_dir, b"a few \xff bytes in a text that is fine", {})

    answer = ask(home_dir, key=key)

    assert parts(answer)[0].endswith("bytes that are no UTF-8 are shown as \\xNN]")
    assert parts(answer)[1].startswith("a few \\xff bytes")


def test_empty_content_is_said_to_be(home_dir: str) -> None:
    """There are no lines to ask for."""
    key = put.put(home_dir, b"", {})

    assert ask(home_dir, key=key).endswith(": empty]")


def test_a_recall_counts_as_a_use(home_dir: str) -> None:
    """What was recalled is not pruned by age."""
    key = put.put(home_dir, b"content", {})
    path = layout.blob(home_dir, key[7:])
    os.utime(path, (1, 1))

    ask(home_dir, key=key)

    assert os.stat(path).st_mtime > 1_000


@pytest.mark.parametrize(
    "key",
    [
        "../../etc/passwd",
        "sha256:../../../x",
        "/etc/passwd",
        "sha256:" + "zz" * 32,
        "abc",
        "last",
        "x" * 100_000,
        "sha256:" + "a" * 65,
        "\x00" * 10,
        "\ud800",
    ],
)
def test_what_is_no_key_is_refused_in_one_sentence(home_dir: str, key: str) -> None:
    """It never becomes part of a path."""
    put.put(home_dir, b"content", {})

    with pytest.raises(StoreError, match="is no key") as told:
        ask(home_dir, key=key)
    assert len(str(told.value)) < 500


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"key": "", "query": " "},
        {"key": "a" * 64, "query": "x"},
        {"lines": "1:2"},
        {"key": 7},
        {"key": ["a"]},
        {"query": "x", "lines": True},
        {"query": "x", "path": "y"},
    ],
)
def test_arguments_that_do_not_fit_are_refused(home_dir: str, arguments: dict[str, Any]) -> None:
    """With a sentence that says which there are."""
    with pytest.raises(StoreError):
        ask(home_dir, **arguments)


def test_an_unknown_key_is_said_to_be_missing(home_dir: str) -> None:
    """Also before anything was stored."""
    with pytest.raises(StoreError, match="is not in the store"):
        ask(home_dir, key="ab" * 32)
    assert not os.path.exists(home_dir)


def test_a_pruned_output_is_said_to_be_pruned(home_dir: str) -> None:
    """A preview that is left in the session leads to it."""
    key = put.put(home_dir, b"content", {})
    os.utime(layout.blob(home_dir, key[7:]), (1, 1))
    prune.prune(home_dir, plan.Limits(1, None, 0), prune.Search(paths=[]))

    for written in (key, key[:19]):
        with pytest.raises(StoreError, match=r"was pruned .* on \d{4}-\d\d-\d\d: .* again"):
            ask(home_dir, key=written)


def test_a_forgotten_output_is_said_to_be_deleted(home_dir: str) -> None:
    """By whoever owns it."""
    key = put.put(home_dir, b"content", {})
    forget.forget_key(home_dir, key)

    with pytest.raises(StoreError, match="was deleted on request"):
        ask(home_dir, key=key)


def test_what_was_stored_again_is_there_again(home_dir: str) -> None:
    """Whatever happened before."""
    key = put.put(home_dir, b"content", {})
    forget.forget_key(home_dir, key)
    put.put(home_dir, b"content", {})

    assert parts(ask(home_dir, key=key))[1] == "content"


def test_a_damaged_output_is_never_shown(home_dir: str) -> None:
    """It is reported."""
    key = put.put(home_dir, b"content", {})
    Path(layout.blob(home_dir, key[7:])).write_bytes(b"BRB1n" + bytes(7) + b"\x07CONTENT")

    with pytest.raises(StoreError, match="is damaged"):
        ask(home_dir, key=key)


def test_a_lost_sidecar_costs_the_description_only(home_dir: str) -> None:
    """The content says all that is needed to read it."""
    key = put.put(home_dir, b"content", {"tool": "Bash"})
    os.unlink(layout.sidecar(home_dir, key[7:]))

    assert read.meta(home_dir, key) == {}
    assert ask(home_dir, key=key) == f"[brimline recall {key[:19]}: its only line]\ncontent"


def test_a_pattern_that_takes_too_long_is_told_without_options_of_a_command(
    home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tool has none to add."""
    key = put.put(home_dir, b"a" * 60 + b"!\n", {})
    monkeypatch.setattr(grep, "grep", functools.partial(grep.grep, timeout_s=0.3))

    with pytest.raises(StoreError, match=r"took more than 0\.3 s.*: simplify it$"):
        ask(home_dir, key=key, pattern="(a+)+$")


def test_a_long_line_is_shown_around_what_a_pattern_matches(home_dir: str) -> None:
    """Also for a pattern that stands nowhere as it is written."""
    key = put.put(home_dir, "ä".encode() * 10_000 + b"needle=42;" + b"x" * 10_000, {})

    _, body = parts(ask(home_dir, key=key, pattern=r"needle=\d+"))

    assert "needle=42;" in body
    assert body.endswith("… (20,010 characters)")
