"""Files that instructions name: which names are paths, and which of those are gone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from brimline.rules import references, survey

if TYPE_CHECKING:
    from .conftest import Tree


def missing(tree: Tree, text: str, name: str = "project/CLAUDE.md") -> list[str]:
    """What a file names in vain."""
    tree.put(name, text)
    found = tree.gather("src/x.py")
    (source,) = [each for each in found.sources if each.path == str(tree.root / name)]
    walked = survey.survey(str(tree.project))
    return [one.written for one in references.missing(source, found.project, walked)]


@pytest.mark.row("S2-05")
@pytest.mark.parametrize(
    "text",
    ["see `docs/gone.md`", "[guide](docs/gone.md)", "[guide](docs/gone.md#part 'title')"],
)
def test_a_file_that_is_gone_is_found(tree: Tree, text: str) -> None:
    """By link and in code; while it is there, nothing is said."""
    assert missing(tree, text) == ["docs/gone.md"]

    tree.put("project/docs/gone.md")

    assert missing(tree, text) == []


@pytest.mark.parametrize(
    "text",
    [
        "`npm test`",
        "`application/json`",
        "`origin/main`",
        "`@types/node`",
        "`src/**/*.ts`",
        "`<name>/file.md`",
        "`$HOME/x.md`",
        "`config.toml`",
        "`example.com/page.com`",
        "`/etc/passwd.md` `~/x/y.md`",
        "[site](https://example.com/x.md) [mail](mailto:a@b.c) [top](#top)",
        "```\ndocs/gone.md `docs/gone.md`\n```",
        "docs/gone.md in plain words",
    ],
)
def test_what_is_not_clearly_a_file_of_the_project_is_left_alone(tree: Tree, text: str) -> None:
    """A false alarm costs more than a missed one."""
    assert missing(tree, text) == []


@pytest.mark.parametrize(
    "written", ["src/a.py:12", "src/a.py:12-20", "src/", "./src/a.py", "../src/a.py"]
)
def test_names_are_looked_up_from_the_file_and_from_the_project(tree: Tree, written: str) -> None:
    """With a line number or without; a nested file may speak of either."""
    tree.put("project/src/a.py")

    assert missing(tree, f"`{written}`", "project/src/CLAUDE.md") == []


def test_a_name_may_be_short_for_a_path_somewhere_in_the_project(tree: Tree) -> None:
    """As people write who know their way about; a link or a dot in front is exact."""
    tree.put("project/src/pkg/cli/main.py")

    assert missing(tree, "`cli/main.py` `pkg/cli/`") == []
    assert set(missing(tree, "`./cli/main.py` [x](cli/main.py)")) == {
        "./cli/main.py",
        "cli/main.py",
    }
    assert missing(tree, "`li/main.py`") == ["li/main.py"]


def test_a_folder_of_the_project_makes_a_name_a_path(tree: Tree) -> None:
    """Without an ending too."""
    tree.put("project/tools/run")

    assert missing(tree, "`tools/run` and `tools/gone`") == ["tools/gone"]
