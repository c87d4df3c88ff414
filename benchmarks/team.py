"""What a team's server finds, against the search here: LoCoMo's questions, evidence by turn.

    python benchmarks/team.py CONVERSATIONS.json qdrant+http://127.0.0.1:6333/NAME

Every conversation is a project; one home says it and sends it, another one, whose own search is
empty, asks. The collection must not exist before, and is deleted in the end.
"""

from __future__ import annotations

import json
import os
import re
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from brimline.recall import confirmation, hits, together
from brimline.recall.place import parse_place
from brimline.recall.qdrant import Server
from brimline.transcript.project import Project


def main() -> None:
    """Measure and print."""
    file, url = sys.argv[1:]
    conversations = json.loads(Path(file).read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        for name in ("here", "there"):
            os.makedirs(f"{folder}/{name}")
            Path(f"{folder}/{name}/config.toml").write_text(
                f'[memory]\nurl = "{url}"\n', encoding="utf-8"
            )
            confirmation.keep(f"{folder}/{name}", parse_place(url))
        together.WAIT_S = 30.0
        try:
            measure(conversations, folder)
        finally:
            Server(parse_place(url)).ask_collection("DELETE")


def measure(conversations: list[Any], folder: str) -> None:
    """Say and send everything, then ask both."""
    writer, empty = (
        hits.open_or_make_memory(f"{folder}/here"),
        hits.open_or_make_memory(f"{folder}/there"),
    )
    for number, one in enumerate(conversations):
        writer.add(turns(one["conversation"], number))
    queue = together.open_queue(f"{folder}/here", folder)
    assert queue is not None  # noqa: S101
    print(queue.drain(queue.sync_list_and_find_waiting()))
    shares: dict[str, list[list[float]]] = {"here": [], "there": []}
    times = []
    for number, one in enumerate(conversations):
        said = turns(one["conversation"], number)
        texts = {turn["text"]: turn["id"].partition("/")[2] for turn in said}
        for question, evidence in questions(one, set(texts.values())):
            local = writer.search(question, 10, Project((f"/p{number}",)))
            begun = time.perf_counter()
            remote, problem = together.search_both(
                f"{folder}/there", folder, empty, question, 10, Project((f"/p{number}",))
            )
            times.append(time.perf_counter() - begun)
            assert not problem, problem  # noqa: S101
            for name, told in (("here", local), ("there", remote)):
                found = [texts[hit.record.text] for hit in told]
                share = [len(evidence & set(found[:k])) / len(evidence) for k in (5, 10)]
                shares[name].append(share)
    for name, known_shares in shares.items():
        at5, at10 = (100 * statistics.mean(one[at] for one in known_shares) for at in (0, 1))
        print(f"{name}: R@5 {at5:.1f}, R@10 {at10:.1f} of {len(known_shares)} questions")
    print(f"a query of both: median {1000 * statistics.median(times):.0f} ms")


def turns(conversation: dict[str, Any], number: int) -> list[dict[str, Any]]:
    """What was said, session by session."""
    names = [key for key in conversation if re.fullmatch(r"session_\d+", key)]
    return [
        {
            "id": f"{number}/{turn['dia_id']}",
            "text": f"{turn['speaker']}: {turn.get('text') or ''}"
            + (f" [shares photo: {turn['blip_caption']}]" if turn.get("blip_caption") else ""),
            "group": f"{number}-{name}",
            "project": f"/p{number}",
        }
        for name in sorted(names, key=lambda name: int(name.partition("_")[2]))
        for turn in conversation[name]
    ]


def questions(entry: dict[str, Any], known: set[str]) -> list[tuple[str, set[str]]]:
    """Those with evidence that can be found."""
    found = []
    for one in entry["qa"]:
        named = [n for text in one.get("evidence", []) for n in re.findall(r"D\d+:\d+", text)]
        evidence = {re.sub(r":0+(\d)", r":\1", name) for name in named} & known
        if evidence and one["category"] in (1, 2, 3, 4):
            found.append((one["question"], evidence))
    return found


if __name__ == "__main__":
    main()
