"""Survival: how many of 40 facts are in the card after a long session, and what is wrongly open.

    python -m benchmarks.survival [--grammar heldout] [--seeds 50] [--show 3]

Facts come from a grammar and a seed; the session is folded into a ledger as the hooks do it.
"""

from __future__ import annotations

import argparse
import collections
import tempfile
from typing import NamedTuple

from benchmarks import (
    survival_grammar,
    survival_heldout,
    survival_heldout_b,
    survival_heldout_c,
    survival_heldout_d,
    survival_heldout_e,
    survival_heldout_f,
)
from benchmarks.survival_session import Ended, Expected, Fact, Grammar, write
from brimline import testing
from brimline.carry.card import card
from brimline.carry.reading import bring_up_to_date

BUDGET = 9_000
GRAMMARS = {
    "published": Grammar(survival_grammar.FACTS, survival_grammar.ENDED),
    "heldout": Grammar(survival_heldout.FACTS, survival_heldout.ENDED),
    "heldout-b": Grammar(survival_heldout_b.FACTS, survival_heldout_b.ENDED),
    "heldout-f": Grammar(survival_heldout_f.FACTS, survival_heldout_f.ENDED, is_noisy=True),
    "heldout-e": Grammar(survival_heldout_e.FACTS, survival_heldout_e.ENDED, is_noisy=True),
    "heldout-d": Grammar(survival_heldout_d.FACTS, survival_heldout_d.ENDED, is_noisy=True),
    "heldout-c": Grammar(
        survival_heldout_c.FACTS, survival_heldout_c.ENDED, survival_heldout_c.POOLS, is_noisy=True
    ),
}


class Score(NamedTuple):
    """What one session came to."""

    missing: list[Fact]
    wrongly_open: list[Ended]
    text: str


def run(grammar: Grammar, seed: int, folder: str) -> tuple[Expected, Score]:
    """Write a session, build its ledger and card, and look for the facts in it."""
    session = testing.SessionBuilder(f"{folder}/{seed}.jsonl")
    expected = write(session, grammar, seed)
    ledger = bring_up_to_date(f"{folder}/home-{seed}", session.session_id, session.path)
    return expected, score(expected, card(ledger, (), budget=BUDGET))


def score(expected: Expected, text: str) -> Score:
    """Which facts a card lacks, and which ended things stand in it as if they were open."""
    missing = [fact for fact in expected.facts if fact.needle not in text]
    still_open = text.partition("\nFinished:")[0]
    wrongly_open = [ended for ended in expected.ended if ended.opened.needle in still_open]
    return Score(missing, wrongly_open, text)


def main() -> None:
    """Print the scores."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--grammar", choices=sorted(GRAMMARS), default="published")
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--show", type=int, default=0, help="print misses of that many kinds")
    arguments = parser.parse_args()
    found, wrong, lengths = [], [], []
    misses: collections.Counter[str] = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(arguments.first, arguments.first + arguments.seeds):
            expected, result = run(GRAMMARS[arguments.grammar], seed, folder)
            found.append(len(expected.facts) - len(result.missing))
            wrong.append(len(result.wrongly_open))
            lengths.append(len(result.text))
            misses.update(f"{f.kind}/{f.place}: {f.text}" for f in result.missing)
            misses.update(f"OPEN {e.opened.text} <- {e.text}" for e in result.wrongly_open)
    passed = sum(f >= 39 and not w for f, w in zip(found, wrong, strict=True))
    mean = sum(found) / len(found)
    print(f"{arguments.grammar}: {len(found)} sessions, {passed} with >= 39 of 40 and none open")
    print(f"facts found: lowest {min(found)}, mean {mean:.2f}, highest {max(found)}")
    print(f"wrongly open: {sum(wrong)} in all; characters: {min(lengths)}-{max(lengths)}")
    for text, times in misses.most_common(arguments.show):
        print(f"  {times} x {text}")


if __name__ == "__main__":
    main()
