"""Work on files by several processes at once, where a person waits for much of it.

Each process gets its share at the start and sends back what it made; where its reader is gone it
ends, too.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from multiprocessing import connection
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from multiprocessing.connection import Connection

_MOST_PROCESSES = 8


def made_of_each(work: Callable[[str], Any], sizes: Mapping[str, int]) -> Iterator[tuple[str, Any]]:
    """What was made of each file, in no order; of those of a process that was killed nothing.

    Args:
        work: makes something that can be pickled.
        sizes: the files, with their sizes, by which they are shared.
    """
    count = min(os.cpu_count() or 1, _MOST_PROCESSES)
    loads, shares = [0] * count, [list[str]() for _ in range(count)]
    for path, size in sorted(sizes.items(), key=lambda each: -each[1]):
        least = loads.index(min(loads))
        loads[least] += size
        shares[least].append(path)
    # A forked process may find other threads, and elsewhere the system's libraries, in the middle
    # of their work.
    is_alone = sys.platform == "linux" and threading.active_count() == 1
    start_method = "fork" if is_alone else "spawn"
    context: Any = multiprocessing.get_context(start_method)
    open_ends: list[Connection] = []
    started = []
    try:
        for share in filter(None, shares):
            reading, writing = context.Pipe(duplex=False)
            process = context.Process(target=_work_on, args=(work, share, writing), daemon=True)
            process.start()
            writing.close()  # else nobody sees that the process has ended
            open_ends.append(reading)
            started.append(process)
        yield from _received(open_ends)
    finally:
        for process in started:
            process.terminate()
            process.join()


def _received(open_ends: list[Connection]) -> Iterator[tuple[str, Any]]:
    while open_ends:
        ready = connection.wait(open_ends)
        for end in [end for end in open_ends if end in ready]:
            try:
                yield end.recv()
            except (EOFError, OSError):  # it ended, maybe in the middle of what it was sending
                open_ends.remove(end)


def _work_on(work: Callable[[str], Any], share: Iterable[str], writing: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who started it ends it
    try:
        for path in share:
            writing.send((path, work(path)))
    except BrokenPipeError:
        pass
