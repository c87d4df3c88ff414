"""`brimline rules`: what a person and a program are told about the instruction files here."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .conftest import Golden, Refused, Run

GUIDE = Path(__file__).parents[2] / "docs" / "how-to" / "check-your-rules.md"
FILE_KEYS = (
    "path level why client client_note patterns imported_by survives_compaction same_as "
    "characters tokens"
)


def put(path: Path, content: str | bytes = "text") -> Path:
    """Write one file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.fixture
def project(world: Path) -> Path:
    """A project with rules of every kind, some of them faulty."""
    folder = world.resolve() / "project"
    put(world / "home" / ".claude" / "CLAUDE.md", "- Be brief\n")
    put(folder / "CLAUDE.md", "# Rules\n\n- Use tabs\n- Never push to main (ENFORCED)\n@more.md\n")
    put(folder / "more.md", "See `docs/gone.md` and @missing.md\n")
    put(folder / "CLAUDE.local.md", "- Be brief\n")
    put(folder / "AGENTS.md", "- For agents\n")
    put(folder / ".claude" / "rules" / "web.md", "---\npaths: web/**\n---\n- Types only\n")
    put(folder / "src" / "CLAUDE.md", "- Never use tabs\n")
    put(folder / "src" / "main.py")
    return folder


@pytest.mark.row("S2-02", "S2-08", "S2-09", "S2-36", "S2-05")
def test_the_pages_say_what_loads_why_at_what_cost_and_what_is_wrong(
    project: Path, brimline: Run, golden: Golden
) -> None:
    """The weakest first, each rule with its line; what is unknown to the client is named."""
    commands = ("show", "explain src/main.py", "explain /nowhere/x.py", "lint")
    pages = [f"$ rules {words}\n{brimline('rules', *words.split()).out}" for words in commands]

    golden("rules.txt", "\n".join(pages))


def test_programs_get_stable_keys(project: Path, brimline: Run) -> None:
    """Every file with level, reason, time of loading, cost; identities of rules are stable."""
    shown = brimline("rules", "show", "--json").document
    first, second = (brimline("rules", "explain", "src", "--json").document for _ in range(2))
    found = json.loads(brimline("rules", "lint", "--json").out)

    assert " ".join(shown["files"][0]) == FILE_KEYS
    assert first == second
    rules = [rule for each in first["files"] for rule in each["rules"]]
    assert all(re.fullmatch(r"[0-9a-f]{12}", rule["id"]) for rule in rules)
    assert set(found["findings"][0]) == {"severity", "kind", "path", "line", "text"}
    assert (found["broken"], found["doubtful"]) == (2, 2)


@pytest.mark.row("S2-05")
def test_lint_ends_with_1_where_something_is_broken(project: Path, brimline: Run) -> None:
    """Doubtful findings count with `--strict` only."""
    assert brimline("rules", "lint").code == 1
    (project / "more.md").unlink()
    put(project / "CLAUDE.md", "- Use tabs\n")
    assert brimline("rules", "lint").code == 0
    assert brimline("rules", "lint", "--strict").code == 1
    for name in ("AGENTS.md", "CLAUDE.local.md"):
        (project / name).unlink()
    assert brimline("rules", "lint", "--strict").code == 0


@pytest.mark.row("S2-06", "S2-23", "S2-24", "S2-25", "S2-26")
def test_the_text_for_a_file_begins_like_the_text_for_all(project: Path, brimline: Run) -> None:
    """What depends on the file comes last; 4,000 characters of a file, 12,000 in all."""
    general, near = (brimline("rules", "show", "--text", *path) for path in ([], ["src/main.py"]))
    for number in range(5):
        put(project / ".claude" / "rules" / f"{number}.md", f"{number} " * 3_000)
    found = brimline("rules", "show", "--text", "--json").document

    assert near.out.startswith(general.out.rstrip("\n"))
    assert near.out.endswith(f"From {project}/src/CLAUDE.md (child):\n\n- Never use tabs\n")
    assert "Never use tabs" not in general.out
    assert len(found["text"]) <= 12_000
    assert "[truncated]" in found["text"]


@pytest.mark.parametrize("words", ["show", "lint", "show --text", "explain src"])
def test_odd_files_and_names_break_no_command(
    world: Path, words: str, brimline: Run, refused: Refused
) -> None:
    """Nothing at all is not an error; control characters do not reach a terminal."""
    assert brimline("rules", *words.split())[0::2] == (0, "")
    project = world / "project"
    put(project / os.fsdecode(b"caf\xe9\x1b[31m") / "CLAUDE.md", b"- bad \xff\r\n- \x1b[31mred\r\n")
    (project / "CLAUDE.local.md").mkdir()
    put(project / "AGENTS.md", b"\0\0\0")

    done = brimline("rules", *words.split())

    assert done.code in (0, 1)
    assert done.out.replace("\n", "").isprintable()
    assert json.loads(brimline("rules", *words.split(), "--json").out)
    assert "PATH is empty" in refused("rules", "explain", " ")
