"""What compactions cost, and what came of them: what their summaries lost, what was repeated."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Any

from brimline import models, output
from brimline.carry import lost
from brimline.figures import lookback, subagents
from brimline.gauge.composition import NAMES
from brimline.transcript import find

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

# Sessions are read again for what summaries lost, so only of the last ones.
_LOST_OF_LAST = 5
_MILLION = 1_000_000
_WHY = {
    "auto": "The client compacted by itself",
    "manual": "You asked for it",
    "idle": "Nobody asked anything for a while, so the client compacted",
    "plugin": "The cache had expired in a pause, so brimline compacted",
}
_WHY_UNKNOWN = "The session's file does not say who asked for it"
_WHO_ASKED = {
    "auto": "by the client itself",
    "manual": "as you asked for it",
    "idle": "by the client, as nobody asked anything for a while",
    "plugin": "by brimline in a pause, as you have set it",
}


def fill_in_costs_and_losses(
    document: dict[str, Any],
    user_rows: Sequence[dict[str, Any]] = (),
    until: float | None = None,
) -> None:
    """Fill in what the compactions in a document of the history cost, and what the last ones lost.

    Args:
        document: one of `lookback`, which may list none.
        user_rows: the user's own rows of the table of models.
        until: when no further session is read, by the monotonic clock.
    """
    listed = document.get("compactions")
    if not isinstance(listed, list):
        return
    fill_in_dollars(listed, user_rows)
    last = listed[: -_LOST_OF_LAST - 1 : -1]
    for name in dict.fromkeys(each["session_id"] for each in last):
        if until is not None and time.monotonic() > until:
            return
        for file in find.files_beginning_with(f"{name}.jsonl"):
            with contextlib.suppress(OSError):
                fill_in_what_summary_lost(last, file)


def fill_in_what_summary_lost(compactions: Iterable[dict[str, Any]], path: str) -> None:
    """Fill in what the summaries of these no longer name, as far as they are in a session's file.

    Raises:
        OSError: it cannot be read.
    """
    losses = lost.losses_by_boundary(path)
    for each in compactions:
        each["lost"] = each["lost"] or losses.get(each["uuid"])


def fill_in_dollars(
    compactions: Iterable[dict[str, Any]], user_rows: Sequence[dict[str, Any]] = ()
) -> None:
    """Fill in what compactions of the history cost, about: their documents get `dollars`.

    The client sends the whole context once more, from the cache, for a summary; the next request
    writes what is left to the cache again, or less where it is known to have read some of it.
    """
    for compaction in compactions:
        before, after = compaction["pre_tokens"], compaction["post_tokens"]
        model = models.lookup_model(compaction["model"], user_rows)
        prices = model.prices_for_prompt(before or 0)
        if before is None or after is None or prices is None:
            continue
        summary_tokens = (compaction["summary_characters"] or 0) / model.characters_per_token
        asked = before * prices.read + summary_tokens * prices.output if summary_tokens else 0
        written = compaction["rewritten_tokens"]
        again = (after if written is None else written) * prices.write_5m
        compaction["dollars"] = round((asked + again) / _MILLION, 6)


def short_account(compaction: dict[str, Any]) -> str:
    """A compaction in a line: who wanted it, what became of the context, what is lost."""
    before, after = compaction["pre_tokens"], compaction["post_tokens"]
    parts = [f"compacted {who_asked_text(compaction)}"]
    if compaction["account"]:
        parts.append(compaction["account"])
    elif before and after:
        parts.append(f"{before:,} tokens before, {after:,} after")
    loss = compaction["lost"] or {}
    counts = [(len(loss.get(kind, ())), kind[:-1]) for kind in ("messages", "files", "outputs")]
    if any(count for count, _ in counts):
        lost_texts = [output.count_text(count, noun) for count, noun in counts if count]
        parts.append(f"not in the summary: {', '.join(lost_texts)}")
    return "; ".join(parts)


def who_asked_text(compaction: dict[str, Any]) -> str:
    """Say who wanted a compaction."""
    return _WHO_ASKED.get(compaction["trigger"], "(nobody recorded why)")


def why_text(
    compaction: dict[str, Any],
    brim_tokens: int,
    parts: Mapping[str, int],
    largest: tuple[str, int] | None,
) -> str:
    """Say why a compaction came when it did.

    Args:
        compaction: its document.
        brim_tokens: where the client was expected to compact by itself.
        parts: what the window held before it, by kind, in tokens.
        largest: the largest single item in it, and its tokens.
    """
    before = compaction["pre_tokens"]
    at = f" at {before:,} tokens" if before else ""
    text = f"{_WHY.get(compaction['trigger'], _WHY_UNKNOWN)}{at}"
    if before and compaction["trigger"] == "auto":
        early = f", earlier than expected ({brim_tokens:,})"
        text += early if before < brim_tokens else f": it does so from {brim_tokens:,} on"
    elif before and before < brim_tokens:
        text += f", {brim_tokens - before:,} before it would have come by itself"
    kind, tokens = max(parts.items(), key=lambda part: part[1], default=("", 0))
    if tokens:
        item = f"; the largest item: {largest[0]}, {largest[1]:,}" if largest else ""
        text += f". {tokens / sum(parts.values()):.0%} of that: {NAMES[kind]}{item}"
    return f"{text}."


def text(document: dict[str, Any]) -> str:
    """The history for a person, with what the last summaries lost."""
    lines = [lookback.text(document), *subagents.lines(document.get("subagents", ()))]
    listed = document.get("compactions")
    for each in listed if isinstance(listed, list) else []:
        told = lost.lines_of_one_loss(each["lost"], each["session_id"]) if each["lost"] else []
        if told:
            lines += ["", f"Compaction of {output.utc_minute_text(each['at'])}"]
            lines += [output.wrapped_text(line) for line in told]
    return "\n".join(lines)
