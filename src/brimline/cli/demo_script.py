"""The story that `brimline demo` plays: a bug hunt that fills a window twice. Pure.

Two of its results are too large for the window and are kept out of it.

Sizes follow recorded sessions: a first request of some 24,000 tokens, a few thousand for most
steps, and now and then a result that is far larger.
"""

from __future__ import annotations

from typing import NamedTuple


class Step(NamedTuple):
    """One thing that happens in the session."""

    kind: str
    """prompt, tool, agent (asked about before it runs), read (the scout is asked), bulk (a result
    that is kept out), recall (a part of it is fetched back) or compact"""
    label: str
    tokens: int = 0
    """what it adds to the context, of a bulk what it would add; for a compaction, what is left"""
    tool: str = "Bash"


FIRST_REQUEST_TOKENS = 24_000
WINDOW_TOKENS = 200_000
# What a summary is like: the gist, without the rule, the reason and the exact values.
SUMMARY = (
    "<analysis>The user asked for a fix of an import.</analysis>\n<summary>\nThe import was "
    "investigated and a fix for large batches is under way. Tests were added and the docs were "
    "updated. Next: the remaining imports.\n</summary>"
)

STORY = (
    Step(
        "prompt",
        "The nightly import drops rows. Find out why and fix it. Never touch prod_db. "
        "The staging database listens on port 48213.",
        300,
    ),
    Step("tool", "rg -n 'import_rows' src", 1_900, "Grep"),
    Step("read", "cat node_modules/csv-parse/lib/index.js", 2_100),
    Step("tool", "src/importer/pipeline.py", 9_800, "Read"),
    Step("tool", "src/importer/batch.py", 7_400, "Read"),
    Step("tool", "git log --stat -20", 3_100),
    Step("tool", "tests/test_pipeline.py", 11_200, "Read"),
    Step("tool", "make test", 6_300),
    Step("bulk", "cat logs/import.log", 10_200),
    Step("recall", "the lines around the first error", 0),
    Step("tool", "logs/nightly.log, the last page", 12_900, "Read"),
    Step("tool", "src/importer/schema.py", 8_600, "Read"),
    Step("tool", "pipeline.py: count rows per batch", 1_200, "Edit"),
    Step("tool", "make test", 6_400),
    Step("prompt", "It is the batches with more than 500 rows, right?", 200),
    Step("agent", "Explore", 1_400, "Agent"),
    Step("tool", "rg -n 'BATCH_LIMIT' .", 2_300, "Grep"),
    Step("tool", "src/importer/limits.py", 5_900, "Read"),
    Step("tool", "python -m importer --dry-run", 9_300),
    Step("tool", "docs/import-format.md", 7_200, "Read"),
    Step("tool", "batch.py: carry the remainder over", 1_500, "Edit"),
    Step("tool", "make test", 6_600),
    Step("tool", "src/importer/retry.py", 6_800, "Read"),
    Step("tool", "git diff", 2_700),
    Step("prompt", "Good. Add a regression test and update the docs.", 200),
    Step("tool", "tests/test_batch.py: 501 rows", 1_900, "Write"),
    Step("tool", "make test", 6_500),
    Step("tool", "tests/fixtures/rows.csv", 6_100, "Read"),
    Step("tool", "docs/import-format.md: say what happens above the limit", 1_300, "Edit"),
    Step("tool", "make lint", 2_900),
    Step("tool", "make test", 4_200),
    Step("tool", "git diff --stat", 900),
    Step("tool", "CHANGELOG.md", 2_600, "Read"),
    Step("tool", "make integration", 3_800),
    Step("compact", "the client compacts", 46_000),
    Step("prompt", "Now the same for the weekly import.", 200),
    Step("tool", "src/weekly/pipeline.py", 12_400, "Read"),
    Step("tool", "src/weekly/batch.py", 9_100, "Read"),
    Step("bulk", "logs/weekly.log", 21_700, "Read"),
    Step("tool", "src/weekly/limits.py", 20_300, "Read"),
    Step("tool", "make test", 6_500),
    Step("tool", "src/weekly/schema.py", 9_900, "Read"),
    Step("tool", "batch.py: carry the remainder over", 1_400, "Edit"),
    Step("tool", "make test", 6_700),
)


def log(characters: int) -> str:
    """A log with a fault in its middle, as a command prints it or a file holds it."""
    lines: list[str] = []
    length = 0
    while length < characters:
        number = len(lines)
        lines.append(
            f"2026-11-14T02:{number // 60 % 60:02d}:{number % 60:02d} INFO batch {number}: ok"
        )
        if number == FAULTY_LINE:
            lines[-1] = (
                f"2026-11-14T02:31:00 ERROR batch {number}: 501 rows, 500 written, 1 dropped "
                "(BATCH_LIMIT in importer/limits.py)"
            )
        length += len(lines[-1]) + 1
    return "\n".join(lines)


FAULTY_LINE = 611
