"""The rooms that leave something in the data folder, and those that tidy up.

Doors read these lists. What stands below them and has to ask all rooms (forgetting, retention,
letting go of old sessions) is handed `values_in_all_traces` by the door that calls it.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, TypeAlias

    Traces: TypeAlias = Callable[[str], Iterator[Any]]

# After the event `hooks.table.TIDY_AFTER` is answered, their `tidy` is called, each for its share.
TIDY = ("figures", "bulk", "carry", "session", "recall")
# Rooms that leave something in the data folder; content goes before what tells where it is from.
TRACES = (
    *("recall", "bulk", "gateway", "carry", "session", "state", "figures", "guard"),
    *("dashboard", "settings", "install"),
)


def values_in_all_traces(name: str) -> Iterator[Any]:
    """Yield what each room's `traces` has under a name; a room without it is passed over.

    - `FILES`: the names that it writes, as patterns by folder of the data folder.
    - `BRIEF`: how those names in a session's folder begin that go after a day of silence.
    - `MENTIONS`: folders whose files keep stored outputs by naming their keys; `PASSING`: how names
      there begin that promise nothing; `promised_keys(home, but)`: keys it promises elsewhere,
      those of one session left out.
    - `sessions(home)`: the sessions it knows, each with project and time.
    - `forget(home, asked, dry_run=…)`: deletes what it keeps; returns how much that was.
    - `check(home, project)`: findings for `doctor`, each the name of a text and what goes into it.
    """
    for room in TRACES:
        traces = __import__(f"brimline.{room}.traces", None, None, ("traces",))
        if hasattr(traces, name):
            yield getattr(traces, name)
