"""The texts of `rules`: what a person reads of files, rules and faults."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from brimline.rules import lint, loading
from brimline.rules.lint import _LONGEST_RULE

if TYPE_CHECKING:
    from .conftest import Tree

FILE: dict[str, Any] = {
    "path": "/p/CLAUDE.md",
    "level": "project",
    "why": "it is the project's own",
    "client": "start",
    "client_note": "",
    "patterns": (),
    "imported_by": None,
    "survives_compaction": True,
    "same_as": None,
    "tokens": 1_200,
}
DOCUMENT: dict[str, Any] = {
    "project": "/p",
    "files": [FILE],
    "tokens_at_start": 1_200,
    "tokens_on_demand": 30,
    "marked_rules": 2,
    "problems": [],
    "is_complete": True,
}


def length(characters: int) -> int:
    """A token for each character."""
    return characters


@pytest.mark.parametrize(
    ("changed", "lines"),
    [
        ({}, ["     loads: at the start, and again after a summary"]),
        (
            {"client": "never", "client_note": "it is odd", "survives_compaction": False},
            ["     loads: no: it is odd"],
        ),
        (
            {"client": "match", "patterns": ("a/*", "b"), "survives_compaction": False},
            [
                "     loads: when a file that matches is read or written; a summary loses it, and",
                "       brimline brings its marked rules back",
                "     for a/*, b",
            ],
        ),
        (
            {"same_as": "/p/other.md"},
            [
                "     loads: at the start, and again after a summary",
                "     says the same as other.md, and is counted there",
            ],
        ),
    ],
)
def test_a_file_is_told_with_when_it_loads_and_what_else_there_is(
    changed: dict[str, Any], lines: list[str]
) -> None:
    """In the list of all files, and beside the rules that hold for a path."""
    told = loading.text(DOCUMENT | {"files": [FILE | changed]}).split("\n")
    rules = [{"marked": True, "line": 3, "text": "one"}, {"marked": False, "line": 12, "text": "b"}]
    file = FILE | changed | {"rules": rules}
    explained = loading.explanation_text({"project": "/p", "path": "/p/src/a", "files": [file]})

    assert told == [
        *("Instruction files in /p, weakest first.", ""),
        *("  1  project       ~1,200   CLAUDE.md", *lines, ""),
        "~1,200 tokens at the start, ~30 more on demand, estimated from the length.",
        "Marked rules: 2.",
    ]
    assert explained.split("\n")[:-2] == [
        *("What holds for src/a, weakest first.", ""),
        *("1. CLAUDE.md  (project: it is the project's own)", *lines),
        *("   !    3  one", "       12  b", ""),
    ]
    assert explained.endswith("\nCode sends all of them and leaves the choice to the model.")


def test_imports_problems_and_a_large_project_are_told() -> None:
    """And where there are no files, how to begin."""
    file = FILE | {"imported_by": "/p/CLAUDE.md", "path": "/p/more.md"}
    told = loading.text(DOCUMENT | {"files": [file], "problems": [1, 2], "is_complete": False})

    assert "    @more.md" in told
    assert told.split("\n")[-2:] == [
        "Problems: 2, see `brimline rules lint`.",
        "The project is large: not every folder was searched.",
    ]
    none = loading.text(DOCUMENT | {"files": []})
    assert none == "No instruction files hold in /p. Write a CLAUDE.md to begin."


def test_faults_are_told_with_their_place_and_counted() -> None:
    """A paragraph each, then what could not be checked, then the count."""
    finding = {"severity": "broken", "path": "/p/CLAUDE.md", "line": 7, "text": "x is gone"}
    other = finding | {"severity": "doubtful", "line": None, "text": "is long"}
    document = {"project": "/p", "files": 2, "broken": 1, "doubtful": 3, "notes": ["no git"]}

    told = loading.findings_text(document | {"findings": [finding, other]})

    assert told.split("\n") == [
        "broken   CLAUDE.md:7: x is gone",
        "doubtful CLAUDE.md: is long",
        "note     no git",
        "2 instruction files: 1 broken, 3 doubtful.",
    ]


def test_a_path_has_its_rules_with_lines_and_marks(tree: Tree) -> None:
    """Those of a text that is there twice stand at the first file only."""
    text = "# Head\n\n- Use tabs\n- Never push\n  to main (ENFORCED)\n\n@more.md\n"
    tree.put("project/CLAUDE.md", f"---\nx: y\n---\n{text}")
    tree.put("project/CLAUDE.local.md", text)
    tree.put("project/more.md", "| a | b |\n|---|---|\n\n" + "w" * (_LONGEST_RULE + 1))

    made = loading.explanation_document(tree.gather("src/a"), "src/a", length)
    rules = [
        [(rule["line"], rule["text"][:30], rule["marked"]) for rule in file["rules"]]
        for file in made["files"]
        if tree.owns(file["path"])
    ]

    assert made["path"] == str(tree.project / "src/a")
    own = [(6, "Use tabs", False), (7, "Never push to main (ENFORCED)", True)]
    assert rules == [own, [(4, "w" * 30, False)], []]
    (long,) = made["files"][-2]["rules"]
    assert long["text"] == "w" * _LONGEST_RULE


def test_a_survey_that_is_cut_short_says_so(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was seen by then counts; names that were not seen are not called gone."""
    tree.put("project/CLAUDE.md", "See `cli/gone.py`.")
    tree.put("project/a/b.py")
    whole = lint.survey_project_files(str(tree.project))
    # The project's folder, its two entries; the folder in it, with its one.
    for most, is_complete in ((5, True), (4, False)):
        monkeypatch.setattr(lint, "_MOST_ENTRIES", most)
        walked = lint.survey_project_files(str(tree.project))
        assert walked.is_complete is is_complete
        assert walked.names == {"a", "CLAUDE.md", *(whole.names if is_complete else ())}
        found = loading.findings_document(str(tree.project), 0)
        assert [each["kind"] for each in found["findings"]] == ["reference"] * is_complete
        assert len(found["notes"]) == (1 if is_complete else 2)


def test_why_a_file_is_not_loaded_or_who_adds_it_is_noted(tree: Tree) -> None:
    """Nothing of one that the client loads; ours comes at the start and outlives a compaction."""
    tree.put(tree.private(), "mine")
    for name in ("CLAUDE.md", "AGENTS.md", "src/CLAUDE.md"):
        tree.put(f"project/{name}", f"text of {name}")

    made = loading.document(tree.gather("src/x"), lambda characters: characters // 4)

    told = {
        tree.name(file["path"]): (
            file["client_note"].partition(";")[0],
            file["survives_compaction"],
        )
        for file in made["files"]
        if tree.owns(file["path"])
    }
    assert told == {
        tree.private(): ("Claude Code does not know it", True),
        "project/CLAUDE.md": ("", True),
        "project/AGENTS.md": ("AGENTS.md is read only where there is no CLAUDE.md", False),
        "project/src/CLAUDE.md": ("", False),
    }
