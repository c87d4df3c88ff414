"""`brimline status`: the reading of one session, with the source of every figure."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from brimline import clock, output
from brimline.fast import paths
from brimline.gauge import forecast, reading, window
from brimline.settings import config
from brimline.state.session import SessionState
from brimline.transcript import compactions, find, tail

if TYPE_CHECKING:
    from brimline.gauge.reading import Reading

_NOTES = {
    "refusal": "not compacted before that; `brimline config autocompact` changes it",
    "stop": "automatic compaction is off in the client's settings",
}


@output.command("status")
@click.option("--transcript", metavar="FILE", help="A session, by its file.")
@output.session_option
@click.option("--composition", is_flag=True, help="Show where the tokens went instead.")
def status(
    transcript: str | None, session_id: str | None, composition: bool, as_json: bool
) -> None:
    """Show how full a session is: the running one, else the newest of this project.

    \b
    Example:
      brimline status
      brimline status --composition
    """
    if transcript and session_id:
        raise click.UsageError("name a session by --transcript or by --session, not by both")
    path = transcript or find.wanted(session_id)
    find.require_transcript(path)
    if composition:
        from brimline.gauge import composition_text

        with output.Progress("Reading", os.path.getsize(path)) as bar:
            document = composition_text.document(path, bar.update)
        output.answer(document, composition_text.text, as_json=as_json)
        return
    report = read_status(path, paths.home(), os.getcwd())
    told = "" if as_json else render(report) + _purged_note(path, report["measured_at"])
    output.answer(report, told, as_json=as_json)


def read_status(path: str, home_dir: str, project_dir: str) -> dict[str, Any]:
    """Everything known about a session, under the documented keys."""
    last = tail.read_tail(path)
    with output.Progress("Reading", os.path.getsize(path)) as bar:
        session = compactions.scan(path, bar.update)
    state = SessionState(home_dir, find.session_id_of(path))
    if not state.names and last.usage and last.usage.session_id:
        state = SessionState(home_dir, last.usage.session_id)  # a subagent's file has its own name
    rules = config.live_policy(home_dir, project_dir)
    found = reading.of_session(path, last, session, state, rules)
    named = {"session_id": state.session_id, "transcript": os.path.abspath(path)}
    rest = {
        "compactions": len(session.compactions),
        "off": state.is_off,
        "gateway_saved_tokens": state.gateway_saved(found.occupancy_tokens),
    }
    return named | _document(found) | rest


def _document(found: Reading) -> dict[str, Any]:
    """The reading under the keys that other programs rely on; unknown is null."""
    outlook = found.forecast()
    return {
        **found.told(),
        **output.fields(found, "tail_tokens used_ratio tier model"),
        "model_taken_for": found.known_model.label if found.known_model.is_assumed else None,
        "effective_window_tokens": found.compaction.effective_window_tokens,
        "compaction_enforced": found.compaction.enforced,
        "forecast_ops": outlook.ops if outlook else None,
        "forecast_ops_low": outlook.low if outlook else None,
        "forecast_ops_high": outlook.high if outlook else None,
        "forecast_basis": outlook.basis if outlook else None,
    }


def render(report: dict[str, Any]) -> str:
    """The reading for a person."""
    window_told = f"{report['window_tokens']:,} (from: {report['window_source']})"
    rows = [("in use", output.NOT_MEASURED), ("window", window_told)]
    if report["occupancy_tokens"] is not None:
        used = "~" if report["measured_by"] == "estimate" else ""
        used += f"{report['occupancy_tokens']:,}"
        share = f"{report['used_ratio']:.0%}; by: {report['measured_by']}"
        brim = window.outlook_of(report["ending"], report["compaction_tokens"])
        brim += f" (from: {report['compaction_source']})"
        rows = [
            ("in use", f"{used} of {report['window_tokens']:,} tokens ({share})"),
            ("window", window_told),
            ("next request", f"{report['projected_tokens']:,} (~{report['tail_tokens']:,} more)"),
            ("the brim", f"{brim}, {_left(report['margin_tokens'])}"),
            ("tier", f"L{report['tier']} {report['tier_name']}"),
        ]
        if report["ending"] in _NOTES:
            rows.append(("note", _NOTES[report["ending"]]))
        if report["forecast_ops_high"]:
            rows.append(("forecast", _forecast(report)))
        if report["gateway_saved_tokens"]:
            told = f"{report['gateway_saved_tokens']:,} tokens kept out of the last request"
            rows.append(("gateway", told))
        rows.append(("compactions", f"{report['compactions']} so far"))
        rows.append(
            ("tune", "brimline config explain guard.tiers (also guard.ceiling, guard.preset)")
        )
    if report["model_taken_for"]:
        assumed = f"{report['model']}, not known yet: window, brim and prices are assumed to be"
        rows.insert(0, ("model", f"{assumed} those of {report['model_taken_for']}"))
    if report["off"]:
        rows.insert(0, ("brimline", "off in this session until /brim:on"))
    return f"Session {report['session_id']}\n" + output.pairs(rows)


def _forecast(report: dict[str, Any]) -> str:
    """Requests left, and the growth that they rest on, so that whoever divides gets the same."""
    ops, low, high = (report[f"forecast_ops{end}"] for end in ("", "_low", "_high"))
    margin, lately = report["margin_tokens"], report["velocity_tokens_per_op"]
    told = f"about {output.count(ops, 'request')} left ({low} to {high}), "
    told += f"at ~{_rounded(margin / ops)} tokens each: "
    if report["forecast_basis"] == forecast.OWN_PACE:
        return f"{told}its own steady pace"
    told += "as sessions usually go on"
    if lately <= 0:
        return told
    at_that = output.count(max(1, round(margin / lately)), "request")
    return f"{told}; lately ~{_rounded(lately)} each, which would be {at_that}"


def _rounded(tokens: float) -> str:
    """Two digits: a forecast is no more exact than that."""
    return f"{float(f'{tokens:.2g}'):,.0f}"


def _left(margin: int) -> str:
    return f"{margin:,} tokens left" if margin >= 0 else f"{-margin:,} tokens past it"


def _purged_note(path: str, measured_at: str | None) -> str:
    """What to know where a purge came after the last measurement."""
    from brimline.session import restore

    moment = clock.parse(measured_at)
    if moment is None:
        return ""
    purged = restore.context_tokens_since(paths.home(), path, moment)
    return f"\nMeasured before a purge, which took out ~{purged:,} tokens." if purged else ""
