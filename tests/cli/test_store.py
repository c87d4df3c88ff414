"""`brimline store`: what a person and a program get, and what is asked before anything goes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pexpect
import pytest

from brimline.cli.registry import COMMANDS, Entry
from brimline.fast import paths
from brimline.search import stored
from brimline.store import contents, layout, pins, put
from brimline.testing import SessionBuilder

if TYPE_CHECKING:
    from collections.abc import Callable

    from .conftest import Outcome

LINES = b"".join(b"line %d of the build\n" % number for number in range(1, 201))
COMMAND = ["list", "get", "search", "pin", "unpin", "prune", "forget"]
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
        os.utime(layout.file(home_dir, one[7:]), (1_700_000_000, 1_700_000_000))


def noise(home_dir: str, number: int, size: int = 100_000) -> str:
    """Store something that does not compress."""
    import random

    return put.put(home_dir, random.Random(number).randbytes(size), {})


@pytest.mark.row("S3-66")
def test_a_list_counts_what_is_there_and_obeys_no_terminal_code(
    home_dir: str, key: str, brimline: Callable[..., Outcome]
) -> None:
    """Newest first, cut to a limit, chosen by session; figures for all of it."""
    other = put.put(home_dir, b"other", {"tool": "Read", "session": "session-two"})
    pins.pin(home_dir, key, "hard", "why \x1b[31m")

    told = brimline("store", "list").out.splitlines()
    found = json.loads(brimline("store", "list", "--session", "session-o", "--json").out)
    one = brimline("store", "list", "--limit", "1", "--by", "size").out

    disk = sum(blob.disk_bytes for blob in contents.blobs(home_dir))
    assert told[1].split()[:3] == [other[7:19], "5", "B"]
    assert told[2].endswith("hard  Bash make ?[31m all")
    assert told[3] == f"2 of 2 blobs, {disk} B on disk; pinned: 0 soft, 1 hard"
    assert found.pop("outputs")[0] == {
        "key": key,
        "bytes": len(LINES),
        "lines": 200,
        "tool": "Bash",
        "source": "make \x1b[31m all",
        "exit": 2,
        "session": "session-one",
        "cwd": None,
        "created": contents.meta(home_dir, key)["created"],
        "disk_bytes": disk - 18,
        "used": json.loads(brimline("store", "list", "--json").out)["outputs"][1]["used"],
        "pin": "hard",
        "reason": "why \x1b[31m",
    }
    assert found == {
        "folder": layout.root(home_dir),
        "blobs": 2,
        "disk_bytes": disk,
        "pins": {"soft": 0, "hard": 1},
    }
    assert key[7:19] in one
    assert "1 of 2 blobs" in one


def test_an_empty_store_is_no_error(brimline: Callable[..., Outcome]) -> None:
    """Every command that looks says so, and makes nothing."""
    assert brimline("store", "list") == (0, "Nothing is stored.\n", "")
    assert brimline("store", "search", "x").err == "brimline: none of 0 stored outputs holds x\n"
    assert json.loads(brimline("store", "list", "--json").out)["outputs"] == []
    assert json.loads(brimline("store", "prune", "--yes", "--json").out)["removed"] == 0


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


def test_on_a_terminal_nothing_is_printed_that_it_would_obey(home_dir: str) -> None:
    """Neither colours nor titles; in a pipe every byte is as it was."""
    put.put(home_dir, b"\x1b]0;title\x07plain\tred\n", {})
    child: Any = pexpect.spawn(
        sys.executable, ["-c", PROGRAM, "store", "get", "last"], encoding="utf-8", timeout=60
    )
    child.expect(pexpect.EOF)

    assert "?]0;title?plain\tred" in child.before
    assert "\x1b" not in child.before
    assert run("get", "last").stdout == b"\x1b]0;title\x07plain\tred\n"


def test_find_shows_the_lines_that_hold_the_words(
    home_dir: str, key: str, brimline: Callable[..., Outcome]
) -> None:
    """Numbered, in any case; of a long line the part around them."""
    told = brimline("store", "get", key, "--find", '"LINE 19" build')
    nothing = brimline("store", "get", key, "--find", "absent")
    put.put(home_dir, "ä".encode() * 10_000 + b" needle " + b"x" * 10_000, {})
    long = brimline("store", "get", "last", "--find", "needle").out

    assert told.out.splitlines() == [
        f"{number}:line {number} of the build" for number in (19, *range(190, 200))
    ]
    assert (nothing.code, nothing.out) == (1, "")
    assert nothing.err == f"brimline: no line of {key} holds absent\n"
    assert " needle " in long
    assert len(long) < 700


def test_search_finds_outputs_of_this_project(
    home_dir: str, project_dir: str, brimline: Callable[..., Outcome]
) -> None:
    """Others on request; with the lines that fit, and code 1 where there are none."""
    meta = {"cwd": project_dir, "tool": "Bash", "source": "make \x1b[31m all", "session": "s"}
    key = put.put(home_dir, b"one\nthe \x1b[32mneedle\x1b[0m here\n", meta)
    other = put.put(home_dir, b"needle elsewhere", {"cwd": "/elsewhere"})

    told = brimline("store", "search", "NEEDLES")
    both = json.loads(brimline("store", "search", "needle", "--everywhere", "--json").out)
    nothing = brimline("store", "search", "elsewhere")
    refused = brimline("store", "search", "")

    assert told == (0, f"{key[7:19]}  Bash make ?[31m all\n  2: the needle here\n", "")
    assert {row["key"] for row in both["outputs"]} == {key, other}
    assert (both["found"], both["searched"], both["pending"], both["all_words"]) == (2, 2, 0, True)
    assert (nothing.code, nothing.out) == (1, "")
    assert nothing.err == "brimline: none of 1 stored output holds elsewhere\n"
    assert refused.err == "brimline: the query is empty: give the words to look for\n"


@pytest.mark.row("S3-70")
def test_pins_are_set_listed_and_lifted(
    home_dir: str, key: str, brimline: Callable[..., Outcome]
) -> None:
    """By key, with a level and a reason."""
    put.put(home_dir, b"other", {})
    assert brimline("store", "pin", key[7:15], "--level", "hard", "--reason", "the build").code == 0
    (line,) = brimline("store", "list", "--pinned").out.splitlines()[1:-1]
    assert (line[:12], line.split()[-3:]) == (key[7:19], ["hard", "the", "build"])

    assert brimline("store", "unpin", key).out == f"{key} is not pinned any more.\n"
    assert brimline("store", "pin", key).out == f"{key} is pinned soft.\n"
    assert pins.pinned(home_dir)[key[7:]].level == "soft"


@pytest.mark.row("S3-67", "S3-68")
def test_prune_obeys_its_limits(home_dir: str, brimline: Callable[..., Outcome]) -> None:
    """By days since the last use, and by megabytes on disk."""
    keys = [noise(home_dir, number) for number in range(6)]
    aged(home_dir, *keys[:2])

    by_age = json.loads(brimline("store", "prune", "--max-age-days", "30", "--yes", "--json").out)
    assert set(by_age["keys"]) == set(keys[:2])
    by_size = json.loads(brimline("store", "prune", "--max-size-mb", "0.2", "--yes", "--json").out)
    assert by_size["keys"] == keys[2:5]
    assert (
        by_size["left_bytes"]
        == sum(blob.disk_bytes for blob in contents.blobs(home_dir))
        <= 200_000
    )


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
    assert {blob.key for blob in contents.blobs(home_dir)} == {old, young}


@pytest.mark.row("S3-69")
def test_prune_can_remove_all_that_nothing_mentions(
    home_dir: str, world: Path, brimline: Callable[..., Outcome]
) -> None:
    """After the grace period; what a transcript mentions in a result stays."""
    kept, gone, fresh = (noise(home_dir, number) for number in range(3))
    aged(home_dir, kept, gone)
    session = SessionBuilder(str(world / "home/.claude/projects/p/s.jsonl"))
    session.tool_result(session.tool_call(1_000), f"stored: {kept}")
    Path(home_dir + layout.TMP, "1.2.tmp").touch()
    os.utime(Path(home_dir + layout.TMP, "1.2.tmp"), (1, 1))

    would = brimline("store", "prune", "--unreferenced", "--dry-run")
    done = json.loads(brimline("store", "prune", "--unreferenced", "--yes", "--json").out)

    assert would.out.startswith("1 blob would go, 100.0 kB freed")
    assert (done["keys"], done["swept"]) == ([gone], 1)
    assert {blob.key for blob in contents.blobs(home_dir)} == {kept, fresh}


def test_forget_removes_keys_or_a_session(
    home_dir: str, key: str, brimline: Callable[..., Outcome]
) -> None:
    """What other sessions stored too stays with them."""
    shared = put.put(home_dir, b"shared", {"session": "session-one"})
    put.put(home_dir, b"shared", {"session": "session-two"})
    alone = put.put(home_dir, b"alone", {})
    assert brimline("store", "search", "build", "--everywhere").code == 0

    would = brimline("store", "forget", "--session", "session-one", "--dry-run")
    assert would.out == ("1 blob of session session-one would go. 1 stay with other sessions.\n")
    done = json.loads(
        brimline("store", "forget", "--session", "session-one", "--yes", "--json").out
    )
    assert (done["session"], done["keys"], done["shared"]) == ("session-one", [key], [shared])
    assert brimline("store", "forget", alone, "--yes").out == "1 blob forgotten.\n"
    assert {blob.key for blob in contents.blobs(home_dir)} == {shared}
    kept = [path.read_bytes() for path in Path(stored.folder(home_dir)).iterdir()]
    assert not any(b"build" in content for content in kept)


def test_a_session_can_be_forgotten_by_the_beginning_of_its_id(
    home_dir: str, key: str, brimline: Callable[..., Outcome]
) -> None:
    """As `list` takes it; one that fits none or two sessions is refused, and nothing goes."""
    other = put.put(home_dir, b"other", {"session": "session-two"})

    unknown = brimline("store", "forget", "--session", "nobody", "--yes")
    both = brimline("store", "forget", "--session", "session-", "--yes")
    assert len(contents.blobs(home_dir)) == 2
    done = brimline("store", "forget", "--session", "session-o", "--yes")

    assert (unknown.code, unknown.out) == (both.code, both.out) == (1, "")
    assert unknown.err.startswith("brimline: no session 'nobody' is known to the store")
    assert both.err == "brimline: 2 sessions begin with 'session-': write more of the id\n"
    assert done.out == "1 blob of session session-one forgotten.\n"
    assert [blob.key for blob in contents.blobs(home_dir)] == [other]


@pytest.mark.parametrize(
    "arguments",
    [
        ["prune", "--max-size-mb", "0"],
        ["prune", "--unreferenced"],
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
    assert len(contents.blobs(home_dir)) == 1


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["get", "xyz"], "is no key"),
        (["get", "0123456789abcdef"], "is not in the store"),
        (["get", "last"], "nothing has been stored yet"),
        (["pin", "../../etc"], "is no key"),
        (["forget", "--yes"], "name either keys or one --session"),
        (["forget", "0" * 64, "--session", "x", "--yes"], "name either keys or one --session"),
        (["prune", "--force", "zz", "--yes"], "is no key"),
        *[
            (
                ["prune", option, number, "--yes"],
                f"{option} takes a number from 0 up, not {number!r}",
            )
            for option in ("--max-age-days", "--max-size-mb")
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
        (["--lines", "five"], "is no range"),
        (["--bytes", "5"], "is no range"),
        (["--lines", "1:2", "--find", "x"], "exclude each other"),
        (["--lines", "1:2", "--bytes", "1:2"], "exclude each other"),
        (["--lines", "5000:6000"], "there is no line 5,000: the last one is 200"),
        (["--lines", "201:"], "there is no line 201"),
        (["--lines", "5:1"], "'5:1' asks for no lines: it ends before it begins"),
        (["--bytes", "99999999:"], "asks for no bytes: there are "),
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


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
@pytest.mark.parametrize("options", [["get"], ["get", "--json"], ["get", "--find", "line"]])
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


def test_what_is_no_file_in_the_place_of_a_blob_is_refused(home_dir: str, key: str) -> None:
    """At once: a link that leads to an endless file, a pipe that nobody writes to."""
    place = layout.file(home_dir, key[7:])
    os.unlink(place)
    os.symlink("/dev/zero", place)
    linked = run("get", key, check=False)
    os.unlink(place)
    os.mkfifo(place)
    piped = run("get", key, check=False)

    assert (linked.returncode, linked.stdout, piped.returncode, piped.stdout) == (1, b"", 1, b"")
    assert linked.stderr.decode().startswith(f"brimline: {key} cannot be read: ")
    assert piped.stderr.decode() == f"brimline: {key} cannot be read: it is not a regular file\n"


def test_what_the_disk_refuses_is_told_in_one_sentence(
    home_dir: str, key: str, brimline: Callable[..., Outcome]
) -> None:
    """No traceback, whoever runs it."""
    os.rename(home_dir + layout.TMP, home_dir + "/away")
    Path(home_dir + layout.TMP).write_text("a file where a folder belongs")

    told = brimline("store", "pin", key)

    assert told.code == 1
    assert len(told.err.splitlines()) == 1
    assert "tmp" in told.err


def test_a_newer_store_is_not_touched(
    home_dir: str, key: str, brimline: Callable[..., Outcome]
) -> None:
    """Whatever the command."""
    Path(home_dir + layout.FORMAT_FILE).write_text("2\n")

    for arguments in (["list"], ["get", key], ["search", "x"], ["pin", key], ["prune", "--yes"]):
        told = brimline("store", *arguments)
        assert "was written by a newer brimline" in told.err
        assert told.code == 1


@pytest.mark.parametrize("name", COMMAND)
def test_every_command_has_help_with_an_example_and_json(
    name: str, brimline: Callable[..., Outcome]
) -> None:
    """So that nobody has to guess."""
    told = brimline("store", name, "--help").out

    assert f"Example:\n    brimline store {name}" in told
    assert "--json" in told


def test_on_a_terminal_deleting_asks_first(home_dir: str, key: str) -> None:
    """A no keeps everything, a yes removes what was shown."""
    aged(home_dir, key)

    assert "Remove 1 blob" in answered("n", "prune", "--unreferenced")
    assert len(contents.blobs(home_dir)) == 1
    pins.pin(home_dir, key, "hard")
    assert "1 of them pinned. Delete 1 blob for good?" in answered("n", "forget", key)
    assert "1 blob forgotten." in answered("y", "forget", key)
    assert contents.blobs(home_dir) == []


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
