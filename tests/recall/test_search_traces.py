"""What the search keeps of stored outputs, and how it goes."""

from __future__ import annotations

import math

from brimline.bulk import put
from brimline.recall import database, stored, traces
from brimline.state.forgotten import Asked


def test_a_forgotten_sessions_outputs_are_no_longer_found_and_others_are(home_dir: str) -> None:
    """A rehearsal takes nothing out."""
    kept = [
        put.put(home_dir, f"an otter of {name}".encode(), {"session": name, "tool": "Bash"})
        for name in ("one", "two")
    ]

    def indexed() -> set[str]:
        """The keys that the search knows, without taking in more."""
        known = database.run_on_database(
            stored.search_folder(home_dir),
            lambda base: base.execute("SELECT ref FROM documents").fetchall(),
        )
        return {f"sha256:{digest}" for (digest,) in known}

    stored.tidy(home_dir, until=math.inf)
    assert traces.forget(home_dir, Asked(("one",)), dry_run=True) == {"entries": 0}
    rehearsed = indexed()
    traces.forget(home_dir, Asked(("one",)), dry_run=False)

    assert rehearsed == set(kept)
    assert indexed() == {kept[1]}
    assert traces.forget(f"{home_dir}/nowhere", Asked(("one",)), dry_run=False) == {"entries": 0}
