"""Replays recorded sessions through the offload hook, and judges what the model would have seen.

    python benchmarks/offload.py ~/.claude/projects
    BENCH_CORPUS=folder python benchmarks/offload.py --sessions --check

Every recorded tool result goes through `offload.hook.post_tool_use` as the client would send it,
with the permission rules of a default install. A segment is what lies between two compactions.

saved       tokens that the fullest request would have held less, as a share of it: the mean over
            segments that reached 100,000 tokens (`mean`, the target), and all together (`all`)
retention   of the names (paths, symbols, hashes, long numbers) that the next 20 requests use and
            that the recorded context showed, the share that is still shown
recalls     requests whose tool inputs hold a name that the context no longer shows, per 100
edits       Edits whose longest line the recorded context showed and this one does not, per 100
kept        stricter: only names that occur in a replaced result and nowhere before it
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
from dataclasses import dataclass, field
from functools import cache
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

if __name__ == "__main__":
    # A script's own folder is on the path, the checkout that holds the package is not.
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from brimline import models
from brimline.bulk import hook
from brimline.fast.json import parse_all_on_line
from brimline.hooks.turn import Turn
from brimline.hooks.wire import Event
from brimline.transcript import row

if TYPE_CHECKING:
    from collections.abc import Iterator

FULLEST_TOKENS = 100_000
HORIZON_REQUESTS = 20
SHORTEST_LINE = 10
TARGETS = {"saved": 0.05, "retention": 0.97, "edits": 0.5, "recalls": 1.0}
_RUN = re.compile(r"[A-Za-z0-9_~@.][A-Za-z0-9_./@~-]*[A-Za-z0-9_]")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]{5,}")
_CODED = re.compile(r"[a-z0-9][A-Z]|_|\d|[A-Z]{2}")
_LONGEST_NAME = 200
_SHORTEST_NAME, _SHORTEST_NUMBER = 6, 4


class Sight:
    """The texts of a context, and before which request each name was shown first."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.first: dict[str, int] = {}

    def add(self, text: str, at: int) -> None:
        """Show a text."""
        self.texts.append(text)
        for name in names(text):
            self.first.setdefault(name, at)

    def shows(self, name: str, at: int) -> bool:
        """Whether a name was in sight at a request."""
        return self.first.get(name, at + 1) <= at


@dataclass
class Segment:
    """What happened between two compactions: the context as it was, and as it would have been."""

    session: str
    model: str | None = None
    fullest_tokens: int = 0
    fullest_saved_characters: int = 0
    saved_characters: int = 0
    requests: list[Request] = field(default_factory=list)
    replaced: list[tuple[int, frozenset[str]]] = field(default_factory=list)
    """Before which request, and the names that only this result showed."""
    recorded: Sight = field(default_factory=Sight)
    arrived: Sight = field(default_factory=Sight)

    def add(self, text: str, instead: str | None = None) -> None:
        """A text came into the context, another one in its place."""
        at = len(self.requests)
        if instead is not None:
            self.replaced.append((at, names(text) - self.recorded.first.keys()))
            self.saved_characters += len(text) - len(instead)
        self.recorded.add(text, at)
        self.arrived.add(text if instead is None else instead, at)

    @property
    def saved(self) -> float:
        """The share of its fullest request."""
        tokens = (
            self.fullest_saved_characters / models.lookup_model(self.model).characters_per_token
        )
        return tokens / self.fullest_tokens if self.fullest_tokens else 0.0


class Request(NamedTuple):
    """The names that one reply used, those of its tool calls, and Edits without their source."""

    used: frozenset[str]
    acted: frozenset[str]
    blind_edits: int


@cache
def names(text: str) -> frozenset[str]:
    """Paths, symbols and hashes (whole and their coded words), and numbers of four digits."""
    found = set()
    for run in _RUN.findall(text):
        coded = "/" in run or "." in run[:-1] or bool(_CODED.search(run))
        if (_SHORTEST_NAME <= len(run) <= _LONGEST_NAME and coded) or (
            run.isdigit() and len(run) >= _SHORTEST_NUMBER
        ):
            found.add(run)
        if len(run) > _SHORTEST_NAME and any(mark in run for mark in "./-@"):
            found.update(word for word in _WORD.findall(run) if _CODED.search(word))
    return frozenset(found)


def files(paths: list[str]) -> Iterator[str]:
    """The files named, and the transcripts in the folders named."""
    for path in paths:
        if not os.path.isdir(path):
            yield path
        for folder, _, found in sorted(os.walk(path)):
            yield from (
                os.path.join(folder, name) for name in sorted(found) if name.endswith(".jsonl")
            )


def main() -> int:
    """Print the figures, and whether the targets hold."""
    arguments = _parser().parse_args()
    try:
        segments = [one for path in files(arguments.paths) for one in replay(path)]
    except OSError as error:
        print(f"Cannot read {error.filename}: {error.strerror}.", file=sys.stderr)
        return 2
    if not any(one.fullest_tokens >= FULLEST_TOKENS for one in segments):
        print(f"No segment reached {FULLEST_TOKENS:,} tokens.", file=sys.stderr)
        return 2
    print(f"{'':24}segments replaced   mean    all retention  kept  edits recalls requests")
    if arguments.sessions:
        for session in dict.fromkeys(one.session for one in segments):
            print(_line(session[:22], figures([one for one in segments if one.session == session])))
    found = figures(segments)
    print(_line("all sessions", found))
    missed = [name for name in ("saved", "retention") if found[name] < TARGETS[name]]
    missed += [name for name in ("edits", "recalls") if found[name] > TARGETS[name]]
    told = ", ".join(f"{name} {found[name]:.3f} of {limit}" for name, limit in TARGETS.items())
    print(f"\nTarget {'missed: ' + ', '.join(missed) if missed else 'held'}. {told}.")
    return int(arguments.check and bool(missed))


def replay(path: str) -> list[Segment]:
    """The segments of a transcript, every result of its main thread sent through the hook.

    Raises:
        OSError: the file cannot be read.
    """
    session = os.path.basename(path).removesuffix(".jsonl")
    segments = [Segment(session)]
    with tempfile.TemporaryDirectory() as home, open(path, "rb") as file:
        player = _Player(home, session)
        for raw in file:
            for line in parse_all_on_line(raw.decode("utf-8", "replace")):
                if isinstance(line, dict) and not row.is_sidechain(line):
                    if row.is_compaction_row(line):
                        segments.append(Segment(session))
                    player.play_line(line, segments[-1])
    return [one for one in segments if one.requests]


class _Player:
    """Plays the client for one session."""

    def __init__(self, home: str, session: str) -> None:
        self.home, self.session = home, session
        self.calls: dict[str, tuple[str, dict[str, Any]]] = {}
        self.reply: str | None = None

    def play_line(self, line: dict[str, Any], segment: Segment) -> None:
        """Add what a row holds."""
        blocks = [block for block in row.blocks_sent_to_model(line) if isinstance(block, dict)]
        if line.get("type") == "assistant":
            self._take_reply(line, blocks, segment)
        else:
            for block in blocks:
                if block.get("type") == "tool_result":
                    self._take_result(line, block, segment)
                else:
                    segment.add(str(block.get("text") or ""))
        attached = row.attachment_of(line)
        if attached:
            segment.add(json.dumps(attached, ensure_ascii=False))

    def _take_reply(self, line: dict[str, Any], blocks: list[Any], segment: Segment) -> None:
        usage = row.usage_of(line)
        acted = [_inputs(block) for block in blocks if block.get("type") == "tool_use"]
        said = [str(block.get("text") or "") for block in blocks if block.get("type") == "text"]
        blind = sum(_is_blind(block, segment) for block in blocks)
        made = Request(names("\n".join([*acted, *said])), names("\n".join(acted)), blind)
        message = line.get("message")
        identity = message.get("id") if isinstance(message, dict) else None
        if usage and identity == self.reply and segment.requests:  # a further row of one reply
            last = segment.requests[-1]
            made = Request(last.used | made.used, last.acted | made.acted, last.blind_edits + blind)
            segment.requests[-1] = made
        elif usage:
            self.reply, segment.model = identity, usage.model
            segment.requests.append(made)
            if usage.prompt_tokens > segment.fullest_tokens:
                segment.fullest_tokens = usage.prompt_tokens
                segment.fullest_saved_characters = segment.saved_characters
        for block in blocks:
            asked = block.get("input")
            if block.get("type") == "tool_use" and isinstance(asked, dict):
                self.calls[str(block.get("id"))] = (str(block.get("name")), asked)
            segment.add(
                _inputs(block) if asked else str(block.get("text") or block.get("thinking") or "")
            )

    def _take_result(self, line: dict[str, Any], block: dict[str, Any], segment: Segment) -> None:
        tool, asked = self.calls.get(str(block.get("tool_use_id")), ("", {}))
        text, response = row.content_text(block.get("content")), line.get("toolUseResult")
        instead = None
        if not block.get("is_error") and response is not None:
            event = {"tool_name": tool, "tool_input": asked, "tool_response": response}
            decision = self._turn("PostToolUse", event, hook.post_tool_use)
            instead = _reference(decision.replacement, tool) if decision else None
        segment.add(text, instead)

    def _turn(self, name: str, fields: dict[str, Any], ask: Any) -> Any:
        event = {"session_id": self.session, "cwd": "/project", "hook_event_name": name} | fields
        turn = Turn(Event(name, json.dumps(event).encode()), self.home)
        turn.policy.client["recall_allowed"] = True  # as after a default install
        return ask(turn)


def figures(segments: list[Segment]) -> dict[str, float]:
    """All measures of some segments."""
    full = [one for one in segments if one.fullest_tokens >= FULLEST_TOKENS]
    count = sum(len(one.requests) for one in segments)
    wanted = hidden = recalls = needed = kept = 0
    for one in segments:
        for at, request in enumerate(one.requests):
            ahead = one.requests[at : at + HORIZON_REQUESTS]
            used = frozenset().union(*[later.used for later in ahead])
            in_sight = [name for name in used if one.recorded.shows(name, at)]
            wanted += len(in_sight)
            hidden += sum(not one.arrived.shows(name, at) for name in in_sight)
            recalls += any(
                one.recorded.shows(name, at) and not one.arrived.shows(name, at)
                for name in request.acted
            )
        for start, fresh in one.replaced:
            known: frozenset[str] = frozenset()
            for at, request in enumerate(one.requests[start : start + HORIZON_REQUESTS], start):
                used, known = request.used & fresh - known, known | request.used
                needed += len(used)
                kept += sum(one.arrived.shows(name, at) for name in used)
    tokens = sum(one.fullest_tokens for one in full)
    return {
        "segments": len(full),
        "replaced": sum(len(one.replaced) for one in segments),
        "saved": fmean([one.saved for one in full] or [0.0]),
        "all": sum(one.saved * one.fullest_tokens for one in full) / max(1, tokens),
        "retention": 1 - hidden / max(1, wanted),
        "kept": kept / needed if needed else 1.0,
        "edits": 100 * sum(r.blind_edits for one in segments for r in one.requests) / max(1, count),
        "recalls": 100 * recalls / max(1, count),
        "requests": count,
    }


def _is_blind(block: dict[str, Any], segment: Segment) -> bool:
    """Whether an Edit needs a line that the recorded context showed and this one does not."""
    asked = block.get("input")
    if block.get("name") != "Edit" or not isinstance(asked, dict):
        return False
    line = max((part.strip() for part in str(asked.get("old_string")).split("\n")), key=len)
    return (
        len(line) >= SHORTEST_LINE
        and any(line in text for text in segment.recorded.texts)
        and not any(line in text for text in segment.arrived.texts)
    )


def _inputs(block: dict[str, Any]) -> str:
    values = block.get("input")
    texts = values.values() if isinstance(values, dict) else [values]
    return "\n".join(one if isinstance(one, str) else json.dumps(one) for one in texts)


def _reference(replacement: Any, tool: str) -> str:
    """The text of a replacement as the model is shown it; of a file with numbered lines."""
    pending = [replacement]
    while pending:
        value = pending.pop()
        if isinstance(value, str) and value.startswith("[brimline stored"):
            rows_of = value.split("\n")
            return "\n".join(f"     1→{one}" for one in rows_of) if tool == "Read" else value
        if isinstance(value, dict | list):
            pending += value.values() if isinstance(value, dict) else value
    raise AssertionError("a replacement without a reference")


def _line(name: str, found: dict[str, float]) -> str:
    return (
        f"{name:24}{found['segments']:8}{found['replaced']:9}{found['saved']:7.1%}{found['all']:7.1%}"
        f"{found['retention']:10.3f}{found['kept']:6.2f}{found['edits']:7.2f}{found['recalls']:8.2f}"
        f"{found['requests']:9}"
    )


def _parser() -> argparse.ArgumentParser:
    summary, _, rest = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        description=summary, epilog=rest, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    default = os.environ.get("BENCH_CORPUS")
    parser.add_argument(
        "paths",
        nargs="*" if default else "+",
        default=[default] if default else None,
        help="transcripts or folders of transcripts (default: $BENCH_CORPUS)",
    )
    parser.add_argument("--sessions", action="store_true", help="a line for each session")
    parser.add_argument("--check", action="store_true", help="exit 1 where a target is missed")
    return parser


if __name__ == "__main__":
    sys.exit(main())
