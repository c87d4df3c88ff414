"""Finding the keys that files mention, and remembering what was found."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimline.fast import paths
from brimline.store import layout, retention
from brimline.store.retention import Pass

from .examples import thorough

DIGEST = "0123456789abcdef" * 4


def mentioning(content: bytes, name: str = "a.jsonl") -> str:
    """A transcript that was written a while ago."""
    path = Path(paths.client_config_dir(), "projects/p", name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    os.utime(path, (1_000_000, 1_000_000))
    return str(path)


def is_held(home_dir: str, digest: str = DIGEST) -> bool:
    """Whether a look through everything finds that it is mentioned."""
    return retention.referenced(home_dir, [digest, "f" * 64], Pass()) == {digest}


def remembered(home_dir: str) -> Path:
    """What is remembered of files."""
    path = Path(layout.root(home_dir), "references.json")
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


@pytest.mark.row("S3-69")
@pytest.mark.parametrize("offset", [-72, -55, -7, -1, 0, 1])
def test_a_key_across_the_border_of_two_blocks_is_found(home_dir: str, offset: int) -> None:
    """Files are read in blocks of four megabytes."""
    mentioning(b"x" * ((4 << 20) + offset) + f"sha256:{DIGEST}".encode() + b"y" * 100)

    assert is_held(home_dir)


@pytest.mark.row("S3-69")
@pytest.mark.parametrize(
    "written",
    [
        f"in sha256:{DIGEST[:12]}…",
        f"[brimline recall sha256:{DIGEST[:12]} (Bash)]",
        f"sha256:{DIGEST[:8]}",
        f"SHA256:{DIGEST.upper()}",
        f'"sha256\\u003a{DIGEST}"',
        f'"{{\\"a\\":\\"sha256\\\\u003A{DIGEST[:10]}\\"}}"',
        f'"command":"brimline store get {DIGEST[:8]} --lines 1:5"',
        f"brimline store grep '{DIGEST[:9]}' x",
        f'"input":{{"key":"{DIGEST[:12]}"}}',
    ],
)
def test_a_key_is_found_however_it_is_written(home_dir: str, written: str) -> None:
    """Shortened as we print it ourselves, in capitals, escaped, and bare where it is asked for."""
    mentioning(written.encode())

    assert is_held(home_dir)


@pytest.mark.parametrize("written", [f"sha256:{DIGEST[:7]} ", f"commit {DIGEST[:40]}", "sha256:"])
def test_what_nobody_could_fetch_by_is_no_mention(home_dir: str, written: str) -> None:
    """Too few digits, or nothing that says that they are a key."""
    mentioning(written.encode())

    assert not is_held(home_dir)


def test_first_digits_hold_every_blob_that_has_them(home_dir: str) -> None:
    """In doubt everything stays, and nothing else does."""
    others = ["0" * 64, DIGEST[:11] + "0" * 53, "f" * 64]
    mentioning(f"sha256:{DIGEST[:11]} sha256:abcdef00".encode())

    held = retention.referenced(home_dir, [DIGEST, *others], Pass())

    assert held == {DIGEST, others[1]}


@thorough
@given(around=st.binary(max_size=30), after=st.binary(max_size=30))
def test_a_key_is_found_whatever_is_around_it(
    tmp_path_factory: pytest.TempPathFactory, around: bytes, after: bytes
) -> None:
    """Raw bytes: no JSON, no encoding, no line is assumed."""
    mentioning(around + b"sha256:" + DIGEST.encode() + after)
    home_dir = str(tmp_path_factory.getbasetemp() / "around")

    assert DIGEST in (retention.referenced(home_dir, [DIGEST], Pass(dry_run=True)) or ())


def test_an_unchanged_file_is_not_read_again(home_dir: str) -> None:
    """Size and time tell; a change of either makes it read again, and what is gone is forgotten."""
    path = mentioning(f"sha256:{DIGEST}".encode())
    other = mentioning(b"nothing", "other.jsonl")
    assert is_held(home_dir)
    Path(path).write_bytes(b"-" * 71)
    os.utime(path, (1_000_000, 1_000_000))

    assert is_held(home_dir)
    os.utime(path, (1_000_001, 1_000_001))
    os.unlink(other)
    assert not is_held(home_dir)
    assert list(json.loads(remembered(home_dir).read_text())["files"]) == [path]


def test_a_file_that_changed_just_now_is_not_remembered(home_dir: str) -> None:
    """It may change again within the tick of the clock."""
    path = mentioning(f"sha256:{DIGEST}".encode())
    os.utime(path)

    assert is_held(home_dir)
    assert not remembered(home_dir).exists()


def test_a_look_that_runs_out_of_time_forgets_nothing(home_dir: str) -> None:
    """What it did not get to is as it was."""
    path = mentioning(f"sha256:{DIGEST}".encode())
    assert is_held(home_dir)
    before = remembered(home_dir).read_bytes()

    assert retention.referenced(home_dir, [DIGEST], Pass(until=0.0)) is None
    assert remembered(home_dir).read_bytes() == before
    assert path in before.decode()


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"v":2}', b'{"v":1,"files":{}}', b'{"v":2,"files":{"PATH":3}}']
)
def test_a_damaged_or_older_memory_is_as_good_as_none(home_dir: str, content: bytes) -> None:
    """It costs time, nothing else."""
    path = mentioning(f"sha256:{DIGEST}".encode())
    remembered(home_dir).write_bytes(content.replace(b"PATH", path.encode()))

    assert is_held(home_dir)
