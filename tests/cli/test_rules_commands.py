"""`brimline rules`: when lint fails, and what a path may be."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .conftest import Refused, Run


@pytest.mark.parametrize("words", [["show", " "], ["explain", ""], ["show", "--text", " "]])
def test_a_path_that_is_empty_is_told(words: list[str], refused: Refused) -> None:
    """Nobody means the whole project by it."""
    assert "PATH is empty: name a file or folder of the project" in refused("rules", *words)


def test_the_text_of_all_rules_is_a_document_too(project_dir: str, brimline: Run) -> None:
    """The same words."""
    Path(project_dir, "CLAUDE.md").write_text("# Rules\n\nBe brief.\n", encoding="utf-8")

    text = brimline("rules", "show", "--text").out
    document = brimline("rules", "show", "--text", "--json").document

    assert document["text"].rstrip("\n") == text.rstrip("\n")
    assert "Be brief." in text


def test_for_a_path_all_that_holds_is_listed(project_dir: str, brimline: Run) -> None:
    """Without one, what loads here: where nothing depends on a path, the same."""
    Path(project_dir, "CLAUDE.md").write_text("# Rules\n\nBe brief.\n", encoding="utf-8")

    of_file = brimline("rules", "show", "src/a.py", "--json").document
    here = brimline("rules", "show", "--json").document

    assert of_file["is_complete"] is True
    assert [file["path"] for file in here["files"]] == [file["path"] for file in of_file["files"]]
    assert here["files"][0]["path"] == f"{project_dir}/CLAUDE.md"
