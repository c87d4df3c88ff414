"""The real client writes its session while brimline rewrites it: no row goes elsewhere."""

from __future__ import annotations

import contextlib
import os
import threading
from typing import TYPE_CHECKING, Any, BinaryIO

from brimline.session import in_use, recovery
from brimline.session.disk import InUseError
from brimline.session.rewrite import Order, Rewritten, rewrite

from .harness import read_rows
from .stub_api import bash, text

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from .harness import Client
    from .stub_api import StubApi

_TURNS = 12


def test_a_running_client_is_known_and_its_rows_go_to_the_file_that_has_the_name(
    client: Client, stub: StubApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says in a file of its own which session it runs, and is forgotten when it ends.

    It opens the file for every batch of rows: after a swap it writes to the new one.
    """
    stub.script(text("FIRST"), text("SECOND"))
    with client.interactive() as session:
        session.say("one", "FIRST")
        session.wait_until(lambda: bool(client.transcripts()))
        (path,) = client.transcripts()
        session.wait_until(lambda: _has_reply(path, "FIRST"))
        os.utime(path, (1_700_000_000, 1_700_000_000))
        assert f"process {session.pid}" in str(in_use.why_in_use(str(path)))
        with path.open("rb") as old, monkeypatch.context() as patch:
            patch.setattr(in_use, "why_in_use", lambda *_: None)
            _rewrite(path, client, note=b'{"type":"marked"}\n')
            size = os.fstat(old.fileno()).st_size
            session.say("two", "SECOND")
            session.wait_until(lambda: _has_reply(path, "SECOND"))

            assert os.fstat(old.fileno()).st_size == size
        assert read_rows(path)[0] == {"type": "marked"}
    os.utime(path, (1_700_000_000, 1_700_000_000))
    assert in_use.why_in_use(str(path)) is None


def test_no_row_is_lost_while_the_session_is_rewritten_again_and_again(
    client: Client, stub: StubApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every call and its result are there, in an unbroken chain, and the session resumes."""
    # As if the client had started just after the look.
    monkeypatch.setattr(in_use, "why_in_use", lambda *_: None)
    stub.script(*[bash(f"echo result-{number}") for number in range(_TURNS)], text("END"))
    over = threading.Event()
    swaps: list[int] = []
    rewriting = threading.Thread(target=_rewrite_until, args=(client, over, swaps))
    rewriting.start()
    try:
        run = client.run_print("go")
    finally:
        over.set()
        rewriting.join()

    assert run.rc == 0
    assert run.transcript is not None
    recovery.finish_rewrites_at_path(str(run.transcript))
    rows = [row for row in read_rows(run.transcript) if row["type"] != "marked"]
    assert len(swaps) > 5
    assert _results(rows) == [f"result-{number}" for number in range(_TURNS)]
    assert _chain_length(rows) >= 2 * _TURNS + 2
    stub.script(text("RESUMED"))
    resumed = client.run_print("again", args=["--resume", run.transcript.stem])
    seen = resumed.requests[-1].seen_text()
    assert [f"result-{number}" in seen for number in range(_TURNS)] == [True] * _TURNS


def _rewrite_until(client: Client, over: threading.Event, swaps: list[int]) -> None:
    while not over.is_set():
        for path in client.transcripts():
            note = b'{"type":"marked","n":%d}\n' % len(swaps)
            with contextlib.suppress(InUseError):  # it holds the former file open just now
                swaps += [1] * _rewrite(path, client, note).swapped
        over.wait(0.01)


def _rewrite(path: Path, client: Client, note: bytes) -> Rewritten:
    """Put one more row in front."""

    def make_new(old: BinaryIO, length: int, new: BinaryIO) -> None:
        rest = old.read(length)
        assert len(rest) == length
        new.write(note + rest)

    def accept(_new_path: str) -> None:
        pass

    home_dir = str(client.home / "brimline")
    return rewrite(Order(str(path), home_dir, make_new, accept, quiet_s=0.2))


def _has_reply(path: Path, wanted: str) -> bool:
    try:
        rows = read_rows(path)
    except ValueError:
        return False
    return any(row["type"] == "assistant" and wanted in str(row["message"]) for row in rows)


def _results(rows: list[dict[str, Any]]) -> list[str]:
    """What the tools answered, in the order of the file."""
    blocks = [
        block
        for row in rows
        if row["type"] == "user" and isinstance(row["message"]["content"], list)
        for block in row["message"]["content"]
        if block.get("type") == "tool_result"
    ]
    return [str(block["content"]).strip() for block in blocks]


def _chain_length(rows: list[dict[str, Any]]) -> int:
    """How many rows lead from the last reply to the beginning."""
    by_id = {row["uuid"]: row for row in rows if "uuid" in row}
    row = next(row for row in reversed(rows) if row["type"] == "assistant")
    length = 1
    while row["parentUuid"] is not None:
        row = by_id[row["parentUuid"]]
        length += 1
    return length
