"""Rules marked `(ENFORCED)` or `(CRITICAL)`: what belongs to one, which count, which fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimline.rules import markdown, markers
from brimline.rules.markers import MarkedRule
from brimline.rules.model import PROJECT, Source

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .conftest import Tree


def marked(text: str) -> list[str]:
    """The marked rules of one text."""
    document = markdown.parse(text)
    source = Source("/p/CLAUDE.md", PROJECT, "", "/p", document, document.body, "start")
    return [rule.text for rule in markers.marked_in([source])]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Never push to main (ENFORCED).", ["Never push to main (ENFORCED)."]),
        ("(CRITICAL) Use TLS.\nOther line.", ["(CRITICAL) Use TLS."]),
        (
            "First.\nNever drop\ntables in prod (ENFORCED)\nunless told so.\nLast.",
            ["Never drop\ntables in prod (ENFORCED)\nunless told so."],
        ),
        (
            "Use one of these,\nPostgreSQL or MySQL (CRITICAL)\nBut ask.",
            ["Use one of these,\nPostgreSQL or MySQL (CRITICAL)"],
        ),
        (
            "Nothing that a customer could read in a log file (CRITICAL) may name\nAWS keys.\nX.",
            ["Nothing that a customer could read in a log file (CRITICAL) may name\nAWS keys."],
        ),
        ("**(CRITICAL)**\nNever push.\nOther.", ["**(CRITICAL)**\nNever push."]),
        (
            "Forbidden (CRITICAL):\n\n- TRUNCATE\n- DROP\n\nOther.",
            ["Forbidden (CRITICAL):\n\n- TRUNCATE\n- DROP"],
        ),
        ("Run (ENFORCED):\n```\nmake\n```\nx", ["Run (ENFORCED):\n```\nmake\n```"]),
        ("Mind this (ENFORCED):", ["Mind this (ENFORCED):"]),
        ("> Quoted (CRITICAL)", ["> Quoted (CRITICAL)"]),
        ("**Bold rule (ENFORCED)**", ["**Bold rule (ENFORCED)**"]),
        ("| table | row (CRITICAL) |\n|---|---|", ["| table | row (CRITICAL) |"]),
    ],
)
def test_a_marked_line_brings_the_lines_it_wraps_onto(text: str, found: list[str]) -> None:
    """And no others of its paragraph."""
    assert marked(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("- one (ENFORCED)\n- two", ["- one (ENFORCED)"]),
        ("- one\n  goes on (ENFORCED)\n- two", ["- one\n  goes on (ENFORCED)"]),
        (
            "1. one (CRITICAL)\n   - detail\n   - detail\n\n   more\n2. two",
            ["1. one (CRITICAL)\n   - detail\n   - detail\n\n   more"],
        ),
        ("- outer\n  - inner (ENFORCED)\n    wrapped\n- next", ["- inner (ENFORCED)\n  wrapped"]),
        ("- one (ENFORCED)\nUnrelated line", ["- one (ENFORCED)"]),
        ("- one (ENFORCED)\nand its end", ["- one (ENFORCED)\nand its end"]),
        ("- [ ] task (CRITICAL)\n\ntext", ["- [ ] task (CRITICAL)"]),
        (
            "- run (ENFORCED):\n  ```\n  make\n  ```\n- x",
            ["- run (ENFORCED):\n  ```\n  make\n  ```"],
        ),
    ],
)
def test_a_marked_list_item_brings_all_of_it(text: str, found: list[str]) -> None:
    """Its continuation lines and what is nested in it; not its neighbours."""
    assert marked(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("# A\n## B (CRITICAL)\none\n### C\ntwo\n## D\nthree", "## B (CRITICAL)\none\n### C\ntwo"),
        ("## B (ENFORCED)\n\n- one\n- two\n\n# Next", "## B (ENFORCED)\n\n- one\n- two"),
        ("Title (CRITICAL)\n===\nbody\n\nNext\n===\nx", "Title (CRITICAL)\n===\nbody"),
        (
            "# B (CRITICAL)\n```\n# no heading\n```\nend",
            "# B (CRITICAL)\n```\n# no heading\n```\nend",
        ),
        (
            "# B (ENFORCED)\nx (CRITICAL)\n- y (ENFORCED)",
            "# B (ENFORCED)\nx (CRITICAL)\n- y (ENFORCED)",
        ),
        ("# B (ENFORCED)\none\n<!--\nnote\n-->\ntwo", "# B (ENFORCED)\none\ntwo"),
    ],
)
def test_a_marked_heading_brings_its_section(text: str, found: str) -> None:
    """Up to the next heading of its level or a higher one; marks inside count once."""
    assert marked(text) == [found]


@pytest.mark.parametrize(
    "text",
    [
        "`(ENFORCED)` is a mark",
        "```\n- never (ENFORCED)\n```",
        "~~~md\n# Never (CRITICAL)\n~~~",
        "text\n\n    indented (ENFORCED)",
        "<!-- never (ENFORCED) -->",
        "<!--\n- never (CRITICAL)\n-->",
        "(enforced) in small letters",
        "(ENFORCED",
        "(ENFORCED)",
        "ENFORCED",
        "---\nname: x (ENFORCED)\n---\n",
    ],
)
def test_marks_in_code_and_comments_do_not_count(text: str) -> None:
    """Nor other spellings, nor a mark without a rule."""
    assert marked(text) == []


def test_rules_come_in_the_order_of_the_cascade_each_once(
    tree: Tree, marked_texts: Callable[[Sequence[str]], list[str]]
) -> None:
    """With nested and scoped ones only where a file at hand calls for them."""
    tree.put("home/.claude/CLAUDE.md", "- mine (ENFORCED)\n- shared (CRITICAL)")
    tree.put("project/CLAUDE.md", "- shared   (CRITICAL)\n- theirs (CRITICAL)\n@more.md")
    tree.put("project/more.md", "imported (ENFORCED)")
    tree.put("project/.claude/rules/r.md", "---\npaths: src/**\n---\nscoped (CRITICAL)")
    tree.put("project/src/CLAUDE.md", "nested (ENFORCED)")
    stable = [
        "- mine (ENFORCED)",
        "- shared (CRITICAL)",
        "- theirs (CRITICAL)",
        "imported (ENFORCED)",
    ]

    assert marked_texts([]) == stable
    assert marked_texts(["src/x.py"]) == [*stable, "scoped (CRITICAL)", "nested (ENFORCED)"]


def test_a_rule_knows_its_file_and_line(tree: Tree) -> None:
    """Counted in the file, front matter included."""
    path = tree.put("project/CLAUDE.md", "---\nx: y\n---\r\n\r\n- never (ENFORCED)\r\n  push\r\n")

    assert markers.marked_in(tree.gather().sources) == [
        MarkedRule("- never (ENFORCED)\n  push", str(path), 5)
    ]


def test_rules_that_do_not_fit_are_told_apart() -> None:
    """A long one makes way for shorter ones after it; the order stays."""
    rules = [MarkedRule("x" * size, "/p", size) for size in (40, 80, 30, 20, 9)]

    kept, cut = markers.fit(rules, 100)

    assert [rule.line for rule in kept] == [40, 30, 20]
    assert [rule.line for rule in cut] == [80, 9]


@given(st.lists(st.integers(0, 300), max_size=20), st.integers(-5, 1_000), st.integers(0, 20))
def test_fitting_loses_nothing_and_keeps_within_the_budget(
    sizes: list[int], budget: int, overhead: int
) -> None:
    """Every rule is in exactly one of the two lists, in order, unshortened."""
    rules = [MarkedRule("x" * size, "/p", at) for at, size in enumerate(sizes)]

    kept, cut = markers.fit(rules, budget, overhead)

    assert sorted([*kept, *cut], key=lambda rule: rule.line) == rules
    assert [rule.line for rule in kept] == sorted(rule.line for rule in kept)
    assert sum(len(rule.text) + overhead for rule in kept) <= max(0, budget)
