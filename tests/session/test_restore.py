"""A restored session is its backup and what was appended since, byte for byte."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tarfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from brimline import clock
from brimline.cli.main import main
from brimline.fast import paths
from brimline.rooms import values_in_all_traces
from brimline.session import purge as purging
from brimline.session import restore, session_documents, session_text
from brimline.session import restore as restoring
from brimline.session.disk import Fingerprint, RewriteError
from brimline.session.restore import Note
from brimline.store import contents, layout, retention
from brimline.transcript import find

from . import machines
from .machines import LONG_AGO
from .recorded import QUIET_S, Recorded, output

if TYPE_CHECKING:
    from collections.abc import Callable

DAY_S = 86_400
LATE = b'{"type":"user","uuid":"late","message":{"content":"late"}}\n'
MADE_BEFORE = Path(__file__).with_name("made_by_56b1cf2.tar.gz")


@pytest.fixture
def original(session: Recorded) -> bytes:
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
    session.talk()
    return session.data


def go_on(session: Recorded) -> bytes:
    """The client goes on, with more that can be purged; returns what it added."""
    before = len(session.data)
    session.call(output("more"))
    session.talk()
    return session.data[before:]


@pytest.mark.parametrize("end", [b"\n", b""])
def test_thinking_of_turns_made_since_is_left_out_by_the_clients_own_row(
    session: Recorded, end: bytes
) -> None:
    """It was made behind the purged results: sent behind the originals it would be refused."""
    session.model = "claude-fable-5-2"
    thought = {"type": "thinking", "thinking": "t" * 2_200, "signature": "s"}
    session.prompt()
    session.call(output("old"))
    session.reply(40_000, thought, message_id="msg_before")
    session.talk()
    before = session.data
    session.purge(threshold_bytes=1_000, keep_requests=0)
    length = len(session.data)
    session.prompt()
    session.reply(40_000, thought, message_id="msg_since")
    session.reply(40_000, thought, message_id="msg_last")
    session.data = session.data[:-1] + end
    since, last = session.data[length:], session.parent

    session.restore()

    assert session.data.startswith(before + since)
    rest = session.data[len(before + since) :]
    assert rest.startswith(b"{" if end else b"\n{")
    added = json.loads(rest)
    assert added["parentUuid"] == last
    assert added["attachment"] == {
        "type": "thinking_stripped",
        "scope": "partial",
        "from": {"messageId": "msg_since", "thinkingIndex": 0},
    }


def test_what_comes_back_is_told_until_a_request_has_measured_it(session: Recorded) -> None:
    """The last request measured the purged session; after the next one nothing need be added."""
    session.prompt()
    for number in range(4):
        session.call(output(str(number), 30_000))
    session.reply(90_000)
    session.purge(keep_requests=1)
    (note,), _ = restoring.read_notes_and_problems(
        session.home_dir, find.session_id_of(session.path)
    )
    hour_ago = Path(note.file).read_text().replace(f'"at": {note.at}', f'"at": {note.at - 3600}')
    Path(note.file).write_text(hour_ago)
    session.now = note.at - 1_800
    session.prompt()
    session.reply(60_000)
    purged = _inspected(session)
    assert purged["context"]["purged_since_tokens_estimated"] == 0

    session.restore()
    restored = _inspected(session)

    came_back = note.context_tokens
    assert came_back > 20_000
    assert restored["context"]["purged_since_tokens_estimated"] == -came_back
    assert restored["resume_tokens_estimated"] == purged["resume_tokens_estimated"] + came_back
    assert f"restore, which brought back ~{came_back:,}" in session_text.inspection_text(restored)
    session.now = time.time() + 60
    session.reply(95_000)
    assert _inspected(session)["context"]["purged_since_tokens_estimated"] == 0


def _inspected(session: Recorded) -> dict[str, Any]:
    return session_documents.inspection_document(session.path, session.home_dir)


def test_purges_and_what_came_between_and_after_them_are_undone_together(
    session: Recorded, home_dir: str, original: bytes
) -> None:
    """A restore that was planned before another purge is refused; then every byte comes back.

    Until then what the session refers to is no garbage; afterwards it is.
    """
    session.purge()
    early = restoring.plan_full_restore(session.path, home_dir)
    between = go_on(session)
    session.purge()
    session.raw(LATE)
    os.utime(session.path, (LONG_AGO, LONG_AGO))
    assert len(restoring.plan_full_restore(session.path, home_dir).undone) == 2
    with pytest.raises(RewriteError, match="rewritten meanwhile"):
        restoring.restore(early, quiet_s=QUIET_S)
    kept = len(contents.list_blobs(home_dir))
    retention.prune(home_dir, retention.Limits(max_age_s=0), retention.Pass(values_in_all_traces))
    assert len(contents.list_blobs(home_dir)) == kept > 0

    session.restore()

    assert session.data == original + between + LATE
    assert restoring.sessions_with_notes(home_dir) == []
    retention.prune(home_dir, retention.Limits(max_age_s=0), retention.Pass(values_in_all_traces))
    assert contents.list_blobs(home_dir) == []


@pytest.mark.parametrize("with_backups", [True, False])
def test_a_session_that_was_moved_or_copied_is_restored_where_it_is(
    session: Recorded, home_dir: str, original: bytes, *, with_backups: bool
) -> None:
    """Its backups may have come along or not; a copy leaves the way back of the session."""
    session.purge()
    folder = f"{os.path.dirname(session.path)}/elsewhere"
    os.makedirs(folder)
    path = shutil.copy2(session.path, folder)
    if with_backups:
        for backup in restoring.backups_of(session.path):
            shutil.copy2(backup.path, folder)

    Recorded(str(path), home_dir=home_dir).restore()
    assert Path(path).read_bytes() == original
    session.restore()

    assert session.data == original
    assert restoring.sessions_with_notes(home_dir) == []


def test_what_a_purge_took_counts_until_the_service_has_counted_anew(
    session: Recorded, home_dir: str, original: bytes
) -> None:
    """In the session that was purged, not in a copy of it elsewhere."""
    session.purge()
    (name,) = restoring.sessions_with_notes(home_dir)
    (note,), _ = restoring.read_notes_and_problems(home_dir, name)
    copy = f"{os.path.dirname(session.path)}/elsewhere/{os.path.basename(session.path)}"
    os.makedirs(os.path.dirname(copy))
    shutil.copy2(session.path, copy)
    before, after = (clock.format_utc(note.at + seconds) for seconds in (-1, 1))

    taken = [
        restoring.purged_tokens_by_call_since(home_dir, path, moment).total()
        for path, moment in (
            (session.path, before),
            (session.path, after),
            (session.path, None),
            (copy, before),
        )
    ]

    assert note.context_tokens > 0
    assert taken == [note.context_tokens, 0, 0, 0]
    assert restoring.purged_tokens_by_call_since(home_dir, session.path, before).total() >= taken[0]
    assert not restoring.purged_tokens_by_call_since(home_dir, session.path, after)


@pytest.mark.parametrize("damage", ["gone", "changed", "note", "session"])
def test_a_way_back_that_is_damaged_is_told_and_nothing_changes(
    session: Recorded, home_dir: str, original: bytes, damage: str
) -> None:
    """In one sentence; a newer rewrite can be undone all the same."""
    session.purge()
    purged = session.data
    if damage == "note":
        (note,) = restoring.read_notes_and_problems(home_dir, "session")[0]
        Path(note.file).write_bytes(b"{")
    elif damage == "changed":
        (backup,) = restoring.backups_of(session.path)
        Path(backup.path).write_bytes(original.swapcase())
    elif damage == "gone":
        (backup,) = restoring.backups_of(session.path)
        os.unlink(backup.path)
    else:
        with open(session.path, "r+b") as file:
            file.write(b'{"type":"X"')
        purged = session.data

    with pytest.raises(
        RewriteError, match=r"is gone, or not what it was|cannot be read|changed by another.*backup"
    ):
        restoring.plan_full_restore(session.path, home_dir)
    assert session.data == purged

    between = go_on(session)
    session.purge()
    found = restoring.plan_full_restore(session.path, home_dir)
    restoring.restore(found, quiet_s=QUIET_S)

    assert len(found.problems) == 1
    assert session.data == purged + between


def test_notes_on_gone_sessions_expire(session: Recorded, home_dir: str, original: bytes) -> None:
    """Those that are there keep theirs, however old; notes are private."""
    session.purge()
    (note,) = restoring.read_notes_and_problems(home_dir, "session")[0]
    assert os.stat(note.file).st_mode & 0o777 == 0o600

    restoring.forget_notes_of_gone_sessions(home_dir, note.at + 1)
    os.unlink(session.path)
    restoring.forget_notes_of_gone_sessions(home_dir, note.at)
    assert restoring.sessions_with_notes(home_dir) == ["session"]
    restoring.forget_notes_of_gone_sessions(home_dir, note.at + 1)
    assert restoring.sessions_with_notes(home_dir) == []


@pytest.mark.parametrize("fault", ["line", "between", "more", "store"])
def test_a_copy_that_is_not_what_was_meant_is_never_swapped_in(
    session: Recorded,
    home_dir: str,
    original: bytes,
    monkeypatch: pytest.MonkeyPatch,
    fault: str,
) -> None:
    """Whatever went wrong on the way, the look before the swap finds it."""
    verify = purging._PurgedCopy.verify

    def spoiled(self: purging._PurgedCopy, new_path: str) -> None:
        if fault == "store":
            os.unlink(layout.stored_path(home_dir, layout.digest_of_key(next(iter(self._keys)))))
        else:
            with open(new_path, "r+b") as file:
                found = file.read()
                place = {"line": found.find(b"brimline stored"), "between": 5, "more": len(found)}
                file.seek(place[fault])
                file.write(b"!")
        verify(self, new_path)

    monkeypatch.setattr(purging._PurgedCopy, "verify", spoiled)

    with pytest.raises(RewriteError, match="nothing was"):
        session.purge()

    assert session.data == original
    assert restoring.read_notes_and_problems(home_dir, "session") == ([], [])


def test_what_the_last_version_purged_comes_back_and_references_still_lead_on(
    world: Path,
) -> None:
    """Two purges and a repair by 56b1cf2, at a place that is not there any more."""
    with tarfile.open(MADE_BEFORE) as made:
        made.extractall(world, filter="data")
    folder = world / "upgrade"
    path, home_dir = folder / "session.jsonl", str(folder / "home")
    purged = path.read_bytes()
    keys = set(re.findall(rb"(\d+) bytes[^:]*: (sha256:[0-9a-f]{64})", purged))
    assert len(keys) > 3
    for count, key in keys:
        assert len(contents.read_content(home_dir, key.decode())) == int(count)
    *_, first = restoring.read_notes_and_problems(home_dir, "session")[0]
    second = sorted(folder.glob("*.backup.*"))[1].read_bytes()
    path.write_bytes(purged + LATE)

    Recorded(str(path), home_dir=home_dir).restore()

    appended = second[first.after.length :] + b'{"type":"torn\n' + LATE
    assert path.read_bytes() == (folder / "original").read_bytes() + appended


@pytest.fixture
def brimline(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """The command."""

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["brimline", "session", "backups", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capsys.readouterr()
        return int(ended.value.code or 0), captured.out, captured.err

    return run


@pytest.fixture
def backed_up(world: Path) -> Path:
    """A session where the client keeps sessions, with three backups: 1, 10 and 40 days old."""
    folder = f"{paths.client_config_dir()}/projects/-a-project"
    path = machines.make_session(world / folder / "s1.jsonl")
    for days in (1, 10, 40):
        _backup(path, days)
    return path


def _backup(session: Path, days: float) -> None:
    moment = time.time() - days * DAY_S
    stamp = time.strftime("%Y%m%d_%H%M%S", time.localtime(moment))
    path = session.with_name(f"{session.name}.backup.{stamp}")
    path.write_bytes(b"x" * 200)
    os.utime(path, (moment, moment))


def test_backups_are_listed_and_pruned_after_a_question(
    backed_up: Path, brimline: Callable[..., tuple[int, str, str]]
) -> None:
    """All, those of an id or of a file; those that are older than so many days go.

    Also of a session that is gone, and subagents' too; other files beside them are no backups.
    """
    for name in ("s1.jsonl.backup.today", "s1.jsonl.backup.20260101_000000.txt", "s1.jsonl.bak"):
        (backed_up.parent / name).write_bytes(b"")
    (backed_up.parent / "s1.jsonl.backup.20200101_000000").mkdir()
    backed_up.unlink()
    agent = machines.make_session(backed_up.parent / "s1" / "subagents" / "agent-a.jsonl")
    _backup(agent, 3)
    for named, count in (((), 4), ((str(agent),), 1), (("--session", "s1"), 3)):
        assert json.loads(brimline(*named, "--json")[1])["count"] == count
    assert "3 backups, 600 B." in brimline("--session", "s1")[1]
    code, _, err = brimline("--prune", "0")
    assert (code, "--yes" in err) == (1, True)
    assert len(restoring.all_backups()) == 4
    assert brimline("nowhere.jsonl")[0] == 1

    done = json.loads(brimline("--prune", "5", "--session", "s1", "--json", "--yes")[1])

    assert done["count"] == 2
    assert [round((time.time() - b.made_at) / DAY_S) for b in restoring.all_backups()] == [1, 3]
    assert brimline("--prune", "0", "--yes")[1] == "2 backups (400 B) deleted.\n"
    assert restoring.all_backups() == []


@pytest.fixture
def path(world: Path) -> Path:
    """A session of forty rows."""
    return machines.make_session(world / "p" / "s.jsonl")


@pytest.mark.parametrize(("age_s", "stays"), [(-1.0, True), (0.0, True), (0.001, False)])
def test_notes_of_gone_sessions_go_from_before_a_time(
    path: Path, home_dir: str, age_s: float, stays: bool
) -> None:
    """Not of that very moment."""
    machines.run(path, home_dir)
    (note,) = restore.read_notes_and_problems(home_dir, "s")[0]
    os.unlink(path)

    restore.forget_notes_of_gone_sessions(home_dir, note.at + age_s)

    assert restore.sessions_with_notes(home_dir) == (["s"] if stays else [])


NOTHING = Fingerprint(0, "")


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


@pytest.mark.parametrize("why", ["no backup", "another backup", "changed", "moved"])
def test_why_a_rewrite_cannot_be_undone_is_told(
    path: Path, home_dir: str, world: Path, why: str
) -> None:
    """The backup is gone, or somebody else wrote since; what is another file has no way back."""
    before = path.stat().st_size
    backup = Path(str(machines.run(path, home_dir).backup))
    session = path
    if why == "no backup":
        backup.unlink()
    elif why == "another backup":
        backup.write_bytes(b"x" * before)
    elif why == "changed":
        path.write_bytes(b"{}\n")
    else:
        session = world / "elsewhere" / "s.jsonl"
        session.parent.mkdir()
        session.write_bytes(b"{}\n")

    if why == "moved":
        found = restore.plan_full_restore(str(session), home_dir)
        assert (found.undone, found.problems) == ([], [])
        return
    with pytest.raises(RewriteError) as raised:
        restore.plan_full_restore(str(session), home_dir)

    gone = f"the backup of {path} with {before:,} bytes is gone, or not what it was"
    changed = f"{path} was changed by another program since a rewrite: what it was is in its backup"
    told = f"{changed} ({before:,} bytes)" if why == "changed" else gone
    assert str(raised.value) == told


def test_with_the_last_note_goes_what_was_left_beside_it(path: Path, home_dir: str) -> None:
    """A note that was cut short while it was written."""
    machines.run(path, home_dir)
    (note,) = restore.read_notes_and_problems(home_dir, "s")[0]
    folder = Path(note.file).parent
    (folder / "unfinished").write_text("half")

    restore.remove_note(note)

    assert not folder.exists()
