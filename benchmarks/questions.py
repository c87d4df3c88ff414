"""What is still in sight after a compaction: questions on recorded sessions, and who can answer.

`BENCH_CORPUS=FOLDER python benchmarks/questions.py [--misses]`. At each recorded compaction the
messages before it go through `brimline mod compact`, as the mod sends them. A question counts as in
sight where the few words that answer it stand in what the next request would hold: after ours,
and, in the recorded session, after the client's own summary with the files that it put back.
Then three recalls: one with the words of the question, and one for each of the first two keys that
its answer names. A program asks them; a model may choose better, or not ask at all.

`questions.json` has each question with the row that answers it, and where in it; of the answer only
a hash. Rows were drawn by chance from the stretch before each compaction, by kind; the questions
were written from them, before who wrote them had read the rule of the compaction.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.memory import isolate

QUESTIONS = Path(__file__).with_name("questions.json")
_KEY = re.compile(r"\bsha256:[0-9a-f]{8,64}|\bm\d+\b")
_RECALLS = 3
_WINDOWS = (200_000, 1_000_000)


class Block(NamedTuple):
    """One block of a message, and the row that it stands in."""

    row: str
    at: int
    role: str
    value: dict[str, Any]

    @property
    def text(self) -> str:
        """All words of it; thinking has none."""
        return "\n".join(texts_in(self.value))


class Stretch(NamedTuple):
    """What a session's requests held before a compaction, and what they held after it."""

    session: str
    folder: str
    before: list[Block]
    after: list[Block]
    used_tokens: int
    model: str
    rows: list[bytes]
    """Of the session's file, as far as it had been written when the next request was made."""


class Outcome(NamedTuple):
    """Where the answer to a question is."""

    kind: str
    by_us: bool
    by_client: bool
    by_recall: bool
    is_left_to_client: bool


def main() -> None:
    """Ask every question, print what became of them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--misses", action="store_true", help="name the questions not answered")
    given = parser.parse_args()
    corpus = os.environ.get("BENCH_CORPUS")
    if not corpus:
        sys.exit("BENCH_CORPUS names no folder with sessions")
    asked = json.loads(QUESTIONS.read_text(encoding="utf-8"))
    outcomes = []
    for name in sorted({one["session"] for one in asked}):
        for stretch in stretches(Path(corpus, name)):
            own = [(one, text) for one in asked if (text := expected(one, stretch)) is not None]
            outcomes += answers(stretch, own, show=given.misses) if own else []
    if len(outcomes) < len(asked):
        sys.exit(f"of {len(asked)} questions only {len(outcomes)} have their row in {corpus}")
    print(render(outcomes))


def stretches(path: Path) -> list[Stretch]:
    """Every compaction of a session, of its main thread."""
    found, blocks, seen = list[Stretch](), list[Block](), set[str]()
    used, model, folder = 0, "", "/"
    waiting: Stretch | None = None
    lines = path.read_bytes().splitlines(keepends=True)
    for number, line in enumerate(lines):
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if row.get("isSidechain"):
            continue
        folder = row.get("cwd") or folder
        if row.get("subtype") == "compact_boundary":
            waiting = Stretch(row["sessionId"], folder, blocks, [], used, model, [])
            found.append(waiting)
            blocks = []
            continue
        if waiting and row.get("type") == "assistant":
            waiting.after.extend(blocks)
            waiting.rows.extend(lines[:number])
            waiting = None
        message = row.get("message") or {}
        usage = message.get("usage") or {}
        if any(usage.values()) and message.get("model") != "<synthetic>":
            used = sum(count or 0 for name, count in usage.items() if name in _PROMPT_SIDE)
            model = message["model"]
        for block in _blocks_of(row):
            mark = f"{message.get('id') or row.get('uuid')} {json.dumps(block.value)}"
            blocks += [block] if mark not in seen else []
            seen.add(mark)
    return found


_PROMPT_SIDE = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


def _blocks_of(row: dict[str, Any]) -> list[Block]:
    kind, attachment = row.get("type"), row.get("attachment")
    if isinstance(attachment, dict):
        text = "\n".join(texts_in(attachment))
        return [Block(row["uuid"], 0, "user", {"type": "text", "text": text})]
    message = row.get("message")
    if kind not in ("user", "assistant") or not isinstance(message, dict):
        return []
    content = message.get("content")
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    return [Block(row["uuid"], at, kind, block) for at, block in enumerate(content or [])]


def texts_in(value: Any) -> list[str]:
    """Every text in a block, but for what is no part of the conversation."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, list):
        return [text for one in value for text in texts_in(one)]
    if not isinstance(value, dict):
        return []
    kind = value.get("type")
    if kind in ("tool_use", "tool_result"):
        return texts_in(value.get("input" if kind == "tool_use" else "content"))
    if kind in ("thinking", "redacted_thinking", "image"):
        return []
    return [text for name, one in value.items() if name != "type" for text in texts_in(one)]


def plain(text: str) -> str:
    """Lower letters, one blank between words, no marks of Markdown."""
    return " ".join(re.sub(r"[`*]", "", text).lower().split())


def digest(text: str) -> str:
    """What is kept of an answer."""
    return hashlib.sha256(plain(text).encode()).hexdigest()[:16]


def expected(asked: dict[str, Any], stretch: Stretch) -> str | None:
    """The words that answer a question; None where its row is in another stretch."""
    for block in stretch.before:
        if (block.row, block.at) == (asked["row"], asked["block"]):
            text = block.text[asked["start"] :][: asked["length"]]
            if digest(text) != asked["sha256"]:
                sys.exit(f"the row of {asked['question']!r} is not as it was")
            return plain(text)
    return None


def answers(
    stretch: Stretch, own: list[tuple[dict[str, Any], str]], *, show: bool
) -> list[Outcome]:
    """What became of the questions on one stretch, in a home of their own."""
    outcomes = []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        isolate(folder)
        place = Path(folder, ".claude", "projects", "-project", f"{stretch.session}.jsonl")
        place.parent.mkdir(parents=True)
        place.write_bytes(b"".join(stretch.rows))
        told = compacted(stretch)
        client = plain("\n".join(block.text for block in stretch.after))
        is_left = "results" not in told
        ours = client if is_left else plain("\n".join(_texts_after(stretch.before, told)))
        for asked, text in own:
            found = text in ours or is_recalled(stretch, asked["question"], text)
            outcomes.append(Outcome(asked["kind"], text in ours, text in client, found, is_left))
            if show and not found:
                print(f"  {asked['kind']}: {asked['question']}")
    return outcomes


def compacted(stretch: Stretch) -> dict[str, Any]:
    """The answer of `brimline mod compact`."""
    request = {
        "session": stretch.session,
        "cwd": stretch.folder,
        "trigger": "auto",
        "instructions": None,
        "model": stretch.model,
        "window_tokens": _WINDOWS[stretch.used_tokens > _WINDOWS[0]],
        "used_tokens": stretch.used_tokens,
        "messages": _as_the_client_gives_them(stretch.before),
    }
    done = subprocess.run(
        [sys.executable, "-m", "brimline", "mod", "compact"],
        input=json.dumps(request).encode(),
        capture_output=True,
        check=True,
        timeout=120,
    )
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def _as_the_client_gives_them(blocks: list[Block]) -> list[dict[str, Any]]:
    """One entry per block; calls and results say the same of each other."""
    results = {b.value.get("tool_use_id"): b for b in blocks if b.value["type"] == "tool_result"}
    entries = []
    for number, block in enumerate(blocks):
        value = block.value
        entry: dict[str, Any] = {"role": block.role, "text": "", "handle": f"h{number}"}
        entry |= {"toolUses": [], "toolResults": []}
        if value["type"] == "text":
            entry["text"] = value["text"]
        elif value["type"] == "tool_use":
            use = {"tool_use_id": value["id"], "tool": value["name"], "input": value["input"]}
            if result := results.get(value["id"]):
                use |= {"text": result.text, "isError": bool(result.value.get("is_error"))}
            entry["toolUses"] = [use]
        elif value["type"] == "tool_result":
            told = {"tool_use_id": value["tool_use_id"], "text": block.text}
            entry["toolResults"] = [told | {"isError": bool(value.get("is_error"))}]
        entries.append(entry)
    return entries


def _texts_after(blocks: list[Block], told: dict[str, Any]) -> list[str]:
    """What the messages hold once the answer is applied."""
    results, inputs = told["results"], told.get("inputs") or {}
    shown = []
    for block in blocks:
        value = block.value
        if value.get("tool_use_id") in results:
            shown.append(results[value["tool_use_id"]])
        elif value.get("id") in inputs:
            shown += texts_in(inputs[value["id"]])
        else:
            shown.append(block.text)
    return shown


def is_recalled(stretch: Stretch, question: str, text: str) -> bool:
    """Whether the words come back with the question, or with what it finds first."""
    from brimline.mcp import recall
    from brimline.transcript.project import Project

    home_dir, project = (
        os.environ["BRIMLINE_HOME"],
        Project((stretch.folder,), session=stretch.session),
    )
    found = recall.answer(home_dir, stretch.folder, project, {"query": question})
    keys = list(dict.fromkeys(_KEY.findall(found)))[: _RECALLS - 1]
    read = [recall.answer(home_dir, stretch.folder, project, {"key": key}) for key in keys]
    return any(text in plain(one) for one in (found, *read))


def render(outcomes: list[Outcome]) -> str:
    """A table by kind, for a page."""
    names = {
        "user": "the user's words",
        "reply": "replies",
        "call": "calls",
        "old": "old tool results",
        "report": "subagents' reports",
        "recent": "later tool results",
    }
    lines = ["| about | questions | brimline | the client's summary | brimline, three recalls |"]
    lines.append("|---|---:|---:|---:|---:|")
    for kind, name in [*names.items(), ("", "**all**")]:
        own = [one for one in outcomes if not kind or one.kind == kind]
        figures = (sum(bool(one[at]) for one in own) for at in (1, 2, 3))
        lines.append(f"| {name} | {len(own)} | {' | '.join(map(str, figures))} |")
    left = sum(one.is_left_to_client for one in outcomes)
    lines += ["", f"{left} questions are at compactions that brimline left to the client."]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
