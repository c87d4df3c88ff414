"""A world of instruction files: written by relative path, told apart by relative path."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from brimline.rules import cascade, marked

if TYPE_CHECKING:
    from brimline.rules.cascade import Cascade


class Tree:
    """The files of one test, under its temporary folder."""

    def __init__(self, root: Path) -> None:
        """Begin with nothing but the project's folder."""
        self.root = root
        self.project = root / "project"
        self.config = root / "home" / ".claude"
        self.managed = root / "managed"

    def put(self, name: str, content: str | bytes = "text") -> Path:
        """Write one file, by its path from the root of the world."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def gather(self, active: str = "", **options: Any) -> Cascade:
        """The cascade of the project."""
        return cascade.gather_instruction_files(str(self.project), active, **options)

    def names(self, found: Cascade) -> list[str]:
        """The files of a cascade that belong to this world, by relative path."""
        return [self.name(source.path) for source in found.sources if self.owns(source.path)]

    def name(self, path: str) -> str:
        """A path from the root of the world."""
        return str(Path(path).relative_to(self.root))

    def marked(self) -> list[tuple[str, str]]:
        """The marked rules of the files that reach every session of the project."""
        found = self.gather()
        sources = filter(marked.is_in_every_session, found.sources)
        rows = marked.card_rows_of_marked_rules(found.folder, sources)
        return [(name, text) for name, text in rows]

    def brought_back(self, *loaded: str) -> list[tuple[str, str]]:
        """The marked rules that come back where the client had loaded some files on the way."""
        paths = [str(self.root / name) for name in loaded]
        rows = marked.rules_of_loaded_files(str(self.project), paths)
        return [(name, text) for name, text in rows]

    def private(self) -> str:
        """The user's own file for the project, which the client does not know."""
        folder = str(self.project).replace("/", "-").replace("_", "-")
        return f"home/.claude/projects/{folder}/CLAUDE.md"

    def owns(self, path: str) -> bool:
        """Whether a path lies in this world; the machine may have files above it."""
        return Path(path).is_relative_to(self.root)


@pytest.fixture
def tree(world: Path) -> Tree:
    """An empty world with a project in it."""
    return Tree(Path(world).resolve())
