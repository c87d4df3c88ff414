"""Purges a session: surveys it, plans, writes the copy, proves it, and has it swapped in.

How a rewrite keeps every line is told in docs/explanation/rewriting-sessions.md.
"""

from __future__ import annotations

import os
from array import array
from typing import TYPE_CHECKING, Any
from zlib import crc32

from brimline.session import plan as planning
from brimline.session import survey as surveying
from brimline.session.disk import BLOCK_BYTES, RewriteError
from brimline.session.rewrite import Order, rewrite
from brimline.session.survey import COPY
from brimline.store import contents, layout, pins, put
from brimline.transcript import find
from brimline.transcript import row as shapes
from brimline.transcript.read import Line

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO

    from brimline.session.plan import Edit, Options, Plan
    from brimline.session.rewrite import Rewritten


def prepare(
    path: str, options: Options, home_dir: str, progress: Callable[[int], None] | None = None
) -> Plan:
    """Look at a session and decide; changes nothing, neither the file nor the store.

    Raises:
        StoreError: the pins cannot be read.
        OSError: the session cannot be read.
    """
    with open(path, "rb", buffering=BLOCK_BYTES) as file:
        size = os.fstat(file.fileno()).st_size
        survey = surveying.survey(
            file, size, threshold_bytes=options.threshold_bytes, progress=progress
        )
    plan = planning.make(survey, options, pins.pinned(home_dir))
    # Only a plan is made from these; it keeps what it needs.
    survey.items, survey.uses, survey.conversation = [], [], []
    survey.answered, survey.referenced = set(), set()
    return plan


def purge(
    path: str,
    plan: Plan,
    home_dir: str,
    *,
    quiet_s: float = 1.0,
    progress: Callable[[int], None] | None = None,
    on_wait: Callable[[], None] | None = None,
) -> Rewritten:
    """Do it; `on_wait` is called when a program goes on writing to the old file.

    Raises:
        InUseError: the session is in use.
        BusyError: another command is rewriting it.
        RewrittenError: it was done, but the work after the swap was cut short.
        RewriteError: the copy is not sound, or the session changed; nothing was changed.
    """
    purged = _PurgedCopy(plan, home_dir, find.session_id_of(path), progress)
    order = Order(path, home_dir, purged.make_new, purged.verify, purged.note, quiet_s)
    order.on_wait = on_wait
    return rewrite(order)


class _PurgedCopy:
    """The steps of a purge in the order in which `rewrite` takes them."""

    def __init__(
        self, plan: Plan, home_dir: str, session: str, progress: Callable[[int], None] | None
    ) -> None:
        self._plan = plan
        self._home_dir, self._session = home_dir, session
        self._progress = progress or (lambda _: None)
        self._keys: dict[str, None] = {}
        self._lengths, self._checks = array("q"), array("L")
        self.note: dict[str, Any] = {"context_tokens": plan.context_tokens, "keys": []}

    def make_new(self, old: BinaryIO, length: int, new: BinaryIO) -> None:
        """Write the copy, and store what it lacks; what lies between changes is copied in blocks.

        Raises:
            RewriteError: the session is not the one that the plan was made for.
            OSError: it cannot be read or written.
        """
        at = 0
        for mark, edits in self._plan.changes.items():
            self._copy(old, mark.offset - at, new)
            raw = old.read(mark.length)
            at = mark.offset + mark.length
            if at > length or surveying.check_of(raw) != mark.check:
                raise _changed()
            if edits:
                changed = self._edited(raw, edits)
                self._lengths.append(len(changed))
                self._checks.append(crc32(changed))
                new.write(changed)
            self._progress(mark.length)
        self._copy(old, length - at, new)
        self.note["keys"] = list(self._keys)

    def _copy(self, old: BinaryIO, count: int, new: BinaryIO) -> None:
        while count > 0:
            block = old.read(min(count, BLOCK_BYTES))
            if not block:
                raise _changed()
            new.write(block)
            self._progress(len(block))
            count -= len(block)

    def _edited(self, raw: bytes, edits: list[Edit]) -> bytes:
        """A line as it is to be; what is on it around the row stays."""
        first = edits[0].item
        if len(edits) == 1 and first.span:
            start, end = first.span
            if not raw.startswith(surveying.COPY_KEY, start):
                raise _changed()
            return raw[:start] + raw[end:]
        start, end, row = Line(1, 0, raw).records[0]
        for edit in edits:
            if edit.item.kind == COPY:
                del row[shapes.COPY_FIELD]
            else:
                self._replace(row, edit)
        return raw[:start] + surveying.encoded(row) + raw[end:]

    def _replace(self, row: dict[str, Any], edit: Edit) -> None:
        """Put a reference in the place of a text, which goes into the store."""
        item = edit.item
        place: Any = row
        for step in item.path[:-1]:
            place = place[step]
        text = place[item.path[-1]]
        place[item.path[-1]] = planning.replacement(*edit)
        meta: dict[str, Any] = {
            "tool": item.call.name if item.call else None,
            "source": item.call.source if item.call else None,
            "exit": planning.exit_code_of(item),
            "session": self._session,
        }
        meta = {name: value for name, value in meta.items() if value is not None}
        try:
            key = put.put(self._home_dir, text.encode(), meta, is_last=False)
        except OSError as error:
            raise RewriteError(
                f"the store in {self._home_dir} cannot take what leaves the session "
                f"({error.strerror or error}): nothing was changed"
            ) from error
        if key != planning.key_of(item):
            raise _changed()
        self._keys[key] = None

    def verify(self, old_path: str, length: int, new_path: str) -> None:
        """See that the copy on the disk is what was meant, and that the store has what it lacks."""
        edited = iter(zip(self._lengths, self._checks, strict=True))
        with (
            open(old_path, "rb", buffering=BLOCK_BYTES) as old,
            open(new_path, "rb", buffering=BLOCK_BYTES) as new,
        ):
            at = 0
            for mark, edits in self._plan.changes.items():
                _require_same(old, new, mark.offset - at)
                at = old.seek(mark.offset + mark.length)
                if edits:
                    size, check = next(edited)
                    if crc32(new.read(size)) != check:
                        raise _unsound()
            _require_same(old, new, length - at)
            if new.read(1):
                raise _unsound()
        dropped = self._plan.dropped
        for name, parent in self._plan.survey.parents.items():
            if parent in dropped and name not in dropped:
                raise _unsound()
        for key in self._keys:
            if contents.header(self._home_dir, layout.digest_of(key)) is None:
                raise RewriteError(
                    f"{key} did not arrive in the store: nothing was changed, try again"
                )


def _require_same(old: BinaryIO, new: BinaryIO, count: int) -> None:
    while count > 0:
        block = new.read(min(count, BLOCK_BYTES))
        if not block or old.read(len(block)) != block:
            raise _unsound()
        count -= len(block)


def _changed() -> RewriteError:
    return RewriteError(
        "the session was changed by another program while it was being read: nothing was changed, "
        "try again"
    )


def _unsound() -> RewriteError:
    return RewriteError("the copy is not sound: nothing was changed; please report this")
