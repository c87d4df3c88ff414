"""What crosses the compactions of recorded sessions: brimline's card beside two simple baselines.

`python benchmarks/carry.py SESSION.jsonl... [--show FOLDER]`. The card is made from each session as
it was up to a compaction. B1 is the user's messages word for word, B2 adds files, commands and
their failures, each within the same budget. Counted are exact names (paths, identifiers, flags,
numbers) that the session used afterwards, had seen before and its summary lacks; messages of the
user that summary and text hold word for word; characters. None of it tells whether a line is true:
read the texts, beside the session.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from brimline.carry import card, fold, ledger
from brimline.foreign import flatten
from brimline.transcript import row

if TYPE_CHECKING:
    from collections.abc import Iterator

_NAME = re.compile(
    r"https?://[^\s\"'<>)]+|[\w.~-]*/[\w./-]+|\b[\w-]+\.[a-z]{1,5}\b|--[a-z][\w-]+"
    r"|\b[A-Za-z]\w*[A-Z_]\w*\b|\b[0-9a-f]{7,40}\b|\b\d{3,}\b|#\d+\b"
)
_SHORTEST_NAME = 4
_MOST_REQUESTS = 60
_BUDGET = 9_000


class Case(NamedTuple):
    """One recorded compaction."""

    name: str
    before: list[tuple[bytes, dict[str, Any]]]
    summary: str
    after: list[dict[str, Any]]


def main() -> int:
    """Print a line per way of carrying."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("sessions", nargs="+")
    parser.add_argument("--show", help="write the texts into this folder")
    options = parser.parse_args()
    totals = {name: [0, 0, 0] for name in ("card", "B1", "B2")}
    cases = wanted_count = said_count = 0
    for path in options.sessions:
        for case in compactions(path):
            record = _record(case)
            wanted = needed(case)
            said = [card.message_beginning_on_one_line(message) for message in record.messages]
            cases += 1
            wanted_count += len(wanted)
            said_count += len(said)
            texts = {
                "card": card.card_text(record),
                "B1": _messages(record),
                "B2": _structure(record),
            }
            for name, text in texts.items():
                flat = " ".join(f"{case.summary} {text}".split())
                found = (
                    len(wanted & names_in(text)),
                    sum(part in flat for part in said),
                    len(text),
                )
                totals[name] = [a + b for a, b in zip(totals[name], found, strict=True)]
                if options.show:
                    os.makedirs(options.show, exist_ok=True)
                    Path(options.show, f"{case.name}-{name}.txt").write_text(text, "utf-8")
    if not cases:
        print("no session with a compaction was named", file=sys.stderr)
        return 1
    print(f"{cases} compactions, {wanted_count} names needed, {said_count} messages")
    for name, (named, held, size) in totals.items():
        print(f"{name:5} needed {named:4}  messages {held:4}  mean characters {size / cases:6.0f}")
    return 0


def compactions(path: str) -> Iterator[Case]:
    """Every compaction of a session, with what came before and after it."""
    lines = []
    for raw in Path(path).read_bytes().splitlines(keepends=True):
        try:
            found = json.loads(raw)
        except ValueError:
            continue
        if isinstance(found, dict):
            lines.append((raw, found))
    ends = [at for at, (_, one) in enumerate(lines) if row.is_summary(one)]
    for number, end in enumerate(ends):
        start = end
        while start and row.is_compaction_row(lines[start - 1][1]):
            start -= 1
        until = ends[number + 1] if number + 1 < len(ends) else len(lines)
        summary = "\n".join(_texts(lines[end][1]))
        yield Case(
            f"{Path(path).stem[:24]}-{number + 1}",
            lines[:start],
            summary,
            [one for _, one in lines[end + 1 : until]],
        )


def needed(case: Case) -> set[str]:
    """Names that were used after a compaction, known before it, and not in its summary."""
    known = names_in("\n".join(text for _, one in case.before for text in _texts(one)))
    shown: set[str] = set()
    used: set[str] = set()
    requests = 0
    for one in case.after:
        found = names_in("\n".join(_texts(one)))
        if row.type_of(one) == "assistant" and not row.is_sidechain(one):
            requests += 1
            used |= found - shown
        shown |= found
        if requests == _MOST_REQUESTS:
            break
    return (used & known) - names_in(case.summary)


def names_in(text: str) -> set[str]:
    """Exact names in a text; of a path its last part."""
    found = {match.group().strip(".,:;'\"`()") for match in _NAME.finditer(text)}
    short = {name if name.startswith("http") else name.rpartition("/")[2] for name in found}
    return {name for name in short if len(name) >= _SHORTEST_NAME}


def _texts(one: dict[str, Any]) -> Iterator[str]:
    for block in row.blocks_sent_to_model(one):
        if row.is_block(block, "text"):
            yield row.as_text(block.get("text"))
        elif row.is_block(block, "tool_result"):
            yield row.content_text(block.get("content"))
        elif row.is_block(block, "tool_use"):
            yield json.dumps(block.get("input"), ensure_ascii=False)


def _record(case: Case) -> ledger.Ledger:
    record = ledger.Ledger(case.name)
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as file:
        file.writelines(raw for raw, _ in case.before)
        file.flush()
        fold.fold_new_rows(record, file.name)
    return record


def _messages(record: ledger.Ledger, budget: int = _BUDGET) -> str:
    lines: list[str] = []
    for message in reversed(record.messages):
        line = "- " + flatten(message["text"], 1_200)
        if line not in lines and sum(map(len, lines)) + len(line) < budget:
            lines.append(line)
    return "\n".join(lines)


def _structure(record: ledger.Ledger) -> str:
    parts = [
        *(f"- [{state}] {subject}" for state, subject in record.tasks.values()),
        *(f"- {path}" for path in list(record.changed)[:-16:-1]),
        *(f"- {path}" for path in list(record.read)[:-11:-1]),
        *(f"- failed: {flatten(command, 140)}" for command in record.failed[-4:]),
        *(f"- {flatten(command, 140)}" for command in list(record.commands)[-6:]),
        f"- branch {record.branch}",
    ]
    tail = "\n".join(parts)[:3_600]
    return _messages(record, _BUDGET - len(tail)) + "\n\n" + tail


if __name__ == "__main__":
    sys.exit(main())
