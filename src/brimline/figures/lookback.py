"""The documents behind `history`, and their texts: what sessions and compactions went through.

Documents have the keys that other programs rely on; unknown is null. What was kept out of windows
is known to the rooms above, which fill in `kept_out`.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from brimline import models, output
from brimline.fast import clock, io, paths
from brimline.figures import bill, history
from brimline.figures.totals import percentiles
from brimline.transcript import find

if TYPE_CHECKING:
    from collections.abc import Callable

    from brimline.figures.archive import Session
    from brimline.figures.store import Store
    from brimline.figures.totals import Compaction, Figures

    KeptOut = Callable[[str, list[str]], dict[str, int]]

_RECENT_SESSIONS = 20
_PROJECT_CHARACTERS, _TITLE_CHARACTERS = 20, 120
_LAST_ROWS = 30
_SHORT_ID = 8
# Narrower, as in an answer inside the client, times of compactions go without the year.
_YEAR_FITS = 78
# What lies between the row of a compaction and the last hook that is told of it, at most.
_SLACK_S = 5.0


def document(
    found: Store, kept_out: KeptOut, session_id: str | None = None, *, compactions: bool = False
) -> dict[str, Any]:
    """All sessions at a glance, or one in full, by what the figures are now.

    Args:
        found: the figures.
        kept_out: tells what offloading saved in some sessions.
        session_id: the one to show, by its id or how that begins.
        compactions: whether every compaction is listed.

    Raises:
        SessionError: there is no such session.
        StateError: the archive cannot be read.
    """
    sessions, home_dir = (
        {one.session_id: one for one in history.known_sessions(found)},
        found.home_dir,
    )
    figures = _figures_by_session_without_copies(home_dir, sessions)
    if session_id is None:
        made = _overview_document(figures)
        shown = [line["session_id"] for line in made["sessions"]]
        if not compactions:
            del made["compactions"]
    else:
        shown = [find.only_matching_id(session_id, sessions)]
        made = _session_document(shown[0], figures[shown[0]])
    copies = io.list_names(f"{home_dir}/copies")
    for row in made.get("sessions", [made]):
        files = found.transcripts_of(row["session_id"])
        row["title"] = next((one.name for one in files if one.name), "")
        row["is_copy"] = f"{row['session_id']}.json" in copies
    return made | {"kept_out": kept_out(home_dir, shown), "notes": _damage_notes(sessions.values())}


def _figures_by_session_without_copies(
    home_dir: str, sessions: dict[str, Session]
) -> dict[str, Figures]:
    """The figures of sessions, the first first; a compaction counts in the first that had it.

    A fork has it again, and so have copies of ours. There the session that had it may know it from
    hooks alone, which tell no name of it.
    """
    copies = set(io.list_names(f"{home_dir}/copies"))
    figures: dict[str, Figures] = {}
    names: set[str] = set()
    unnamed: list[float] = []

    def place(name: str) -> tuple[bool, float, str]:
        return f"{name}.json" in copies, sessions[name].begun_at, name

    for name in sorted(sessions, key=place):
        found = figures[name] = sessions[name].figures
        found.compactions = [
            each
            for each in found.compactions
            if not each.uuid
            or not (each.uuid in names or any(abs(at - each.at) < _SLACK_S for at in unnamed))
        ]
        names.update(each.uuid for each in found.compactions if each.uuid)
        unnamed += [each.at for each in found.compactions if not each.uuid]
    return figures


def transcripts_of_one_or_all(session_id: str | None) -> list[str]:
    """The transcripts that the history takes in before it is shown.

    Raises:
        SessionError: there is no last one, or the one that is named is not a session.
    """
    if session_id is None:
        return find.files_beginning_with()
    if find.is_path_or_last(session_id):
        named = [find.transcript_named(session_id)]
    else:
        named = find.files_beginning_with(paths.safe_session_id(session_id))
    return [find.checked_transcript(path) for path in named]


def _damage_notes(sessions: Any) -> list[str]:
    damaged = sum(session.damaged for session in sessions)
    pieces = output.count_text(damaged, "piece")
    return [f"{pieces} of spool files: damaged, without an event"] if damaged else []


def _overview_document(figures: dict[str, Figures]) -> dict[str, Any]:
    recorded = [name for name, of_session in figures.items() if of_session.last_at is not None]
    recorded.sort(key=lambda name: figures[name].last_at or 0.0, reverse=True)
    pairs = [(name, each) for name in figures for each in figures[name].compactions]
    compactions = sorted(pairs, key=lambda pair: pair[1].begun_at)
    sizes = [
        (each.summary_characters, figures[name].model)
        for name, each in compactions
        if each.summary_characters is not None
    ]
    return {
        "session_count": len(recorded),
        "sessions": [_session_row(name, figures[name]) for name in recorded[:_RECENT_SESSIONS]],
        "compaction_count": len(compactions),
        "compactions_without_a_model": sum(each.moved_out is not None for _, each in compactions),
        "results_moved_out": sum(each.moved_out or 0 for _, each in compactions),
        "summary_characters": percentiles([size for size, _ in sizes]),
        "summary_tokens": percentiles(
            [int(size / models.lookup_model(model).characters_per_token) for size, model in sizes]
        ),
        "compactions": [
            _compaction_row(compaction, name, figures[name].model)
            for name, compaction in compactions
        ],
    }


def _session_document(session_id: str, figures: Figures) -> dict[str, Any]:
    return _session_row(session_id, figures) | {
        "occupancy_tokens": figures.occupancies,
        "turns": [{"number": n} | _figure_as_dict(turn) for n, turn in enumerate(figures.turns, 1)],
        "messages": [_figure_as_dict(notice) for notice in figures.messages],
        "blocks": [_figure_as_dict(notice) for notice in figures.blocks],
        "compactions": compaction_documents(session_id, figures),
        "cleared": [_figure_as_dict(each) for each in figures.cleared],
    }


def compaction_documents(session_id: str, figures: Figures) -> list[dict[str, Any]]:
    """The compactions of a session; what they cost and lost is for the rooms above to fill in."""
    return [_compaction_row(each, session_id, figures.model) for each in figures.compactions]


def _session_row(session_id: str, figures: Figures) -> dict[str, Any]:
    return {
        "session_id": session_id,
        **output.pick_attrs(figures, "project model window_tokens"),
        "first_at": _utc_text_or_none(figures.first_at),
        "last_at": _utc_text_or_none(figures.last_at),
        "turns": len(figures.turns),
        "requests": len(figures.occupancies),
        "peak_occupancy_tokens": max(figures.occupancies, default=None),
        "compactions": len(figures.compactions),
        "messages": len(figures.messages),
        "blocks": len(figures.blocks),
    }


def _compaction_row(compaction: Compaction, session_id: str, model: str | None) -> dict[str, Any]:
    names = "trigger pre_tokens post_tokens summary_characters summary_source"
    return {
        "session_id": session_id,
        "at": _utc_text_or_none(compaction.at),
        **output.pick_attrs(compaction, names),
        "messages_of_the_user": compaction.messages,
        "messages_in_summary": compaction.held,
        "card_characters": compaction.card_characters,
        **output.pick_attrs(compaction, "moved_out freed_tokens rewritten_tokens"),
        "seconds": compaction.seconds or round(compaction.at - compaction.begun_at) or None,
        "account": compaction.moved_out_phrase,
        "model": model,
        "dollars": None,
        "uuid": compaction.uuid,
        "lost": None,
    }


def _figure_as_dict(figure: Any) -> dict[str, Any]:
    return asdict(figure) | {"at": _utc_text_or_none(figure.at)}


def _utc_text_or_none(seconds: float | None) -> str | None:
    return None if seconds is None else clock.format_utc(seconds)


def text(document: dict[str, Any]) -> str:
    """The document for a person: one session, all compactions, or all at a glance."""
    if "session_id" in document:
        return _session_text(document)
    if "compactions" in document:
        lines = _compaction_table_lines(document["compactions"])
        return "\n".join([*lines, "", _compaction_totals_text(document)])
    return _overview_text(document)


def _overview_text(document: dict[str, Any]) -> str:
    shown = document["sessions"]
    if not shown and not document["compaction_count"]:
        return "No history yet: hooks have recorded nothing, and no transcript has a compaction."
    lines = ["No session was recorded by hooks yet."]
    if shown:
        names = output.folder_names(session["project"] or "" for session in shown)
        rows = [
            [
                output.utc_minute_text(session["last_at"]),
                session["session_id"][:_SHORT_ID],
                _fullness_text(session["peak_occupancy_tokens"], session["window_tokens"]),
                str(session["compactions"]),
                output.one_line(output.Path(names[session["project"] or ""]), _PROJECT_CHARACTERS),
                output.one_line(_marked_title(session), _TITLE_CHARACTERS),
            ]
            for session in shown
        ]
        head = ["last active", "session", "fullest", "compacted", "project", "title"]
        lines = [f"Sessions, newest first ({len(shown)} of {document['session_count']})"]
        lines.append(output.table_text(head, rows, right={2, 3}))
        kept_out = kept_out_text(document["kept_out"])
        lines.append(output.wrapped_text(f"Kept out on arrival: {kept_out}"))
    return "\n".join([*lines, "", _compaction_totals_text(document)])


def _marked_title(session: dict[str, Any]) -> str:
    """A title; that of a copy says so first, where a narrow column shows it."""
    return f"{'copy: ' if session['is_copy'] else ''}{session['title']}"


def _compaction_totals_text(document: dict[str, Any]) -> str:
    shares, without = document["summary_tokens"], document["compactions_without_a_model"]
    lines = []
    if without:
        of_all = output.count_text(document["compaction_count"], "compaction")
        moved = output.count_text(document["results_moved_out"], "result")
        text = f"{without:,} of {of_all} without a model: nothing was summarised, {moved} moved out"
        lines.append(output.wrapped_text(text))
    if shares:
        sizes = ", ".join(f"{name} {size:,}" for name, size in list(shares.items())[1:])
        counted = output.count_text(shares["count"], "compaction")
        kept = f"The client keeps {models.SUMMARY_TOKENS:,} free for one."
        text = f"Summary size in tokens, estimated, over {counted}: {sizes}. {kept}"
        lines.append(output.wrapped_text(text))
    return "\n".join(lines) or "Summary size: no compaction with a summary is known."


def kept_out_text(saved: dict[str, int]) -> str:
    """Say what was kept out of the window, and by whom."""
    parts = []
    if saved["references"]:
        replaced = output.count_text(saved["references"], "result")
        tokens = kept_out_tokens_text(saved["tokens_estimated"])
        parts.append(f"{tokens}, {replaced} replaced, {saved['recalls']:,} of them fetched back")
    if saved["gateway_tokens"]:
        freed = output.count_text(saved["gateway_tokens"], "token")
        parts.append(f"by the gateway up to {freed} of a request")
    return "; ".join(parts) or "nothing yet"


def kept_out_tokens_text(tokens: int) -> str:
    """Say what references saved; a diff that the client would have cut takes more than it did."""
    if tokens >= 0:
        return f"~{tokens:,} tokens"
    return f"better previews, ~{-tokens:,} tokens more than the client's"


def _session_text(document: dict[str, Any]) -> str:
    rows = [
        *([("title", output.one_line(_marked_title(document), 200))] if document["title"] else []),
        ("project", output.one_line(document["project"] or "unknown", 200)),
        ("model", output.one_line(document["model"] or "unknown")),
        ("active", output.utc_from_to_text(document["first_at"], document["last_at"])),
        ("requests", str(document["requests"])),
        ("fullest", _fullness_text(document["peak_occupancy_tokens"], document["window_tokens"])),
        ("kept out", kept_out_text(document["kept_out"])),
    ]
    if values := document["occupancy_tokens"]:
        rows.append(("occupancy", output.sparkline(values, document["window_tokens"])))
    lines = [f"Session {document['session_id']}", output.name_value_text(rows)]
    lines += [*_turn_table_lines(document["turns"]), *_notice_lines(document)]
    return "\n".join([*lines, *_compaction_table_lines(document["compactions"])])


def _turn_table_lines(turns: list[dict[str, Any]]) -> list[str]:
    if not turns:
        return ["No turn was recorded by hooks yet."]
    rows = [
        [
            str(turn["number"]),
            output.utc_minute_text(turn["at"]),
            output.number_text(turn["occupancy_tokens"]),
            f"+{turn['growth_tokens']:,}",
            str(turn["requests"]),
            str(turn["compactions"] or ""),
        ]
        for turn in turns[-_LAST_ROWS:]
    ]
    head = ["turn", "at", "in use", "growth", "requests", "compactions"]
    return [
        f"Turns{_last_n_of_m_text(rows, turns)}",
        output.table_text(head, rows, right={0, 2, 3, 4, 5}, indent=2),
    ]


def _notice_lines(document: dict[str, Any]) -> list[str]:
    notices = [(each, f"L{each['tier']} announced") for each in document["messages"]]
    notices += [(each, f"{each['tool'] or each['event']} refused") for each in document["blocks"]]
    lines = [
        f"  {output.utc_minute_text(each['at'])}  {what} "
        f"at {output.number_text(each['occupancy_tokens'])}"
        for each, what in notices
    ]
    lines = ["Messages and blocks", *sorted(lines)] if lines else []
    return lines + [
        f"{output.utc_minute_text(each['at'])}  the {each['by']} dropped "
        f"{output.count_text(each['results'], 'result')}, ~{each['tokens']:,} tokens"
        for each in document["cleared"]
    ]


def _compaction_table_lines(compactions: list[dict[str, Any]]) -> list[str]:
    if not compactions:
        return ["No compaction yet."]
    shown = compactions[-_LAST_ROWS:]
    head = ["at", "session", "trigger", "before", "after", "held", "took", "cost"]
    has_summaries = any(each["moved_out"] is None for each in shown)
    legend = (
        "Tokens before and after. Held: how many of the user's messages until then the summary "
        f"holds word for word. Cost, about: {'the summary, and ' if has_summaries else ''}"
        "what is written to the cache again."
    )
    table = output.table_text(head, list(map(_compaction_cells, shown)), right=range(3, len(head)))
    accounts = [
        f"  {output.utc_minute_text(each['at'])}  {each['account']}"
        for each in shown
        if each["account"]
    ]
    title = f"Compactions{_last_n_of_m_text(shown, compactions)}"
    return [title, table, *accounts, output.wrapped_text(legend)]


def _compaction_cells(compaction: dict[str, Any]) -> list[str]:
    skipped = len("2026-") if output.terminal_columns() < _YEAR_FITS else 0
    dollars = compaction["dollars"]
    return [
        output.utc_minute_text(compaction["at"])[skipped:],
        compaction["session_id"][:_SHORT_ID],
        output.one_line(compaction["trigger"] or "unknown", 8),
        output.number_text(compaction["pre_tokens"]),
        output.number_text(compaction["post_tokens"]),
        _messages_in_summary_text(compaction),
        output.duration_text(compaction["seconds"]),
        "" if dollars is None else bill.format_dollars(dollars),
    ]


def _messages_in_summary_text(compaction: dict[str, Any]) -> str:
    count, held = compaction["messages_of_the_user"], compaction["messages_in_summary"]
    return "" if count is None or held is None else f"{held}/{count}"


def _last_n_of_m_text(shown: list[Any], every: list[Any]) -> str:
    return f" (last {len(shown)} of {len(every)})" if len(every) > len(shown) else ""


def _fullness_text(tokens: int | None, window: int | None) -> str:
    share = f" ({tokens / window:.0%})" if tokens is not None and window else ""
    return output.number_text(tokens) + share
