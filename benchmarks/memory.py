"""What memory finds, and how long that takes.

    BENCH_CORPUS=FOLDER python benchmarks/memory.py [--beside CONVERSATIONS.json]
    python benchmarks/memory.py --entries 100000                (times, as ratios; memory in use)

Fifty questions of `memory_questions.json` were written from the sessions before there was a search,
44 plain ones after it, by who wrote the search and chose its weights by looking at all of them;
thirty queries are about something else. Evidence
is named by the rows of the sessions; no text of theirs is kept here. R@k is the mean share of a
question's evidence among the first k entries; a question is answered where a row of its evidence
is among the five hits that `brimline memory search --everywhere --limit 5` shows.
"""

from __future__ import annotations

import argparse
import glob
import itertools
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import brimline.recall
from benchmarks import team
from brimline.recall import deep

if TYPE_CHECKING:
    from brimline.recall.turns import Memory

_QUESTIONS = Path(__file__).with_name("memory_questions.json")
_SEED = 11
_ROUNDS = 15


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--entries", type=int, help="make that many and time the search")
    parser.add_argument("--keep", metavar="FOLDER", help="make them there, or use those there")
    parser.add_argument("--beside", metavar="FILE", help="conversations of LoCoMo as more sessions")
    parser.add_argument("--misses", action="store_true", help="name the questions not answered")
    given = parser.parse_args()
    corpus = os.environ.get("BENCH_CORPUS")
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.keep or temporary
        isolate(folder)
        if given.entries:
            times(folder, given.entries)
        elif corpus:
            find(corpus, f"{folder}/memory", given.beside, misses=given.misses)
        else:
            sys.exit("BENCH_CORPUS names no folder with sessions, and --entries no number")


def isolate(folder: str) -> None:
    """Let nothing here touch a real home."""
    for name in list(os.environ):
        if name.startswith(("CLAUDE", "ANTHROPIC", "BRIMLINE")):
            del os.environ[name]
    os.environ.update(
        HOME=folder, CLAUDE_CONFIG_DIR=f"{folder}/.claude", BRIMLINE_HOME=f"{folder}/brimline"
    )


def find(corpus: str, folder: str, beside: str | None, *, misses: bool) -> None:
    """How much of the evidence is found, how many questions are answered, how many refused."""
    store = brimline.recall.open(folder)
    for path in sorted(glob.glob(f"{glob.escape(corpus)}/*.jsonl")):
        found = deep._new_session_entries(path, 0, float("inf"))[0]  # noqa: SLF001 - as it is taken in
        store.put_entries([part for entry in found for part in deep.split_entry_into_pieces(entry)])
    if beside:
        for number, one in enumerate(json.loads(Path(beside).read_text(encoding="utf-8"))):
            store.add(team.turns(one["conversation"], number))
    shares: dict[str, list[list[float]]] = {}
    for asked in json.loads(_QUESTIONS.read_text(encoding="utf-8")):
        evidence, question = set(asked["evidence"]), asked["question"]
        hits = [hit.id.partition("#")[0] for hit in store.search(question, limit=40)]
        ranked = list(dict.fromkeys(hits))
        shown = [{hit.id.partition("#")[0], *hit.record.rows.split()}
                 for hit in store.search(question, 5, may_be_none=True)]  # fmt: skip
        right = any(evidence & names for names in shown) if evidence else not shown
        share = [len(evidence & set(ranked[:k])) / (len(evidence) or 1) for k in (5, 10)]
        shares.setdefault(asked["style"], []).append([*share, right])
        if misses and not right:
            place = min((ranked.index(one) + 1 for one in evidence if one in ranked), default=None)
            print(f"  {asked['id']} {asked['style']}: first at {place}")
    for style, known in sorted(shares.items()):
        at5, at10 = (100 * statistics.mean(one[at] for one in known) for at in (0, 1))
        answered = sum(bool(one[2]) for one in known)
        print(f"{style}: right {answered} of {len(known)}; R@5 {at5:.1f}, R@10 {at10:.1f}")


def times(folder: str, count: int) -> None:
    """A query in a running process, a cold command, and what a server takes of the memory."""
    store = brimline.recall.open(f"{folder}/brimline/search")
    if not os.path.isdir(store.folder):
        fill(store, count)
    questions = [one["question"] for one in json.loads(_QUESTIONS.read_text(encoding="utf-8"))]
    store.search(questions[0])
    whole, bare = [], []
    for asked in questions[:_ROUNDS]:
        whole.append(_seconds(lambda asked=asked: store.search(asked)))
        bare.append(_seconds(lambda asked=asked: store.run_on_database(lambda c: _bare(c, asked))))
    ratio = statistics.median(whole) / statistics.median(bare)
    print(f"{count:,} entries, query in a running process: {ratio:.2f} x bare FTS5")
    print(f"  {1000 * statistics.median(whole):.0f} ms, bare {1000 * statistics.median(bare):.0f}")
    command = [sys.executable, "-m", "brimline", "memory", "search", "--everywhere"]
    floor = [sys.executable, "-c", "import sqlite3"]
    cold, empty = [], []
    for asked in questions[:5]:
        cold.append(_seconds(lambda asked=asked: _run([*command, "--", asked])))
        empty.append(_seconds(lambda: _run(floor)))
    ratio = statistics.median(cold) / statistics.median(empty)
    print(f"cold `brimline memory search`: {ratio:.2f} x an interpreter with sqlite3")
    print(f"  {1000 * statistics.median(cold):.0f} ms, {1000 * statistics.median(empty):.0f} ms")
    server = "from brimline.mcp import server, tools;"
    asked = f"tools.answer('recall_elsewhere', {{'query': {questions[0]!r}}});"
    tell = "import resource; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    done = subprocess.run(
        [sys.executable, "-c", server + asked + tell], capture_output=True, text=True, check=True
    )
    unit = 1 if sys.platform == "darwin" else 1024
    print(f"MCP server after a recall: {int(done.stdout) * unit / 1e6:.0f} MB")


def fill(store: Memory, count: int) -> None:
    """Entries of words as they are distributed in texts."""
    chance = random.Random(_SEED)
    # What is asked for is neither in every entry nor rare: about one in twenty holds such a word.
    words = [f"word{number}" for number in range(20_000)]
    for asked in _QUESTIONS.read_text(encoding="utf-8").lower().split():
        if asked.isalpha():
            words[chance.randrange(100, 4_000)] = asked
    weights = list(itertools.accumulate(1 / (rank + 1) for rank in range(len(words))))
    started = time.monotonic()
    batch: list[dict[str, Any]] = []
    for number in range(count):
        length = chance.randrange(10, 120)
        text = " ".join(chance.choices(words, cum_weights=weights, k=length))
        batch.append({"id": f"e{number}", "text": text, "group": f"s{number // 40}", "at": number})
        if len(batch) == 5_000:
            store.add(batch)
            batch = []
    store.add(batch)
    print(f"made {count:,} entries in {time.monotonic() - started:.0f} s", flush=True)


def _bare(connection: Any, asked: str) -> None:
    """The least that a search has to do: one query of FTS5."""
    from brimline.recall import question

    connection.execute(
        "SELECT rowid FROM turns WHERE turns MATCH ? ORDER BY rank LIMIT 10",
        (question.any_of(question.words_but_stop_words(asked)),),
    ).fetchall()


def _seconds(task: Any) -> float:
    start = time.perf_counter()
    task()
    return time.perf_counter() - start


def _run(command: list[str]) -> None:
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)


if __name__ == "__main__":
    main()
