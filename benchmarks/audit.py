"""How often the audit of a summary is right, on labelled items, and how long it takes.

`python benchmarks/audit.py`. Each labelled item is looked for in a summary that holds its words, a
rewording, something near it, its opposite, or another value, among sentences on other things.
"""

from __future__ import annotations

import random
import statistics
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.audit_cases import FILLER, HELD_OUT, TUNED, Case
from brimline.carry import audit, items, likeness

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from brimline.carry.likeness import Likeness

VERBATIM, REWORDED, DROPPED, NEGATED, CHANGED = (
    "verbatim",
    "reworded",
    "dropped",
    "negated",
    "changed",
)
_PRESERVED = (VERBATIM, REWORDED)
_ITEMS, _SUMMARY_CHARACTERS, _ROUNDS = 400, 20_000, 5
_SHORTEST_MISTYPED = 5
_OTHER_LINES = 25


class Judged(NamedTuple):
    """One labelled sentence and what the audit made of it."""

    label: str
    item: str
    sentence: str
    verdict: str


class Quality(NamedTuple):
    """Of what was called preserved, the right share; and the share of what was preserved."""

    precision: float
    recall: float
    kept_precision: float
    """Of what was called kept, the share that is there word for word or reworded."""


def judge(
    cases: Sequence[Case],
    measure: Likeness | None = None,
    *,
    mistyped: float = 0.0,
    seed: int = 7,
) -> list[Judged]:
    """Audit every labelled sentence of some cases.

    Args:
        cases: the labelled items.
        measure: how words are compared; None for the best there is.
        mistyped: the share of an item's longer words that get a slip of the finger.
        seed: chooses what else stands in the summaries.
    """
    rng = random.Random(seed)
    found = []
    for case in cases:
        text = _mistyped(case.text, rng, mistyped)
        for label, sentence in _labelled(case):
            ledger = items.Ledger("session")
            ledger.add(items.Item(case.kind, text, items.USER))
            summary = _summary(case, sentence, cases, rng)
            (finding,) = audit.audit(summary, ledger, "", measure=measure).findings
            found.append(Judged(label, text, sentence, finding.verdict))
    return found


def quality(judged: Sequence[Judged]) -> Quality:
    """How right the verdicts are."""
    called = [one for one in judged if one.verdict != "missing"]
    kept = [one for one in judged if one.verdict == "kept"]
    true = [one for one in judged if one.label in _PRESERVED]
    right = [one for one in called if one.label in _PRESERVED]
    return Quality(
        len(right) / max(1, len(called)),
        len(right) / max(1, len(true)),
        sum(one.label in _PRESERVED for one in kept) / max(1, len(kept)),
    )


def duration_s(measure: Likeness) -> float:
    """The median time for 400 items and a summary of 20,000 characters."""
    ledger, summary = _large()
    taken = []
    for _ in range(_ROUNDS):
        begun = time.perf_counter()
        audit.audit(summary, ledger, "", measure=measure)
        taken.append(time.perf_counter() - begun)
    return statistics.median(taken)


def main() -> None:
    """Print the figures as a table."""
    for measure in (likeness.best(), likeness.own()):
        print(f"{measure.name}: {duration_s(measure):.2f} s for {_ITEMS} items")
        for name, cases in (("tuned", TUNED), ("held out", HELD_OUT), ("all", TUNED + HELD_OUT)):
            for mistyped in (0.0, 0.2) if name == "all" else (0.0,):
                judged = judge(cases, measure, mistyped=mistyped)
                found = quality(judged)
                print(
                    f"  {name:8}  {len(judged):3} sentences  mistyped {mistyped:.0%}  "
                    f"precision {found.precision:.3f}  recall {found.recall:.3f}  "
                    f"of kept {found.kept_precision:.3f}"
                )


def _labelled(case: Case) -> Iterator[tuple[str, str]]:
    yield VERBATIM, case.text
    for sentence in case.reworded:
        yield REWORDED, sentence
    others = ((DROPPED, case.dropped), (NEGATED, case.negated), (CHANGED, case.changed))
    yield from [(label, sentence) for label, sentence in others if sentence]


def _summary(case: Case, sentence: str, cases: Sequence[Case], rng: random.Random) -> str:
    lines = [*FILLER, *[other.dropped for other in cases if other is not case]]
    lines = rng.sample(lines, _OTHER_LINES)
    lines.insert(rng.randrange(len(lines)), sentence)
    told = "\n".join(f"- {line}" for line in lines)
    return f"<analysis>thoughts</analysis>\n<summary>\n{told}\n</summary>"


def _mistyped(text: str, rng: random.Random, share: float) -> str:
    return " ".join(
        _slipped(word, rng) if _can_slip(word) and rng.random() < share else word
        for word in text.split(" ")
    )


def _can_slip(word: str) -> bool:
    return word.isalpha() and word.islower() and len(word) >= _SHORTEST_MISTYPED


def _slipped(word: str, rng: random.Random) -> str:
    """Two letters swapped, one left out, or one doubled."""
    at = rng.randrange(1, len(word) - 1)
    swapped = word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    return rng.choice((swapped, word[:at] + word[at + 1 :], word[:at] + word[at] + word[at:]))


def _large() -> tuple[items.Ledger, str]:
    rng = random.Random(3)
    cases = TUNED + HELD_OUT
    ledger = items.Ledger("session")
    while len(ledger.items) < _ITEMS:
        case, number = rng.choice(cases), len(ledger.items)
        text = f"{case.text} Case {number} in src/part{number}/file{number}.py."
        ledger.add(items.Item(case.kind, text, items.USER))
    lines: list[str] = []
    while sum(map(len, lines)) < _SUMMARY_CHARACTERS:
        case = rng.choice(cases)
        lines.append(rng.choice([*case.reworded, case.dropped, rng.choice(FILLER)]))
    return ledger, "\n".join(f"- {line}" for line in lines)


if __name__ == "__main__":
    main()
