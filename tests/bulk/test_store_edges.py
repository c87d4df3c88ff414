"""The store at its edges: what is left alone, what is put back, and what each step leaves."""

from __future__ import annotations

import math
import os
import time
from pathlib import Path
from typing import Any

import pytest

from brimline.bulk import contents, layout, pins, put, removal, retention, stub, traces
from brimline.bulk.put import _LARGE_BYTES, _SMALL_BYTES
from brimline.bulk.retention import Limits, Pass, prune
from brimline.errors import StoreError
from brimline.fast import json
from brimline.rooms import values_in_all_traces
from brimline.state.forgotten import Asked

from . import shelves
from .shelves import DAY_S, noise, stored, text, transcript

LONG_AGO = 40 * DAY_S
GARBAGE = Limits(grace_s=retention.GRACE_S, unreferenced=True)
KEY = "sha256:" + "0123456789abcdef" * 4


def test_a_transcript_that_is_a_link_holds_what_it_mentions(home_dir: str, world: Path) -> None:
    """Somebody keeps theirs elsewhere."""
    key = stored(home_dir, text(1), LONG_AGO)
    elsewhere = world / "elsewhere.jsonl"
    elsewhere.write_text(f"see {key}")
    transcript("").with_name("link.jsonl").symlink_to(elsewhere)

    assert prune(home_dir, GARBAGE, Pass(values_in_all_traces)).keys == []


@pytest.mark.parametrize(("level", "stays"), [("none", False), ("soft", False), ("hard", True)])
def test_what_is_pinned_more_firmly_than_it_was_goes_back_to_its_place(
    home_dir: str, level: str, *, stays: bool
) -> None:
    """A soft pin that was known is no reason, a hard one that came is."""
    key = stored(home_dir, text(1), LONG_AGO)
    pins.pin(home_dir, key, level)
    (seen,) = contents.list_blobs(home_dir)

    assert retention._delete_unless_used(home_dir, seen, "soft") is not stays

    assert shelves.keys(home_dir) == ({key} if stays else set())
    assert shelves.temporary_files(home_dir) == []


def test_what_was_used_since_it_was_seen_goes_back_to_its_place(home_dir: str) -> None:
    """At once, not only with the next sweep."""
    key = stored(home_dir, text(1), LONG_AGO)
    (seen,) = contents.list_blobs(home_dir)
    layout.mark_as_used(home_dir, seen.digest)

    assert retention._delete_unless_used(home_dir, seen, "none") is False
    assert shelves.keys(home_dir) == {key}
    assert shelves.temporary_files(home_dir) == []
    os.unlink(layout.stored_path(home_dir, seen.digest))
    assert retention._delete_unless_used(home_dir, seen, "none") is False


@pytest.mark.parametrize(
    "how",
    [Pass(values_in_all_traces, dry_run=True), Pass(values_in_all_traces, until=-math.inf)],
    ids=["a dry run", "too late"],
)
def test_a_dry_run_and_one_that_is_late_sweep_nothing(home_dir: str, how: Pass) -> None:
    """What killed processes left stays where it is."""
    key = stored(home_dir, text(1), LONG_AGO)
    stored(home_dir, text(2), LONG_AGO)
    removal.move_file_aside(home_dir, "blob", key[7:])
    left = shelves.temporary_files(home_dir)

    done = prune(home_dir, GARBAGE, how, now=time.time() + LONG_AGO)

    assert done.swept == 0
    assert shelves.temporary_files(home_dir) == left
    assert contents.read_sidecar(home_dir, key)


def test_when_the_time_is_up_no_more_files_are_read(home_dir: str) -> None:
    """And each that is read is told with its size."""
    stored(home_dir, text(1), LONG_AGO)
    for name, size in (("a", 10), ("b", 20)):
        transcript("x" * size, f"{name}.jsonl")
    sizes: list[int] = []

    late = prune(
        home_dir, GARBAGE, Pass(values_in_all_traces, until=-math.inf, progress=sizes.append)
    )
    assert (late.finished, late.keys, sizes) == (False, [], [])
    assert late.left_bytes == sum(blob.disk_bytes for blob in contents.list_blobs(home_dir))
    prune(home_dir, GARBAGE, Pass(values_in_all_traces, progress=sizes.append))
    assert sorted(size for size in sizes if size in (10, 20)) == [10, 20]


@pytest.mark.parametrize(
    ("later_s", "is_due"), [(-1.0, True), (0.0, False), (86_399.0, False), (86_400.0, True)]
)
def test_the_limits_are_due_again_after_a_day(
    home_dir: str, later_s: float, *, is_due: bool
) -> None:
    """To the second; a time in the future is that of a clock that was wrong."""
    marker = Path(home_dir, "tidied")
    marker.parent.mkdir(parents=True)
    marker.write_text("1000000.000\n")

    assert retention._is_a_day_since_marker(str(marker), 1_000_000.0 + later_s) is is_due


def test_a_pass_that_is_not_finished_leaves_the_trail_and_is_due_again(home_dir: str) -> None:
    """Its marker goes; one that is finished leaves it, to the millisecond."""
    stored(home_dir, text(1), LONG_AGO)
    transcript("hello")
    marker = Path(layout.store_folder(home_dir), "tidied")
    now = time.time()

    retention.tidy(home_dir, 1, 30, values_in_all_traces, until=-math.inf, now=now)
    assert not marker.exists()
    retention.tidy(home_dir, 1, 30, values_in_all_traces, until=math.inf, now=now)
    assert marker.read_text() == f"{now:.3f}\n"


def test_a_newer_store_is_not_tidied(home_dir: str) -> None:
    """Nor is it noted as done."""
    stored(home_dir, text(1), LONG_AGO)
    Path(home_dir + layout.FORMAT_FILE).write_text("2\n")

    with pytest.raises(StoreError, match="was written by a newer brimline: upgrade this"):
        retention.tidy(home_dir, 1, 30, values_in_all_traces, until=math.inf)
    assert not Path(layout.store_folder(home_dir), "tidied").exists()


@pytest.mark.parametrize(("age_s", "goes"), [(0.0, True), (0.5, False), (-0.5, True)])
def test_what_was_written_since_is_not_deleted(world: Path, age_s: float, *, goes: bool) -> None:
    """At the moment itself it is old; what is gone was not deleted by us."""
    path = world / "file"
    path.write_text("x")
    os.utime(path, (1_000 + age_s, 1_000 + age_s))

    assert removal.delete_if_older(str(path), 1_000.0) is goes
    assert path.exists() is not goes
    path.unlink(missing_ok=True)
    assert removal.delete_if_older(str(path), 1_000.0) is False


def test_a_sweep_counts_what_it_put_back_and_what_it_deleted(home_dir: str) -> None:
    """A write that may still go on is left to itself, and so is what we did not write."""
    key = stored(home_dir, text(1))
    removal.move_file_aside(home_dir, "blob", key[7:])
    removal.move_file_aside(home_dir, "json", key[7:])
    for name, at in (("1.1.tmp", 900), ("1.2.tmp", 1_100), ("notes", 900)):
        Path(home_dir + layout.TMP, name).write_text("x")
        os.utime(Path(home_dir + layout.TMP, name), (at, at))

    assert removal.put_back_or_delete_tmp_files(home_dir, 1_000.0) == 3
    assert sorted(shelves.temporary_files(home_dir)) == ["1.2.tmp", "notes"]
    assert contents.read_content(home_dir, key) == text(1)
    assert contents.read_sidecar(home_dir, key)["bytes"] == 4_000


def test_what_is_put_back_never_replaces_what_is_newer(home_dir: str) -> None:
    """It goes, and the newer one stays; a name of another form is left alone."""
    key = stored(home_dir, text(1))
    aside = removal.move_file_aside(home_dir, "blob", key[7:])
    assert aside
    put.put(home_dir, text(1), {})
    place = Path(layout.stored_path(home_dir, key[7:]))
    newer = place.stat().st_ino
    other = Path(home_dir + layout.TMP, "other.gone")
    other.write_text("x")

    contents.put_back_file_from_aside(home_dir, aside)
    contents.put_back_file_from_aside(home_dir, str(other))
    contents.put_back_file_from_aside(home_dir, aside)

    assert place.stat().st_ino == newer
    assert not os.path.exists(aside)
    assert other.exists()


def test_forgetting_tells_the_trail_only_of_what_was_there(home_dir: str) -> None:
    """And lets go of the last key only where that is it."""
    first, last = stored(home_dir, text(1)), stored(home_dir, text(2))

    assert removal.forget_key(home_dir, first) is True
    assert contents.last_key(home_dir) == last
    assert removal.forget_key(home_dir, first) is False
    assert removal.forget_key(home_dir, last) is True
    assert Path(home_dir + layout.LAST_KEY).read_bytes() == b""
    told = [(row["event"], row["key"]) for row in contents.read_store_events(home_dir)]
    assert told[2:] == [("forget", first), ("forget", last)]
    os.unlink(home_dir + layout.LAST_KEY)
    assert removal.forget_key(home_dir, first) is False


def test_shared_content_keeps_what_it_is_and_loses_who_asked(home_dir: str) -> None:
    """It is described by whoever else stored it last; by nobody where that is not known."""
    key = stored(home_dir, text(1), session="s1", tool="Bash", source="cat secret", cwd="/one")
    stored(home_dir, text(1), session="s2", tool="Grep", cwd="/two")
    stored(home_dir, text(1), session="s3", tool="Read", cwd="/three")
    before = contents.read_sidecar(home_dir, key)

    removal.forget_session(home_dir, "s1")

    told = {name: before[name] for name in ("v", "key", "bytes", "lines", "created")}
    assert contents.read_sidecar(home_dir, key) == told | {
        "session": "s3",
        "tool": "Read",
        "cwd": "/three",
    }


def test_forgetting_sessions_counts_the_outputs_that_go(home_dir: str) -> None:
    """A dry run changes nothing, and without a store there is nothing."""
    asked = Asked(("s1", "s2"))
    assert traces.forget(home_dir, asked, dry_run=False) == {}
    keys = [stored(home_dir, text(n), session=f"s{n % 3}") for n in range(4)]

    assert sorted(traces.sessions(home_dir)) == [(f"s{n}", "", 0.0) for n in range(3)]
    assert traces.forget(home_dir, asked, dry_run=True) == {"outputs": 2}
    assert shelves.keys(home_dir) == set(keys)
    assert traces.forget(home_dir, asked, dry_run=False) == {"outputs": 2}
    assert shelves.keys(home_dir) == {keys[0], keys[3]}


@pytest.mark.parametrize(
    ("noted", "is_refused"), [("1", False), ("2", True), ("0", False), ("x", False), ("", False)]
)
def test_a_store_is_refused_where_its_format_is_newer(
    home_dir: str, noted: str, *, is_refused: bool
) -> None:
    """What is not a number is none."""
    file = Path(home_dir + layout.FORMAT_FILE)
    file.parent.mkdir(parents=True)
    file.write_text(f"{noted}\n")

    if is_refused:
        with pytest.raises(StoreError, match="newer"):
            layout.refuse_newer_format(home_dir)
    else:
        layout.refuse_newer_format(home_dir)


@pytest.mark.parametrize(
    ("text_", "is_one"),
    [
        (KEY, True),
        (KEY[7:], False),
        (KEY[:-1], False),
        (KEY + "0", False),
        (KEY.upper(), False),
        (KEY[:-1] + "g", False),
        ("sha256:" + KEY, False),
        ("", False),
    ],
)
def test_a_key_is_its_prefix_and_sixty_four_small_digits(text_: str, *, is_one: bool) -> None:
    """Nothing else becomes part of a path."""
    if is_one:
        assert layout.digest_of_key(text_) == KEY[7:]
    else:
        with pytest.raises(StoreError, match="is not a key: it takes sha256: and 64 hexadecimal"):
            layout.digest_of_key(text_)


def test_a_short_key_has_twelve_digits() -> None:
    """Enough to be told from any other."""
    assert layout.shorten_key(KEY) == "sha256:0123456789ab"


@pytest.mark.parametrize(("ahead_s", "is_followed"), [(-10.0, False), (1.0, False), (60.0, True)])
def test_store_time_follows_a_last_key_that_is_clearly_ahead(
    home_dir: str, ahead_s: float, *, is_followed: bool
) -> None:
    """Two seconds are what file systems round to."""
    stored(home_dir, text(1))
    noted = time.time_ns() + int(ahead_s * 1e9)
    os.utime(home_dir + layout.LAST_KEY, ns=(noted, noted))

    assert (layout.store_now_ns(home_dir) == noted) is is_followed


def test_only_a_blob_can_be_marked_as_used(home_dir: str) -> None:
    """Neither what is gone nor a link; the time always moves by a microsecond or more."""
    key = stored(home_dir, text(1))
    place = Path(layout.stored_path(home_dir, key[7:]))
    ahead = (time.time_ns() // 10**9 + 10**6) * 10**9
    os.utime(place, ns=(ahead, ahead))

    assert layout.mark_as_used(home_dir, key[7:]) is True
    assert place.stat().st_mtime_ns == ahead + 1_000
    elsewhere = place.rename(place.with_name("elsewhere"))
    assert layout.mark_as_used(home_dir, key[7:]) is False
    place.symlink_to(elsewhere)
    assert layout.mark_as_used(home_dir, key[7:]) is False


@pytest.mark.parametrize(
    ("data", "lines"), [(b"", 0), (b"a", 1), (b"a\n", 1), (b"a\nb", 2), (b"\n", 1), (b"\n\n", 2)]
)
def test_a_last_line_counts_with_or_without_its_break(data: bytes, lines: int) -> None:
    """And they are split as they are counted."""
    assert put.count_lines(data) == lines
    assert len(contents.byte_lines_without_breaks(data)) == lines


HALF = b"x" * (_LARGE_BYTES // 2 - 50_000)


@pytest.mark.parametrize(
    ("data", "method"),
    [
        (b"x" * (_SMALL_BYTES - 1), put.NONE),
        (b"x" * _SMALL_BYTES, put.GZIP),
        (noise(1, _SMALL_BYTES), put.NONE),
        (b"x" * _LARGE_BYTES, put.GZIP),
        (noise(2, _LARGE_BYTES - 1), put.NONE),
        (HALF + noise(3, 100_000) + HALF, put.NONE),
        (HALF + noise(3, 99_000) + HALF, put.GZIP),
    ],
    ids=[
        "small",
        "a kilobyte",
        "noise",
        "large",
        "large noise",
        "large with a middle of noise",
        "a little less than large",
    ],
)
def test_content_is_compressed_from_a_kilobyte_on_where_it_shrinks(
    data: bytes, method: bytes
) -> None:
    """Of what is large a sample from the middle decides."""
    packed = put.pack_blob(data)

    assert put.read_blob_header(packed) == (method, len(data))
    assert put.unpack_blob(packed) == data


def test_the_clients_folders_are_noted_once_and_read_in_their_order(
    home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The present one comes first; one with a line break in its name cannot be noted."""
    Path(home_dir, "store").mkdir(parents=True)
    for folder in ("/a/one", "/a/two", "/a/two", "/a/br\neak"):
        monkeypatch.setenv("CLAUDE_CONFIG_DIR", folder)
        put.client_folders_using_store(home_dir, noting=True)

    assert Path(home_dir + layout.CLIENTS).read_text() == "/a/one\n/a/two\n"
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", "/a/two")
    assert put.client_folders_using_store(home_dir) == ["/a/two", "/a/one"]
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", "/a/three")
    assert put.client_folders_using_store(home_dir) == ["/a/three", "/a/one", "/a/two"]
    assert Path(home_dir + layout.CLIENTS).read_text() == "/a/one\n/a/two\n"


def test_content_of_a_series_is_not_the_last_and_notes_no_client(home_dir: str) -> None:
    """A compaction stores many at once, of which people mean none."""
    first = stored(home_dir, text(1))
    os.unlink(home_dir + layout.CLIENTS)

    put.put(home_dir, text(2), {}, is_last=False, is_next=True)

    assert contents.last_key(home_dir) == first
    assert not os.path.exists(home_dir + layout.CLIENTS)


def test_a_sidecar_that_was_lost_is_written_again_and_one_that_is_there_is_not(
    home_dir: str,
) -> None:
    """What is known is that of the first put."""
    key = stored(home_dir, text(1), tool="Bash")
    stored(home_dir, text(1), tool="Read")
    assert contents.read_sidecar(home_dir, key)["tool"] == "Bash"
    os.unlink(layout.stored_path(home_dir, key[7:], "json"))
    assert contents.read_sidecar(home_dir, key) == {}

    stored(home_dir, text(1), tool="Read")

    assert contents.read_sidecar(home_dir, key)["tool"] == "Read"


def test_a_session_is_told_by_the_last_line_about_it_until_the_content_goes(home_dir: str) -> None:
    """Removals of whatever kind end what was known."""
    Path(layout.store_folder(home_dir)).mkdir(parents=True)
    rows: list[dict[str, Any]] = [
        {"event": "put", "key": "k1", "session": "a", "at": 1},
        {"event": "put", "key": "k1", "session": "a", "at": 2},
        {"event": "put", "key": "k1", "session": None},
        {"event": "pin", "key": "k1", "session": "b"},
        {"event": "put", "key": 7, "session": "a"},
        *[{"event": "put", "key": name, "session": "a"} for name in ("prune", "gc", "forget")],
        *[{"event": name, "key": name} for name in ("prune", "gc", "forget")],
    ]
    for row in rows:
        json.append_line(home_dir + layout.INDEX, row)

    found = contents.puts_by_key_and_session(home_dir)

    assert {key: list(by) for key, by in found.items()} == {"k1": ["a"]}
    assert found["k1"]["a"]["at"] == 2


def test_the_size_of_content_is_unknown_where_its_file_is_gone_or_cut(home_dir: str) -> None:
    """Otherwise its header tells it."""
    key = stored(home_dir, text(1))
    place = Path(layout.stored_path(home_dir, key[7:]))

    assert contents.length_of_content(home_dir, key[7:]) == 4_000
    for raw in (place.read_bytes()[:12], b"BRB2" + place.read_bytes()[4:]):
        place.write_bytes(raw)
        assert contents.length_of_content(home_dir, key[7:]) is None
    place.unlink()
    assert contents.length_of_content(home_dir, key[7:]) is None


@pytest.mark.parametrize(
    ("line", "size"),
    [
        (stub.build_line("Bash", "make", 1_234, KEY), 1_234),
        (stub.build_line("Bash", "", 0, KEY, ", exit 1"), 0),
        (stub.line_that_says(stub.build_line("Bash", "make", 9, KEY), "a]\nb"), 9),
        (stub.build_line("Bash", "make", 1_234, KEY) + " more", None),
        ("[brimline: Bash: 12 bytes]", None),
        ("", None),
    ],
)
def test_a_line_says_how_many_bytes_it_stands_for(line: str, size: int | None) -> None:
    """Where it is one, from its beginning to its end."""
    found = stub.bytes_and_key_of_line(line)
    assert found == (None if size is None else (size, KEY[:19]))


LONG = "a" * (stub._SUBJECT_CHARACTERS - 4)


@pytest.mark.parametrize(("tool", "about"), [("Read", f"…{LONG[1:]}.log"), ("Bash", f"/{LONG}aa…")])
def test_of_a_path_the_end_is_shown_and_of_a_command_the_beginning(tool: str, about: str) -> None:
    """In few characters."""
    line = stub.build_line(tool, f"/{LONG}{LONG}.log", 5, KEY)

    assert line == f"[brimline: {tool} {about}: 5 bytes, recall {KEY[:19]}]"


def test_what_is_no_blob_by_its_name_is_not_listed(home_dir: str) -> None:
    """Nor what is not a file; the others come in the order of their folders."""
    keys = sorted(stored(home_dir, text(n)) for n in range(6))
    folder = Path(layout.store_folder(home_dir), "blobs")
    for name in ("zz/" + "0" * 62, "000/" + "0" * 62, "00/" + "0" * 61, "00/" + "g" * 62):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("x")
    (folder / "00" / ("0" * 62)).mkdir()
    (folder / "file").write_text("x")

    found = [blob.key for blob in contents.list_blobs(home_dir)]

    assert sorted(found) == keys
    assert [key[7:9] for key in found] == sorted(key[7:9] for key in keys)
    beside = Path(layout.store_folder(home_dir), "meta", keys[0][7:9])
    for name in ("0" * 62 + ".txt", "0" * 61 + ".json", "x" + "0" * 62 + ".pin"):
        (beside / name).write_text("x")
    assert sorted(contents.digest_kind_pairs_in_meta(home_dir)) == [
        (key[7:], "json") for key in keys
    ]


def test_a_folder_that_cannot_be_read_is_said(home_dir: str) -> None:
    """One that is not there holds nothing."""
    assert contents.list_blobs(home_dir) == []
    stored(home_dir, text(1))
    long = home_dir + "/" + "x" * 300

    with pytest.raises(StoreError, match="cannot be read: File name too long"):
        contents.list_blobs(long)


def test_short_keys_do_not_bring_back_what_is_aside(home_dir: str) -> None:
    """A whole one does, with what is known of it."""
    key = stored(home_dir, text(1))
    for kind in ("blob", "json"):
        removal.move_file_aside(home_dir, kind, key[7:])

    with pytest.raises(StoreError) as told:
        contents.resolve_key(home_dir, key[7:20])
    assert str(told.value) == (
        f"{key[:20]} is not in the store: it was pruned, forgotten or never stored, and no "
        "session's file has it; run the command or read the file again"
    )
    assert contents.resolve_key(home_dir, key[7:]) == key
    assert contents.read_sidecar(home_dir, key)["bytes"] == 4_000


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("1234567", "'1234567' is not a key: write sha256: and 8 to 64 hexadecimal digits"),
        ("12345678", "sha256:12345678 is not in the store"),
        ("0" * 64, f"sha256:{'0' * 64} is not in the store"),
        ("0" * 65, "is not a key"),
    ],
)
def test_a_key_has_eight_to_sixty_four_digits(home_dir: str, written: str, told: str) -> None:
    """And what it is short of is said."""
    with pytest.raises(StoreError, match=told):
        contents.resolve_key(home_dir, written)


def test_keys_that_begin_alike_are_counted(home_dir: str) -> None:
    """With the remedy."""
    key = stored(home_dir, text(1))
    other = key[7:-1] + ("0" if key[-1] != "0" else "1")
    Path(layout.stored_path(home_dir, other)).write_bytes(b"")

    assert contents.digests_starting_with(home_dir, key[7:15]) == sorted([key[7:], other])
    with pytest.raises(StoreError, match=f"^2 keys begin with '{key[7:15]}': write more digits$"):
        contents.resolve_key(home_dir, key[7:15])


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("-1", (9, 9, 0)),
        ("-3:-2", (7, 8, 0)),
        ("-99:", (1, 9, 0)),
        ("3@5:", (3, 9, 4)),
        ("0", (1, 1, 0)),
    ],
)
def test_ends_below_zero_count_from_the_last(asked: str, found: tuple[int, int, int]) -> None:
    """Down to the first, and a character of a line is counted from one."""
    assert contents.parse_range(asked, 9) == found


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("x" * 50, f"'{'x' * 40}' is not a range of bytes: write A:B, A: or :B"),
        (":", "':' is not a range of bytes: write A:B, A: or :B"),
        ("1000:", "there is no byte 1,000: the last one is 9"),
        ("5:4", "'5:4' asks for no bytes: it ends before it begins"),
    ],
)
def test_what_is_no_range_is_said_by_what_is_counted(asked: str, told: str) -> None:
    """A sentence with the remedy."""
    with pytest.raises(StoreError) as error:
        contents.parse_range(asked, 9, "byte")

    assert str(error.value) == told


def test_a_pin_has_its_moment_and_none_says_so_in_the_trail(home_dir: str) -> None:
    """A pin of nothing leaves nothing."""
    key = stored(home_dir, text(1))
    pins.pin(home_dir, key)
    pins.pin(home_dir, key, "none")
    with pytest.raises(StoreError) as told:
        pins.pin(home_dir, KEY)

    rows = [(row["event"], row.get("level")) for row in contents.read_store_events(home_dir)]
    assert rows == [("put", None), ("pin", "soft"), ("pin", "none")]
    assert str(told.value) == (
        f"{KEY} is not in the store: it was pruned, forgotten or never stored"
    )
    assert not os.path.exists(layout.stored_path(home_dir, KEY[7:], "pin"))


def test_a_reason_that_is_no_text_is_none(home_dir: str) -> None:
    """The level and the moment hold all the same."""
    key = stored(home_dir, text(1))
    path = Path(layout.stored_path(home_dir, key[7:], "pin"))
    path.write_text('{"v":1,"level":"soft","reason":7,"at":5.5}')

    assert pins.read_pin(home_dir, key[7:]) == ("soft", None, 5.5)
    path.write_text('{"v":1,"level":"soft","reason":"x"}')
    assert pins.read_pin(home_dir, key[7:]) == ("hard", "the pin is damaged", None)
    path.unlink()
    assert pins.read_pin(home_dir, key[7:]) is None


def test_a_session_is_known_by_its_sidecars_where_the_trail_is_lost(home_dir: str) -> None:
    """What it stored is still there."""
    key = stored(home_dir, text(1), session="one")
    stored(home_dir, text(2))
    pins.pin(home_dir, key)
    os.unlink(home_dir + layout.INDEX)

    assert removal.sessions_in_store(home_dir) == {"one"}
    assert removal.own_and_shared_keys(home_dir, "one") == ([key], [])
