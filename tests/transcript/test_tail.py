"""The tail reader: total on any bytes, and of one mind with a slow reader of the whole file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from brimline.testing import SessionBuilder, text_block
from brimline.transcript import tail as tails
from brimline.transcript.tail import read_tail

from . import reference
from .generated import LOOKALIKE, encode, mutated_transcripts, transcripts

thorough = settings(
    max_examples=700,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
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
        patch.setattr(tails, "_FIRST_BLOCK_BYTES", block_bytes)
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
        patch.setattr(tails, "_FIRST_BLOCK_BYTES", block_bytes)
        tail = read_tail(_file(tmp_path, data), 3)

    assert tail.result_characters >= 0
    assert len(tail.history) <= 3


@pytest.mark.row("S0-02", "S0-03")
def test_the_prompt_side_of_the_last_reply_is_the_occupancy(session: SessionBuilder) -> None:
    """Input, cache reads and cache writes add up; output does not count."""
    session.reply(40_000)
    session.reply(41_234, output_tokens=999)

    tail = read_tail(session.path)

    assert tail.usage is not None
    assert tail.usage.prompt_tokens == 41_234
    assert tail.output_tokens == 999
    assert tail.history == [41_234, 40_000]


@pytest.mark.row("S0-04")
def test_the_latest_reply_counts_not_the_largest_or_the_sum(session: SessionBuilder) -> None:
    """Occupancy can fall without any record of why."""
    for tokens in (30_000, 90_000, 50_000):
        session.reply(tokens)

    tail = read_tail(session.path)

    assert tail.usage is not None
    assert tail.usage.prompt_tokens == 50_000


@pytest.mark.row("S0-24", "S1-08")
def test_an_empty_file_has_no_usage(tmp_path: Path) -> None:
    """Before the first reply nothing is known, and nothing is invented."""
    tail = read_tail(_file(tmp_path, b""))

    assert tail.usage is None
    assert tail.history == []


def test_rows_of_one_message_are_one_request(session: SessionBuilder) -> None:
    """A reply of several blocks with results between them counts once."""
    session.reply(30_000)
    session.reply(50_000, text_block("a" * 40), message_id="msg_x")
    session.tool_result("toolu_1", "r" * 100)
    session.reply(50_000, text_block("b" * 60), message_id="msg_x")
    session.tool_result("toolu_2", "s" * 10)

    tail = read_tail(session.path)

    assert tail.history == [50_000, 30_000]
    assert tail.reply_characters == 100
    assert tail.result_characters == 110


def test_replies_without_an_id_are_requests_of_their_own(session: SessionBuilder) -> None:
    """Rows that cannot be recognised as one reply are not merged."""
    for tokens in (10_000, 11_000):
        row = {"type": "assistant", "message": {"usage": {"input_tokens": tokens}, "content": ""}}
        session.raw(json.dumps(row) + "\n")

    assert read_tail(session.path).history == [11_000, 10_000]


@pytest.mark.row("S0-24", "S0-38")
def test_sidechain_synthetic_error_and_empty_rows_are_passed_over(session: SessionBuilder) -> None:
    """Only a real reply of the main thread says how full the window is."""
    session.reply(60_000)
    session.reply(90_000, isSidechain=True)
    session.reply(1_000, isSidechain=True)
    session.reply(91_000, isApiErrorMessage=True)
    session.reply(0)
    session.model = "<synthetic>"
    session.reply(92_000)

    tail = read_tail(session.path)

    assert tail.usage is not None
    assert tail.usage.prompt_tokens == 60_000
    assert tail.history == [60_000]


@pytest.mark.parametrize("value", ["12", 1.5, True, -1, [], {}, 10**30])
@pytest.mark.row("S0-24")
def test_usage_that_is_no_count_of_tokens_is_passed_over(
    session: SessionBuilder, value: object
) -> None:
    """A row with nonsense in one of its three counts is not trusted at all."""
    session.reply(60_000)
    usage = {"input_tokens": 10, "cache_read_input_tokens": value}
    session.row("assistant", message={"id": "m", "model": "x", "content": [], "usage": usage})

    tail = read_tail(session.path)

    assert tail.usage is not None
    assert tail.usage.prompt_tokens == 60_000


def test_a_null_count_is_nothing(session: SessionBuilder) -> None:
    """The client writes null for caches it did not use."""
    usage = {
        "input_tokens": 10,
        "cache_read_input_tokens": None,
        "cache_creation_input_tokens": None,
        "output_tokens": None,
    }
    session.row("assistant", message={"id": "m", "model": "x", "content": [], "usage": usage})

    tail = read_tail(session.path)

    assert tail.usage is not None
    assert tail.usage.prompt_tokens == 10
    assert tail.output_tokens == 0


@pytest.mark.row("S4-47")
@pytest.mark.parametrize("legacy", [False, True])
@pytest.mark.row("S3-40")
def test_nothing_before_a_compaction_counts(session: SessionBuilder, legacy: bool) -> None:
    """After a boundary of either kind the occupancy is unknown until the next reply."""
    session.reply(166_000)
    session.compact(167_000, legacy=legacy)
    session.prompt()

    assert read_tail(session.path).usage is None
    assert read_tail(session.path).boundary_timestamp is not None

    session.reply(45_000)

    assert read_tail(session.path).history == [45_000]


@pytest.mark.row("S0-38")
def test_a_sidechain_boundary_is_not_ours(session: SessionBuilder) -> None:
    """A subagent that compacted itself leaves the main thread as full as it was."""
    session.reply(100_000)
    session.row("system", subtype="compact_boundary", isSidechain=True)

    tail = read_tail(session.path)

    assert tail.usage is not None
    assert tail.usage.prompt_tokens == 100_000


@pytest.mark.row("S0-01")
@pytest.mark.row("S3-40")
def test_text_that_looks_like_rows_is_never_taken_for_one(session: SessionBuilder) -> None:
    """A tool result that quotes a transcript changes nothing but the size of the tail."""
    session.reply(70_000)
    session.tool_result("toolu_1", LOOKALIKE * 3)
    session.prompt(LOOKALIKE)

    tail = read_tail(session.path)

    assert tail.usage is not None
    assert tail.usage.prompt_tokens == 70_000
    assert tail.result_characters == 4 * len(LOOKALIKE)


@pytest.mark.row("S0-38")
def test_the_usage_of_an_agents_result_is_not_ours(session: SessionBuilder) -> None:
    """The record of a finished subagent carries its own usage, which is not the main thread's."""
    session.reply(70_000)
    record = {"status": "completed", "usage": {"input_tokens": 150_000, "output_tokens": 9}}
    block = {"type": "tool_result", "tool_use_id": "t", "content": "sub result"}
    session.row("user", message={"role": "user", "content": [block]}, toolUseResult=record)

    tail = read_tail(session.path)

    assert tail.usage is not None
    assert tail.usage.prompt_tokens == 70_000
    assert tail.result_characters == len("sub result")


@pytest.mark.row("S0-26")
def test_a_torn_last_line_is_passed_over(session: SessionBuilder) -> None:
    """A row that is still being written does not hide the one before it."""
    session.reply(70_000)
    whole = Path(session.path).read_bytes()
    session.raw(whole[: len(whole) // 2])

    tail = read_tail(session.path)

    assert tail.usage is not None
    assert tail.usage.prompt_tokens == 70_000
    assert tail.offset == 0


@pytest.mark.row("S0-26")
def test_two_rows_on_one_line_are_both_read(session: SessionBuilder) -> None:
    """Writers that raced left lines with two objects; the later one is the latest."""
    first, second = (
        encode({"type": "assistant", "message": {"id": name, "usage": {"input_tokens": tokens}}})
        for name, tokens in (("a", 10_000), ("b", 20_000))
    )
    session.raw(first + second + b"\n")

    assert read_tail(session.path).history == [20_000, 10_000]


def test_a_missing_final_newline_loses_nothing(session: SessionBuilder) -> None:
    """The last row counts although its line is not ended."""
    session.reply(10_000)
    session.reply(20_000)
    data = Path(session.path).read_bytes()
    Path(session.path).write_bytes(data.rstrip(b"\n"))

    assert read_tail(session.path).history == [20_000, 10_000]


@pytest.mark.parametrize("change", ["crlf", "bom", "invalid"])
def test_foreign_encodings_lose_nothing(session: SessionBuilder, change: str) -> None:
    """Windows line ends, a byte order mark and broken characters leave the figures readable."""
    session.reply(20_000, text_block("BROKEN"))
    data = Path(session.path).read_bytes()
    changed = {
        "crlf": data.replace(b"\n", b"\r\n"),
        "bom": b"\xef\xbb\xbf" + data,
        "invalid": data.replace(b"BROKEN", b"\xff\xc3\x28"),
    }[change]
    Path(session.path).write_bytes(changed)

    assert read_tail(session.path).history == [20_000]


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
def test_the_walk_ends_at_its_limit(
    session: SessionBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A usage further back than the limit stays unknown; one within it is found."""
    monkeypatch.setattr(tails, "_FIRST_BLOCK_BYTES", 1_000)
    session.reply(20_000)
    session.tool_result("toolu_1", "x" * 20_000)

    monkeypatch.setattr(tails, "WALK_LIMIT_BYTES", 10_000)
    assert read_tail(session.path).usage is None

    monkeypatch.setattr(tails, "WALK_LIMIT_BYTES", 100_000)
    assert read_tail(session.path).history == [20_000]


def test_a_line_cut_by_the_limit_is_not_read_from_its_middle(
    session: SessionBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever the walk ends, a row inside another row is never taken for one of its own."""
    inner = {"type": "assistant", "message": {"id": "x", "usage": {"input_tokens": 5}}}
    session.row("progress", data={"message": inner})
    monkeypatch.setattr(tails, "_FIRST_BLOCK_BYTES", 1)
    monkeypatch.setattr(tails, "_LARGEST_BLOCK_BYTES", 1)

    for limit in range(os.path.getsize(session.path) + 2):
        monkeypatch.setattr(tails, "WALK_LIMIT_BYTES", limit)
        assert read_tail(session.path).usage is None


def test_a_file_that_shrinks_meanwhile_ends_the_walk(session: SessionBuilder) -> None:
    """Where the file is shorter than it was a moment ago, no line is made up."""
    session.reply(20_000)
    descriptor = os.open(session.path, os.O_RDONLY)

    assert list(tails._lines_backward(descriptor, 100_000)) == []
    os.close(descriptor)


def test_older_requests_are_worth_a_short_walk_only(
    session: SessionBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind a large gap the history ends, the reading stays."""
    monkeypatch.setattr(tails, "HISTORY_LIMIT_BYTES", 10_000)
    session.reply(20_000)
    session.tool_result("toolu_1", "x" * 20_000)
    session.reply(30_000)
    session.reply(31_000)

    assert read_tail(session.path).history == [31_000, 30_000]


def test_nested_results_of_any_depth_are_measured(session: SessionBuilder) -> None:
    """Foreign nesting cannot exhaust the stack."""
    session.reply(20_000)
    content: object = "deep"
    for _ in range(400):
        content = [{"type": "tool_result", "content": content}]
    session.row("user", message={"role": "user", "content": content})

    assert read_tail(session.path).result_characters == len("deep")


def test_what_is_no_regular_file_is_refused(tmp_path: Path) -> None:
    """Missing files, folders, devices and pipes raise OSError at once, without any waiting."""
    pipe = str(tmp_path / "pipe")
    os.mkfifo(pipe)

    for path in (str(tmp_path / "missing"), str(tmp_path), pipe, "/dev/zero"):
        with pytest.raises(OSError):  # noqa: PT011 - the kind differs by path
            read_tail(path)


def test_a_file_without_permission_is_refused(session: SessionBuilder, tmp_path: Path) -> None:
    """Another user's transcript raises PermissionError, for root's tests too."""
    session.reply(20_000)
    Path(session.path).chmod(0)
    code = (
        "import os, sys\n"
        "from brimline.transcript.tail import read_tail\n"
        "if os.geteuid() == 0: os.seteuid(65534)\n"
        "try: read_tail(sys.argv[1])\n"
        "except PermissionError: print('refused')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, session.path],
        env={"HOME": str(tmp_path), "BRIMLINE_HOME": str(tmp_path / "b")},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert done.stdout == "refused\n", done.stderr


def _file(folder: Path, data: bytes) -> str:
    path = folder / "transcript.jsonl"
    path.write_bytes(data)
    return str(path)
