"""Starts the `brimline` command: Ctrl-C ends it without a traceback, from the first import on."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any, NoReturn

_INTERRUPTED = 130
_READER_GONE = 141


def main() -> None:
    """Run the program; a problem is told in one sentence and a non-zero exit code."""
    try:
        before = signal.signal(signal.SIGINT, _leave)
    except ValueError:  # within a thread nobody presses Ctrl-C
        before = None
    try:
        from brimline.cli import surface

        if before is not None:
            # From here on a command may have work to finish or to undo.
            signal.signal(signal.SIGINT, before)
        code = surface.run()
    except KeyboardInterrupt:
        code = _INTERRUPTED
    except BrokenPipeError:
        # The reader (`head`, a pager) has seen enough; Python must not complain while it ends.
        sys.stderr.close()
        code = _READER_GONE
    sys.exit(code)


def _leave(_number: int, _frame: Any) -> NoReturn:
    os._exit(_INTERRUPTED)
