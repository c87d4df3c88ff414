"""Swaps a verified copy in for a session file, with a backup; no line is ever in neither file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO

    MakeNew = Callable[[BinaryIO, int, BinaryIO], None]
    Verify = Callable[[str, int, str], None]


@dataclass(frozen=True, slots=True)
class Rewritten:
    """What one rewrite did."""

    path: str  # the session file that was swapped: the target where a link was named
    backup: str | None  # the byte-exact copy of the first `length` bytes; None when not `swapped`
    bytes_before: int  # the snapshot's length, which `make_new` was given
    bytes_after: int  # what `make_new` wrote
    spliced_bytes: int  # appended to the old file meanwhile, and carried over
    spliced_lines: int
    swapped: bool  # False when `make_new` wrote exactly the bytes it was given


def rewrite(
    path: str,
    make_new: MakeNew,
    verify: Verify,
    *,
    home_dir: str,
    quiet_s: float = 1.0,
    live: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Rewritten:
    """Put `make_new`'s version of a session in its place.

    `make_new(old, length, new)` streams the new content for the first `length` bytes of `old`
    into `new`. `length` ends after a line break, or at the end of a file whose last line is torn
    and has been so for a while. Both files are open in binary mode, `old` at its beginning.

    `verify(old_path, length, new_path)` raises `PurgeError` where the copy is not sound: then
    nothing is swapped and nothing is left behind but the backup that was there before.

    `progress` is called with numbers of bytes read, from `make_new`'s reading of `old` alone.

    Raises:
        LiveError: the session is in use and `live` is False.
        BusyError: another brimline command is rewriting it.
        PurgeError: it is no file to rewrite, the copy is not sound, or the disk refused.
    """
    raise NotImplementedError
