"""The story that `brimline demo` plays: a bug hunt that fills a window once and begins again. Pure.

Sizes follow recorded sessions: a first request of some 24,000 tokens, a few thousand for most
steps, and now and then a result that is far larger. The model is one that the client compacts.
"""

from __future__ import annotations

from typing import NamedTuple

MODEL = "claude-sonnet-4-6"
WINDOW_TOKENS = 200_000
FIRST_REQUEST_TOKENS = 24_000
# The line of the log that matters.
FAULTY_LINE = 611
# What a summary is like: the gist, without the rule, the reason and the exact values.
SUMMARY = (
    "<summary>\nThe import was investigated and a fix for large batches is under way. Tests were "
    "added and the docs were updated. Next: the remaining imports.\n</summary>"
)


class Step(NamedTuple):
    """One thing that happens in the session."""

    kind: str
    """`prompt`, a tool, `bulk` (a result that is kept out), `recall` (a part of it is fetched back)
    or `compact`"""
    label: str
    tokens: int = 0
    """What it adds to the context, of a bulk what it would add; for a compaction, what is left."""


STORY = (
    Step(
        "prompt",
        "The nightly import drops rows. Find out why and fix it. Never touch prod_db. "
        "The staging database listens on port 48213.",
        300,
    ),
    Step("Grep", "import_rows in src", 1_900),
    Step("Read", "src/importer/pipeline.py", 9_800),
    Step("Read", "src/importer/batch.py", 7_400),
    Step("Read", "tests/test_pipeline.py", 11_200),
    Step("bulk", "cat logs/import.log", 10_200),
    Step("recall", "the lines around the first error"),
    Step("Read", "logs/nightly.log, the last page", 12_900),
    Step("Bash", "make test", 6_300),
    Step("prompt", "It is the batches with more than 500 rows, right?", 200),
    Step("Skill", "review-batches", 11_400),
    Step("Read", "src/importer/limits.py", 5_900),
    Step("Edit", "batch.py: carry the remainder over", 1_500),
    Step("Bash", "python -m importer --dry-run", 9_300),
    Step("Read", "docs/import-format.md", 7_200),
    Step("Skill", "write-tests", 12_600),
    Step("prompt", "Good. Add a regression test and update the docs.", 200),
    Step("Write", "tests/test_batch.py: 501 rows", 1_900),
    Step("Read", "tests/fixtures/rows.csv", 9_100),
    Step("Bash", "make test", 6_500),
    Step("Bash", "make integration", 12_600),
    Step("Read", "CHANGELOG.md", 6_400),
    Step("Bash", "git diff", 3_900),
    Step("compact", "the client compacts", 46_000),
    Step("prompt", "Now the same for the weekly import.", 200),
    Step("Read", "src/weekly/pipeline.py", 12_400),
    Step("Bash", "make test", 6_500),
)


def log(characters: int) -> str:
    """A log with a fault in its middle, as a command prints it."""
    lines: list[str] = []
    length = 0
    while length < characters:
        number = len(lines)
        told = f"INFO batch {number}: ok"
        if number == FAULTY_LINE:
            told = f"ERROR batch {number}: 501 rows, 500 written, 1 dropped (see BATCH_LIMIT)"
        lines.append(f"2026-11-14T02:{number // 60 % 60:02d}:{number % 60:02d} {told}")
        length += len(lines[-1]) + 1
    return "\n".join(lines)
