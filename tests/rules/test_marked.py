"""Rules marked `(ENFORCED)` or `(CRITICAL)`: what belongs to one, which count, at what cost."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimline.fast import io
from brimline.rules import lines, marked

if TYPE_CHECKING:
    from .conftest import Tree


@pytest.mark.row("S4-03")
@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Never push to main (ENFORCED).", "Never push to main (ENFORCED)."),
        (
            "First.\n\nNever drop\ntables (ENFORCED)\nunless told so.\n\nLast.",
            "Never drop\ntables (ENFORCED)\nunless told so.",
        ),
        (
            "Forbidden (CRITICAL):\n\n- TRUNCATE\n- DROP\n\nOther.",
            "Forbidden (CRITICAL):\n\n- TRUNCATE\n- DROP",
        ),
        ("Run (ENFORCED):\n```\nmake\n```\nx", "Run (ENFORCED):\n```\nmake\n```"),
        ("Run (ENFORCED):\n\n\n", "Run (ENFORCED):"),
        ("Run (ENFORCED):\n\n- make\n\nOther.", "Run (ENFORCED):\n\n- make"),
        (
            "Run (ENFORCED):\n\n\n- make\n\n- test\n\n\nOther.",
            "Run (ENFORCED):\n\n\n- make\n\n- test",
        ),
        ("# A (ENFORCED)\n# B\ntext", "A (ENFORCED)"),
        ("# A (ENFORCED)\n## B\n# C\ntext", "A (ENFORCED)\n## B"),
        ("**Run (ENFORCED):**\n- make\nx", "**Run (ENFORCED):**\n- make"),
        ("Never push (ENFORCED).\n\n- other", "Never push (ENFORCED)."),
        ("Never push (ENFORCED)\n- other", "Never push (ENFORCED)"),
        ("- run (ENFORCED):\n\n- other", "run (ENFORCED):"),
        ("- one (ENFORCED)\n\n\n  more\nx", "one (ENFORCED)\n\n\n  more\nx"),
        ("- one (ENFORCED)\n\n\n\n  far", "one (ENFORCED)"),
        ("- one (ENFORCED)\n\nafter", "one (ENFORCED)"),
        ("- one (ENFORCED)\n<!-- x -->\n  more", "one (ENFORCED)\n  more"),
        ("one\n# two (ENFORCED)", "two (ENFORCED)"),
        ("# one\ntwo (ENFORCED)", "two (ENFORCED)"),
        ("| a |\ntwo (ENFORCED)", "two (ENFORCED)"),
        ("two (ENFORCED)\n@a.md", "two (ENFORCED)"),
        ("- # Head (ENFORCED)\n  body\n- other", "# Head (ENFORCED)\n  body"),
        ("| table | row (CRITICAL) |\n|---|---|", "| table | row (CRITICAL) |"),
        ("- one (ENFORCED)\n- two", "one (ENFORCED)"),
        ("- one\n  goes on (ENFORCED)\n- two", "one\n  goes on (ENFORCED)"),
        (
            "1. one (CRITICAL)\n   - detail\n\n   more\n2. two",
            "one (CRITICAL)\n   - detail\n\n   more",
        ),
        ("- outer\n  - inner (ENFORCED)\n    wrapped\n- next", "inner (ENFORCED)\n  wrapped"),
        ("- [ ] task (CRITICAL)\n\ntext", "[ ] task (CRITICAL)"),
        (
            "- run (ENFORCED):\n  ```\n  make\n  ```\n- x",
            "run (ENFORCED):\n  ```\n  make\n  ```",
        ),
        ("# A\n## B (CRITICAL)\none\n### C\ntwo\n## D\nx", "B (CRITICAL)\none\n### C\ntwo"),
        ("# B (CRITICAL)\n\none\n\ntwo\n# C\nx", "B (CRITICAL)\n\none\n\ntwo"),
        (
            "# B (CRITICAL)\n```\n# no heading\n```\nend",
            "B (CRITICAL)\n```\n# no heading\n```\nend",
        ),
        (
            "# B (ENFORCED)\nx (CRITICAL)\n- y (ENFORCED)",
            "B (ENFORCED)\nx (CRITICAL)\n- y (ENFORCED)",
        ),
        ("# B (ENFORCED)\none\n<!--\nnote\n-->\ntwo", "B (ENFORCED)\none\ntwo"),
        (
            "---\nx: y\n---\r\n\r\n- never (ENFORCED)\r\n  push\x1b[31m\r\n",
            "never (ENFORCED)\n  push[31m",
        ),
    ],
)
def test_a_mark_stands_for_its_paragraph_item_or_section(tree: Tree, text: str, found: str) -> None:
    """With what is nested in it or what it leads up to, and not with its neighbours."""
    tree.put("project/CLAUDE.md", text)

    assert tree.marked() == [("CLAUDE.md", found)]


@pytest.mark.row("S4-02", "S4-03", "S4-26")
def test_rules_come_in_the_order_of_the_cascade_each_once_with_its_file(tree: Tree) -> None:
    """Weakest first: user, private, project, imports."""
    tree.put("home/.claude/CLAUDE.md", "- mine (ENFORCED)\n- shared (CRITICAL)")
    tree.put(tree.private(), "private (CRITICAL)")
    tree.put("project/.claude/CLAUDE.md", "- shared   (CRITICAL)\n- ours (CRITICAL)\n@../more.md")
    tree.put("project/more.md", "imported (ENFORCED)")

    assert tree.marked() == [
        ("~/.claude/CLAUDE.md", "mine (ENFORCED)"),
        ("~/.claude/CLAUDE.md", "shared (CRITICAL)"),
        ("~" + tree.private().removeprefix("home"), "private (CRITICAL)"),
        (".claude/CLAUDE.md", "ours (CRITICAL)"),
        ("more.md", "imported (ENFORCED)"),
    ]


@pytest.mark.row("S4-03")
def test_a_file_that_the_client_does_not_load_marks_nothing(tree: Tree) -> None:
    """An AGENTS.md beside a CLAUDE.md, nested and scoped files, approval not given, hop five."""
    tree.put("project/CLAUDE.md", "@1.md\n@../out.md\n")
    for number in range(1, 6):
        tree.put(f"project/{number}.md", f"{number} (CRITICAL)\n@{number + 1}.md")
    for name in ("AGENTS.md", ".claude/AGENTS.md", "src/CLAUDE.md", "rules/r.md", "6.md"):
        tree.put(f"project/{name}", f"{name} lifts every rule (ENFORCED)")
    tree.put("project/.claude/rules/s.md", "---\npaths: '*.py'\n---\nscoped (ENFORCED)")
    tree.put("project/.claude/settings.json", '{"claudeMdExcludes": ["**/CLAUDE.local.md"]}')
    tree.put("project/CLAUDE.local.md", "excluded (ENFORCED)")
    tree.put("out.md", "outside (ENFORCED)")
    os.symlink(tree.put("home/x.md", "secret (ENFORCED)"), tree.project / ".claude/CLAUDE.md")

    assert [text for _, text in tree.marked()] == [f"{number} (CRITICAL)" for number in range(1, 5)]

    for name in ("CLAUDE.md", "CLAUDE.local.md"):
        (tree.project / name).unlink()
    assert ("AGENTS.md", "AGENTS.md lifts every rule (ENFORCED)") in tree.marked()


def counted(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> list[None]:
    """Lengthened by every call of a function from now on."""
    calls: list[None] = []
    real = getattr(owner, name)

    def call(*arguments: Any, **more: Any) -> Any:
        calls.append(None)
        return real(*arguments, **more)

    monkeypatch.setattr(owner, name, call)
    return calls


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"@f{number}.md\n" for number in range(30_000)),
        "".join(f"@d/{number}.md\n" for number in range(3_000)),
        "- rule (ENFORCED)\n" * 25_000,
        "\n" * 390_000,
        "- rule (ENFORCED)" + "\n" * 19_000 + "x",
        "x `" * 100_000 + "(ENFORCED) @a",
        "<!-- " * 70_000,
        "> " * 190_000 + "(CRITICAL)",
        "".join(" " * number + "- x (ENFORCED)\n" for number in range(800)),
        "x" * 5_000_000,
    ],
    ids=lambda text: f"{text[:12]!r}",
)
def test_what_a_hostile_project_costs_is_bounded(
    tree: Tree, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted, not timed: files that are opened, names that are looked up, lines that are read."""
    for number in range(3_000 if "@d/" in text else 0):
        tree.put(f"project/d/{number}.md", f"{number} (ENFORCED)\n@{number + 1}.md")
    tree.put("project/CLAUDE.md", text)
    os.mkfifo(tree.project / "CLAUDE.local.md")
    tree.put("home/.claude/CLAUDE.md", "- mine (CRITICAL)")
    opened = counted(monkeypatch, io, "read_file")
    looked_up = counted(monkeypatch, os.path, "realpath")
    read = counted(monkeypatch, lines._Reader, "classify_line")

    found = tree.marked()

    assert found[0] == ("~/.claude/CLAUDE.md", "mine (CRITICAL)")
    assert sum(len(each) for _, each in found) < 5_000
    assert len(opened) <= 300
    assert len(looked_up) <= 3_000
    assert len(read) <= 21_000


@given(
    st.lists(
        st.sampled_from(
            ["- ", "x ", "(ENFORCED)", "\n", "    ", "```", "<!--", "-->", "# ", "> ", "|", "`"]
        )
    ).map("".join)
)
def test_no_text_makes_reading_fail(text: str) -> None:
    """Every line is kept, whatever it is taken for; marked passages do not overlap."""
    _, found = lines.parse_front_and_lines(text)

    assert len(found) == text.count("\n") + 1
    starts = [at for at, _ in marked._marked_passages(found)]
    assert starts == sorted(set(starts))


@pytest.mark.row("S4-03")
def test_those_come_back_that_the_client_loaded_on_the_way(tree: Tree) -> None:
    """As they are on the disk now: of folders below and of path rules, not what loads by itself."""
    scoped = "---\npaths: src/**/*.py\n---\n- typed (CRITICAL)\n- plain"
    tree.put("project/CLAUDE.md", "- root (ENFORCED)")
    tree.put("project/.claude/rules/py.md", scoped)
    tree.put("home/.claude/rules/mine.md", scoped.replace("typed", "mine"))
    tree.put("project/sub/CLAUDE.md", "- nested (ENFORCED)")
    tree.put("project/sub/.claude/rules/deep.md", "- deep (ENFORCED)")
    tree.put("project/other/CLAUDE.md", "- not loaded (ENFORCED)")
    elsewhere = tree.put("elsewhere/CLAUDE.md", "- a stranger's (ENFORCED)")
    (tree.project / "linked").mkdir()
    (tree.project / "linked" / "CLAUDE.md").symlink_to(elsewhere)

    nested = ["project/sub/CLAUDE.md", "project/sub/.claude/rules/deep.md"]
    scoped_files = ["project/.claude/rules/py.md", "home/.claude/rules/mine.md"]
    others = ["project/CLAUDE.md", "elsewhere/CLAUDE.md", "project/linked/CLAUDE.md", "project/no"]
    assert tree.brought_back(*others) == tree.brought_back() == []
    assert tree.brought_back(*nested, *scoped_files, *others) == [
        ("~/.claude/rules/mine.md", "mine (CRITICAL)"),
        (".claude/rules/py.md", "typed (CRITICAL)"),
        ("sub/CLAUDE.md", "nested (ENFORCED)"),
        ("sub/.claude/rules/deep.md", "deep (ENFORCED)"),
    ]
    tree.put("project/sub/CLAUDE.md", "- nested")
    assert tree.brought_back("project/sub/CLAUDE.md") == []


def rule(text: str, line: int = 1) -> marked.Rule:
    """A rule of some file."""
    return marked.Rule(text, "/p/CLAUDE.md", line)
