"""A reading put into words: for the status line, `status`, the page, the model and the tiers.

Fast path: imports only `brimline.gauge.window`. All of them take the document of a reading
(`Reading.document`), which the telemetry holds as well.
"""

from __future__ import annotations

from brimline.gauge import window

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NOT_MEASURED = "unknown: no model request since the session began or compacted"
_NOTES = {
    "refusal": "not compacted before that; `brimline config autocompact` changes it",
    "stop": "automatic compaction is off in the client's settings",
}
# By tier; the last tier of any ladder is red.
_COLOURS = ("green", "cyan", "yellow", "magenta", "red")
# Where dividing what is left by the last growths gives something else.
_AS_USUAL = "as sessions usually go"
# An interval wider than this tells its low end only.
_WIDEST_INTERVAL = 10


def status_rows(document: dict[str, Any]) -> list[tuple[str, str]]:
    """A heading and a text for each thing that is known, the distance first."""
    size = f"{document['window_tokens']:,} (from: {document['window_source']})"
    if document["occupancy_tokens"] is None:
        return [("in use", not_measured_text(document)), ("window", size)]
    source = document["compaction_source"]
    brim = f"{ending_at_text(document)} (from: {source}), {margin_left_text(document)}"
    used = f"{in_use_text(document)} ({used_share_text(document)}; by: {document['measured_by']})"
    rows = [
        ("the brim", brim),
        ("forecast", requests_left_text(document)),
        ("in use", used),
        ("next request", next_request_text(document)),
        ("window", size),
        ("tier", tier_text(document)),
        ("while idle", _idle_compaction_text(document)),
        ("note", _NOTES.get(document["ending"], "")),
        ("model", _figures_assumed_for_new_model_text(document)),
    ]
    return [(heading, text) for heading, text in rows if text]


def _idle_compaction_text(document: dict[str, Any]) -> str:
    """Return what the client does with a large context that nobody uses."""
    tokens = document.get("idle_compaction_tokens")
    if tokens is None or tokens >= document["compaction_tokens"]:
        return ""
    return (
        f"compacted from {tokens:,} tokens on after about 54 minutes without a request "
        "(`idleCompaction` in the client's settings)"
    )


def _figures_assumed_for_new_model_text(document: dict[str, Any]) -> str:
    """Tell which figures are assumed, where the table of models does not know this one yet."""
    if not document["model_taken_for"]:
        return ""
    assumed = f"{document['model']}, not known yet: window, brim and prices are assumed to be"
    return f"{assumed} those of {document['model_taken_for']}"


def status_sentence(document: dict[str, Any] | None) -> str:
    """Return where a session stands, in a sentence."""
    if document is None or document["occupancy_tokens"] is None:
        text = not_measured_text(document or {})
        return f"{text[0].upper()}{text[1:]}."
    left = requests_left_text(document) or margin_left_text(document)
    return f"{in_use_text(document)} in use; {ending_at_text(document)}: {left}."


def last_status_sentence(document: dict[str, Any]) -> str:
    """Return where a session stood when it ended, in a sentence."""
    if document.get("estimated_tokens"):
        return f"It ended with a compaction: {not_measured_text(document)}."
    if document["occupancy_tokens"] is None:
        return "It ended before a model request was measured since it began or compacted."
    left = document["compaction_tokens"] - document["occupancy_tokens"]
    side = "past the brim" if left < 0 else "before the brim"
    return f"It ended with {in_use_text(document)} in use, {_counted(abs(left), 'token')} {side}."


def not_measured_text(document: dict[str, Any]) -> str:
    """Return what is known of a session that no request has measured."""
    if not document.get("estimated_tokens"):
        return NOT_MEASURED
    tokens = short_token_count_text(document["estimated_tokens"])
    return f"~{tokens} tokens, estimated: no model request since the compaction"


def distance_to_end_text(document: dict[str, Any]) -> str:
    """Return how far it is to the end of this context, how that is known, how long it will last."""
    source = document["measured_by"]
    if document["window_source"] not in window.VERIFIED_SOURCES:
        source = f"{source}; window unverified"
    learned = " (learned)" if document["compaction_source"] == "learned" else ""
    of_window = f"~{document['projected_tokens']:,} of {document['window_tokens']:,} tokens"
    left = _tokens_left_or_past_text(document)
    if document["forecast_ops_high"]:
        left = f"{left}, {requests_left_text(document)}"
    return f"Next: {of_window} ({source}), {ending_at_text(document)}{learned}: {left}."


def status_line_parts_by_name(document: dict[str, Any]) -> dict[str, str]:
    """The parts of the status line by their names; what is unknown is left out."""
    size = f"{short_token_count_text(document['window_tokens'])} window"
    if document["occupancy_tokens"] is None:
        return {"distance": f"{size}, not measured yet"}
    goal = window.word_for_ending(document["ending"])
    parts = {
        "distance": f"{short_token_count_text(max(0, document['margin_tokens']))} to {goal}",
        "used": f"{used_share_text(document)} of {size}",
    }
    if document["forecast_ops_high"]:
        parts["forecast"] = requests_left_text(document, is_short=True)
    if document["tier"]:
        parts["tier"] = tier_text(document)
    return parts


def in_use_text(document: dict[str, Any]) -> str:
    """The occupancy of the window."""
    return f"{document['occupancy_tokens']:,} of {document['window_tokens']:,} tokens"


def used_share_text(document: dict[str, Any]) -> str:
    """The occupancy as a percentage."""
    return f"{100 * document['occupancy_tokens'] / document['window_tokens']:.0f}%"


def next_request_text(document: dict[str, Any]) -> str:
    """The tokens of the next request, with what has come in since the last."""
    coming = document["projected_tokens"]
    return f"{coming:,} (~{coming - document['occupancy_tokens']:,} more)"


def ending_at_text(document: dict[str, Any]) -> str:
    """Return what happens at which figure."""
    return window.ending_at_text(document["ending"], document["compaction_tokens"])


def margin_left_text(document: dict[str, Any]) -> str:
    """The tokens until then, which are counted from the next request."""
    return f"{_tokens_left_or_past_text(document)} after the next request"


def _tokens_left_or_past_text(document: dict[str, Any]) -> str:
    left = _counted(abs(document["margin_tokens"]), "token")
    return f"{left} left" if document["margin_tokens"] >= 0 else f"{left} past it"


def requests_left_text(document: dict[str, Any], *, is_short: bool = False) -> str:
    """One figure and its range, and why where dividing gives another; empty without a forecast."""
    if not document["forecast_ops_high"]:
        return ""
    ops, low, high = (document[f"forecast_ops{end}"] for end in ("", "_low", "_high"))
    if high > _WIDEST_INTERVAL * low:
        return f"{low:,} req. or more" if is_short else f"at least {_counted(low, 'request')}"
    text = f"about {_counted(ops, 'request')} ({low:,} to {high:,})"
    if is_short:
        text = f"~{ops} req. ({low}–{high})"
    return f"{text}, {_AS_USUAL}" if document["forecast_as_usual"] else text


def tier_text(document: dict[str, Any]) -> str:
    """The tier by its number, which says how it ranks."""
    return f"L{document['tier']}" if document["tier"] else "L0 (calm)"


def tier_colour(level: int, last_level: int) -> str:
    """The colour of a tier: the last of any ladder is red, the others take theirs in turn."""
    is_last = level == last_level > 1
    return _COLOURS[-1] if is_last else _COLOURS[min(level, len(_COLOURS) - 2)]


def tier_entry_notice_text(document: dict[str, Any]) -> str:
    """A tier that was entered, in a line that fits above the prompt."""
    goal = window.word_for_ending(document["ending"])
    left = _counted(max(0, document["margin_tokens"]), "token")
    return f"brimline: {left} to {goal}; from here on tier {tier_text(document)}"


def short_token_count_text(tokens: int) -> str:
    """A number of tokens in three digits."""
    sizes = ((999_500_000, 10**9, "B"), (999_500, 10**6, "M"), (1_000, 1_000, "k"))
    for least, size, letter in sizes:
        if tokens >= least:
            return f"{float(f'{tokens / size:.3g}'):,g}{letter}"
    return str(tokens)


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
