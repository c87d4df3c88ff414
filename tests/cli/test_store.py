"""`brimline store`: what a person and a program get, and what is asked before anything goes."""

from __future__ import annotations

import functools
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pexpect
import pytest

from brimline import paths
from brimline.cli import store_report
from brimline.cli.registry import COMMANDS, Entry
from brimline.store import layout, pins, put, scan
from brimline.testing import SessionBuilder

if TYPE_CHECKING:
    from collections.abc import Callable

    from .conftest import Outcome

LINES = b"".join(b"line %d of the build\n" % number for number in range(1, 201))
COMMAND = [
    "stats",
    "list",
    "get",
    "grep",
    "pin",
    "unpin",
    "pins",
    "prune",
    "gc",
    "verify",
    "forget",
]
# The program with the group registered, wherever the registry stands.
PROGRAM = (
    "from brimline.cli.registry import COMMANDS, Entry\n"
    "COMMANDS['store'] = Entry('brimline.cli.store:store', 'x')\n"
    "from brimline.cli.main import main\n"
    "main()\n"
)


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(COMMANDS, "store", Entry("brimline.cli.store:store", "The store."))


@pytest.fixture
def key(home_dir: str) -> str:
    """The key of a stored build log."""
    meta = {"tool": "Bash", "source": "make \x1b[31m all", "session": "session-one", "exit": 2}
    return put.put(home_dir, LINES, meta)


def aged(home_dir: str, *keys: str) -> None:
    """Make blobs look forty days old."""
    for one in keys:
        os.utime(layout.blob(home_dir, one[7:]), (1_700_000_000, 1_700_000_000))


def noise(home_dir: str, number: int, size: int = 100_000) -> str:
    """Store something that does not compress."""
    import random

    return put.put(home_dir, random.Random(number).randbytes(size), {})


@pytest.mark.row("S3-66")
def test_stats_count_what_is_there(
    home_dir: str, key: str, brimline: Callable[..., Outcome]
) -> None:
    """For a person in four lines, for a program under stable keys."""
    put.put(home_dir, b"small", {})
    pins.pin(home_dir, key, "hard")

    told = brimline("store", "stats")
    found = json.loads(brimline("store", "stats", "--json").out)

    assert told.out.startswith("stored  2 blobs, ")
    assert "pinned  0 soft, 1 hard" in told.out
    assert list(found) == [
        "folder",
        "blobs",
        "disk_bytes",
        "content_bytes",
        "methods",
        "pins",
        "used_first",
        "used_last",
    ]
    assert found["blobs"] == 2
    assert found["content_bytes"] == len(LINES) + 5
    assert found["disk_bytes"] == sum(blob.disk_bytes for blob in scan.blobs(home_dir))
    assert found["methods"] == {"none": 1, "gzip": 1, "zstd": 0}
    assert found["pins"] == {"none": 1, "soft": 0, "hard": 1}


def test_stats_do_not_open_very_many_blobs_unless_asked(
    key: str, monkeypatch: pytest.MonkeyPatch, brimline: Callable[..., Outcome]
) -> None:
    """What was not looked at is unknown, not zero."""
    monkeypatch.setattr(store_report, "_MOST_HEADERS", 0)

    quick = json.loads(brimline("store", "stats", "--json").out)
    told = brimline("store", "stats")
    thorough = json.loads(brimline("store", "stats", "--content", "--json").out)

    assert (quick["blobs"], quick["content_bytes"], quick["methods"]) == (1, None, None)
    assert "of content" not in told.out
    assert thorough["content_bytes"] == len(LINES)


def test_an_empty_store_is_no_error(brimline: Callable[..., Outcome]) -> None:
    """Every command that looks says so."""
    for name in ("stats", "list"):
        assert brimline("store", name) == (0, "Nothing is stored.\n", "")
    assert brimline("store", "pins") == (0, "Nothing is pinned.\n", "")
    assert brimline("store", "verify").out == "0 blobs checked, 0 damaged or unreadable.\n"
    assert json.loads(brimline("store", "list", "--json").out) == []
    assert json.loads(brimline("store", "gc", "--yes", "--json").out)["removed"] == 0
    assert json.loads(brimline("store", "prune", "--yes", "--json").out)["removed"] == 0


def test_a_list_shows_what_is_known_and_obeys_no_terminal_code(
    home_dir: str, key: str, brimline: Callable[..., Outcome]
) -> None:
    """Newest first, cut to a limit, chosen by session or tool."""
    other = put.put(home_dir, b"other", {"tool": "Read", "session": "session-two"})

    told = brimline("store", "list")
    by_session = json.loads(brimline("store", "list", "--session", "session-o", "--json").out)
    by_tool = json.loads(brimline("store", "list", "--tool", "Read", "--json").out)
    one = brimline("store", "list", "--limit", "1", "--by", "size")

    assert "\x1b" not in told.out
    assert told.out.splitlines()[1].split()[:3] == [other[7:19], "5", "B"]
    assert told.out.splitlines()[2].endswith("Bash make ?[31m all")
    assert [row["key"] for row in by_session] == [key]
    assert (by_session[0]["bytes"], by_session[0]["lines"]) == (len(LINES), 200)
    assert [row["key"] for row in by_tool] == [other]
    assert one.out.endswith("(1 of 2)\n")
    assert key[7:19] in one.out


@pytest.mark.row("S3-57")
@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ([], slice(None)),
        (["--lines", "1:2"], slice(0, 40)),
        (["--lines", "200:"], slice(-22, None)),
        (["--lines", "-1:"], slice(-22, None)),
        (["--bytes", "5:9"], slice(5, 9)),
        (["--bytes", "-4:"], slice(-4, None)),
    ],
)
def test_get_prints_exactly_what_was_stored(key: str, options: list[str], wanted: slice) -> None:
    """Every byte, or the asked range of them."""
    done = run("get", key[7:15], *options)

    assert done.stdout == LINES[wanted]


@pytest.mark.row("S3-57")
def test_binary_content_is_printed_as_it_is(home_dir: str) -> None:
    """No encoding, no added line break; in JSON it is base 64."""
    data = bytes(range(256)) * 30
    put.put(home_dir, data, {"tool": "Bash"})

    assert run("get", "last").stdout == data
    found = json.loads(run("get", "last", "--json", "--bytes", "0:3").stdout)
    assert (found["text"], found["base64"], found["bytes"]) == ("\0\1\2", None, 3)
    found = json.loads(run("get", "last", "--json", "--bytes", "253:256").stdout)
    assert (found["text"], found["base64"]) == (None, "/f7/")
    assert found["meta"]["tool"] == "Bash"


def test_grep_numbers_lines_and_shows_those_around(
    key: str, brimline: Callable[..., Outcome]
) -> None:
    """As grep does: a colon for matches, a dash for the others, dashes between groups."""
    told = brimline("store", "grep", key, "line (7|50|200) ", "-C", "1")
    found = json.loads(brimline("store", "grep", key, "LINE 7 ", "-i", "--json").out)
    nothing = brimline("store", "grep", key, "no such thing")

    assert told.out.splitlines() == [
        "6-line 6 of the build",
        "7:line 7 of the build",
        "8-line 8 of the build",
        "--",
        "49-line 49 of the build",
        "50:line 50 of the build",
        "51-line 51 of the build",
        "--",
        "199-line 199 of the build",
        "200:line 200 of the build",
    ]
    assert found["matches"] == 1
    assert found["lines"] == [{"line": 7, "match": True, "text": "line 7 of the build"}]
    assert (nothing.code, nothing.out) == (1, "")
    assert "no line of" in nothing.err


def test_grep_cuts_very_long_lines_unless_told(
    home_dir: str, brimline: Callable[..., Outcome]
) -> None:
    """A megabyte on one line would fill the window that it was kept out of."""
    put.put(home_dir, b"x" + b"\xc3\xa4" * 50_000, {})

    cut = brimline("store", "grep", "last", "x").out
    whole = brimline("store", "grep", "last", "x", "--whole-lines").out

    assert len(cut) < 2_100
    assert "more bytes: --whole-lines" in cut
    assert len(whole) == 50_000 + len("1:x\n")


@pytest.mark.row("S3-70")
def test_pins_are_set_listed_and_lifted(
    home_dir: str, key: str, brimline: Callable[..., Outcome]
) -> None:
    """By key, with a level and a reason."""
    assert brimline("store", "pin", key[7:15], "--level", "hard", "--reason", "the build").code == 0
    assert brimline("store", "pins").out == f"{key[7:19]}  hard  the build\n"
    (found,) = json.loads(brimline("store", "pins", "--json").out)
    assert (found["key"], found["level"], found["reason"]) == (key, "hard", "the build")
    assert json.loads(brimline("store", "list", "--json").out)[0]["pin"] == "hard"

    assert brimline("store", "unpin", "last").out == f"{key} is not pinned any more.\n"
    assert brimline("store", "pin", "last").out == f"{key} is pinned soft.\n"
    assert scan.pinned(home_dir)[key[7:]].level == "soft"


@pytest.mark.row("S3-67", "S3-68")
def test_prune_obeys_its_limits(home_dir: str, brimline: Callable[..., Outcome]) -> None:
    """By days since the last use, and by megabytes on disk."""
    keys = [noise(home_dir, number) for number in range(6)]
    aged(home_dir, *keys[:2])

    by_age = json.loads(brimline("store", "prune", "--max-age-days", "30", "--yes", "--json").out)
    assert set(by_age["keys"]) == set(keys[:2])
    assert by_age["removed_by_age"] == 2
    by_size = json.loads(brimline("store", "prune", "--max-size-mb", "0.2", "--yes", "--json").out)
    assert by_size["keys"] == keys[2:5]
    assert by_size["left_bytes"] == sum(blob.disk_bytes for blob in scan.blobs(home_dir)) <= 200_000


def test_prune_tells_what_it_may_not_remove(
    home_dir: str, world: Path, brimline: Callable[..., Outcome]
) -> None:
    """The shortfall, what holds the rest, and how to force a key."""
    mentioned, pinned = noise(home_dir, 1), noise(home_dir, 2)
    SessionBuilder(str(world / "home/.claude/projects/p/s.jsonl")).prompt(mentioned)
    pins.pin(home_dir, pinned, "hard")

    told = brimline("store", "prune", "--max-size-mb", "0", "--yes")
    forced = brimline("store", "prune", "--max-size-mb", "0", "--force", mentioned, "--yes")

    assert "0 blobs removed" in told.out
    assert "The limit is still exceeded by 200.0 kB:" in told.out
    assert "100.0 kB mentioned in transcripts (--force KEY" in told.out
    assert "100.0 kB pinned hard" in told.out
    assert "1 blob removed" in forced.out


def test_prune_without_limits_takes_those_of_the_settings(
    home_dir: str, brimline: Callable[..., Outcome]
) -> None:
    """500 MB and 30 days unless configured."""
    old, young = noise(home_dir, 1), noise(home_dir, 2)
    aged(home_dir, old)

    found = json.loads(brimline("store", "prune", "--dry-run", "--json").out)

    assert found["keys"] == [old]
    assert found["dry_run"] is True
    assert {blob.key for blob in scan.blobs(home_dir)} == {old, young}


@pytest.mark.row("S3-69")
def test_gc_removes_what_nothing_mentions(
    home_dir: str, world: Path, brimline: Callable[..., Outcome]
) -> None:
    """After the grace period; what a transcript mentions in a result stays."""
    kept, gone, fresh = (noise(home_dir, number) for number in range(3))
    aged(home_dir, kept, gone)
    session = SessionBuilder(str(world / "home/.claude/projects/p/s.jsonl"))
    session.tool_result(session.tool_call(1_000), f"stored: {kept}")
    Path(layout.tmp_dir(home_dir), "1.2.tmp").touch()
    os.utime(Path(layout.tmp_dir(home_dir), "1.2.tmp"), (1, 1))

    would = brimline("store", "gc", "--dry-run")
    done = json.loads(brimline("store", "gc", "--yes", "--json").out)

    assert would.out.startswith("1 blob would go, 100.0 kB freed")
    assert done["keys"] == [gone]
    assert done["swept"] == {"temporary": 1, "returned": 0, "orphans": 0}
    assert {blob.key for blob in scan.blobs(home_dir)} == {kept, fresh}


def test_verify_ends_with_code_1_where_something_is_damaged(
    home_dir: str, key: str, brimline: Callable[..., Outcome]
) -> None:
    """The sentence names the key."""
    assert brimline("store", "verify") == (0, "1 blob checked, 0 damaged or unreadable.\n", "")
    Path(layout.blob(home_dir, key[7:])).write_bytes(b"gone")

    told = brimline("store", "verify")

    assert told.code == 1
    assert f"{key} is damaged" in told.out
    assert json.loads(brimline("store", "verify", "--json").out)["problems"].keys() == {key}
    assert "is damaged and was not returned" in brimline("store", "get", key).err


def test_forget_removes_keys_or_a_session(
    home_dir: str, key: str, brimline: Callable[..., Outcome]
) -> None:
    """What other sessions stored too stays with them."""
    shared = put.put(home_dir, b"shared", {"session": "session-one"})
    put.put(home_dir, b"shared", {"session": "session-two"})
    alone = put.put(home_dir, b"alone", {})

    would = brimline("store", "forget", "--session", "session-one", "--dry-run")
    assert would.out == ("1 blob of session session-one would go. 1 stay with other sessions.\n")
    done = json.loads(
        brimline("store", "forget", "--session", "session-one", "--yes", "--json").out
    )
    assert (done["session"], done["keys"], done["shared"]) == ("session-one", [key], [shared])
    assert brimline("store", "forget", alone, "--yes").out == "1 blob forgotten.\n"
    assert {blob.key for blob in scan.blobs(home_dir)} == {shared}


def test_a_session_can_be_forgotten_by_the_beginning_of_its_id(
    home_dir: str, key: str, brimline: Callable[..., Outcome]
) -> None:
    """As `list` takes it; one that fits none or two sessions is refused, and nothing goes."""
    other = put.put(home_dir, b"other", {"session": "session-two"})

    unknown = brimline("store", "forget", "--session", "nobody", "--yes")
    both = brimline("store", "forget", "--session", "session-", "--yes")
    assert [blob.key for blob in scan.blobs(home_dir) if blob.key in (key, other)] != []
    assert len(scan.blobs(home_dir)) == 2
    done = brimline("store", "forget", "--session", "session-o", "--yes")

    assert (unknown.code, unknown.out) == (both.code, both.out) == (1, "")
    assert unknown.err.startswith("brimline: no session 'nobody' is known to the store")
    assert both.err == "brimline: 2 sessions begin with 'session-': write more of the id\n"
    assert done.out == "1 blob of session session-one forgotten.\n"
    assert [blob.key for blob in scan.blobs(home_dir)] == [other]


@pytest.mark.parametrize(
    "arguments",
    [
        ["prune", "--max-size-mb", "0"],
        ["gc"],
        ["forget", "last"],
        ["forget", "--session", "session-one"],
    ],
)
def test_without_a_terminal_deleting_needs_yes(
    home_dir: str, key: str, arguments: list[str], brimline: Callable[..., Outcome]
) -> None:
    """One sentence, a non-zero code, and nothing is gone."""
    aged(home_dir, key)

    told = brimline("store", *arguments)

    assert told.code != 0
    assert told.err.startswith("brimline: this deletes stored content: add --yes")
    assert len(told.err.splitlines()) == 1
    assert len(scan.blobs(home_dir)) == 1


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["get", "xyz"], "is no key"),
        (["get", "0123456789abcdef"], "is not in the store"),
        (["get", "last"], "nothing has been stored yet"),
        (["grep", "last", "x"], "nothing has been stored yet"),
        (["pin", "../../etc"], "is no key"),
        (["forget", "--yes"], "name either keys or one --session"),
        (["forget", "0" * 64, "--session", "x", "--yes"], "name either keys or one --session"),
        (["prune", "--force", "zz", "--yes"], "is no key"),
        *[
            (
                [command, option, number, "--yes"],
                f"{option} takes a number from 0 up, not {number!r}",
            )
            for command, option in [
                ("gc", "--grace-minutes"),
                ("prune", "--grace-minutes"),
                ("prune", "--max-age-days"),
                ("prune", "--max-size-mb"),
            ]
            for number in ("nan", "inf", "-1", "1e308", "many")
        ],
    ],
)
def test_bad_input_is_told_in_one_sentence(
    arguments: list[str], complaint: str, brimline: Callable[..., Outcome]
) -> None:
    """With a non-zero exit code and nothing on standard output."""
    told = brimline("store", *arguments)

    assert (told.code, told.out) == (1, "")
    assert complaint in told.err
    assert len(told.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--lines", "5"], "is no range"),
        (["--lines", "1:2", "--bytes", "1:2"], "exclude each other"),
        (["--lines", "5000:6000"], "there is no line 5,000: the content has 200 lines"),
        (["--lines", "201:"], "there is no line 201"),
        (["--lines", "5:1"], "'5:1' asks for no lines: it ends before it begins"),
        (["--lines", ":-999"], "asks for no lines"),
        (["--bytes", "99999999:"], "there is no byte 99,999,999: the content has "),
        (["--bytes", "7:7"], "asks for no bytes"),
        (["--bytes", "7:2", "--json"], "asks for no bytes"),
    ],
)
def test_a_wrong_range_is_told_in_one_sentence(
    key: str, arguments: list[str], complaint: str, brimline: Callable[..., Outcome]
) -> None:
    """Before anything is printed."""
    told = brimline("store", "get", key, *arguments)

    assert (told.code, told.out) == (1, "")
    assert complaint in told.err
    assert len(told.err.splitlines()) == 1


def test_a_range_that_begins_inside_ends_with_the_content(
    home_dir: str, key: str, brimline: Callable[..., Outcome]
) -> None:
    """And of empty content every range is empty."""
    put.put(home_dir, b"", {})

    assert brimline("store", "get", key, "--lines", "200:999").out == "line 200 of the build\n"
    assert brimline("store", "get", "last", "--lines", "1:5") == (0, "", "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
@pytest.mark.parametrize("options", [["get"], ["get", "--json"], ["grep", "-F", "line"]])
def test_an_output_that_cannot_be_written_is_what_is_blamed(key: str, options: list[str]) -> None:
    """Not the store, which is well; and Python adds nothing when it ends."""
    command, *rest = options
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, "store", command, key[7:15], *rest],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )

    assert done.returncode == 1
    told = done.stderr.decode()
    assert told == "brimline: standard output cannot be written: No space left on device\n"


def test_a_pattern_that_takes_too_long_can_be_searched_for_as_plain_text(
    home_dir: str, monkeypatch: pytest.MonkeyPatch, brimline: Callable[..., Outcome]
) -> None:
    """The sentence names the option."""
    from brimline.store import grep

    put.put(home_dir, b"a" * 60 + b"!\n", {})
    monkeypatch.setattr(grep, "grep", functools.partial(grep.grep, timeout_s=0.3))

    told = brimline("store", "grep", "last", "(a+)+$")

    assert told.code == 1
    assert told.err.endswith("simplify it, or search for plain text with --fixed\n")


def test_of_a_long_line_the_part_around_the_match_is_shown(
    home_dir: str, brimline: Callable[..., Outcome]
) -> None:
    """With how many bytes come before and after."""
    put.put(home_dir, "ä".encode() * 10_000 + b"needle=42;" + b"x" * 10_000, {})

    for pattern in ("needle=[0-9]+", "needle", ".*needle"):
        told = brimline("store", "grep", "last", pattern).out
        assert "needle=42;" in told
        assert re.match(r"1:\[[\d,]+ bytes\] … ", told)
        assert re.search(r" … \[[\d,]+ more bytes: --whole-lines\]\n$", told)
        assert len(told.encode()) < 2_200


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
def test_a_pipe_in_the_place_of_a_blob_holds_nobody_up(
    home_dir: str, key: str, brimline: Callable[..., Outcome]
) -> None:
    """Reading says so at once, and so does the check of all."""
    os.unlink(layout.blob(home_dir, key[7:]))
    os.mkfifo(layout.blob(home_dir, key[7:]))

    told = run("get", key, check=False)
    checked = brimline("store", "verify")

    assert (told.returncode, told.stdout) == (1, b"")
    assert told.stderr.decode() == (f"brimline: {key} cannot be read: it is not a regular file\n")
    assert checked.code == 1
    assert f"{key} cannot be read: it is not a regular file" in checked.out


def test_what_the_disk_refuses_is_told_in_one_sentence(
    home_dir: str, key: str, brimline: Callable[..., Outcome]
) -> None:
    """No traceback, whoever runs it."""
    os.rename(layout.tmp_dir(home_dir), home_dir + "/away")
    Path(layout.tmp_dir(home_dir)).write_text("a file where a folder belongs")

    told = brimline("store", "pin", key)

    assert told.code == 1
    assert len(told.err.splitlines()) == 1
    assert "tmp" in told.err


def test_a_newer_store_is_not_touched(
    home_dir: str, key: str, brimline: Callable[..., Outcome]
) -> None:
    """Whatever the command."""
    Path(layout.format_file(home_dir)).write_text("2\n")

    for arguments in (["stats"], ["list"], ["get", key], ["verify"], ["gc", "--yes"]):
        told = brimline("store", *arguments)
        assert "was written by a newer brimline" in told.err
        assert told.code == 1


@pytest.mark.parametrize("name", COMMAND)
def test_every_command_has_help_with_an_example_and_json(
    name: str, brimline: Callable[..., Outcome]
) -> None:
    """Also those that are imported on use."""
    told = brimline("store", name, "--help").out

    assert f"Example:\n    brimline store {name}" in told
    assert "--json" in told


def test_on_a_terminal_deleting_asks_first(home_dir: str, key: str) -> None:
    """A no keeps everything, a yes removes what was shown."""
    aged(home_dir, key)

    assert "Remove 1 blob" in answered("n", "gc")
    assert len(scan.blobs(home_dir)) == 1
    pins.pin(home_dir, key, "hard")
    assert "1 of them pinned. Delete 1 blob for good?" in answered("n", "forget", key)
    assert "1 blob forgotten." in answered("y", "forget", key)
    assert scan.blobs(home_dir) == []


def test_work_that_takes_a_second_shows_a_bar_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not before, and not elsewhere."""
    from brimline.cli import store_text

    monkeypatch.setattr(os, "isatty", lambda _: True)
    with store_text.Progress(100, "Reading") as progress:
        progress.update(10)
        quiet = capsys.readouterr().err
        progress._begun -= 2
        progress.update(40)
    assert quiet == ""
    assert "Reading" in capsys.readouterr().err


def run(*arguments: str, check: bool = True) -> subprocess.CompletedProcess[bytes]:
    """The command in a process of its own, for its exact bytes."""
    command = [sys.executable, "-c", PROGRAM, "store", *arguments]
    return subprocess.run(command, capture_output=True, check=check, timeout=60)


def answered(answer: str, *arguments: str) -> str:
    """What the command prints on a terminal where somebody answers its question."""
    child: Any = pexpect.spawn(
        sys.executable, ["-c", PROGRAM, "store", *arguments], encoding="utf-8", timeout=60
    )
    child.expect(r"\[y/N\]")
    asked = child.before
    child.sendline(answer)
    child.expect(pexpect.EOF)
    child.close()
    return str(asked) + str(child.before)


def test_the_store_is_where_the_environment_says(home_dir: str) -> None:
    """The tests' own guard: nothing here can reach the user's store."""
    assert paths.home() == home_dir
