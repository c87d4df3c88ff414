"""Writes a changed copy of a session under a new id; the session itself is only ever read.

A copy is taken up to the last whole line. Its id follows from what is in it, so that the same
change of the same session is the same copy, and it appears with one rename, when it has been proved
and all that belongs to it is there. Its rows say which session they come from, as the client's own
branches do, so that nothing counts twice.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
import time
import uuid
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from brimline import models
from brimline.errors import BrimlineError
from brimline.fast import io, json, paths
from brimline.session.copies import FOLDER, PURGED, REPAIRED, RESTORED, UNCOMPACTED
from brimline.transcript import find, read, row, words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import IO, BinaryIO

    from brimline.transcript.read import Line

# Tests put a disk here that is full, or a machine that stops in the middle.
system: Any = os

BLOCK_BYTES = 1 << 20
_DRAFT = ".brimline-copy"
_ABANDONED_S = 3_600.0
_LOOK_BYTES = 1 << 16
_TITLE_CHARACTERS = 80
_ENDING = re.compile(rf" \((?:{PURGED}|{REPAIRED}|{RESTORED}|{UNCOMPACTED})\)$")
_SESSION_ID = re.compile(rb'("sessionId"\s*:\s*)"[\w-]*"')
# What the client keeps of a session in its configuration folder, and goes on from in a copy.
_FOLDERS_BY_SESSION = ("file-history", "tasks")


class CopyError(BrimlineError):
    """A session cannot be copied, or the copy is not sound; there is none then."""


class Copied(NamedTuple):
    """A copy that is there."""

    original: str  # the session that was read: the target where a link was named
    path: str
    length: int  # how much of the original was read
    size_bytes: int
    last_at: str  # the time of the last row in it, as the client spells it
    is_new: bool  # False where it had been made before

    @property
    def session(self) -> str:
        """Its id."""
        return find.session_id_of(self.path)


@dataclass(slots=True)
class Order:
    """What is to be copied, and how.

    `make_new(old, length, new)` writes the new rows for the first `length` bytes of `old`, which
    end with a line, into `new`. `verify(new)` raises `CopyError` where they are not sound; they
    have the id of the copy after that. `about()` says what else goes on record.
    """

    path: str
    home_dir: str
    kind: str
    make_new: Callable[[BinaryIO, int, BinaryIO], None]
    verify: Callable[[BinaryIO], None] = lambda _: None
    about: Callable[[], dict[str, Any]] = dict
    length: int | None = None  # no more of it than that
    last_at: str = field(default="", init=False)


def write_copy(order: Order) -> Copied:
    """Put a copy beside a session; one that is there already stays as it is.

    Raises:
        CopyError: the session cannot be read or changed meanwhile, the copy is not sound, or the
            disk refused; then there is no copy.
    """
    session = order.path = os.path.realpath(order.path)
    try:
        with read.open_transcript_file(session) as old:
            length = whole_lines_length(old) if order.length is None else order.length
            with tempfile.TemporaryFile(dir=os.path.dirname(session)) as new:
                before = _digest(old, length)
                made = cast("BinaryIO", new)
                old.seek(0)
                order.make_new(old, length, made)
                if _digest(old, length) != before:
                    raise changed_meanwhile_error(session)
                new.seek(0)
                order.verify(made)
                return _name_and_place(order, made, length)
    except OSError as error:
        place = os.fsdecode(error.filename or os.path.dirname(session))
        reason = f"{session} cannot be copied ({place}: {error.strerror or error})"
        raise CopyError(f"{reason}; there is no copy, and the session is as it was") from error


def changed_meanwhile_error(session: str) -> CopyError:
    """Return what says that others wrote over what was being read."""
    told = "was changed by another program while it was being copied: there is no copy, try again"
    return CopyError(f"{session} {told}")


def thinking_notice(last_row: dict[str, Any], first_message: str) -> bytes:
    """Return the client's own row by which it does not send thinking again, from a message on.

    It was made behind what is another text now, and the service would refuse it.
    """
    last = row.uuid_of(last_row)
    name = str(uuid.uuid5(uuid.NAMESPACE_OID, f"{last} {first_message}"))
    from brimline.session.survey import row_bytes

    notice = row.make_strip_thinking_notice(last_row, name, last, first_message)
    return row_bytes(notice) + b"\n"


def notice_for_thinking_behind(new: BinaryIO, offset: int) -> bytes:
    """Return the same for what a copy in the making has behind a place; maybe none."""
    from brimline.session.survey import take_survey

    length = new.tell()
    new.seek(0)
    survey = take_survey(new, length, None)
    new.seek(length)
    behind = [thought for thought in survey.sent.thoughts if thought.offset >= offset]
    if not behind or not models.lookup_model(survey.model).binds_thinking:
        return b""
    return thinking_notice(survey.last_row, behind[0].message_id)


def whole_lines_length(file: BinaryIO) -> int:
    """Return up to where a session is copied: its last line only where that is whole."""
    size = end = os.fstat(file.fileno()).st_size
    while end:
        begin = max(0, end - _LOOK_BYTES)
        found = os.pread(file.fileno(), end - begin, begin).rfind(b"\n")
        if found >= 0:
            end = begin + found + 1
            break
        end = begin
    file.seek(end)
    rest = next(read.lines_of_stream(file, size - end), None)
    return size if rest is not None and rest.only_row is not None else end


def read_blocks(descriptor: int, start: int, end: int) -> Iterator[bytes]:
    """Return a range of a file, as far as it goes."""
    while start < end and (block := os.pread(descriptor, min(BLOCK_BYTES, end - start), start)):
        yield block
        start += len(block)


def _digest(file: BinaryIO, length: int) -> str:
    hashed = sha256()
    for block in read_blocks(file.fileno(), 0, length):
        hashed.update(block)
    return hashed.hexdigest()


def _name_and_place(order: Order, new: BinaryIO, length: int) -> Copied:
    """Give the rows their session, and let the copy appear."""
    folder, original = os.path.dirname(order.path), find.session_id_of(order.path)
    content = _digest(new, os.fstat(new.fileno()).st_size)
    hashed = sha256(f"{original} {order.kind} {content}".encode()).digest()
    name = str(uuid.UUID(bytes=hashed[:16], version=4))
    path = f"{folder}/{name}.jsonl"
    draft = f"{folder}/{name}.{os.getpid()}{_DRAFT}"
    remove_abandoned_drafts(folder)
    try:
        new.seek(0)
        with open(draft, "xb", buffering=BLOCK_BYTES, opener=_open_privately) as file:
            size = _write_named_rows(order, new, file, name)
            file.flush()
            system.fsync(file.fileno())
        is_new = not os.path.exists(path)
        if is_new:
            shutil.copymode(order.path, draft)
            copy_belongings(order.path, name)
            _note_copy(order, path, length)
            system.rename(draft, path)
            _sync_folder(folder)
        return Copied(order.path, path, length, size, order.last_at, is_new)
    finally:
        io.remove(draft)


def _open_privately(path: str, flags: int) -> int:
    return int(system.open(path, flags | os.O_CLOEXEC, 0o600))


def _write_named_rows(order: Order, new: BinaryIO, file: IO[bytes], name: str) -> int:
    """Write the rows with the id of the copy, and its title behind them; how many bytes that is."""
    from brimline.session.survey import row_bytes

    original, titles, last = find.session_id_of(order.path), ["", ""], b"\n"
    size = 0
    for line in read.lines_of_stream(new):
        for record in line.records:
            titles[0] = row.title_of(record.value) or titles[0]
            titles[1] = titles[1] or words.users_own_message(record.value)
            order.last_at = row.timestamp_text_of(record.value) or order.last_at
        last = _line_in_copy(line, name, original)
        size += file.write(last)
    title = _ENDING.sub("", " ".join((titles[0] or titles[1] or original).split()))
    kind = f" ({order.kind})"  # lists cut what is longer
    made = title[: _TITLE_CHARACTERS - len(kind)] + kind
    ended = b"" if last.endswith(b"\n") or not last else b"\n"
    return size + file.write(ended + row_bytes(row.make_title_row(made, name)) + b"\n")


def _line_in_copy(line: Line, name: str, original: str) -> bytes:
    """Return a line with the id of the copy; what else is on it stays, byte for byte."""
    if not line.exact:
        return _SESSION_ID.sub(rb'\1"%s"' % name.encode(), line.raw)
    parts, at = [], 0
    for start, end, value in line.records:
        copied = row.row_in_copy(value, name, original)
        if copied is None and len(line.records) == 1 and line.problem is None:
            return b""
        raw = line.raw[start:end]
        parts += [line.raw[at:start], _renamed(raw, value, copied) if copied else raw]
        at = end
    return b"".join([*parts, line.raw[at:]])


def _renamed(raw: bytes, value: dict[str, Any], copied: dict[str, Any]) -> bytes:
    """Return a row's bytes in the copy; written anew only where its id is there twice."""
    from brimline.session.survey import row_bytes

    named, count = _SESSION_ID.subn(rb"\1%s" % row_bytes(copied.get("sessionId")), raw)
    if count != ("sessionId" in value):
        return row_bytes(copied)
    added = {key: copied[key] for key in copied if key not in value}
    return named[:-1] + b"," + row_bytes(added)[1:] if added else named


def copy_belongings(session: str, name: str) -> None:
    """Copy what the client keeps of a session elsewhere: files to go back to, tasks, subagents.

    Raises:
        OSError: something of it cannot be read or written.
    """
    copy, original = f"{os.path.dirname(session)}/{name}.jsonl", find.session_id_of(session)
    if paths.safe_session_id(original) != original or os.path.islink(session[: -len(".jsonl")]):
        return  # `..` and links lead elsewhere
    *_, agents = targets = _folders_of_belongings(copy)
    for source, target in zip(_folders_of_belongings(session), targets, strict=True):
        _copy_folder(source, target)
    for path in [f"{agents}/{each}" for each in io.list_names(agents) if each.endswith(".jsonl")]:
        with read.open_transcript_file(path) as file:
            lines = [_line_in_copy(line, name, original) for line in read.lines_of_stream(file)]
        io.replace_file(path, b"".join(lines))


def delete_copy(path: str) -> None:
    """Delete a copy with what was copied for it.

    Raises:
        OSError: something of it cannot be deleted.
    """
    io.remove(path)
    for folder in [*_folders_of_belongings(path), path.removesuffix(".jsonl")]:
        shutil.rmtree(folder, ignore_errors=not os.path.isdir(folder))


def _folders_of_belongings(session: str) -> list[str]:
    """Return what the client keeps of a session elsewhere, its subagents last."""
    name = find.session_id_of(session)
    head, mark, _ = os.path.dirname(session).rpartition("/projects/")
    config = head if mark else paths.client_config_dir()
    inside = session.removesuffix(".jsonl")
    return [f"{config}/{folder}/{name}" for folder in _FOLDERS_BY_SESSION] + [f"{inside}/subagents"]


def _copy_folder(source: str, target: str) -> None:
    if os.path.isdir(source) and not os.path.islink(source):
        with contextlib.suppress(shutil.Error):  # what was taken away meanwhile
            shutil.copytree(source, target, dirs_exist_ok=True, ignore=_locks_and_links)


def _locks_and_links(folder: str, names: list[str]) -> list[str]:
    """Return what is not copied: a link may lead anywhere."""
    return [name for name in names if name == ".lock" or os.path.islink(f"{folder}/{name}")]


def _note_copy(order: Order, path: str, length: int) -> None:
    """Put on record what the copy is one of, before it is there."""
    about = {"v": 1, "path": path, "original": order.path, "kind": order.kind, "bytes": length}
    folder = f"{order.home_dir}/{FOLDER}"
    io.make_folder_and_parents(folder)
    data = json.dumps(about | {"at": time.time()} | order.about()).encode() + b"\n"
    io.replace_file(f"{folder}/{find.session_id_of(path)}.json", data)


def _sync_folder(folder: str) -> None:
    """See that the names in a folder are on the disk, where the system can do that."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        try:
            system.fsync(descriptor)
        finally:
            os.close(descriptor)


def remove_abandoned_drafts(folder: str) -> None:
    """Remove what commands that were killed left in a folder."""
    for name in io.list_names(folder):
        path = f"{folder}/{name}"
        if name.endswith(_DRAFT) and time.time() - find.modified_at(path) > _ABANDONED_S:
            io.remove(path)
