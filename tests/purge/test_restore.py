"""A purged session comes back byte for byte, with what was appended since."""

from __future__ import annotations

import json
import os
import shutil
from typing import TYPE_CHECKING

import pytest

from brimline.errors import StoreError
from brimline.purge import backups, disk, recovery, restore_record, shrink, verify_copy
from brimline.purge import restore as restoring
from brimline.purge.errors import PurgeError, RewrittenError
from brimline.purge.plan import Options
from brimline.purge.repair import repair
from brimline.store import layout, read
from brimline.store.references import Pass
from brimline.store.retention import Limits, prune

from . import machines
from .recorded import LONG_AGO, QUIET_S, data, output, prepare, purge, restore, talk

if TYPE_CHECKING:
    from brimline.testing import SessionBuilder

LATE = b'{"type":"user","uuid":"late","message":{"content":"late"}}\n'


@pytest.fixture
def original(session: SessionBuilder) -> bytes:
    """The bytes of a session with something for every strategy."""
    session.prompt()
    for number in range(4):
        call_id = session.tool_call(50_000, "Read", file_path=f"/{number % 2}.py")
        asked = session.parent
        for _ in range(3):
            session.row("progress", data={"type": "x", "text": "y" * 100}, parentToolUseID=call_id)
        session.parent = asked
        session.tool_result(call_id, output(str(number)))
    session.raw(b'{"type":"odd","text":"\xff"}\r\n')
    talk(session)
    return data(session)


def append(session: SessionBuilder, line: bytes = LATE) -> None:
    """The client goes on."""
    session.raw(line)
    os.utime(session.path, (LONG_AGO, LONG_AGO))


def test_everything_comes_back_and_what_was_appended_stays(
    session: SessionBuilder, home_dir: str, original: bytes
) -> None:
    """Dropped rows included, byte for byte."""
    purge(session, home_dir)
    append(session)
    assert len(data(session)) < len(original) / 2

    done = restore(session.path, home_dir)

    assert done.swapped
    assert data(session) == original + LATE


def test_several_purges_are_undone_together(
    session: SessionBuilder, home_dir: str, original: bytes
) -> None:
    """Each on what the one before left, with lines appended in between."""
    purge(session, home_dir, strategies=frozenset({"progress"}))
    append(session)
    purge(session, home_dir, strategies=frozenset({"copies"}), keep_requests=5)
    append(session)
    for _ in range(3):
        session.reply(70_000)
    purge(session, home_dir)
    later = data(session).partition(LATE)[2].removeprefix(LATE)

    found = restoring.plan(session.path, home_dir)
    restore(session.path, home_dir)

    assert len(found.undone) == 3
    assert data(session) == original + LATE + LATE + later


def test_a_session_that_was_restored_already_has_nothing_to_restore(
    session: SessionBuilder, home_dir: str, original: bytes
) -> None:
    """Neither has one that was never purged; and no record is left behind."""
    assert restoring.plan(session.path, home_dir).is_empty
    purge(session, home_dir)
    restore(session.path, home_dir)

    assert restoring.plan(session.path, home_dir).is_empty
    assert not os.path.exists(f"{restore_record.folder(home_dir, 'session')}")


def test_a_session_can_be_purged_restored_and_purged_again(
    session: SessionBuilder, home_dir: str, original: bytes
) -> None:
    """Round after round the same two states."""
    purge(session, home_dir)
    purged = data(session)
    for _ in range(2):
        restore(session.path, home_dir)
        assert data(session) == original
        purge(session, home_dir)
        assert data(session) == purged


def test_what_a_restore_needs_is_never_collected_as_garbage(
    session: SessionBuilder, home_dir: str, original: bytes
) -> None:
    """The record mentions every key; after a restore nothing does, and the store lets go."""
    purge(session, home_dir)
    kept = len(read.blobs(home_dir))

    prune(home_dir, Limits(unreferenced=True), Pass())
    assert len(read.blobs(home_dir)) == kept
    restore(session.path, home_dir)
    prune(home_dir, Limits(unreferenced=True), Pass())

    assert data(session) == original
    assert read.blobs(home_dir) == []


def test_a_moved_session_is_restored_where_it_is(
    session: SessionBuilder, home_dir: str, original: bytes
) -> None:
    """Its name and its content tell what it is, not its folder."""
    purge(session, home_dir)
    moved = os.path.dirname(session.path) + "/elsewhere/session.jsonl"
    os.makedirs(os.path.dirname(moved))
    os.rename(session.path, moved)

    restore(moved, home_dir)

    with open(moved, "rb") as file:
        assert file.read() == original


def test_content_that_is_gone_is_an_error_and_nothing_changes(
    session: SessionBuilder, home_dir: str, original: bytes
) -> None:
    """A key that was pruned by hand is named."""
    purge(session, home_dir)
    purged = data(session)
    (record,) = restore_record.read_all(home_dir, "session")
    os.unlink(layout.blob(home_dir, layout.digest_of(record.chunks[0])))

    with pytest.raises(StoreError, match="is not in the store"):
        restore(session.path, home_dir)

    assert data(session) == purged


def test_a_session_that_others_changed_gets_back_what_is_known_again(
    session: SessionBuilder, home_dir: str, original: bytes
) -> None:
    """Lines that are as the purge left them become themselves; the rest is told."""
    purge(session, home_dir)
    lines = data(session).splitlines(keepends=True)
    (number,) = [n for n, line in enumerate(lines) if b"stored" in line][:1]
    lines[number] = lines[number].replace(b'"isSidechain":false', b'"isSidechain": false')
    lines.insert(0, b'{"type":"note"}\n')
    with open(session.path, "wb") as file:
        file.write(b"".join(lines))

    found = restoring.plan(session.path, home_dir)
    restore(session.path, home_dir)

    assert found.original is None
    assert found.lost_steps == 1
    after = data(session).splitlines(keepends=True)
    assert after[0] == b'{"type":"note"}\n'
    assert len(set(original.splitlines(keepends=True)) - set(after)) == 1


def test_a_purge_that_was_killed_before_the_swap_leaves_nothing_to_undo(
    session: SessionBuilder, home_dir: str, original: bytes
) -> None:
    """Its record describes what never happened; the next purge and restore are not misled."""
    purge(session, home_dir)
    (record,) = restore_record.read_all(home_dir, "session")
    with open(session.path, "wb") as file:
        file.write(original)
    append(session)

    found = restoring.plan(session.path, home_dir)
    assert found.is_empty
    assert [one.file for one in found.stale] == [record.file]
    purge(session, home_dir)
    restore(session.path, home_dir)

    assert data(session) == original + LATE
    assert restore_record.read_all(home_dir, "session") == []


def test_a_damaged_record_is_told(session: SessionBuilder, home_dir: str, original: bytes) -> None:
    """One sentence that names the file and the backup."""
    purge(session, home_dir)
    (record,) = restore_record.read_all(home_dir, "session")
    for damage in ("not json", '{"v":1}', '{"v":99}\n'):
        with open(record.file, "w", encoding="ascii") as file:
            file.write(damage)
        with pytest.raises(PurgeError, match=r"000001\.jsonl"):
            restoring.plan(session.path, home_dir)


def test_records_of_sessions_that_are_gone_expire(
    session: SessionBuilder, home_dir: str, original: bytes
) -> None:
    """Not while the session is anywhere, and not before their time."""
    purge(session, home_dir)
    (record,) = restore_record.read_all(home_dir, "session")

    assert restore_record.expire(home_dir, record.at + 1) == 0
    os.unlink(session.path)
    assert restore_record.expire(home_dir, record.at - 1) == 0
    assert restore_record.expire(home_dir, record.at + 1) == 1
    assert restore_record.sessions(home_dir) == []


def test_the_records_of_a_session_can_be_forgotten(
    session: SessionBuilder, home_dir: str, original: bytes
) -> None:
    """And the sessions that can be restored can be listed."""
    purge(session, home_dir)

    assert restore_record.sessions(home_dir) == ["session"]
    assert restore_record.forget(home_dir, "session") == 1
    assert restoring.plan(session.path, home_dir).is_empty


def test_records_are_private(session: SessionBuilder, home_dir: str, original: bytes) -> None:
    """Readable by the user alone, like everything in the data folder."""
    purge(session, home_dir)
    (record,) = restore_record.read_all(home_dir, "session")

    assert os.stat(record.file).st_mode & 0o777 == 0o600
    assert os.stat(os.path.dirname(record.file)).st_mode & 0o777 == 0o700


@pytest.mark.parametrize("fault", ["line", "chunk", "key", "length", "store"])
def test_a_copy_that_cannot_be_undone_is_never_swapped_in(
    session: SessionBuilder,
    home_dir: str,
    original: bytes,
    monkeypatch: pytest.MonkeyPatch,
    fault: str,
) -> None:
    """Whatever went wrong on the way, the proof before the swap finds it."""
    proving = verify_copy.prove

    def spoiled(
        old: object, length: int, new: object, record: restore_record.Record, home: str
    ) -> None:
        step = next(n for n, step in enumerate(record.steps) if len(step.patches) > 1)
        was = record.steps[step].patches
        if fault == "line":
            record.steps[step] = record.steps[step]._replace(check="0" * 16)
        elif fault == "chunk":
            record.chunks[0] = "sha256:" + "0" * 64
        elif fault == "key":
            piece = was[0].was._replace(key="sha256:" + "0" * 64)
            patches = (was[0]._replace(was=piece), *was[1:])
            record.steps[step] = record.steps[step]._replace(patches=patches)
        elif fault == "length":
            piece = was[1].was._replace(length=was[1].was.length - 1)
            patches = (was[0], was[1]._replace(was=piece), *was[2:])
            record.steps[step] = record.steps[step]._replace(patches=patches)
        else:
            os.unlink(layout.blob(home, layout.digest_of(record.chunks[0])))
        proving(old, length, new, record, home)  # type: ignore[arg-type]

    monkeypatch.setattr(verify_copy, "prove", spoiled)

    with pytest.raises(PurgeError, match="nothing was changed"):
        purge(session, home_dir)

    assert data(session) == original
    assert restore_record.read_all(home_dir, "session") == []


def test_a_restore_needs_no_record_that_fits_another_session(
    session: SessionBuilder, home_dir: str, original: bytes
) -> None:
    """A session of the same name with other content is left alone."""
    purge(session, home_dir)
    other = json.dumps({"type": "user", "message": {"content": "another"}}).encode() + b"\n"
    with open(session.path, "wb") as file:
        file.write(other)

    assert restoring.plan(session.path, home_dir).is_empty
    assert prepare(session, home_dir).plan.is_empty


@pytest.mark.parametrize("failure", [KeyboardInterrupt(), OSError(28, "No space left on device")])
@pytest.mark.parametrize("rewrite", ["purge", "repair"])
def test_whenever_a_rewrite_is_cut_short_there_is_a_way_back_if_and_only_if_it_happened(
    session: SessionBuilder,
    home_dir: str,
    original: bytes,
    monkeypatch: pytest.MonkeyPatch,
    rewrite: str,
    failure: BaseException,
) -> None:
    """At every step that writes: Ctrl-C or a full disk, before the swap and after it."""
    if rewrite == "repair":
        session.raw(b'{"type":"note"}' + LATE)
        original = data(session)
    step, told = 0, set()
    while True:
        machine = machines.Machine()
        machine.fails_at = step
        machine.failure = failure
        with monkeypatch.context() as patched:
            patched.setattr(disk, "system", machine)
            try:
                with open(session.path, "ab"):
                    if rewrite == "purge":
                        purge(session, home_dir)
                    else:
                        os.utime(session.path, (LONG_AGO, LONG_AGO))
                        repair(session.path, home_dir=home_dir, quiet_s=QUIET_S)
            except RewrittenError:
                told.add("rewritten")
                assert data(session) != original
            except (KeyboardInterrupt, PurgeError):
                told.add("nothing")
                assert data(session) == original
                assert restore_record.read_all(home_dir, "session") == []
        if step >= len(machine.names):
            break
        recovery.recover(session.path)
        if data(session) != original:
            restore(session.path, home_dir)
        assert data(session) == original
        for backup in backups.of_session(session.path):
            os.unlink(backup.path)
        step += 1
    assert told == {"nothing", "rewritten"}


def copied(session: SessionBuilder, folder: str = "copy") -> str:
    """A file of the same name and content in another folder."""
    path = f"{os.path.dirname(session.path)}/{folder}/{os.path.basename(session.path)}"
    os.makedirs(os.path.dirname(path))
    shutil.copy2(session.path, path)
    os.utime(path, (LONG_AGO, LONG_AGO))
    return path


@pytest.mark.parametrize("when", ["before", "after"])
def test_restoring_a_copy_leaves_the_way_back_of_the_session(
    session: SessionBuilder, home_dir: str, original: bytes, when: str
) -> None:
    """Whether the copy was made of the purged session, or before it was purged."""
    early = copied(session, "early")
    purge(session, home_dir)
    if when == "before":
        prepared = shrink.prepare(early, Options(), home_dir)
        shrink.shrink(prepared, home_dir, quiet_s=QUIET_S)
    copy = early if when == "before" else copied(session)

    restore(copy, home_dir)
    restore(session.path, home_dir)

    with open(copy, "rb") as file:
        assert file.read() == original
    assert data(session) == original
    assert restore_record.sessions(home_dir) == []


def test_a_file_of_the_same_name_never_makes_a_record_stale(
    session: SessionBuilder, home_dir: str, original: bytes
) -> None:
    """The original elsewhere, purged again and restored, says nothing about the session here."""
    copy = copied(session)
    purge(session, home_dir)
    prepared = shrink.prepare(copy, Options(strategies=frozenset({"progress"})), home_dir)
    shrink.shrink(prepared, home_dir, quiet_s=QUIET_S)

    restore(copy, home_dir)
    restore(session.path, home_dir)

    assert data(session) == original


def test_what_a_restore_could_not_undo_stays_on_record(
    session: SessionBuilder, home_dir: str, original: bytes
) -> None:
    """Once the line is as the purge left it, it comes back too, and no row comes twice."""
    purge(session, home_dir)
    lines = data(session).splitlines(keepends=True)
    (number,) = [n for n, line in enumerate(lines) if b"stored" in line][:1]
    purged = lines[number]
    lines[number] = purged.replace(b'"isSidechain":false', b'"isSidechain": false')
    changed = lines[number]
    with open(session.path, "wb") as file:
        file.write(b"".join(lines))
    restore(session.path, home_dir)
    prune(home_dir, Limits(unreferenced=True), Pass())

    assert restoring.plan(session.path, home_dir).is_empty
    partly = data(session)
    with open(session.path, "wb") as file:
        file.write(partly.replace(changed, purged))
    restore(session.path, home_dir)

    assert data(session) == original
    assert restore_record.sessions(home_dir) == []


@pytest.mark.parametrize("damage", ["record", "blob"])
def test_a_damaged_older_purge_does_not_keep_a_newer_one_from_being_undone(
    session: SessionBuilder, home_dir: str, original: bytes, damage: str
) -> None:
    """What stands in the way of the older one is told."""
    purge(session, home_dir, strategies=frozenset({"progress"}))
    once = data(session)
    purge(session, home_dir)
    newer, older = restore_record.read_all(home_dir, "session")
    if damage == "record":
        with open(older.file, "w", encoding="ascii") as file:
            file.write("not json")
    else:
        os.unlink(layout.blob(home_dir, layout.digest_of(older.chunks[0])))

    found = restoring.plan(session.path, home_dir)
    restore(session.path, home_dir)

    assert [record.file for record in found.undone] == [newer.file]
    assert len(found.problems) == 1
    assert data(session) == once
    assert os.path.exists(older.file)


TORN = b'{"type":"user","uuid":"torn","message":{"con'


@pytest.mark.parametrize("purged", [True, False])
@pytest.mark.parametrize("late", [b"", LATE])
def test_a_torn_last_line_comes_back_with_the_rest(
    session: SessionBuilder, home_dir: str, original: bytes, late: bytes, *, purged: bool
) -> None:
    """After a purge and a repair, or the repair alone; later rows keep a line of their own."""
    append(session, TORN)
    if purged:
        purge(session, home_dir)
    os.utime(session.path, (LONG_AGO, LONG_AGO))
    report = repair(session.path, home_dir=home_dir, quiet_s=QUIET_S)
    assert report.cut_key is not None
    append(session, late)
    prune(home_dir, Limits(unreferenced=True), Pass())
    assert read.get(home_dir, report.cut_key) == TORN

    restore(session.path, home_dir)

    assert data(session) == original + TORN + (b"\n" + late if late else b"")
    assert restore_record.sessions(home_dir) == []
