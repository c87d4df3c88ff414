"""`brimline history`: what sessions went through, how large summaries are, what was kept out."""

from __future__ import annotations

import itertools
import os
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from brimline import clock, output
from brimline.fast import paths
from brimline.offload import learning
from brimline.state.figures import percentiles
from brimline.state.history import sessions, spooled, update
from brimline.transcript import caching, find

if TYPE_CHECKING:
    from collections.abc import Sequence

    from brimline.state.figures import Compaction, Figures
    from brimline.state.history import Session

_RECENT_SESSIONS = 20
_LAST_ROWS = 30
_SHORT_ID = 8
_BLOCKS, _PLAIN_BLOCKS = "▁▂▃▄▅▆▇█", "_.-=+*%#"
_SPARK_CELLS = 60


@output.command("history")
@output.session_option
@click.option("--compactions", is_flag=True, help="Only compactions, each on a line.")
@click.option("--injections", is_flag=True, help="Only what hooks and the client injected.")
@click.option("--cache", is_flag=True, help="Only the prompt cache: what broke its prefix.")
def history(
    session_id: str | None, compactions: bool, injections: bool, cache: bool, as_json: bool
) -> None:
    """Show sessions with turns, growth and compactions, sizes of summaries, what was kept out.

    Figures come from what hooks recorded; compactions also from the client's transcripts. With
    --injections: what hooks, rules and lists took beside the conversation, by session or in the
    last 20.

    \b
    Example:
      brimline history
      brimline history --session 1f0c2d3e
      brimline history --injections
      brimline history --compactions --json
    """
    if injections:
        from brimline.cli import injections_text

        injections_text.show(session_id, as_json=as_json)
        return
    if cache:
        from brimline.cli import cache_history

        cache_history.show(session_id, as_json=as_json)
        return
    home_dir = paths.home()
    named = "" if session_id is None else paths.safe_session_id(session_id)
    notes = _update(home_dir, find.beginning_with(named))
    known = {one.session_id: one for one in sessions(home_dir)}
    if session_id is None:
        document = overview_document(known, every_compaction=compactions)
        shown = [one["session_id"] for one in document["sessions"]]
        text = _compactions_text if compactions else _overview_text
    else:
        shown = [find.matching(session_id, known)]
        document = session_document(known[shown[0]])
        text = _session_text
    document |= {"kept_out": _kept_out(home_dir, shown), "notes": notes}
    output.answer(document, text, as_json=as_json)
    for note in [] if as_json else notes:
        output.note(note)


def _update(home_dir: str, files: list[str]) -> list[str]:
    """Bring the history up to date; returns what a reader of its figures should know."""
    size = sum(os.path.getsize(file) for file in files if os.path.isfile(file))
    with output.Progress("Reading", size) as bar:
        notes = update(home_dir, files, progress=bar.update)
    if damaged := sum(one.damaged for one in sessions(home_dir)):
        notes.append(f"{output.count(damaged, 'piece')} of spool files: damaged, without an event")
    return notes


def overview_document(known: dict[str, Session], *, every_compaction: bool) -> dict[str, Any]:
    """All sessions at a glance, under the keys that other programs rely on; unknown is null."""
    figures = {name: known[name].figures for name in sorted(known)}
    seen = [name for name, found in figures.items() if found.last_at is not None]
    seen.sort(key=lambda name: figures[name].last_at or 0.0, reverse=True)
    # A compaction that was copied into a resumed session counts once.
    every: dict[Any, tuple[str, Compaction]] = {}
    for name, found in figures.items():
        for number, one in enumerate(found.compactions):
            every.setdefault(one.uuid or (name, number), (name, one))
    compactions = sorted(every.values(), key=lambda pair: pair[1].begun_at)
    sizes = [one.summary_characters for _, one in compactions]
    document: dict[str, Any] = {
        "session_count": len(seen),
        "sessions": [_session_line(name, figures[name]) for name in seen[:_RECENT_SESSIONS]],
        "compaction_count": len(compactions),
        "summary_characters": percentiles([size for size in sizes if size is not None]),
    }
    if every_compaction:
        document["compactions"] = [_compaction(one, name) for name, one in compactions]
    return document


def session_document(session: Session) -> dict[str, Any]:
    """One session in full."""
    found = session.figures
    return _session_line(session.session_id, found) | {
        "occupancy_tokens": found.occupancies,
        "turns": [{"number": n} | _timed(turn) for n, turn in enumerate(found.turns, 1)],
        "messages": [_timed(notice) for notice in found.messages],
        "blocks": [_timed(notice) for notice in found.blocks],
        "compactions": [_compaction(one, session.session_id) for one in found.compactions],
    }


def _session_line(session_id: str, found: Figures) -> dict[str, Any]:
    return {
        "session_id": session_id,
        **output.fields(found, "project model window_tokens"),
        "first_at": _time(found.first_at),
        "last_at": _time(found.last_at),
        "turns": len(found.turns),
        "requests": len(found.occupancies),
        "peak_occupancy_tokens": max(found.occupancies, default=None),
        "compactions": len(found.compactions),
        "messages": len(found.messages),
        "blocks": len(found.blocks),
    }


def _kept_out(home_dir: str, sessions: list[str]) -> dict[str, int]:
    """What offloading saved: what the client would have shown, less references and recalls.

    And the most that a gateway kept out of one request.
    """
    every = learning.total(learning.saved_by(home_dir, name) for name in sessions)
    return {
        **output.fields(every, "references stored_bytes recalls"),
        "would_have_shown_characters": every.would,
        "reference_characters": every.shown,
        "recalled_characters": every.recalled,
        "tokens_estimated": every.kept_out_tokens,
        "gateway_tokens": max((_by_gateway(home_dir, name) for name in sessions), default=0),
    }


def _by_gateway(home_dir: str, session_id: str) -> int:
    try:
        return caching.by_gateway(spooled(home_dir, session_id))[0] or 0
    except OSError:  # its spool cannot be read, which a note says
        return 0


def _compaction(found: Compaction, session_id: str) -> dict[str, Any]:
    names = "trigger pre_tokens post_tokens summary_characters summary_source"
    return {
        "session_id": session_id,
        "at": _time(found.at),
        **output.fields(found, names),
        "messages_of_the_user": found.messages,
        "messages_in_summary": found.held,
        "card_characters": found.card_characters,
    }


def _timed(found: Any) -> dict[str, Any]:
    return asdict(found) | {"at": _time(found.at)}


def _time(seconds: float | None) -> str | None:
    return None if seconds is None else clock.format_utc(seconds)


def _overview_text(document: dict[str, Any]) -> str:
    """All sessions at a glance."""
    shown = document["sessions"]
    if not shown and not document["compaction_count"]:
        return "No history yet: hooks have recorded nothing, and no transcript has a compaction."
    lines = ["No session was recorded by hooks yet."]
    if shown:
        rows = [
            [
                output.minute(one["last_at"]),
                one["session_id"][:_SHORT_ID],
                str(one["turns"]),
                _share(one["peak_occupancy_tokens"], one["window_tokens"]),
                str(one["compactions"]),
                _folder(one["project"]),
            ]
            for one in shown
        ]
        head = ["last active", "session", "turns", "fullest", "compacted", "project"]
        lines = [f"Sessions, newest first ({len(shown)} of {document['session_count']})"]
        lines.append(output.table(head, rows, right={2, 3, 4}))
        lines.append(f"Kept out in these: {_kept_out_text(document['kept_out'])}")
    return "\n".join([*lines, "", _summary_sizes(document)])


def _summary_sizes(document: dict[str, Any]) -> str:
    told = "Summary size: no compaction with a summary is known."
    if found := document["summary_characters"]:
        sizes = ", ".join(f"{name} {size:,}" for name, size in list(found.items())[1:])
        counted = output.count(found["count"], "compaction")
        told = f"Summary size in characters, over {counted}: {sizes}"
    return output.wrapped(told)


def _kept_out_text(found: dict[str, int]) -> str:
    told = []
    if found["references"]:
        replaced = output.count(found["references"], "result")
        tokens = f"~{found['tokens_estimated']:,} tokens"
        told.append(f"{tokens}, by {replaced} replaced, {found['recalls']:,} fetched back")
    if found["gateway_tokens"]:
        told.append(f"by the gateway up to {found['gateway_tokens']:,} tokens of a request")
    return "; ".join(told) or "nothing yet"


def _session_text(document: dict[str, Any]) -> str:
    """One session in full."""
    rows = [
        ("project", output.line(document["project"] or "unknown", 200)),
        ("model", output.line(document["model"] or "unknown")),
        ("active", output.span(document["first_at"], document["last_at"])),
        ("requests", str(document["requests"])),
        ("fullest", _share(document["peak_occupancy_tokens"], document["window_tokens"])),
        ("kept out", _kept_out_text(document["kept_out"])),
    ]
    if values := document["occupancy_tokens"]:
        rows.append(("occupancy", sparkline(values, document["window_tokens"])))
    lines = [f"Session {document['session_id']}", output.pairs(rows)]
    lines += [*_turns(document["turns"]), *_notices(document)]
    return "\n".join([*lines, *_compactions(document["compactions"])])


def sparkline(values: Sequence[int], full: int | None) -> str:
    """Values as a line of blocks, each the largest of its share; a full block is a full window."""
    blocks = output.drawn(_BLOCKS, _PLAIN_BLOCKS)
    top = max(full or 0, *values)
    count = min(len(values), _SPARK_CELLS)
    edges = [len(values) * cell // count for cell in range(count + 1)]
    largest = [max(values[low:high]) for low, high in itertools.pairwise(edges)]
    return "".join(blocks[min(value * len(blocks) // top, len(blocks) - 1)] for value in largest)


def _turns(found: list[dict[str, Any]]) -> list[str]:
    if not found:
        return ["No turn was recorded by hooks yet."]
    rows = [
        [
            str(turn["number"]),
            output.minute(turn["at"]),
            output.figure(turn["occupancy_tokens"]),
            f"+{turn['growth_tokens']:,}",
            str(turn["requests"]),
            str(turn["compactions"] or ""),
        ]
        for turn in found[-_LAST_ROWS:]
    ]
    head = ["turn", "at", "in use", "growth", "requests", "compactions"]
    return [f"Turns{_of(rows, found)}", output.table(head, rows, right={0, 2, 3, 4, 5}, indent=2)]


def _notices(document: dict[str, Any]) -> list[str]:
    lines = [
        f"  {output.minute(one['at'])}  {told} at {output.figure(one['occupancy_tokens'])}"
        for one, told in [
            *[(one, f"L{one['tier']} announced") for one in document["messages"]],
            *[(one, f"{one['tool'] or one['event']} refused") for one in document["blocks"]],
        ]
    ]
    return ["Messages and blocks", *sorted(lines)] if lines else []


def _compactions_text(document: dict[str, Any]) -> str:
    """Only compactions, of all sessions."""
    return "\n".join([*_compactions(document["compactions"]), "", _summary_sizes(document)])


def _compactions(found: list[dict[str, Any]]) -> list[str]:
    if not found:
        return ["No compaction yet."]
    rows = [
        [
            output.minute(one["at"]),
            one["session_id"][:_SHORT_ID],
            output.line(one["trigger"] or "unknown", 8),
            *[output.figure(one[f"{name}_tokens"]) for name in ("pre", "post")],
            output.figure(one["summary_characters"]),
            _held(one),
            "" if one["card_characters"] is None else f"{one['card_characters']:,}",
        ]
        for one in found[-_LAST_ROWS:]
    ]
    head = ["at", "session", "trigger", "before", "after", "summary", "held", "card"]
    told = (
        "Tokens before and after; characters of the summary and of the card. Held: how many of the "
        "user's messages until then the summary holds word for word."
    )
    table = output.table(head, rows, right=range(3, len(head)))
    return [f"Compactions{_of(rows, found)}", table, output.wrapped(told)]


def _held(one: dict[str, Any]) -> str:
    told, held = one["messages_of_the_user"], one["messages_in_summary"]
    return "" if told is None or held is None else f"{held}/{told}"


def _of(shown: list[Any], found: list[Any]) -> str:
    return f" (last {len(shown)} of {len(found)})" if len(found) > len(shown) else ""


def _share(tokens: int | None, window: int | None) -> str:
    share = f" ({tokens / window:.0%})" if tokens is not None and window else ""
    return output.figure(tokens) + share


def _folder(project: str | None) -> str:
    return (project or "unknown").rstrip("/").rpartition("/")[2]
