"""A bar on a terminal for what takes longer than a second; anywhere else it costs nothing."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from types import TracebackType

_AFTER_S = 1.0
_STEPS = 400


class Progress:
    """Shows how much of some bytes is done, once it has taken a second."""

    def __init__(self, label: str, total_bytes: int) -> None:
        self._label = label
        self._total = total_bytes
        self._done = self._next = 0
        self._wanted = total_bytes > 0 and os.isatty(2)
        self._begun = time.monotonic()
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Self:
        """Start the clock."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leave the bar as it is."""
        if self._bar is not None:
            self._bar.stop()

    def update(self, size_bytes: int) -> None:
        """That much more is done."""
        self._done += size_bytes
        if not self._wanted or self._done < self._next:
            return
        # Drawing takes far longer than a line, of which there may be a million.
        self._next = self._done + self._total // _STEPS
        if self._bar is not None:
            self._bar.update(self._task, completed=self._done)
        elif time.monotonic() - self._begun > _AFTER_S:
            self._start()

    def follow(self) -> None:
        """Say that the work is done, and what is still waited for."""
        if not self._wanted:
            return
        if self._bar is not None:
            self._bar.stop()
        sys.stderr.write(
            "Rewritten. A program still writes to the former file: following it for up to 30 s\n"
            "(Ctrl-C is safe now: later lines are added by the next `brimline session` command).\n"
        )
        sys.stderr.flush()

    def _start(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        self._bar = Bar(
            TextColumn("{task.description}"),
            BarColumn(),
            DownloadColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
        )
        self._task = self._bar.add_task(self._label, total=self._total, completed=self._done)
        self._bar.start()
