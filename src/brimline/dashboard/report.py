"""The page of a session as one file, which needs nothing but a browser."""

from __future__ import annotations

import base64
import hashlib
import os
from importlib import resources
from typing import TYPE_CHECKING

from markupsafe import Markup

from brimline.dashboard import pages
from brimline.errors import BrimlineError
from brimline.fast import io
from brimline.figures import spending
from brimline.settings import config
from brimline.transcript import read

if TYPE_CHECKING:
    from brimline.dashboard.story import Item, Story

_TEXTS = 40
_START = b"<!doctype html><!-- brimline"


def write_or_replace_own_page(file: str, text: str) -> None:
    """Put a page where it was asked for, over an earlier one if need be, but over nothing else.

    Raises:
        BrimlineError: it cannot be written.
    """
    if not file.strip("-"):
        raise BrimlineError("-o takes the name of a file")
    try:
        if os.path.exists(file) and io.read_file(file, len(_START)) != _START:
            raise BrimlineError(f"{file} is there and no page of ours: choose another name")
        os.stat(os.path.join(os.path.dirname(file), "."))  # folders are not made
        io.replace_file(os.path.abspath(file), text.encode())
    except OSError as error:
        raise BrimlineError(f"{file} cannot be written: {error.strerror or error}") from error


def self_contained_page_html(found: Story, home_dir: str, *, shared: bool) -> str:
    """The page with its style and script inside, which nothing else in it may run."""
    files = resources.files("brimline.dashboard").joinpath("static")
    style, script = (files.joinpath(name).read_text("utf-8") for name in ("page.css", "page.js"))
    own = config.user_model_rows(home_dir)
    spendings = spending.read_spendings(None, spending.files_of_session(found.path), own)
    values = pages.session_page_values(found, own, spendings, shared=shared, single=True)
    values["texts"] = [] if shared else _largest_items_with_texts(found)
    # Ours, and the same in every report.
    trusted = {"style": Markup(style), "script": Markup(script)}  # noqa: S704
    hashes = {"style_hash": _csp_hash(style), "script_hash": _csp_hash(script)}
    return pages.render_page("report.html", **values, **trusted, **hashes)


def _csp_hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _largest_items_with_texts(found: Story) -> list[tuple[int, Item, str]]:
    """The largest items, each with its request and its text."""
    with read.open_transcript_file(found.path) as file:
        return [
            (number, item, pages.row_text_at(file, item.offset))
            for number, item in pages.largest_items_and_their_requests(found, _TEXTS)
            if item.offset >= 0
        ]
