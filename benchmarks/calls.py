"""What brimline adds to a tool call in the real client: bare, with hooks only, with the mod.

    python benchmarks/calls.py [--calls 600] [--session 60]

Sessions of each kind take turns, against a service on loopback that answers at once. A call's time
is from one request's arrival to the next one's; the window fills by 600 tokens with each, as in
ordinary work, and all calls count, the first of a session too.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.client.brimline_home import Installed
from tests.client.fetch import cache_dir, fetch
from tests.client.harness import Client
from tests.client.stub_api import StubApi, bash, filled, text

if TYPE_CHECKING:
    from tests.client.stub_api import Request, Turn

KINDS = {"bare": None, "hooks": ("--no-mod",), "mod": ()}
_BEGINNING_TOKENS, _GROWTH_TOKENS = 40_000, 600


class TimedApi(StubApi):
    """The service, which notes when the requests of a conversation arrive."""

    def __init__(self) -> None:
        super().__init__()
        self.arrivals: list[float] = []

    def answer(self, request: Request) -> Turn:
        """Answer, and note the time before."""
        if request.kind == "main":
            self.arrivals.append(time.perf_counter())
        return super().answer(request)


def main() -> None:
    """Run the sessions in turn and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=600, help="calls of each kind")
    parser.add_argument("--session", type=int, default=60, help="calls of a session")
    arguments = parser.parse_args()
    calls, of_session = arguments.calls, arguments.session
    fetched = fetch(cache_dir(dict(os.environ)))
    if fetched.binary is None:
        sys.exit(fetched.reason)
    times: dict[str, list[float]] = {kind: [] for kind in KINDS}
    with tempfile.TemporaryDirectory() as scratch:
        api = TimedApi()
        api.start()
        clients = {
            kind: prepare(kind, fetched.binary, api, Path(scratch), of_session) for kind in KINDS
        }
        while any(len(taken) < calls for taken in times.values()):
            for kind, client in clients.items():
                times[kind] += session(client, api, of_session)
        api.stop()
    print(table(times))


def prepare(kind: str, binary: Path, api: TimedApi, scratch: Path, of_session: int) -> Client:
    """Make a client, with brimline or without."""
    client = Client(binary, api, scratch / kind)
    arguments = KINDS[kind]
    if arguments is not None:
        installed = Installed(client)
        installed.install(*arguments)
    session(client, api, of_session)  # its first run is slower than all others
    return client


def session(client: Client, api: TimedApi, calls: int) -> list[float]:
    """Run a session and return the milliseconds of its calls."""
    del api.arrivals[:]
    fills = [_BEGINNING_TOKENS + _GROWTH_TOKENS * n for n in range(calls + 1)]
    api.script(*(bash("true", filled(tokens)) for tokens in fills[:-1]))
    api.script(text("end", filled(fills[-1])))
    run = client.run_print("go")
    if run.rc != 0 or len(api.arrivals) != calls + 1:
        sys.exit(f"the session failed: {run.stdout}{run.stderr}")
    return [
        1000 * (after - before)
        for before, after in zip(api.arrivals, api.arrivals[1:], strict=False)
    ]


def table(times: dict[str, list[float]]) -> str:
    """Tell medians, the ratio to the bare client, and what is added."""
    medians = {kind: statistics.median(taken) for kind, taken in times.items()}
    added = {kind: medians[kind] - medians["bare"] for kind in medians}
    rows = [
        "| a call | calls | median ms | p10 | × bare | added ms |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for kind, taken in times.items():
        tenth = statistics.quantiles(taken, n=10)[0]
        rows.append(
            f"| {kind} | {len(taken)} | {medians[kind]:.1f} | {tenth:.1f} "
            f"| {medians[kind] / medians['bare']:.2f} | {added[kind]:.1f} |"
        )
    share = added["mod"] / added["hooks"]
    return "\n".join([*rows, "", f"The mod adds {share:.2f} of what the hooks add."])


if __name__ == "__main__":
    main()
