"""`brimline history`: what sessions went through, how large summaries are, what was kept out."""

from __future__ import annotations

import click

from brimline import output
from brimline.fast import paths
from brimline.figures import aftermath, cache_history, lookback, savings, store
from brimline.settings import config


@output.command("history")
@output.session_option
@click.option("--compactions", is_flag=True, help="Only compactions, each on a line.")
@click.option("--cache", is_flag=True, help="Only the prompt cache: what broke its prefix.")
def history(session_id: str | None, compactions: bool, cache: bool, as_json: bool) -> None:
    """Show sessions with turns, growth and compactions, sizes of summaries, what was kept out.

    Figures come from what hooks recorded; compactions also from the client's transcripts.

    \b
    Example:
      brimline history
      brimline history --session 1f0c2d3e
      brimline history --compactions --json
    """
    if cache:
        files = cache_history.transcripts_to_read(session_id)
        with output.Progress("Reading", output.total_file_bytes(files)) as bar:
            document = cache_history.document(paths.data_dir(), files, bar.advance)
        text = cache_history.text(document, in_full=session_id is not None)
        output.answer(document, text, as_json=as_json)
        return
    home_dir, files = paths.data_dir(), lookback.transcripts_of_one_or_all(session_id)
    with (
        store.opened(home_dir) as figures,
        output.Progress("Reading", output.total_file_bytes(files)) as bar,
    ):
        notes = figures.refresh(files, progress=bar.advance)
        document = lookback.document(figures, savings.document, session_id, compactions=compactions)
    document["notes"] = [*notes, *document["notes"]]
    aftermath.fill_in_costs_and_losses(document, config.user_model_rows(home_dir))
    output.answer(document, aftermath.text, as_json=as_json)
    for note in [] if as_json else document["notes"]:
        output.print_note(note)
