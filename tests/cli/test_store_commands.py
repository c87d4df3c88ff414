"""`brimline store`: how much is listed and found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from brimline.memory import hits
from brimline.store import put

if TYPE_CHECKING:
    from .conftest import Refused, Run


def test_a_search_of_outputs_shows_one_at_least(refused: Refused) -> None:
    """Zero is no number of them."""
    assert "0 is not in the range x>=1" in refused("store", "search", "x", "--limit", "0", code=2)


@pytest.mark.parametrize(
    ("command", "usual"), [("store list", 20), ("store search needle", 10), ("memory search x", 10)]
)
def test_without_a_limit_a_list_has_its_usual_length(
    command: str, usual: int, home_dir: str, project_dir: str, brimline: Run
) -> None:
    """One more is left out."""
    entries: list[dict[str, Any]] = []
    for number in range(21):
        put.put(home_dir, b"needle %d" % number, {"cwd": project_dir})
        entry = {"id": str(number), "text": f"x number {number}", "project": project_dir}
        entries.append(entry | {"group": f"g{number}"})
    hits.open_memory(home_dir).add(entries)

    document = brimline(*command.split(), "--json").document

    shown = document.get("outputs", document.get("hits"))
    assert len(shown) == usual
