"""`brimline history`: what sessions went through, how large summaries are, what was kept out."""

from __future__ import annotations

from datetime import date

import click

from brimline import output
from brimline.fast import paths
from brimline.figures import (
    aftermath,
    day,
    lookback,
    reader,
    savings,
    spending,
    store,
    subagents,
)
from brimline.settings import config


@output.command("history")
@output.session_option
@click.option("--compactions", is_flag=True, help="Only compactions, each on a line.")
@click.option("--day", "day_text", metavar="DAY", help="What was done on a day.")
def history(session_id: str | None, compactions: bool, day_text: str | None, as_json: bool) -> None:
    """Show sessions with turns, growth and compactions, sizes of summaries, what was kept out.

    Figures come from what hooks recorded, and from the client's transcripts. DAY is a date,
    yesterday, or the last tuesday, for example.

    \b
    Example:
      brimline history
      brimline history --session 1f0c2d3e
      brimline history --compactions --json
      brimline history --day yesterday
    """
    if day_text is not None:
        _answer_day(day_text, as_json=as_json)
        return
    home_dir, files = paths.data_dir(), lookback.transcripts_of_one_or_all(session_id)
    with (
        store.opened(home_dir) as figures,
        output.Progress("Reading", output.total_file_bytes(files)) as bar,
    ):
        notes = figures.refresh(files, progress=bar.advance, in_shares=True)
        document = lookback.document(figures, savings.document, session_id, compactions=compactions)
    document["notes"] = [*notes, *document["notes"]]
    own = config.user_model_rows(home_dir)
    aftermath.fill_in_costs_and_losses(document, own)
    if session_id is not None:
        inner = [one for path in files for one in spending.files_of_session(path)]
        spendings = spending.read_spendings(home_dir, inner, own)
        document["subagents"] = [
            one for path in files for one in subagents.document(spendings, path, own)
        ]
    output.answer(document, aftermath.text, as_json=as_json)
    for note in [] if as_json else document["notes"]:
        output.print_note(note)


def _answer_day(text: str, *, as_json: bool) -> None:
    wanted = day.parse_day(text, date.today())  # noqa: DTZ011 - days are those of this machine
    if wanted is None:
        raise click.UsageError(f"--day takes 2026-11-17, yesterday or tuesday, not {text!r}")
    home_dir, files = paths.data_dir(), reader.all_transcripts()
    rows = config.user_model_rows(home_dir)
    with (
        store.opened(home_dir) as figures,
        output.Progress("Reading", output.total_file_bytes(files)) as bar,
    ):
        figures.refresh(files, progress=bar.advance, in_shares=True)
        spendings = spending.spendings_of(figures, files, rows)
        document = day.document(figures, wanted, spendings, rows)
    output.answer(document, day.text, as_json=as_json)
