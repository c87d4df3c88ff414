"""The tool `context_budget`: as much as fits."""

from __future__ import annotations

import pytest

from brimline.budget import operations
from brimline.fast import paths
from brimline.mcp import tools
from brimline.testing import SessionBuilder


@pytest.mark.parametrize(("more", "is_whole"), [(0, True), (1, False)])
def test_a_budget_is_shown_in_5_000_characters(
    home_dir: str, project_dir: str, more: int, is_whole: bool
) -> None:
    """One more, and it is cut at a line."""
    folder = paths.project_transcripts_dir(project_dir)
    SessionBuilder(f"{folder}/newest.jsonl", "newest", project_dir).reply(50_000)
    item = {"operation": "add", "compartment": "ambient_knowledge"}

    def whole() -> str:
        return operations.text(operations.run_operation(home_dir, "newest", None, "list", {}))

    def add(text: str) -> None:
        assert not tools.answer("context_budget", item | {"text": text})[1]

    number = 100
    add(f"{number}")
    step = len(whole()) + 1
    while len(whole()) + step <= 5_000 + more - 2 * step:
        number += 1
        add(f"{number}")
    # Of a longer text the tokens have two digits.
    add(f"{number + 1}" + "x" * (5_000 + more - len(whole()) - step - 1))

    text, _ = tools.answer("context_budget", {"operation": "list"})

    assert len(whole()) == 5_000 + more
    assert (text == whole()) is is_whole
    assert text.endswith("[1 more lines: name a compartment, or remove what is not needed]") is (
        not is_whole
    )
