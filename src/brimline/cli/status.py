"""`brimline status`: the reading of one session."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import click

from brimline import clock, config
from brimline.errors import SessionError
from brimline.fast import paths
from brimline.gauge import reading as gauge
from brimline.gauge import window as windows
from brimline.state.session import SessionState
from brimline.transcript import compactions, find, tail

# Reading a session takes about a second for this much.
_PROGRESS_FROM_BYTES = 500 << 20


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--transcript", metavar="FILE", help="The session's file.")
@click.option("--session", metavar="ID", help="The session's id.")
@click.option("--composition", is_flag=True, help="Show where the tokens went instead.")
@click.option("--follow", is_flag=True, help="Go on, with a line for every change.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON with stable keys.")
def status(
    transcript: str | None, session: str | None, composition: bool, follow: bool, as_json: bool
) -> None:
    """Show how full a session is; by default the newest one of this project.

    \b
    Example:
      brimline status
      brimline status --composition
      brimline status --follow --json
      brimline status --transcript session.jsonl --json
    """
    if transcript and session:
        raise click.UsageError("name a session by --transcript or by --session, not by both")
    if composition and follow:
        raise click.UsageError("--composition shows one moment; it does not go with --follow")
    project_dir = os.getcwd()
    if transcript is not None:
        path = transcript
    else:
        path = find.by_id(session) if session is not None else find.newest(project_dir)
    if composition:
        from brimline.cli import composition as view

        view.show(path, as_json=as_json)
        return
    if follow:
        from brimline.cli import follow as following

        following.follow(path, paths.home(), project_dir, as_json=as_json)
        return
    report = read_status(path, paths.home(), project_dir)
    if as_json:
        click.echo(json.dumps(report, indent=2))
    else:
        click.echo(render(report) + _purged_note(path, report["measured_at"]))


def _purged_note(path: str, measured_at: str | None) -> str:
    """What to know where a purge came after the last measurement."""
    from brimline.session import restore

    moment = clock.parse(measured_at)
    if moment is None:
        return ""
    purged = restore.context_tokens_since(paths.home(), path, moment)
    return f"\nMeasured before a purge, which took out ~{purged:,} tokens." if purged else ""


def read_status(path: str, home_dir: str, project_dir: str) -> dict[str, Any]:
    """Everything known about a session, under the documented keys.

    Raises:
        SessionError: the file cannot be read.
    """
    find.require_transcript(path)
    try:
        last = tail.read_tail(path)  # first: it refuses pipes, which a scan would wait for
        session = _scan(path)
    except OSError as error:
        raise SessionError(f"cannot read {path}: {error.strerror or error}") from error
    recorded = last.usage.session_id if last.usage else None
    state = SessionState(home_dir, recorded or find.session_id_of(path))
    observed = max(
        state.observed_window() or 0,
        windows.proved_window(session.largest_occupancy_tokens) or 0,
    )
    rules = config.live_policy(home_dir, project_dir)
    reading = gauge.make_reading(last, state.snapshot(), rules, observed or None)
    gauge.estimate_if_asked(reading, last, path, rules)
    reading.history = session.occupancies
    return as_document(reading, state.session_id, os.path.abspath(path), len(session.compactions))


def as_document(
    reading: gauge.Reading, session_id: str, transcript: str, compactions: int
) -> dict[str, Any]:
    """The reading under the keys that other programs rely on; unknown is null."""
    outlook = reading.forecast()
    return {
        "session_id": session_id,
        "transcript": transcript,
        "occupancy_tokens": reading.occupancy_tokens,
        "tail_tokens": reading.tail_tokens,
        "projected_tokens": reading.projected_tokens,
        "window_tokens": reading.window.tokens,
        "window_source": reading.window.source,
        "effective_window_tokens": reading.compaction.effective_window_tokens,
        "compaction_tokens": reading.compaction.tokens,
        "compaction_source": reading.compaction.source,
        "compaction_enforced": reading.compaction.enforced,
        "margin_tokens": reading.margin_tokens,
        "used_ratio": reading.used_ratio,
        "tier": reading.tier,
        "tier_name": reading.tier_name,
        "velocity_tokens_per_op": reading.velocity(),
        "forecast_ops": outlook.ops if outlook else None,
        "forecast_ops_low": outlook.low if outlook else None,
        "forecast_ops_high": outlook.high if outlook else None,
        "measured_by": reading.measured_by,
        "measured_at": reading.measured_at,
        "compactions": compactions,
    }


def render(report: dict[str, Any]) -> str:
    """The reading for a person."""
    lines = [f"Session {report['session_id']}"]
    if report["occupancy_tokens"] is None:
        lines.append(
            "  in use       unknown: no model request since the session began or compacted"
        )
        lines.append(
            f"  window       {report['window_tokens']:,} (from: {report['window_source']})"
        )
        return "\n".join(lines)
    lines += [
        (
            f"  in use       {in_use(report)} tokens "
            f"({report['used_ratio']:.0%}; by: {report['measured_by']}, "
            f"window from: {report['window_source']})"
        ),
        f"  next request {report['projected_tokens']:,} (about {report['tail_tokens']:,} more)",
        (
            f"  compaction   at {report['compaction_tokens']:,} "
            f"(from: {report['compaction_source']}), {_left(report['margin_tokens'])}"
        ),
        f"  tier         L{report['tier']} {report['tier_name']}",
    ]
    if report["compaction_enforced"] is False:
        lines.append(
            "  note         the client will not compact at that point by itself, only when the API "
            "refuses a request"
        )
    if report["forecast_ops_high"]:
        lines.append(
            f"  forecast     about {report['forecast_ops']:.0f} requests left "
            f"({report['forecast_ops_low']:.0f} to {report['forecast_ops_high']:.0f}), "
            f"lately {report['velocity_tokens_per_op']:,.0f} tokens each"
        )
    lines.append(f"  compactions  {report['compactions']} so far")
    return "\n".join(lines)


def in_use(report: dict[str, Any]) -> str:
    """Occupancy and window; an estimate is marked as one."""
    mark = "~" if report["measured_by"] == "estimate" else ""
    return f"{mark}{report['occupancy_tokens']:,} of {report['window_tokens']:,}"


def _left(margin: int) -> str:
    return f"{margin:,} tokens left" if margin >= 0 else f"{-margin:,} tokens past it"


def _scan(path: str) -> compactions.Scan:
    size = os.path.getsize(path)
    if size < _PROGRESS_FROM_BYTES or not os.isatty(2):
        return compactions.scan(path)
    with click.progressbar(length=size, label="Reading", file=sys.stderr) as bar:
        return compactions.scan(path, bar.update)
