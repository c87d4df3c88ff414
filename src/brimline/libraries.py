"""Lets a hook import the third-party libraries of this installation, where it needs one.

Hooks start without site-packages. In a source or editable installation the libraries do not lie
beside our own package, so the installer notes where they are.
"""

from __future__ import annotations

import sys

from brimline import fastio, paths


def remember(home_dir: str) -> None:
    """Note the folder of the libraries; called where they can be imported.

    Raises:
        OSError: the data folder cannot be written.
    """
    import click

    folder = click.__file__.replace("\\", "/").rpartition("/click/")[0]
    fastio.replace_file(paths.libraries_file(home_dir), folder.encode("utf-8", "surrogateescape"))


def make_importable(home_dir: str) -> None:
    """Put the noted folder behind everything else on the import path."""
    try:
        raw = fastio.read_file(paths.libraries_file(home_dir), 4_096)
    except OSError:
        return
    folder = raw.decode("utf-8", "surrogateescape")
    if folder.startswith("/") and folder not in sys.path:
        sys.path.append(folder)
