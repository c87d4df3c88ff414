"""`brimline status`: the reading of one session, with the source of every figure."""

from __future__ import annotations

import os
from typing import Any

import click

from brimline import clock, output
from brimline.fast import paths
from brimline.gauge import session_status, wording
from brimline.settings import config
from brimline.transcript import find


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
    """The status of a session, read under a progress bar."""
    policy = config.live_policy(home_dir, project_dir)
    with output.Progress("Reading", os.path.getsize(path)) as bar:
        return session_status.read_status(path, home_dir, policy, bar.update)


def render(report: dict[str, Any]) -> str:
    """The reading for a person."""
    rows = wording.status_rows(report)
    if report["off"]:
        rows.insert(0, ("brimline", "off in this session until /brim:on"))
    if report["gateway_saved_tokens"]:
        saved = f"{report['gateway_saved_tokens']:,} tokens kept out of the last request"
        rows.append(("gateway", saved))
    if report["occupancy_tokens"] is not None:
        rows.append(("compactions", f"{report['compactions']} so far"))
        settings = "brimline config explain guard.tiers (also guard.ceiling, guard.preset)"
        rows.append(("tune", settings))
    return f"Session {report['session_id']}\n" + output.pairs(rows)


def _purged_note(path: str, measured_at: str | None) -> str:
    """What to know where a purge came after the last measurement."""
    from brimline.session import restore

    moment = clock.parse(measured_at)
    if moment is None:
        return ""
    purged = restore.context_tokens_since(paths.home(), path, moment)
    return f"\nMeasured before a purge, which took out ~{purged:,} tokens." if purged else ""
