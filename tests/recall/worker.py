"""One of several processes at a cluster: a writer with a home of its own, or a searcher.

    python worker.py write COUNT DEADLINE_S | search SECONDS
The data folder and its settings come from the environment; the last line printed is JSON.
"""

from __future__ import annotations

import json
import os
import sys
import time

from brimline.errors import TeamError
from brimline.fast import paths
from brimline.recall import hits, together

_AT_ONCE = 5
_PAUSE_S = 0.05


def write(count: int, deadline_s: float) -> dict[str, int]:
    """Say something and send it, again and again, until nothing waits."""
    home, memory = paths.data_dir(), hits.open_or_make_memory(paths.data_dir())
    queue = together.open_queue(home, os.getcwd())
    assert queue is not None
    until = time.monotonic() + deadline_s
    said, failures, waiting = 0, 0, 1
    while (said < count or waiting) and time.monotonic() < until:
        number = min(_AT_ONCE, count - said)
        session = os.path.basename(home)
        texts = [f"{session} mentions walrus number {said + n}" for n in range(number)]
        memory.add({"id": text, "text": text, "group": session} for text in texts)
        said += number
        try:
            waiting = queue.drain(queue.sync_list_and_find_waiting())["waiting"]
            print(said, flush=True)
        except TeamError:
            failures += 1
            time.sleep(_PAUSE_S)
    return {"said": said, "failures": failures, "waiting": queue.find_waiting().total}


def search(deadline_s: float) -> dict[str, object]:
    """Ask until the input ends; how often the answer came from here alone, or late."""
    together.WAIT_S, memory = 30.0, hits.open_or_make_memory(paths.data_dir())
    until = time.monotonic() + deadline_s
    problems, times, most = [], [], 0
    while time.monotonic() < until and not os.path.exists(f"{paths.data_dir()}/stop"):
        begun = time.monotonic()
        found, problem = together.search_both(
            paths.data_dir(), os.getcwd(), memory, "which walrus is mentioned", 10, None
        )
        times.append(time.monotonic() - begun)
        problems += [problem] if problem else []
        most = max(most, len(found))
        time.sleep(_PAUSE_S)
    slow = sum(one > 0.3 for one in times)
    return {"asked": len(times), "problems": problems, "most": most, "slow": slow} | {
        "slowest": round(max(times), 2)
    }


if __name__ == "__main__":
    role, *numbers = sys.argv[1:]
    told = (
        write(int(numbers[0]), float(numbers[1])) if role == "write" else search(float(numbers[0]))
    )
    print(json.dumps(told))
