"""Which files of a session the model has seen as a preview only, and the guard for those.

Fast path: imports only `brimline.fastio` and `brimline.paths`. After a replaced Read the client
itself would let the model overwrite lines that it never saw.
"""

from __future__ import annotations

from brimline import fastio, paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from brimline.state.session import SessionState

_PREVIEWED = "offload-read-"
_WHOLE = "offload-whole-"
_WARNED = "offload-warned-"
# The client takes blank lines off the ends of what a command prints.
_WHOLE_RATIO = 0.98


class Looks:
    """What a session's marks say about files that were shown as a preview; answers `path in`."""

    __slots__ = ("_cwd", "_state")

    def __init__(self, state: SessionState, cwd: str) -> None:
        self._state = state
        self._cwd = cwd

    def __contains__(self, path: object) -> bool:
        """Whether the file was shown as a preview before: the next look at it is at the whole."""
        return isinstance(path, str) and self._mark(_PREVIEWED, path) in self._state.names

    def claim_preview(self, path: str, key: str, size_bytes: int) -> bool:
        """Take the right to show a preview of a file; of parallel hooks exactly one gets it."""
        mark = self._path(_PREVIEWED, path)
        return fastio.create_exclusively(mark, f"{key} {size_bytes}".encode())

    def note_whole(self, path: str) -> None:
        """The model has seen all of a file."""
        fastio.create_exclusively(self._path(_WHOLE, path), b"")

    def note_recalled(self, key: str, shown_bytes: int) -> None:
        """A stored output was fetched; a file of which all came back has been seen whole."""
        for name in self._state.names:
            if name.startswith(_PREVIEWED) and self._came_back(name, key, shown_bytes):
                whole = _WHOLE + name[len(_PREVIEWED) :]
                fastio.create_exclusively(f"{self._state.folder}/{whole}", b"")

    def claim_warning(self, path: str) -> bool:
        """Whether an overwrite of this file is to be refused now: once, and only while unseen."""
        if path not in self or self._mark(_WHOLE, path) in self._state.names:
            return False
        return fastio.create_exclusively(self._path(_WARNED, path), b"")

    def _came_back(self, name: str, key: str, shown_bytes: int) -> bool:
        try:
            text = fastio.read_file(f"{self._state.folder}/{name}", 256).decode("ascii", "replace")
        except OSError:
            return False
        previewed, _, size = text.partition(" ")
        whole = size.isdecimal() and shown_bytes >= int(size) * _WHOLE_RATIO
        return whole and previewed == key

    def _path(self, kind: str, path: str) -> str:
        return f"{self._state.folder}/{self._mark(kind, path)}"

    def _mark(self, kind: str, path: str) -> str:
        return kind + paths.fingerprint(paths.completed(path, self._cwd))


def refusal(path: str) -> str:
    """Why an overwrite was refused, and the two ways on."""
    return (
        f"{path} was shown to you as a preview, so this Write would replace lines that you have "
        "not seen. Read the file again (it comes whole now) or change it with Edit. If replacing "
        "all of it is what you want, repeat the Write: it passes."
    )
