"""What records of sessions begin with, and limits of looking into them at both sides."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from brimline.session import disk, inspect, recovery, restore, swap
from brimline.session.disk import Fingerprint, RewriteError
from brimline.session.faults import Findings, Place, _Row
from brimline.session.faults import Note as Harmless
from brimline.session.inspect import Inspection
from brimline.session.purge import Options, Plan, Saving
from brimline.session.restore import Note, Piece, Restoration
from brimline.session.survey import Conversation, Item, Mark, Survey

from . import machines
from .machines import line

if TYPE_CHECKING:
    from brimline.testing import SessionBuilder

NOTHING = Fingerprint(0, "")
DAY_S = 86_400


@pytest.fixture
def path(world: Path) -> Path:
    """A session of forty rows."""
    return machines.make_session(world / "p" / "s.jsonl")


def make_item() -> Item:
    """Something that could go, of which only what must be known is."""
    return Item("text", Mark(0, 10, 0), 1, None, 10)


@pytest.mark.parametrize(
    "record",
    [
        make_item(),
        Conversation(),
        Survey(),
        Saving(),
        Plan(Survey(), Options()),
        Harmless(),
        Findings(),
        Inspection(),
        Restoration("/s", "/h"),
    ],
    ids=lambda record: type(record).__name__,
)
def test_a_field_that_a_record_does_not_have_is_a_mistake(record: Any) -> None:
    """A slip of the pen does not get lost in a new attribute."""
    with pytest.raises(AttributeError):
        record.lenght = 5
    assert not hasattr(record, "__dict__")


def test_records_begin_with_nothing_counted() -> None:
    """And with nothing found, nothing lost and nothing undone."""
    saving, item, found = Saving(), make_item(), Inspection()

    assert (saving.items, saving.disk_bytes) == (0, 0)
    assert (saving.context_items, saving.context_characters) == (0, 0)
    assert (item.segment, item.size_bytes, item.characters) == (0, 0, 0)
    assert (item.is_main, item.is_again, item.strategy) == (True, False, "")
    assert (found.size_bytes, found.lines, found.turns, found.is_undone) == (0, 0, 0, False)
    assert (Harmless().count, Findings().rows, Conversation().segment) == (0, 0, 0)
    assert Plan(Survey(), Options()).disk_bytes == 0
    assert recovery.Recovered("/s") == ("/s", 0, None)
    assert Piece("/s", 0, 1).begins_line is False


def test_two_things_that_could_go_are_two_however_alike_they_are() -> None:
    """So are rows that say the same."""
    place = Place(1, 0)
    rows = [_Row("user", "a", place, 0, 0) for _ in range(2)]

    assert make_item() != make_item()
    assert len({*rows}) == 2


@pytest.mark.parametrize("length", [199, 200, 201])
def test_what_a_call_was_about_has_200_characters(session: SessionBuilder, length: int) -> None:
    """In the list of the largest results."""
    session.prompt()
    call_id = session.tool_call(50_000, command="c" * length)
    session.tool_result(call_id, "x" * 5_000)

    (largest,) = inspect.inspect(session.path).largest

    assert largest.source == "c" * min(length, 200)


def test_a_session_without_an_id_has_that_of_its_file(world: Path) -> None:
    """One that tells it has its own."""
    path = world / "name.jsonl"
    path.write_text('{"type":"user","message":{"role":"user","content":"x"}}\n')

    assert inspect.inspect(str(path)).session_id == "name"


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (OSError(28, "No space left on device", "/p/x"), "(/p/x: No space left on device)"),
        (OSError(28, "No space left on device"), "(/p: No space left on device)"),
        (OSError("odd"), "(/p: odd)"),
        (OSError(28, "Full", b"/p/\xff"), "(/p/\udcff: Full)"),
    ],
)
def test_what_the_disk_refused_is_told_with_its_place(error: OSError, told: str) -> None:
    """In one sentence."""
    sentence = str(recovery.disk_refusal_error(error, "/p/s.jsonl"))

    assert sentence == f"/p/s.jsonl cannot be rewritten {told}; nothing was changed"


@pytest.mark.parametrize(("less", "lines"), [(0, [1]), (1, [])])
def test_a_session_is_finished_up_to_a_size(
    path: Path, home_dir: str, less: int, lines: list[int]
) -> None:
    """That size included; a larger one is left to the next command."""
    with path.open("ab", buffering=0) as held:
        machines.run(path, home_dir)
        held.write(line(40))

    size = path.stat().st_size
    done = recovery.recover(str(path.parent), most_bytes=size - less)

    assert [one.lines for one in done] == lines


@pytest.mark.parametrize(("age_s", "is_swept"), [(DAY_S - 60, False), (DAY_S + 1, True)])
def test_what_was_kept_for_a_removed_session_goes_after_a_day(
    path: Path, age_s: float, is_swept: bool
) -> None:
    """Counted from the last line that came to it."""
    kept = [disk.path_beside(str(path), name) for name in ("old-12", "swap")]
    for name, age in zip(kept, (age_s, 2 * DAY_S), strict=True):
        Path(name).write_bytes(line(0))
        os.utime(name, (time.time() - age, time.time() - age))
    os.unlink(path)

    assert recovery.recover(str(path)) == []

    assert [os.path.exists(name) for name in kept] == [not is_swept] * 2


def test_what_cannot_be_opened_is_told_with_the_reason(world: Path) -> None:
    """Of a folder, that it is none."""
    with pytest.raises(
        RewriteError, match=r"gone\.jsonl cannot be read: No such file or directory"
    ):
        swap.Chain(str(world / "gone.jsonl"))
    with pytest.raises(RewriteError, match=r"is no plain file: name a session's \.jsonl file"):
        swap.Chain(str(world))


@pytest.mark.parametrize(("age_s", "stays"), [(-1.0, True), (0.0, True), (0.001, False)])
def test_notes_of_gone_sessions_go_from_before_a_time(
    path: Path, home_dir: str, age_s: float, stays: bool
) -> None:
    """Not of that very moment."""
    machines.run(path, home_dir)
    (note,) = restore.read_notes(home_dir, "s")[0]
    os.unlink(path)

    restore.forget_notes_of_gone_sessions(home_dir, note.at + age_s)

    assert restore.noted_sessions(home_dir) == (["s"] if stays else [])


@pytest.mark.parametrize(
    ("tokens", "by_call", "others"),
    [(100, {"a": 30, "b": 30}, 40), (60, {"a": 30, "b": 30}, 0), (50, {"a": 60}, 0), (5, {}, 5)],
)
def test_tokens_that_no_call_took_are_what_is_left(
    tokens: int, by_call: dict[str, int], others: int
) -> None:
    """Never less than none."""
    note = Note("/f", "/s", 1.0, NOTHING, NOTHING, tokens, 0, by_call)

    assert note.tokens_by_call == by_call | {"": others}
