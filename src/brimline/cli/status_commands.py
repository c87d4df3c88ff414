"""`brimline status`: the reading of one session, with the source of every figure."""

from __future__ import annotations

import os

import click

from brimline import output
from brimline.fast import paths
from brimline.figures import store
from brimline.gauge import session_status
from brimline.session import copies
from brimline.settings import config
from brimline.transcript import find


@output.command("status")
@output.session_option
@click.option("--composition", is_flag=True, help="Show where the tokens went instead.")
def status(session_id: str | None, composition: bool, as_json: bool) -> None:
    """Show how full a session is: the running one, else the newest of this project.

    \b
    Example:
      brimline status
      brimline status --composition
    """
    path = find.checked_transcript(find.wanted_transcript(session_id))
    folder = find.folder_it_began_in(path)
    if folder and not session_id and os.path.realpath(folder) != os.getcwd():
        output.print_note(f"this session is of {output.one_line(folder, 200)}")
    if composition:
        from brimline.gauge import composition_text

        with output.Progress("Reading", os.path.getsize(path)) as bar:
            document = composition_text.document(path, bar.advance)
        output.answer(document, composition_text.text, as_json=as_json)
        return
    home_dir, policy = paths.data_dir(), config.build_live_policy(paths.data_dir(), os.getcwd())
    with output.Progress("Reading", os.path.getsize(path)) as bar:
        recorded = store.measure(home_dir, path, bar.advance)
    document = session_status.status_document(path, recorded, home_dir, policy)
    purged = copies.purged_tokens_by_call_since(home_dir, path, document["measured_at"]).total()
    output.answer(document, session_status.text(document, purged), as_json=as_json)
