"""The tail reader: total on any bytes, and of one mind with a slow reader of the whole file."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from brimline.fast import io
from brimline.testing import SessionBuilder, text_block
from brimline.transcript import usage
from brimline.transcript.usage import _HISTORY_LIMIT_BYTES, read_tail

from . import reference
from .generated import LOOKALIKE, encode, mutated_transcripts, transcripts

if TYPE_CHECKING:
    from collections.abc import Callable

thorough = settings(max_examples=250)
block_sizes = st.sampled_from([1, 7, 64, 1_000, 64 << 10])


@pytest.mark.row("S0-02", "S0-04", "S0-24", "S0-26", "S0-38")
@given(data=transcripts(), block_bytes=block_sizes, requests=st.integers(1, 6))
@thorough
def test_the_tail_equals_what_the_slow_reader_finds(
    data: bytes, block_bytes: int, requests: int, tmp_path: Path
) -> None:
    """Whatever the file and wherever the blocks cut it, both readers report the same."""
    path = _file(tmp_path, data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(io, "_FIRST_BLOCK_BYTES", block_bytes)
        tail = read_tail(path, requests)
    expected = reference.read(path)

    assert (tail.usage.prompt_tokens if tail.usage else None) == expected.occupancy_tokens
    assert tail.history == expected.history[::-1][:requests]
    assert tail.offset == expected.offset
    assert tail.output_tokens == expected.output_tokens
    assert tail.reply_characters == expected.reply_characters
    assert tail.result_characters == expected.result_characters
    if tail.usage is None:
        assert tail.boundary_timestamp == expected.boundary_timestamp
    else:
        assert tail.usage.model == expected.model


@pytest.mark.row("S0-26")
@given(data=st.binary(max_size=300) | mutated_transcripts(), block_bytes=block_sizes)
@example(data=b'{"type":"assistant","message":{"usage":' + b"[" * 5_000, block_bytes=64)
@example(data=b"\xef\xbb\xbf\x00\n\r\n\xff", block_bytes=1)
@thorough
def test_any_bytes_give_a_tail(data: bytes, block_bytes: int, tmp_path: Path) -> None:
    """Random and damaged files never raise."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(io, "_FIRST_BLOCK_BYTES", block_bytes)
        tail = read_tail(_file(tmp_path, data), 3)

    assert tail.result_characters >= 0
    assert len(tail.history) <= 3


def _falling(session: SessionBuilder) -> None:
    for tokens in (30_000, 90_000, 50_000):
        session.reply(tokens, output_tokens=999)


def _in_rows(session: SessionBuilder) -> None:
    session.reply(30_000)
    session.reply(50_000, text_block("a" * 40), message_id="msg_x")
    session.tool_result("toolu_1", "r" * 100)
    session.reply(50_000, text_block("b" * 60), message_id="msg_x")
    session.tool_result("toolu_2", "s" * 10)


def _without_ids(session: SessionBuilder) -> None:
    for tokens in (10_000, 11_000):
        row = {"type": "assistant", "message": {"usage": {"input_tokens": tokens}, "content": ""}}
        session.raw(json.dumps(row) + "\n")


def _of_others(session: SessionBuilder) -> None:
    session.reply(60_000)
    session.row("system", subtype="compact_boundary", isSidechain=True)
    session.reply(90_000, isSidechain=True)
    session.reply(91_000, isApiErrorMessage=True)
    session.reply(0)
    session.model = "<synthetic>"
    session.reply(92_000)


def _with_nonsense(session: SessionBuilder) -> None:
    session.reply(60_000)
    values: tuple[object, ...] = ("12", 1.5, True, -1, [], {}, 10**30)
    for value in values:
        usage = {"input_tokens": 10, "cache_read_input_tokens": value}
        session.row("assistant", message={"id": "m", "model": "x", "content": [], "usage": usage})


def _with_nulls(session: SessionBuilder) -> None:
    usage = dict.fromkeys(("cache_read_input_tokens", "cache_creation_input_tokens")) | {
        "input_tokens": 10,
        "output_tokens": None,
    }
    session.row("assistant", message={"id": "m", "model": "x", "content": [], "usage": usage})


def _quoting(session: SessionBuilder) -> None:
    session.reply(70_000)
    session.tool_result("toolu_1", LOOKALIKE * 3)
    session.prompt(LOOKALIKE)
    record = {"status": "completed", "usage": {"input_tokens": 150_000, "output_tokens": 9}}
    session.tool_result("t", "sub result", toolUseResult=record)


def _torn(session: SessionBuilder) -> None:
    session.reply(70_000)
    whole = Path(session.path).read_bytes()
    session.raw(whole[: len(whole) // 2])


def _merged(session: SessionBuilder) -> None:
    for name, tokens in (("a", 10_000), ("b", 20_000)):
        message = {"id": name, "usage": {"input_tokens": tokens}}
        session.raw(encode({"type": "assistant", "message": message}))


def _compacted(session: SessionBuilder) -> None:
    session.reply(166_000)
    session.compact(167_000)
    session.reply(160_000)
    session.compact(167_000, legacy=True)
    session.reply(45_000)


def _nested(session: SessionBuilder) -> None:
    session.reply(20_000)
    content: object = "deep"
    for _ in range(400):
        content = [{"type": "tool_result", "content": content}]
    session.row("user", message={"role": "user", "content": content})


@pytest.mark.row("S0-01", "S0-02", "S0-03", "S0-04", "S0-24", "S0-26", "S0-38", "S3-40", "S4-47")
@pytest.mark.parametrize(
    ("build", "history", "output", "reply", "results"),
    [
        # The latest reply counts, not the largest or the sum; output is not a part of it.
        (_falling, [50_000, 90_000, 30_000], 999, 5, 0),
        # A reply of several rows with results between them counts once; without ids each counts.
        (_in_rows, [50_000, 30_000], 120, 100, 110),
        (_without_ids, [11_000, 10_000], 0, 0, 0),
        # Only a real reply of the main thread says how full the window is, and only by counts.
        (_of_others, [60_000], 120, 5, 15),
        (_with_nonsense, [60_000], 120, 5, 0),
        (_with_nulls, [10], 0, 0, 0),
        # Text that looks like rows, and a subagent's own usage, change the size of the tail only.
        (_quoting, [70_000], 120, 5, 4 * len(LOOKALIKE) + len("sub result")),
        # A row that is being written hides nothing; two on a line are two; none may end the line.
        (_torn, [70_000], 120, 5, 0),
        (_merged, [20_000, 10_000], 0, 0, 0),
        # Nothing before a boundary of either kind counts; depth is foreign.
        (_compacted, [45_000], 120, 5, 0),
        (_nested, [20_000], 120, 5, len("deep")),
    ],
)
def test_the_tail_of_a_session(
    build: Callable[[SessionBuilder], None],
    history: list[int],
    output: int,
    reply: int,
    results: int,
    session: SessionBuilder,
) -> None:
    """Occupancies newest first, and what came after the last one."""
    build(session)

    tail = read_tail(session.path)

    assert tail.history == history
    assert tail.usage is not None
    assert tail.usage.prompt_tokens == history[0]
    assert (tail.output_tokens, tail.reply_characters) == (output, reply)
    assert tail.result_characters == results


@pytest.mark.row("S0-24", "S1-08", "S3-40", "S4-47")
@pytest.mark.parametrize("legacy", [False, True])
def test_before_the_first_reply_nothing_is_known(session: SessionBuilder, legacy: bool) -> None:
    """In an empty file as right after a compaction, and nothing is invented."""
    session.raw("")
    assert (read_tail(session.path).usage, read_tail(session.path).history) == (None, [])
    session.reply(166_000)
    session.compact(167_000, legacy=legacy)
    session.prompt()

    assert read_tail(session.path).usage is None
    assert read_tail(session.path).boundary_timestamp is not None


@pytest.mark.row("S0-06")
@pytest.mark.parametrize("size", [64 << 10, (64 << 10) + 1, 200_000, 1_300_000])
def test_lines_larger_than_a_block_are_put_together(session: SessionBuilder, size: int) -> None:
    """A result of any size between two replies is read whole."""
    session.reply(20_000)
    session.reply(30_000, text_block("z" * size))
    session.tool_result("toolu_1", "x" * size)
    session.prompt("short")

    tail = read_tail(session.path)

    assert tail.usage is not None
    assert tail.usage.prompt_tokens == 30_000
    assert tail.reply_characters == size
    assert tail.result_characters == size + len("short")


@pytest.mark.row("S0-06", "S1-13")
def test_the_walk_has_a_limit(session: SessionBuilder, monkeypatch: pytest.MonkeyPatch) -> None:
    """A usage further back than the limit stays unknown; one within it is found."""
    monkeypatch.setattr(io, "_FIRST_BLOCK_BYTES", 1_000)
    session.reply(20_000)
    session.tool_result("toolu_1", "x" * 20_000)

    monkeypatch.setattr(io, "_WALK_LIMIT_BYTES", 10_000)
    assert read_tail(session.path).usage is None

    monkeypatch.setattr(io, "_WALK_LIMIT_BYTES", 100_000)
    assert read_tail(session.path).history == [20_000]


def test_a_line_cut_by_the_limit_is_not_read_from_its_middle(
    session: SessionBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever the walk ends, a row inside another row is never taken for one of its own."""
    inner = {"type": "assistant", "message": {"id": "x", "usage": {"input_tokens": 5}}}
    session.row("progress", data={"message": inner})
    monkeypatch.setattr(io, "_FIRST_BLOCK_BYTES", 1)
    monkeypatch.setattr(io, "_LARGEST_BLOCK_BYTES", 1)

    for limit in range(os.path.getsize(session.path) + 2):
        monkeypatch.setattr(io, "_WALK_LIMIT_BYTES", limit)
        assert read_tail(session.path).usage is None


def test_older_requests_are_worth_a_short_walk_only(
    session: SessionBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind a large gap the history ends, the reading stays."""
    monkeypatch.setattr(usage, "_HISTORY_LIMIT_BYTES", 10_000)
    session.reply(20_000)
    session.tool_result("toolu_1", "x" * 20_000)
    session.reply(30_000)
    session.reply(31_000)

    assert read_tail(session.path).history == [31_000, 30_000]


def line(tokens: int, message_id: str | None = None, **fields: Any) -> bytes:
    """A reply on a line."""
    message = {"id": message_id, "usage": {"input_tokens": tokens, "output_tokens": tokens // 10}}
    return json.dumps({"type": "assistant", "message": message} | fields).encode()


@pytest.mark.parametrize(
    ("back", "is_over"), [(_HISTORY_LIMIT_BYTES + 1, True), (_HISTORY_LIMIT_BYTES, False)]
)
def test_far_before_the_last_usage_the_history_ends(back: int, is_over: bool) -> None:
    """Before it is known the walk goes on, however far."""
    tail = usage.Tail(4)
    assert tail.take_line(b"{}", 9 << 20) is False
    assert tail.take_line(line(50, "m1"), 5 << 20) is False

    assert tail.take_line(line(40, "m2"), (5 << 20) - back) is is_over
    assert tail.history == ([50] if is_over else [50, 40])
    assert tail.offset == 5 << 20


@pytest.mark.parametrize("requests", [1, 2, 3])
def test_a_walk_looks_back_so_many_requests(requests: int) -> None:
    """Rows of one reply are one; it is over at the first row of the one before them."""
    tail = usage.Tail(requests)
    names = ["m4", "m4", "m3", "m2", "m2", "m1"]
    over = [tail.take_line(line(n, name), 1_000 - n) for n, name in enumerate(names, 10)]

    assert tail.history == [10, 12, 13][:requests]
    assert over.index(True) == {1: 2, 2: 3, 3: 5}[requests]


def _file(folder: Path, data: bytes) -> str:
    path = folder / "transcript.jsonl"
    path.write_bytes(data)
    return str(path)


@pytest.mark.parametrize(("asked", "history"), [((), 4), ((2,), 2), ((9,), 6)])
def test_a_tail_goes_back_four_requests_unless_told_otherwise(
    session: SessionBuilder, asked: tuple[int, ...], history: int
) -> None:
    """As many as there are, the newest first."""
    for tokens in range(1_000, 7_000, 1_000):
        session.reply(tokens)

    tail = read_tail(session.path, *asked)

    assert tail.history == list(range(6_000, 0, -1_000))[:history]
