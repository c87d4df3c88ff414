"""`dashboard` and `report`: their words; libraries load when one runs."""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import signal
import socket
import sys
import threading
import webbrowser
from urllib.parse import quote

import click

from brimline import output
from brimline.errors import BrimlineError
from brimline.fast import io, paths
from brimline.transcript import find

_ENTRANCE = """<!doctype html><meta charset="utf-8"><title>brimline</title>
<form method="post" action="{address}"><input type="hidden" name="key" value="{key}">
<button>Open the dashboard</button></form><script>document.forms[0].submit()</script>
"""


@output.command("dashboard")
@click.option(
    "--port", metavar="N", type=click.IntRange(0, 65_535), default=0, help="0: a free one."
)
@click.option("--no-open", is_flag=True, help="Do not start the browser.")
def dashboard(port: int, no_open: bool, as_json: bool) -> None:
    """Look at all sessions in the browser: how they filled up, with what, at what cost.

    It answers on this machine only, to whoever has the address that it prints, until Ctrl-C. The
    first start reads every session once.

    \b
    Example:
      brimline dashboard
      brimline dashboard --port 8377 --no-open
    """
    import uvicorn

    from brimline.dashboard import web

    try:
        listener = socket.create_server(("127.0.0.1", port))
    except OSError as error:
        raise BrimlineError(f"port {port} cannot be used: {error.strerror or error}") from error
    port = listener.getsockname()[1]
    keys = [secrets.token_urlsafe(24) for _ in range(2)]
    enter = f"http://127.0.0.1:{port}/enter"
    file = _write_login_page(enter, keys[0])
    link = f"{enter}?key={keys[1]}"
    warning = "It works once; whoever opens it can read your sessions. Ctrl-C stops all of it."
    document = {"url": link, "port": port, "file": file}
    output.answer(document, f"{link}\n{warning}", as_json=as_json)
    pages = web.Dashboard(paths.data_dir())
    threading.Thread(target=pages.refresh_forever, daemon=True).start()
    if not no_open and sys.stdout.isatty():
        webbrowser.open(f"file://{quote(file)}")
    settings = uvicorn.Config(
        pages.make_asgi_app(port, keys),
        log_level="error",
        access_log=False,
        lifespan="off",
        ws="none",
        server_header=False,
        timeout_graceful_shutdown=1,
        timeout_keep_alive=75,
    )
    server = uvicorn.Server(settings)
    # Whoever ends it knows that answers are cut off, and does not wait for those under way.
    logging.getLogger("uvicorn.error").addFilter(lambda _: not server.should_exit)
    # The server raises what ended it once more when it is done.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with contextlib.suppress(KeyboardInterrupt):
        server.run(sockets=[listener])
    io.remove(file)
    os._exit(0)


def _write_login_page(address: str, key: str) -> str:
    """Write the file that the browser opens: others see the arguments of a process, not this.

    Raises:
        OSError: it cannot be written.
    """
    file = f"{paths.data_dir()}/dashboard-{os.getpid()}.html"
    io.make_folder_and_parents(paths.data_dir())
    io.replace_file(file, _ENTRANCE.format(address=address, key=key).encode())
    return file


@output.command("report")
@output.session_argument_and_option
@click.option(
    "-o", "--output", "target", metavar="FILE", help="Default: brimline-, the id's start, .html."
)
@click.option("--redact/--full", default=True, help="Without texts and paths (default), or with.")
def report(
    file: str | None, session_id: str | None, target: str | None, redact: bool, as_json: bool
) -> None:
    """Write the page of a session into one HTML file, to look at or to share.

    Without SESSION (an id, how it begins, a file, or `last`) it is the running session, else the
    newest of this project. Without --full it has figures, names of tools, the endings of files and
    common programs: no text, no path, no name of a project.

    \b
    Example:
      brimline report
      brimline report 1f0c2d3e -o session.html --full
    """
    from brimline.dashboard.report import self_contained_page_html, write_or_replace_own_page
    from brimline.dashboard.story import read_story

    path = find.checked_transcript(find.wanted_transcript(output.given_session(file, session_id)))
    with output.Progress("Reading", os.path.getsize(path)) as bar:
        session_story = read_story(path, paths.data_dir(), bar.advance)
    made = self_contained_page_html(session_story, paths.data_dir(), shared=redact)
    target = target or f"brimline-{session_story.session_id[:8]}.html"
    write_or_replace_own_page(target, made)
    count = len(session_story.moments)
    document = {
        "session_id": session_story.session_id,
        "file": os.path.abspath(target),
        "redacted": redact,
        "bytes": len(made.encode()),
        "requests": count,
    }
    what = "no text, no path" if redact else "with texts, paths, commands: look before you share it"
    text = f"{target}: {output.count_text(count, 'request')}, {what}."
    output.answer(document, text, as_json=as_json)
