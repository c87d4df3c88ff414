"""`brimline rules`: what a person and a program are told about the instruction files here."""

from __future__ import annotations

import json
import os
import re
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from .conftest import Outcome

GUIDE = Path(__file__).parents[2] / "docs" / "how-to" / "check-your-rules.md"


def put(path: Path, content: str | bytes = "text") -> Path:
    """Write one file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.fixture
def project(world: Path) -> Path:
    """A project with rules of three levels."""
    folder = world.resolve() / "project"
    put(world / "home" / ".claude" / "CLAUDE.md", "- Be brief\n")
    put(folder / "CLAUDE.md", "# Rules\n\n- Use tabs\n- Never push to main (ENFORCED)\n")
    put(folder / "src" / "CLAUDE.md", "- Never use tabs\n")
    put(folder / "src" / "main.py")
    put(folder / "docs" / "page.md")
    return folder


@pytest.mark.row("S2-02")
def test_show_says_what_loads_when_and_what_it_costs(
    world: Path, project: Path, brimline: Callable[..., Outcome]
) -> None:
    """For a person; the cost is marked as estimated, and what is unknown to the client is named."""
    organisation = put(world / "acme.md", "- From acme\n")
    put(world / "brimline" / "config.toml", f'[rules]\norganisation_file = "{organisation}"\n')
    put(project / "AGENTS.md", "- For agents\n")

    out = brimline("rules", "show").out

    rows = [" ".join(row.split()) for row in out.splitlines()]
    assert f"Instruction files in {project}, weakest first." in rows
    told = dict(pairwise(rows))
    assert "brimline adds it at the start" in told[f"1 organisation ~3 {organisation}"]
    assert told["2 user ~3 ~/.claude/CLAUDE.md"] == "loads: at the start"
    assert "AGENTS.md is read only where there is no" in told["4 project ~4 AGENTS.md"]
    assert told["5 child ~5 src/CLAUDE.md"] == (
        "loads: when a file there is read; lost at a compaction"
    )
    assert "estimated from the length" in out
    assert "Marked rules: 1." in out
    assert max(len(row) for row in out.splitlines() if str(world) not in row) <= 80


def test_show_for_programs_has_stable_keys(project: Path, brimline: Callable[..., Outcome]) -> None:
    """Every file with level, reason, time of loading, cost."""
    found = brimline("rules", "show", "--json").document
    mine = [each for each in found["files"] if each["path"].startswith(str(project))]

    assert found["project"] == str(project)
    assert found["tokens_are_estimated"] is True
    assert [each["client"] for each in mine] == ["start", "read"]
    assert set(mine[0]) == {
        *("path", "level", "why", "client", "client_note", "survives_compaction", "patterns"),
        *("imported_by", "same_as", "characters", "tokens", "problem"),
    }


@pytest.mark.row("S2-09", "S2-36")
def test_explain_names_the_file_of_every_rule_and_which_is_nearer(
    project: Path, brimline: Callable[..., Outcome]
) -> None:
    """With line, level and reason, in the order of precedence; identities are stable."""
    outcome = brimline("rules", "explain", "src/main.py")
    first, second = (brimline("rules", "explain", "src", "--json").document for _ in range(2))
    rules = [rule for each in first["files"] for rule in each["rules"]]

    assert outcome.code == 0
    assert "(project: it is the project's own)" in outcome.out
    assert "   !    4  Never push to main (ENFORCED)" in outcome.out
    assert outcome.out.index("Use tabs") < outcome.out.index("Never use tabs")
    assert "(child: it lies on the way to the file)" in outcome.out
    assert "the later one is nearer to the work" in outcome.out
    assert first == second
    assert all(re.fullmatch(r"[0-9a-f]{12}", rule["id"]) for rule in rules)


@pytest.mark.row("S2-08")
def test_files_that_say_the_same_are_told_and_counted_once(
    project: Path, brimline: Callable[..., Outcome]
) -> None:
    """The rules stand under the first of them."""
    put(project / "CLAUDE.local.md", "- Be brief\n")

    out = brimline("rules", "explain", "src").out

    assert "says the same as ~/.claude/CLAUDE.md, and is counted there" in out
    assert out.count("Be brief") == 1


def test_explain_of_a_file_outside_says_so(project: Path, brimline: Callable[..., Outcome]) -> None:
    """What loads at the start holds nevertheless."""
    out = brimline("rules", "explain", "/nowhere/x.py").out

    assert "outside the project" in out
    assert "Use tabs" in out
    assert "Never use tabs" not in out


def test_the_sample_rule_for_docs_holds_for_docs_only(
    project: Path, brimline: Callable[..., Outcome]
) -> None:
    """A rule file of the how-to guide: a convention as a rule with `paths:`, not as code."""
    sample = re.search(r"```markdown\n(---\npaths:.*?)```", GUIDE.read_text("utf-8"), re.DOTALL)
    assert sample
    put(project / ".claude" / "rules" / "docs.md", sample[1])

    assert ".claude/rules/docs.md" in brimline("rules", "explain", "docs/page.md").out
    assert ".claude/rules/docs.md" not in brimline("rules", "explain", "src/main.py").out


@pytest.mark.row("S2-05")
def test_lint_ends_with_1_where_something_is_broken(
    project: Path, brimline: Callable[..., Outcome]
) -> None:
    """Doubtful findings count with `--strict` only."""
    put(project / "AGENTS.md", "- For agents\n")
    doubtful = brimline("rules", "lint")
    strict = brimline("rules", "lint", "--strict")
    put(project / "CLAUDE.md", "See `docs/gone.md` and @missing.md\n")
    broken = brimline("rules", "lint")
    found = json.loads(brimline("rules", "lint", "--json").out)

    assert (doubtful.code, strict.code, broken.code) == (0, 1, 1)
    assert "doubtful AGENTS.md: Claude Code does not load it" in doubtful.out
    assert "0 broken, 1 doubtful" in doubtful.out
    assert "broken   CLAUDE.md:1: docs/gone.md is not there any more" in broken.out
    assert "broken   CLAUDE.md:1: @missing.md is not there" in broken.out
    assert "ages are not checked" in broken.out
    assert (found["broken"], found["doubtful"]) == (2, 1)
    assert set(found["findings"][0]) == {"severity", "kind", "path", "line", "text"}


@pytest.mark.row("S2-06", "S2-23")
def test_the_text_for_a_file_begins_like_the_text_for_all(
    project: Path, brimline: Callable[..., Outcome]
) -> None:
    """What depends on the file comes last."""
    general, near = (brimline("rules", "show", "--text", *path) for path in ([], ["src/main.py"]))

    assert near.out.startswith(general.out.rstrip("\n"))
    assert near.out.endswith(f"From {project}/src/CLAUDE.md (child):\n\n- Never use tabs\n")
    assert "Be brief" in general.out
    assert "Never use tabs" not in general.out


@pytest.mark.row("S2-24", "S2-25", "S2-26")
def test_the_text_keeps_its_limits(project: Path, brimline: Callable[..., Outcome]) -> None:
    """4,000 characters of a file, 12,000 in all; the mark is there where something is cut."""
    for number in range(5):
        put(project / ".claude" / "rules" / f"{number}.md", f"{number} " * 3_000)

    found = brimline("rules", "show", "--text", "--json").document

    assert found["characters"] == len(found["text"]) <= 12_000
    assert "[truncated]" in found["text"]
    assert len(found["cut"]) == 5
    assert found["text"].count("0 ") < 2_000 < found["text"].count("0 ") + 200


@pytest.mark.parametrize("command", ["show", "lint", "show --text"])
def test_a_folder_without_rules_is_no_error(
    world: Path, brimline: Callable[..., Outcome], command: str
) -> None:
    """Nothing is there, which is said or shown."""
    outcome = brimline("rules", *command.split())

    assert outcome.code == 0
    assert outcome.err == ""


@pytest.mark.parametrize("command", ["show", "lint", "show --text", "explain"])
def test_odd_files_and_names_break_no_command(
    project: Path, brimline: Callable[..., Outcome], command: str
) -> None:
    """Control characters are not passed on to a terminal, and names that are no text are shown."""
    strange = project / os.fsdecode(b"caf\xe9\x1b[31m")
    put(strange / "CLAUDE.md", b"- bad \xff bytes\r\n- \x1b[31mred (CRITICAL)\r\n")
    (project / "CLAUDE.local.md").mkdir()
    put(project / "AGENTS.md", b"\0\0\0")
    arguments = ["src/main.py"] if command == "explain" else []

    outcome = brimline("rules", *command.split(), *arguments)

    assert outcome.code in (0, 1)
    assert "Traceback" not in outcome.err
    assert "\x1b" not in outcome.out
    assert json.loads(brimline("rules", *command.split(), *arguments, "--json").out)


def test_an_empty_path_is_refused_in_one_sentence(
    project: Path, brimline: Callable[..., Outcome]
) -> None:
    """And a missing one by the help."""
    refused = brimline("rules", "explain", " ")

    assert refused.code == 1
    assert refused.err == "brimline: PATH is empty: name a file or folder of the project\n"
    assert brimline("rules", "explain").code == 2
