"""What a session was shown of files and outputs: previews, looks since, and the guards on both.

Fast path: imports only `brimline.fast.io`, `brimline.fast.json`, `brimline.fast.paths` and `.hook`.

* After a replaced Read the client itself would let the model overwrite lines that it never saw. So
  each further look at such a file is noted by its lines, and an overwrite is refused, once, until
  they make up the whole file. Marks are named by the file that a path leads to: a link is no other.
* A preview opens an offer: the same call again passes, once, among the next ten results and while
  no file was changed. "Once" is a file that exactly one process can create.
"""

from __future__ import annotations

from brimline.fast import io, json, paths
from brimline.offload.hook import EDITED, OFFER, PREVIEWED, TAKEN, read_offer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from brimline.state.session import SessionState

_LINES = "offload-lines-"
_WARNED = "offload-warned-"
# Says that the session has no past, or that what its transcript tells of it is noted too.
_PAST = "offload-past"


class Looks:
    """What a session's marks say."""

    __slots__ = ("_cwd", "_state")

    def __init__(self, state: SessionState, cwd: str) -> None:
        self._state = state
        self._cwd = cwd

    @property
    def knows_the_past(self) -> bool:
        """Whether what came before the session's first hook is noted."""
        return _PAST in self._state.names

    def note_past(self) -> None:
        """There is nothing more to be learned of the past."""
        io.create_exclusively(self._path(_PAST), b"")
        self._state.names.append(_PAST)

    def was_previewed(self, path: str) -> bool:
        """Whether the file was shown as a preview before."""
        marked = any(name.startswith(PREVIEWED) for name in self._state.names)
        return marked and self._mark(PREVIEWED, path) in self._state.names

    def note_preview(self, path: str, key: str, total_lines: int) -> None:
        """The model is shown a preview of a file: what it saw of it before counts no more."""
        mark = self._mark(PREVIEWED, path)
        io.replace_file(self._path(mark), f"{key} {total_lines}".encode())
        for kind in (_LINES, _WARNED):
            io.remove(self._path(self._mark(kind, path)))
        self._state.names.append(mark)

    def note_lines(self, path: str, lines: tuple[int, int, int]) -> None:
        """The model was shown lines of a file: from, up to and with, of how many."""
        if self.was_previewed(path):
            self._append(self._mark(_LINES, path), *lines)

    def note_recalled(self, key: str, first: int, last: int) -> None:
        """The model fetched lines of a stored output: of every file that it is the content of."""
        for name in [name for name in self._state.names if name.startswith(PREVIEWED)]:
            previewed, _, total = self._read(name).partition(" ")
            if previewed == key and total.isdecimal():
                self._append(_LINES + name[len(PREVIEWED) :], first, last, int(total))

    def claim_warning(self, path: str) -> bool:
        """Whether an overwrite of this file is to be refused now: once, and only while unseen."""
        if not self.was_previewed(path) or self._is_whole(path):
            return False
        return io.create_exclusively(self._path(self._mark(_WARNED, path)), b"")

    def note_edit(self, path: str) -> None:
        """The model changed a file."""
        line = json.dumps(paths.real(path, self._cwd))
        io.append_line(self._path(EDITED), line)

    def was_edited(self, path: str) -> bool:
        """Whether the session changed a file."""
        if EDITED not in self._state.names:
            return False
        return json.dumps(paths.real(path, self._cwd)) in self._read(EDITED).split("\n")

    def stamp(self, named: list[str]) -> str:
        """What changes with the files that a call names; where it names none, with any edit."""
        found = []
        for path in named:
            try:
                status = io.system.stat(io.to_bytes(paths.completed(path, self._cwd)))
            except (OSError, ValueError):
                continue
            found.append(f"{status.st_mtime_ns}:{status.st_size}")
        return " ".join(found) or f"edits:{self._read(EDITED).count(chr(10))}"

    def call_name(self, agent: str, tool: str, tool_input: dict[str, Any]) -> str:
        """What tells a call from every other: who makes it, the tool, and what goes into it."""
        told = {key: tool_input[key] for key in sorted(tool_input) if key != "description"}
        path = told.get("file_path")
        if tool == "Read" and isinstance(path, str):
            told["file_path"] = paths.real(path, self._cwd)
        return paths.fingerprint(json.dumps([agent, tool, told]))

    def offer(self, call: str, stamp: str) -> bool:
        """Open the offer that the same call may pass; False where a parallel twin was first."""
        start = f"{OFFER}{call}-"
        known = [name[len(start) :] for name in self._state.names if name.startswith(start)]
        name = f"{start}{max(map(int, known), default=0) + 1}"
        self._state.names.append(name)  # whoever makes it, it is there now
        return io.create_exclusively(self._path(name), f"{stamp}\n".encode())

    def claim_repeat(self, call: str, stamp: str) -> bool:
        """Whether this is the same call again: takes the offer, which one alone can."""
        for name in [name for name in self._state.names if name.startswith(f"{OFFER}{call}-")]:
            offered, results = read_offer(self._path(name))
            # An empty one is just being written by a twin, or was read out of the transcript.
            fits = results is not None and offered in ("", stamp)
            if fits and io.create_exclusively(self._path(TAKEN + name[len(OFFER) :]), b""):
                return True
        return False

    def _is_whole(self, path: str) -> bool:
        """Whether the lines that were shown make up the file as it was at the last look."""
        rows = [line.split() for line in self._read(self._mark(_LINES, path)).split("\n")]
        spans = [[int(part) for part in row] for row in rows if _is_span(row)]
        reached = 0
        for first, last, _ in sorted(spans):
            if first > reached + 1:
                break
            reached = max(reached, last)
        return bool(spans) and reached >= spans[-1][2]

    def _read(self, name: str) -> str:
        try:
            return io.read_file(self._path(name)).decode("ascii", "replace")
        except OSError:
            return ""

    def _append(self, name: str, first: int, last: int, total_lines: int) -> None:
        io.append_line(self._path(name), f"{first} {last} {total_lines}")

    def _mark(self, kind: str, path: str) -> str:
        return kind + paths.fingerprint(paths.real(path, self._cwd))

    def _path(self, name: str) -> str:
        return f"{self._state.folder}/{name}"


def refusal(path: str) -> str:
    """Why an overwrite was refused, and the two ways on."""
    return (
        f"{path} was shown to you as a preview, so this Write would replace lines that you have "
        "not seen. Read the file again (it comes whole now) or change it with Edit. If replacing "
        "all of it is what you want, repeat the Write: it passes."
    )


def _is_span(row: list[str]) -> bool:
    return len(row) == len(("first", "last", "total")) and all(part.isdecimal() for part in row)
