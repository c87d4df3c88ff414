"""Starts the `brimline` command: Ctrl-C ends it without a traceback, from the first import on."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any, NoReturn

_INTERRUPTED = 130
_READER_GONE = 141
# How the MCP server is started, with the folders behind it.
REGISTERED = ["mcp", "--data"]


def main() -> None:
    """Run the program; a problem is told in one sentence and a non-zero exit code."""
    before = signal.getsignal(signal.SIGINT)
    # In the background Ctrl-C is ignored, which is to stay so.
    is_usual = before is signal.default_int_handler
    if sys.argv[1:]:  # a shell that completes a line gives no words
        _drop_variables_that_act_before_us()
    try:
        if is_usual:
            signal.signal(signal.SIGINT, _handle_sigint_by_exit)
        if sys.argv[1:3] == REGISTERED:  # the client waits for it, and click takes as long again
            from brimline.mcp import server

            server.main(sys.argv[2:])
            return
        from brimline.cli import surface

        if is_usual:
            # From here on a command may have work to finish or to undo.
            signal.signal(signal.SIGINT, before)
        code = surface.run()
    except KeyboardInterrupt:
        code = _INTERRUPTED
    except BrokenPipeError:
        # The reader (`head`, a pager) has seen enough; Python must not complain while it ends.
        os._exit(_READER_GONE)
    sys.exit(code)


def _drop_variables_that_act_before_us() -> None:
    """A project can set them: one has the interpreter load a module in spite of `-I`."""
    for name in [name for name in os.environ if name.startswith(("_PYTHON", "_BRIMLINE"))]:
        del os.environ[name]


def _handle_sigint_by_exit(_number: int, _frame: Any) -> NoReturn:
    os._exit(_INTERRUPTED)
