"""`brimline cost`: what sessions cost at list price."""

from __future__ import annotations

import re
import time

import click

from brimline import output
from brimline.fast import clock, paths
from brimline.figures import bill, reader, spending, store
from brimline.settings import config
from brimline.transcript import find

_DAY_S = 86_400
_UNITS = {"h": 3_600, "d": _DAY_S, "w": 7 * _DAY_S}


@output.command("cost")
@output.session_option
@click.option("--by", type=click.Choice(bill.GROUPS), default="session", help="What to add up.")
@click.option("--since", metavar="WHEN", help="From a day on (2026-11-01), or the last 7d, 24h.")
def cost(session_id: str | None, by: str, since: str | None, as_json: bool) -> None:
    """Show what requests cost at list price, those of subagents included.

    Made from the usage that the client records and the table of models; with a subscription it is
    what the same requests would cost.

    \b
    Example:
      brimline cost
      brimline cost --by day --since 7d
      brimline cost --by block
      brimline cost --by model --json
    """
    begun = _parse_since(since) if since else 0.0
    files, rows = reader.all_transcripts(), config.user_model_rows(paths.data_dir())
    stretch_s = spending.QUARTER_S if by in bill.TIMES else spending.DAY_S
    with (
        store.opened(paths.data_dir()) as figures,
        output.Progress("Reading", output.total_file_bytes(files)) as bar,
    ):
        notes = figures.refresh(files, progress=bar.advance, in_shares=True)
        spendings = spending.spendings_of(figures, files, rows, begun, stretch_s)
    for note in notes:
        output.print_note(note)
    if session_id is not None:
        if find.is_path_or_last(session_id):
            find.checked_transcript(find.transcript_named(session_id))
        name = find.only_matching_id(session_id, {each.session_id for each in spendings})
        spendings = [each for each in spendings if each.session_id == name]
    document = bill.document(spendings, by, rows, begun)
    output.answer(document, bill.text, as_json=as_json)


def _parse_since(text: str) -> float:
    """Return when a day began here, or some hours, days or weeks ago."""
    ago = re.fullmatch(r"(\d{1,5})([hdw])", text)
    if ago:
        return clock.now_s() - int(ago[1]) * _UNITS[ago[2]]
    try:
        return time.mktime(time.strptime(text, "%Y-%m-%d"))
    except (ValueError, OverflowError):
        raise click.UsageError(f"--since takes a day (2026-11-01), 24h, 7d or 2w, not {text!r}")  # noqa: B904
