"""Which files of a session the model has seen as a preview only, and the guard for those.

Fast path: imports only `fast.io` and `fast.paths`. After a replaced Read the client
itself would let the model overwrite lines that it never saw. So each further look at such a file is
noted by its lines, and the guard stands until they make up the whole file.

Marks are named by the file that a path leads to: a link to a file is no other file.
"""

from __future__ import annotations

from brimline.fast import io, paths
from brimline.offload.hook import PREVIEWED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from brimline.state.session import SessionState

_LINES = "offload-lines-"
_WARNED = "offload-warned-"
# Says that the session has no past, or that what its transcript tells of it is noted too.
_PAST = "offload-past"
# How a session begins that has no past.
_FRESH = ("startup", "clear")


class Looks:
    """What a session's marks say about files that were shown as a preview; answers `path in`."""

    __slots__ = ("_cwd", "_state")

    def __init__(self, state: SessionState, cwd: str) -> None:
        self._state = state
        self._cwd = cwd

    def __contains__(self, path: object) -> bool:
        """Whether the file was shown as a preview before: the next look at it is at the whole."""
        if not isinstance(path, str) or not self._previewed():
            return False
        return self._mark(PREVIEWED, path) in self._state.names

    @property
    def knows_the_past(self) -> bool:
        """Whether what came before the session's first hook is noted."""
        return _PAST in self._state.names

    def claim_preview(self, path: str, key: str, total_lines: int) -> bool:
        """Take the right to show a preview of a file; of parallel hooks exactly one gets it."""
        mark = self._mark(PREVIEWED, path)
        data = f"{key} {total_lines}".encode()
        is_first = io.create_exclusively(f"{self._state.folder}/{mark}", data)
        self._state.names.append(mark)  # whoever made it, it is there now
        return is_first

    def note_lines(self, path: str, lines: tuple[int, int, int]) -> None:
        """The model was shown lines of a file: from, up to and with, of how many."""
        if path in self:
            self._append(self._mark(_LINES, path), *lines)

    def note_recalled(self, key: str, first: int, last: int) -> None:
        """The model fetched lines of a stored output: of every file that it is the content of."""
        for name in self._previewed():
            previewed, total_lines = self._read(name)
            if previewed == key:
                self._append(_LINES + name[len(PREVIEWED) :], first, last, total_lines)

    def note_start(self, source: str) -> None:
        """The session begins, with a past or without one."""
        if source in _FRESH:
            self.note_past()

    def note_past(self) -> None:
        """There is nothing more to be learned of the past."""
        io.create_exclusively(f"{self._state.folder}/{_PAST}", b"")

    def claim_warning(self, path: str) -> bool:
        """Whether an overwrite of this file is to be refused now: once, and only while unseen."""
        if path not in self or self._is_whole(path):
            return False
        mark = self._mark(_WARNED, path)
        return io.create_exclusively(f"{self._state.folder}/{mark}", b"")

    def _is_whole(self, path: str) -> bool:
        """Whether the lines that were shown make up the file as it was at the last look."""
        try:
            raw = io.read_file(f"{self._state.folder}/{self._mark(_LINES, path)}")
        except OSError:
            return False
        rows = [line.split() for line in raw.decode("ascii", "replace").split("\n")]
        spans = [[int(part) for part in row] for row in rows if _is_span(row)]
        reached = 0
        for first, last, _ in sorted(spans):
            if first > reached + 1:
                break
            reached = max(reached, last)
        return bool(spans) and reached >= spans[-1][2]

    def _previewed(self) -> list[str]:
        return [name for name in self._state.names if name.startswith(PREVIEWED)]

    def _read(self, name: str) -> tuple[str, int]:
        try:
            text = io.read_file(f"{self._state.folder}/{name}", 256).decode("ascii", "replace")
        except OSError:
            return "", 0
        key, _, total_lines = text.partition(" ")
        return (key, int(total_lines)) if total_lines.isdecimal() else ("", 0)

    def _append(self, name: str, first: int, last: int, total_lines: int) -> None:
        io.append_line(f"{self._state.folder}/{name}", f"{first} {last} {total_lines}")

    def _mark(self, kind: str, path: str) -> str:
        return kind + paths.fingerprint(paths.real(path, self._cwd))


def refusal(path: str) -> str:
    """Why an overwrite was refused, and the two ways on."""
    return (
        f"{path} was shown to you as a preview, so this Write would replace lines that you have "
        "not seen. Read the file again (it comes whole now) or change it with Edit. If replacing "
        "all of it is what you want, repeat the Write: it passes."
    )


def _is_span(row: list[str]) -> bool:
    return len(row) == len(("first", "last", "total")) and all(part.isdecimal() for part in row)
