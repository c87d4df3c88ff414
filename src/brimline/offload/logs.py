"""Which lines of a log are shown: folded runs, failures once per message, both ends. Pure."""

from __future__ import annotations

from collections import deque

from brimline.offload import alarms, signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from brimline.offload.board import Board

_FOLD_FROM_LINES = 3
_MOST_FOLDS = 4


def choose(board: Board, alarms_share: float, width: int) -> None:
    """Show runs of equal lines, then what went wrong."""
    lines = board.source.lines
    board.opening = alarms.shared_opening([line for line in lines if line.strip()])
    _choose_folds(board, width)
    _choose_alarms(board, alarms_share, width)


def fill(board: Board, room: int, width: int) -> None:
    """Use room that names leave for more lines, from both ends in turn, none like another."""
    lines, reserved = board.source.lines, board.left - room
    shown = {alarms.alike(lines[position]) for position in board.picks}
    free = deque(i for i, line in enumerate(lines) if line.strip() and i not in board.taken)
    from_end = False
    while free and board.left > reserved + width + board.frame:
        position = free.pop() if from_end else free.popleft()
        form = alarms.alike(lines[position])
        if form not in shown:
            shown.add(form)
            board.pick(position, width)
            from_end = not from_end


def _choose_folds(board: Board, width: int) -> None:
    """Show the longest runs of equal lines, each as one line with its count."""
    lines, numbers = board.source.lines, board.source.numbers
    runs, start = [], 0
    for position in range(1, len(lines) + 1):
        if (
            position < len(lines)
            and lines[position] == lines[start]
            and numbers[position] == numbers[position - 1] + 1
        ):
            continue
        if position - start >= _FOLD_FROM_LINES and lines[start].strip():
            runs.append((start - position, start, position - 1))
        start = position
    for length, first, last in sorted(runs)[:_MOST_FOLDS]:
        board.pick(first, width, last, f" (×{-length})")


def _choose_alarms(board: Board, share: float, width: int) -> None:
    """Show what failed, once per message, however often it came."""
    limit = board.left - int(board.budget * share)
    lines = board.source.lines
    loud: dict[str, list[tuple[int, int]]] = {}
    for weight, position in alarms.find(lines):
        form = alarms.alike(signal.clean(lines[position][: 4 * width]))
        loud.setdefault(form, []).append((-weight, position))
    for messages in sorted(loud.values()):
        note = f" (+{len(messages) - 1} alike)" if len(messages) > 1 else ""
        if board.left <= limit or not board.pick(messages[0][1], width, note=note):
            break
