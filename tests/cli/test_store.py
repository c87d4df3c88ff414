"""`brimline store`: what a person and a program get, and what is asked before anything goes."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pexpect
import pytest

from brimline.bulk import contents, layout, pins, put, retention
from brimline.cli import store_commands
from brimline.errors import StoreError
from brimline.fast import paths
from brimline.recall import stored
from brimline.testing import SessionBuilder

from .conftest import PROGRAM, process

if TYPE_CHECKING:
    from .conftest import Refused, Run

ROW = "key bytes lines tool source exit session cwd created disk_bytes used pin reason"
LINES = b"".join(b"line %d of the build\n" % number for number in range(1, 201))


@pytest.fixture
def key(home_dir: str) -> str:
    """The key of a stored build log."""
    meta = {"tool": "Bash", "source": "make all", "session": "session-one", "exit": 2}
    return put.put(home_dir, LINES, meta)


def aged(home_dir: str, *keys: str) -> None:
    """Make blobs look forty days old."""
    for one in keys:
        os.utime(layout.stored_path(home_dir, one[7:]), (1_700_000_000, 1_700_000_000))


def noise(home_dir: str, number: int, size: int = 100_000) -> str:
    """Store something that does not compress."""
    import random

    return put.put(home_dir, random.Random(number).randbytes(size), {})


@pytest.mark.row("S3-66")
def test_a_list_has_what_is_there_by_use_and_session(
    home_dir: str, key: str, brimline: Run
) -> None:
    """Newest first, cut to a limit, chosen by session; figures for all of it."""
    os.utime(layout.stored_path(home_dir, key[7:]), (1_700_000_000, 1_700_000_000))
    other = put.put(home_dir, b"other", {"tool": "Read", "session": "session-two"})
    pins.pin(home_dir, key, "hard", "why")

    every = brimline("store", "list", "--json").document
    found = brimline("store", "list", "--session", "session-o", "--json").document
    newest = brimline("store", "list", "--limit", "1", "--json").document

    disk = sum(blob.disk_bytes for blob in contents.list_blobs(home_dir))
    assert [row["key"] for row in every["outputs"]] == [other, key]
    assert [row["key"] for row in newest["outputs"]] == [other]
    (row,) = found.pop("outputs")
    assert " ".join(row) == ROW
    assert [row[name] for name in ("key", "lines", "exit", "pin")] == [key, 200, 2, "hard"]
    assert (row["bytes"], row["disk_bytes"]) == (len(LINES), disk - 18)
    assert found == {
        "folder": layout.store_folder(home_dir),
        "blobs": 2,
        "disk_bytes": disk,
        "pins": {"soft": 0, "hard": 1},
    }


def test_an_empty_store_is_no_error(brimline: Run) -> None:
    """Every command that looks says so, and makes nothing."""
    assert brimline("store", "list") == (0, "Nothing is stored.\n", "")
    assert brimline("store", "search", "x").err.startswith(
        "brimline: none of 0 stored outputs holds x;"
    )
    assert brimline("store", "list", "--json").document["outputs"] == []
    assert brimline("store", "prune", "--yes", "--json").document["removed"] == 0


@pytest.mark.row("S3-57")
@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ([], slice(None)),
        (["--lines", "1:2"], slice(0, 40)),
        (["--lines", "200:"], slice(-22, None)),
        (["--lines", "-1:"], slice(-22, None)),
        (["--lines", "200:999"], slice(-22, None)),
        (["--bytes", "5:9"], slice(5, 9)),
        (["--bytes", "-4:"], slice(-4, None)),
    ],
)
def test_get_prints_exactly_what_was_stored(key: str, options: list[str], wanted: slice) -> None:
    """Every byte, or the asked range of them."""
    done = process("store", "get", key[7:15], *options)

    assert done.stdout == LINES[wanted]


@pytest.mark.row("S3-57")
def test_binary_content_is_printed_as_it_is(home_dir: str) -> None:
    """No encoding, no added line break; in JSON it is base 64."""
    data = bytes(range(256)) * 30
    put.put(home_dir, data, {"tool": "Bash"})

    assert process("store", "get", "last").stdout == data
    found = json.loads(process("store", "get", "last", "--json", "--bytes", "0:3").stdout)
    assert (found["text"], found["base64"], found["bytes"]) == ("\0\1\2", None, 3)
    found = json.loads(process("store", "get", "last", "--json", "--bytes", "253:256").stdout)
    assert (found["text"], found["base64"]) == (None, "/f7/")
    assert found["meta"]["tool"] == "Bash"


def test_on_a_terminal_nothing_is_printed_that_it_would_obey(home_dir: str) -> None:
    """Neither colours nor titles; in a pipe every byte is as it was."""
    put.put(home_dir, b"\x1b]0;title\x07plain\tred\n", {})
    child: Any = pexpect.spawn(
        PROGRAM[0], [*PROGRAM[1:], "store", "get", "last"], encoding="utf-8", timeout=60
    )
    child.expect(pexpect.EOF)

    assert "?]0;title?plain" in child.before
    assert "\x1b" not in child.before
    assert process("store", "get", "last").stdout == b"\x1b]0;title\x07plain\tred\n"


def test_inside_the_client_a_project_gets_its_own(
    home_dir: str,
    world: Path,
    project_dir: str,
    brimline: Run,
    refused: Refused,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also as `last`, wherever it changed to; in a terminal everything is given."""
    path = f"{paths.project_transcripts_dir(project_dir)}/s-own.jsonl"
    SessionBuilder(path, "s-own", project_dir).prompt("go")
    put.put(home_dir, b"own", {"cwd": "/elsewhere", "session": "s-own"})
    other = put.put(home_dir, b"secret", {"cwd": str(world), "session": "s-other"})
    assert brimline("store", "get", "last").out == "secret"

    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "s-own")
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(world))
    monkeypatch.chdir(world / "home")
    assert brimline("store", "get", "last").out == "own"
    assert "was not stored by a session of this project" in refused("store", "get", other)
    assert brimline("store", "elsewhere", other).out == "secret"


def test_search_finds_outputs_of_this_project(
    home_dir: str, project_dir: str, brimline: Run, refused: Refused
) -> None:
    """Others on request; with the lines that fit, and code 1 where there are none."""
    meta = {"cwd": project_dir, "tool": "Bash", "source": "make all", "session": "s"}
    key = put.put(home_dir, b"one\nthe \x1b[32mneedle\x1b[0m here\n", meta)
    other = put.put(home_dir, b"needle elsewhere", {"cwd": "/elsewhere"})

    told = brimline("store", "search", "NEEDLES")
    both = brimline("store", "search", "needle", "--everywhere", "--json").document
    nothing = refused("store", "search", "elsewhere")
    empty = refused("store", "search", "")

    assert told == (0, f"{key[7:19]}  Bash make all\n  2: the needle here\n", "")
    assert {row["key"] for row in both["outputs"]} == {key, other}
    assert (both["found"], both["searched"], both["pending"], both["all_words"]) == (2, 2, 0, True)
    assert (
        nothing
        == "brimline: none of 1 stored output holds elsewhere; --everywhere asks all projects\n"
    )
    assert empty == "brimline: the query is empty: give the words to look for\n"


@pytest.mark.row("S3-70")
def test_pins_are_set_listed_and_lifted(home_dir: str, key: str, brimline: Run) -> None:
    """By key, with a level and a reason."""
    other = put.put(home_dir, b"other", {"session": "session-two"})
    assert brimline("store", "pin", key[7:15], "--level", "hard", "--reason", "the build").code == 0
    (line,) = brimline("store", "list", "--pinned").out.splitlines()[1:-1]
    assert (line[:12], line.split()[-3:]) == (key[7:19], ["hard", "the", "build"])
    assert brimline("store", "pin", "last", "--json").document["key"] == other

    assert brimline("store", "unpin", key).out == f"{key} is not pinned any more.\n"
    assert brimline("store", "pin", key).out == f"{key} is pinned soft.\n"
    assert pins.all_pins(home_dir)[key[7:]].level == "soft"


@pytest.mark.row("S3-67", "S3-68")
def test_prune_obeys_its_limits(home_dir: str, brimline: Run) -> None:
    """By days since the last use, and by megabytes on disk; without any, those of the settings."""
    keys = [noise(home_dir, number, 400_000) for number in range(6)]
    aged(home_dir, *keys[:2])
    of_settings = brimline("store", "prune", "--dry-run", "--json").document
    assert (set(of_settings["keys"]), of_settings["dry_run"]) == (set(keys[:2]), True)

    by_age = brimline("store", "prune", "--max-age-days", "30", "--yes", "--json").document
    assert set(by_age["keys"]) == set(keys[:2])
    by_size = brimline("store", "prune", "--max-size-mb", "1", "--yes", "--json").document
    assert by_size["keys"] == keys[2:4]
    assert (
        by_size["left_bytes"]
        == sum(blob.disk_bytes for blob in contents.list_blobs(home_dir))
        <= 1_000_000
    )


def test_forget_removes_an_output_and_its_words(home_dir: str, key: str, brimline: Run) -> None:
    """From the store and from the search; others stay."""
    other = put.put(home_dir, b"other", {})
    assert brimline("store", "search", "build", "--everywhere").code == 0

    assert brimline("store", "forget", key, "--yes").out == "1 output forgotten.\n"
    assert {blob.key for blob in contents.list_blobs(home_dir)} == {other}
    kept = [path.read_bytes() for path in Path(stored.search_folder(home_dir)).iterdir()]
    assert not any(b"build" in content for content in kept)


@pytest.mark.parametrize(
    "arguments",
    [
        ["prune", "--max-size-mb", "0"],
        ["prune", "--unreferenced"],
        ["forget", "last"],
    ],
)
def test_without_a_terminal_deleting_needs_yes(
    home_dir: str, key: str, arguments: list[str], refused: Refused
) -> None:
    """One sentence, a non-zero code, and nothing is gone."""
    aged(home_dir, key)

    assert "add --yes" in refused("store", *arguments)
    assert len(contents.list_blobs(home_dir)) == 1


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("get xyz", "is not a key"),
        ("get 0123456789abcdef", "is not in the store"),
        ("list --session nobody", "no session 'nobody' is known"),
        ("pin ../../etc", "is not a key"),
        ("get last --lines five", "is not a range"),
        ("get last --bytes 5", "is not a range"),
        ("get last --lines 1:2 --bytes 1:2", "exclude each other"),
        ("get last --lines 5000:6000", "there is no line 5,000: the last one is 200"),
        ("get last --lines 5:1", "'5:1' asks for no lines: it ends before it begins"),
        ("get last --bytes 99999999:", "asks for no bytes: there are "),
        ("get last --bytes 7:2 --json", "asks for no bytes"),
    ],
)
@pytest.mark.usefixtures("key")
def test_bad_input_is_told_in_one_sentence(words: str, complaint: str, refused: Refused) -> None:
    """With a non-zero exit code and nothing on standard output."""
    assert complaint in refused("store", *words.split())


@pytest.mark.parametrize("number", ["nan", "inf", "-1", "1e308", "many"])
def test_a_limit_is_a_number(number: str, refused: Refused) -> None:
    """What is none, or more than anybody means, is wrong usage."""
    for option in ("--max-age-days", "--max-size-mb"):
        assert option in refused("store", "prune", option, number, "--yes", code=2)


def test_a_newer_store_is_not_touched(home_dir: str, key: str, brimline: Run) -> None:
    """Whatever the command."""
    Path(home_dir + layout.FORMAT_FILE).write_text("2\n")

    for arguments in (["list"], ["get", key], ["search", "x"], ["pin", key], ["prune", "--yes"]):
        told = brimline("store", *arguments)
        assert "was written by a newer brimline" in told.err
        assert told.code == 1


def test_on_a_terminal_deleting_asks_first(home_dir: str, key: str, brimline: Run) -> None:
    """A no keeps everything, a yes removes what was shown."""
    aged(home_dir, key)

    kept = brimline("store", "prune", "--unreferenced", typed="n\n")
    assert (kept.code, len(contents.list_blobs(home_dir))) == (1, 1)
    assert "Remove 1 output" in kept.err
    pins.pin(home_dir, key, "hard")
    held = brimline("store", "forget", key, typed="n\n")
    assert "1 of them pinned. Delete 1 output for good?" in held.err
    assert "1 output forgotten." in brimline("store", "forget", key, typed="y\n").out
    assert contents.list_blobs(home_dir) == []


@pytest.mark.row("S3-71")
def test_age_and_size_that_prune_obeys_are_settings(home_dir: str, brimline: Run) -> None:
    """What 30 days and 500 MB let go of, other figures keep, and the other way round."""
    keys = [noise(home_dir, number, 700_000) for number in range(3)]
    aged(home_dir, keys[0])

    def gone() -> set[str]:
        return set(brimline("store", "prune", "--dry-run", "--json").document["keys"])

    assert gone() == {keys[0]}
    assert brimline("config", "set", "store.max_age_days", "3650").code == 0
    assert gone() == set()
    assert brimline("config", "set", "store.max_mb", "1").code == 0
    assert {keys[0]} < gone() < set(keys)


def test_a_path_in_the_list_keeps_its_end(home_dir: str, brimline: Run) -> None:
    """The name of a file tells more than its folders; a line says how to see all of it."""
    path = "/home/somebody/projects/" + "deep/" * 20 + "orders.py"
    put.put(home_dir, b"x" * 99, {"tool": "Read", "source": path})

    text = brimline("store", "list").out

    assert "deep/orders.py" in text
    assert "--json has every name whole" in text
    assert "--limit 0" not in text
    put.put(home_dir, b"y" * 99, {"tool": "Read", "source": path})
    assert "--limit 0 lists all" in brimline("store", "list", "--limit", "1").out


@pytest.mark.parametrize(
    ("lines", "span", "part"),
    [
        (None, None, b"a\nb\nc"),
        ("1-2", None, b"a\nb\n"),
        ("3-3", None, b"c"),
        (None, "0:2", b"a\n"),
        (None, ":1", b"a"),
        (None, "-1:", b"c"),
    ],
)
def test_a_part_is_cut_by_lines_or_by_bytes(
    lines: str | None, span: str | None, part: bytes
) -> None:
    """Lines are counted from one, bytes from nought."""
    assert store_commands._chosen_lines_or_bytes(b"a\nb\nc", lines, span) == part
    for wrong in (":", "x:", "9:", "1:1"):
        with pytest.raises(StoreError, match=f"'{wrong}' "):
            store_commands._chosen_lines_or_bytes(b"abc", None, wrong)
    assert store_commands._chosen_lines_or_bytes(b"", "1-2", None) == b""


def test_content_is_text_where_it_can_be_and_base_64_where_not() -> None:
    """One of both is there, and the other is said not to be."""
    assert store_commands._text_or_base64_fields("é".encode()) == {"text": "é", "base64": None}
    assert store_commands._text_or_base64_fields(b"\xff\x00") == {"text": None, "base64": "/wA="}


@pytest.mark.parametrize(
    ("fields", "dry_run", "told"),
    [
        ({}, False, ["0 outputs removed, 0 B freed; 0 B left."]),
        (
            {"keys": ["a"], "freed_bytes": 1_500, "left_bytes": 7},
            True,
            ["1 output would go, 1.5 kB freed; 7 B left."],
        ),
        (
            {"shortfall_bytes": 3},
            False,
            [
                "0 outputs removed, 0 B freed; 0 B left.",
                "The limit is still exceeded by 3 B: the rest is pinned hard, mentioned in",
                "sessions or was used within the last hour.",
            ],
        ),
        (
            {"swept": 2},
            False,
            ["0 outputs removed, 0 B freed; 0 B left.", "2 leftovers cleared away."],
        ),
    ],
)
def test_what_a_prune_did_is_told_in_a_few_lines(
    fields: dict[str, Any], dry_run: bool, told: list[str]
) -> None:
    """Why the store is still too large, and what else came up, where that is so."""
    done = retention.Outcome(**fields)

    assert store_commands._pruned_text(done, dry_run=dry_run).split("\n") == told


@pytest.mark.parametrize(
    ("given", "limits"),
    [
        ((None, None, False), (None, None, 0.0, False)),
        ((0, 0, False), (0, 0, 0.0, False)),
        ((2, 3, False), (172_800, 3_000_000, 0.0, False)),
        ((None, None, True), (None, None, 3_600.0, True)),
    ],
)
def test_limits_of_a_prune_are_days_and_megabytes(
    given: tuple[int | None, int | None, bool], limits: tuple[Any, ...]
) -> None:
    """What was used within the hour stays where all goes that nothing mentions."""
    assert tuple(store_commands._given_limits(*given)) == limits
