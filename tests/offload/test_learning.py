"""What experience says: which calls turn out large, and which are better left alone."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import brimline
from brimline.fast import io
from brimline.offload import learnedlog, learning

NOW = 1_790_000_000.0
DAY = 86_400.0
HERE, THERE = "/home/dev/here", "/home/dev/there"
BUILD = ("Bash", "npm run build")
WRITER = """
import sys
from brimline.offload import learning
home, name = sys.argv[1:]
for number in range(200):
    learning.note_large(home, "/p", "Bash", f"tool-{name}", number, 1.79e9, key=str(number))
"""


def stubs(home_dir: str, recalled: str, project: str = HERE, at: float = NOW) -> None:
    """One stub of the build per letter; those marked `x` were fetched back whole."""
    for number, letter in enumerate(recalled):
        key = f"sha256:{project}{at}{number}"[-20:]
        learning.note_large(home_dir, project, *BUILD, 50_000, at, key=key)
        if letter == "x":
            learning.note_recall(home_dir, project, *BUILD, at, key=key)


def advice(home_dir: str, project: str = HERE, now: float = NOW) -> str | None:
    """What is advised for the next large output of the build."""
    return learning.verdict(home_dir, project, *BUILD, now)


def files(home_dir: str) -> list[str]:
    """The names of the files with lines."""
    return sorted(name for name in os.listdir(home_dir) if name.startswith("offload-learned"))


def test_nothing_is_advised_about_what_was_never_seen(home_dir: str) -> None:
    """Nor is anything created by asking."""
    assert advice(home_dir) is None
    assert learning.learned(home_dir) == []
    assert not Path(home_dir).exists()


@pytest.mark.row("S3-11")
def test_what_was_large_once_is_known_as_large(home_dir: str) -> None:
    """Everywhere, whether it was replaced or left alone; other calls are not meant."""
    learning.note_large(home_dir, HERE, *BUILD, 50_000, NOW, passed=True)

    assert advice(home_dir) == "large"
    assert advice(home_dir, THERE) == "large"
    assert learning.verdict(home_dir, HERE, "Bash", "npm run", NOW) is None
    assert learning.verdict(home_dir, HERE, "Grep", "npm run build", NOW) is None


@pytest.mark.parametrize(
    ("recalled", "verdict"),
    [
        ("xx", "large"),
        ("xxx", "pass"),
        ("x.x.x", "pass"),
        ("xx...", "large"),
        ("xxx...", "large"),
        ("...xxx", "pass"),
    ],
)
def test_three_of_the_last_five_stubs_fetched_back_make_a_call_pass(
    recalled: str, verdict: str, home_dir: str
) -> None:
    """What came before those five does not count."""
    stubs(home_dir, recalled)

    assert advice(home_dir) == verdict


def test_a_stub_that_is_asked_for_again_and_again_counts_once(home_dir: str) -> None:
    """Whoever reads it page by page still fetched back one stub only."""
    stubs(home_dir, "...")
    for _ in range(5):
        learning.note_recall(home_dir, HERE, *BUILD, NOW, key=f"{HERE}{NOW}2"[-20:])

    assert learning.learned(home_dir, now=NOW)[0].recalls == 1
    assert advice(home_dir) == "large"


def test_a_look_at_a_part_is_what_stubs_are_for(home_dir: str) -> None:
    """A stub did not pay only once half of it came back, in one piece or in several."""
    for number in range(3):
        learning.note_large(home_dir, HERE, *BUILD, 50_000, NOW, key=f"sha256:{number}")
        learning.note_recall(home_dir, HERE, *BUILD, NOW, key=f"sha256:{number}", size_bytes=20_000)

    assert advice(home_dir) == "large"

    for number in range(3):
        learning.note_recall(home_dir, HERE, *BUILD, NOW, key=f"sha256:{number}", size_bytes=5_000)

    assert advice(home_dir) == "pass"


def test_a_recall_without_a_key_means_the_latest_stub_that_nobody_asked_for(home_dir: str) -> None:
    """One without any stub to go with means nothing."""
    learning.note_recall(home_dir, HERE, *BUILD, NOW)
    assert advice(home_dir) is None

    for _ in range(3):
        learning.note_large(home_dir, HERE, *BUILD, 9_000, NOW)
        learning.note_recall(home_dir, HERE, *BUILD, NOW)

    assert advice(home_dir) == "pass"


def test_a_key_finds_its_stub_from_another_folder(home_dir: str) -> None:
    """A recall may come from a session that was started elsewhere."""
    for number in range(3):
        learning.note_large(home_dir, HERE, *BUILD, 9_000, NOW, key=f"sha256:{number}")
        learning.note_recall(home_dir, THERE, *BUILD, NOW, key=f"sha256:{number}")

    assert advice(home_dir) == "pass"


def test_other_projects_count_with_a_higher_bar(home_dir: str) -> None:
    """Six of the last eight stubs anywhere, as long as the project has not five of its own."""
    stubs(home_dir, "xxxxx", "/one")
    assert advice(home_dir) == "large"

    stubs(home_dir, "x", "/two")
    assert advice(home_dir) == "pass"

    stubs(home_dir, "....", HERE)
    stubs(home_dir, "xxxxxx", "/two", NOW + 1)
    assert advice(home_dir) == "pass"

    stubs(home_dir, ".", HERE, NOW + 2)
    assert advice(home_dir) == "large"


def test_every_fifth_output_that_passes_is_tried_again(home_dir: str) -> None:
    """Otherwise nothing could ever be unlearned before it expires."""
    stubs(home_dir, "xxx")
    given = []
    for _ in range(10):
        answer = advice(home_dir)
        given.append(answer)
        learning.note_large(home_dir, HERE, *BUILD, 9_000, NOW, passed=answer == "pass")

    assert given == ["pass", "pass", "pass", "pass", "large"] * 2


def test_stubs_that_stay_make_a_call_large_again(home_dir: str) -> None:
    """The probes that nobody fetched back push the old ones out of the last five."""
    stubs(home_dir, "xxxxx")
    for _ in range(3 * 5):
        learning.note_large(home_dir, HERE, *BUILD, 9_000, NOW, passed=advice(home_dir) == "pass")

    assert advice(home_dir) == "large"
    assert learning.learned(home_dir, HERE, NOW)[0].verdict == "large"


@pytest.mark.row("S3-27")
def test_what_is_older_than_thirty_days_is_dropped(home_dir: str) -> None:
    """Counted from when it was seen last."""
    stubs(home_dir, "xxx", at=NOW - 31 * DAY)
    assert advice(home_dir) is None
    assert learning.learned(home_dir, now=NOW) == []

    stubs(home_dir, "xxx", at=NOW - 29 * DAY)
    assert advice(home_dir) == "pass"


def test_a_clock_that_went_back_is_borne(home_dir: str) -> None:
    """Lines from a little later count; those from a clock far ahead do not stay for ever."""
    stubs(home_dir, "xxx", at=NOW + 2 * DAY)
    assert advice(home_dir) == "pass"

    learning.note_large(home_dir, HERE, "Bash", "make", 9_000, NOW + 3_650 * DAY)
    assert learning.verdict(home_dir, HERE, "Bash", "make", NOW) is None


def test_damaged_lines_are_skipped_and_their_neighbours_read(home_dir: str) -> None:
    """Torn in the middle, of a future format, of wrong types, not even text."""
    line = '{"v":1,"at":%s,"kind":"stub","project":"/p","tool":"Bash","pattern":"make","bytes":%s}'
    good = line % (NOW, 9_000)
    pieces = [
        good[:40],
        good,
        good + good,
        line.replace('"v":1', '"v":2') % (NOW, 1),
        line % ("NaN", 1),
        line % ("9" * 400, 1),
        line % (NOW, "true"),
        line % (NOW, -5),
        line.replace('"make"', "5") % (NOW, 1),
        line.replace('"project":"/p",', "") % (NOW, 1),
        line.replace('"stub"', '"party"') % (NOW, 1),
        '{"v":' * 50,
        "[" * 5_000,
    ]
    data = "\n".join(pieces).encode() + b"\n\xff\xfe\x00" * 9 + b"\n" + good.encode()
    io.replace_file(learnedlog.file(home_dir), data)

    found = learning.learned(home_dir, now=NOW)

    assert [(entry.pattern, entry.sizes_bytes) for entry in found] == [("make", [9_000] * 4)]
    learning.note_large(home_dir, "/p", "Bash", "make", 7_000, NOW)
    assert learning.learned(home_dir, now=NOW)[0].sizes_bytes == [9_000] * 4 + [7_000]


def test_strange_names_come_back_as_they_are(home_dir: str) -> None:
    """Quotes, other scripts, bytes that are no text."""
    pattern, project = 'Read /tmp/a "b" \\ ü\n\udcff', "/home/dév/ein Ordner\udc80"
    learning.note_large(home_dir, project, "Read", pattern, 30_000, NOW)

    assert learning.verdict(home_dir, project, "Read", pattern, NOW) == "large"
    assert learning.learned(home_dir, project, NOW)[0].pattern == pattern


@pytest.mark.row("S3-28")
def test_every_line_tells_when_which_tool_what_and_how_large(home_dir: str) -> None:
    """A log that other programs can read as well."""
    learning.note_large(home_dir, HERE, *BUILD, 50_000, NOW, key="sha256:" + "ab" * 32)
    learning.note_recall(home_dir, HERE, *BUILD, NOW + 1, size_bytes=400)
    learning.note_large(home_dir, HERE, *BUILD, 9_000, NOW + 2, passed=True)

    lines = [json.loads(line) for line in Path(learnedlog.file(home_dir)).read_bytes().splitlines()]

    assert [(one["at"] - NOW, one["tool"], one["kind"], one["bytes"]) for one in lines] == [
        (0, "Bash", "stub", 50_000),
        (1, "Bash", "recall", 400),
        (2, "Bash", "passed", 9_000),
    ]
    assert {one["v"] for one in lines} == {1}
    assert lines[0]["key"] == "ab" * 6


def test_the_file_is_private(home_dir: str) -> None:
    """It tells what somebody works on."""
    stubs(home_dir, ".")

    assert stat.S_IMODE(os.stat(learnedlog.file(home_dir)).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(home_dir).st_mode) == 0o700


@pytest.mark.row("S3-76")
def test_what_was_learned_is_listed_by_project_or_all_together(home_dir: str) -> None:
    """The one heard of last comes first."""
    stubs(home_dir, "xxx")
    stubs(home_dir, "..", THERE, NOW - DAY)
    learning.note_large(home_dir, THERE, "Read", "Read /x", 30_000, NOW - 2 * DAY)

    everywhere = learning.learned(home_dir, now=NOW)
    there = learning.learned(home_dir, THERE, NOW)

    assert [(one.pattern, one.project, len(one.stubs), one.recalls) for one in everywhere] == [
        ("npm run build", None, 5, 3),
        ("Read /x", None, 1, 0),
    ]
    assert [(one.pattern, one.project, one.verdict) for one in there] == [
        ("npm run build", THERE, "large"),
        ("Read /x", THERE, "large"),
    ]
    assert learning.learned(home_dir, HERE, NOW)[0].verdict == "pass"
    assert (everywhere[0].verdict, everywhere[0].passes_in) == ("large", [HERE])


def test_forgetting_takes_back_what_was_learned_until_then(home_dir: str) -> None:
    """In one project or in all; what happens afterwards is learned anew."""
    stubs(home_dir, "xxx", HERE)
    stubs(home_dir, "xxx", THERE)

    assert learning.forget(home_dir, "npm run build", HERE, NOW) == 1
    assert [entry.project for entry in learning.learned(home_dir, HERE, NOW)] == []
    assert advice(home_dir, THERE) == "pass"

    assert learning.forget(home_dir, "npm run build", at=NOW) == 1
    assert advice(home_dir, THERE) is None

    stubs(home_dir, ".", HERE)
    assert advice(home_dir) == "large"


def test_forgetting_what_is_not_known_writes_nothing(home_dir: str) -> None:
    """It says that there was nothing."""
    assert learning.forget(home_dir, "make", at=NOW) == 0
    assert not Path(home_dir).exists()


def test_a_small_file_is_left_as_it_is(home_dir: str) -> None:
    """And a missing one is no trouble."""
    learning.compact(home_dir, NOW)
    stubs(home_dir, "xxx")
    learning.compact(home_dir, NOW)

    assert files(home_dir) == ["offload-learned.jsonl"]


def test_a_large_file_is_put_aside_and_still_read(
    home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hook that had it open loses nothing either: the old file is read until it has expired."""
    monkeypatch.setattr(learnedlog, "_ROTATE_AT_BYTES", 100)
    stubs(home_dir, "xx")
    with open(learnedlog.file(home_dir), "ab") as late:
        learning.compact(home_dir, NOW)
        stubs(home_dir, "x", at=NOW + 1)
        late.write(b'{"v":1,"at":1790000000,"kind":"passed","project":"/p","tool":"T",')
        late.write(b'"pattern":"late","bytes":1}\n')

    assert len(files(home_dir)) == 2
    assert advice(home_dir) == "pass"
    assert learning.verdict(home_dir, HERE, "T", "late", NOW) == "large"


def test_two_that_put_it_aside_at_once_keep_both_files(
    home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each reserves its own name; the second finds the lines that came in between."""
    monkeypatch.setattr(learnedlog, "_ROTATE_AT_BYTES", 1)
    stubs(home_dir, "xx")
    learning.compact(home_dir, NOW)
    stubs(home_dir, "x", at=NOW + 1)
    learning.compact(home_dir, NOW)
    learning.compact(home_dir, NOW)

    assert len(files(home_dir)) == 2
    assert advice(home_dir) == "pass"


def test_files_go_once_all_in_them_has_expired(
    home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that begins with an expired line is put aside, and goes a month after its last."""
    stubs(home_dir, "xxx", at=NOW - 31 * DAY)
    stubs(home_dir, ".", at=NOW - DAY)
    learning.compact(home_dir, NOW)
    (aside,) = files(home_dir)
    path = f"{home_dir}/{aside}"
    assert aside != "offload-learned.jsonl"

    os.utime(path, (NOW - DAY, NOW - DAY))
    learning.compact(home_dir, NOW + 28 * DAY)
    assert files(home_dir) == [aside]

    learning.compact(home_dir, NOW + 30 * DAY)
    assert files(home_dir) == []


def test_no_more_than_three_old_files_are_kept(
    home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The oldest goes first, but not while a hook may still write to it."""
    monkeypatch.setattr(learnedlog, "_ROTATE_AT_BYTES", 1)
    for number in range(6):
        stubs(home_dir, ".", at=NOW + number)
        learning.compact(home_dir, NOW + number)
    assert len(files(home_dir)) == 6

    oldest = files(home_dir)[:3]
    learning.compact(home_dir, NOW + 2 * 3_600)

    assert len(files(home_dir)) == 3
    assert not set(oldest) & set(files(home_dir))


def test_nothing_is_lost_while_hooks_append_and_the_file_is_put_aside(
    home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four processes write while a fifth renames the file under them."""
    monkeypatch.setattr(learnedlog, "_ROTATE_AT_BYTES", 2_000)
    monkeypatch.setattr(learnedlog, "_MOST_ASIDE", 1_000)
    root = str(Path(brimline.__file__).parents[1])
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, home_dir, str(name)], env={"PYTHONPATH": root}
        )
        for name in range(4)
    ]
    renamed = 0
    while any(writer.poll() is None for writer in writers):
        learning.compact(home_dir, NOW + renamed)
        renamed += 1

    assert [writer.wait() for writer in writers] == [0] * 4
    found = {entry.pattern: entry for entry in learning.learned(home_dir, now=NOW)}
    assert {name: sorted(entry.sizes_bytes) for name, entry in found.items()} == {
        f"tool-{name}": list(range(200)) for name in range(4)
    }
    assert len(files(home_dir)) > 1


def test_a_full_disk_is_told_and_what_was_learned_stays(
    home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half a line on the disk does no harm to the next one."""
    stubs(home_dir, "xx")
    real = io.system.write
    monkeypatch.setattr(io.system, "write", lambda file, data: real(file, data[:30]))
    with pytest.raises(OSError, match="part of it"):
        stubs(home_dir, "x", at=NOW + 1)
    monkeypatch.undo()

    assert advice(home_dir) == "large"
    stubs(home_dir, "x", at=NOW + 2)
    assert advice(home_dir) == "pass"
