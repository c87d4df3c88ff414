"""The complete lines of a transcript from a place on, and which of them are worth parsing."""

from __future__ import annotations

from _blake2 import blake2b

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

# No row that matters is longer; a longer one is passed over without being held in memory.
LONGEST_LINE = 8 << 20
_BLOCK = 1 << 20
_FINGERPRINT_BYTES = 2_048
# Quotes inside JSON texts are escaped, so only real keys can match.
_TYPES = (b'"user"', b'"assistant"', b'"attachment"', b'"system"')
_SIDECHAIN = b'"isSidechain":true'
_RESULT = b'"tool_result"'
_TASK_TOOLS = (
    *(b'"name":"TaskCreate"', b'"name":"TaskUpdate"', b'"name":"TodoWrite"'),
    *(b'"name":"ExitPlanMode"', b'"name":"AskUserQuestion"'),
)
_TASK_RESULTS = (b'"toolUseResult":{"task":', b'"taskId":', b'"answers":', b'"plan":')
_LONGEST_TASK_RESULT = 32 << 10


class Lines:
    """A file's lines, with the end of the last complete one that was handed out."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.size = file.seek(0, 2)
        self.end = 0

    def read_from(self, start: int) -> Iterator[bytes]:
        """The lines from a place on, at last one that is not complete yet.

        Those that are too long are left out. `next_start` may be called in between.
        """
        self.file.seek(start)
        self.end = start
        while self.end < self.size:
            line = self.file.readline(LONGEST_LINE)
            if line.endswith(b"\n"):
                self.end += len(line)
                yield line
            elif len(line) < LONGEST_LINE:
                yield line  # it is read again once it is complete
                return
            elif self._pass_over():
                self.end = self.file.tell()
            else:
                return

    def next_start(self, target: int) -> int:
        """Go on with the first line that begins at or after a place; returns where that is."""
        self.file.seek(max(0, target - 1))
        if target > 0:
            self._pass_over()
        self.end = self.file.tell()
        return self.end

    def _pass_over(self) -> bool:
        """Read to the end of the line; False where the file ends first."""
        while piece := self.file.readline(_BLOCK):
            if piece.endswith(b"\n"):
                return True
        return False


def is_wanted(line: bytes) -> bool:
    """Whether a line may be a row of the main thread that says or does something."""
    return _SIDECHAIN not in line and any(name in line for name in _TYPES)


def is_said(line: bytes) -> bool:
    """Whether a line may hold the user's words, or what became of tasks, plans and questions."""
    if _RESULT in line:
        return len(line) < _LONGEST_TASK_RESULT and any(mark in line for mark in _TASK_RESULTS)
    if b'"assistant"' in line:
        return any(name in line for name in _TASK_TOOLS)
    return b'"type":"progress"' not in line and is_wanted(line)


def fingerprint(file: BinaryIO, offset: int) -> str:
    """Stands for the beginning of a file and for what comes right before a place in it."""
    file.seek(0)
    digest = blake2b(file.read(min(offset, _FINGERPRINT_BYTES)), digest_size=12)
    file.seek(max(0, offset - _FINGERPRINT_BYTES))
    digest.update(file.read(min(offset, _FINGERPRINT_BYTES)))
    return digest.hexdigest()
