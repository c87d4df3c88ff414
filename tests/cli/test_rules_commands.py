"""`brimline rules`: when lint fails, and what a path may be."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .conftest import Refused, Run


@pytest.mark.parametrize(
    ("text", "strict", "code"),
    [
        ("# Rules\n\nBe brief.\n", False, 0),
        ("# Rules\n\nBe brief.\n", True, 0),
        ("# Rules\n\n@missing.md\n", False, 1),
        ("# Rules\n\n@missing.md\n", True, 1),
    ],
)
def test_lint_ends_with_1_where_an_import_leads_nowhere(
    text: str, strict: bool, code: int, project_dir: str, brimline: Run
) -> None:
    """And with 0 where nothing is wrong, however strict."""
    Path(project_dir, "CLAUDE.md").write_text(text, encoding="utf-8")

    done = brimline("rules", "lint", *(["--strict"] if strict else []))

    assert done.code == code


@pytest.mark.parametrize("words", [["explain", " "], ["explain", ""]])
def test_a_path_that_is_empty_is_told(words: list[str], refused: Refused) -> None:
    """Nobody means the whole project by it."""
    assert "PATH is empty: name a file or folder of the project" in refused("rules", *words)
