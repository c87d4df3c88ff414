"""What the installer remembers about each settings file it changed, so that it can be put back."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from brimline import fastio
from brimline.install.settingsfile import digest

FORMAT = 1


@dataclass(slots=True)
class Record:
    """One changed settings file.

    `restore` is a file with the bytes that uninstalling puts back while the settings still are what
    we wrote (`written`); None means the settings file did not exist.
    """

    path: str
    written: str
    restore: str | None
    made: list[list[str | int]]


def load(home_dir: str, path: str) -> Record | None:
    """The record of a settings file, or None where we never changed it."""
    return _parse(_file(home_dir, path))


def load_all(home_dir: str) -> list[Record]:
    """The records of every settings file we changed."""
    folder = f"{home_dir}/install"
    names = [name for name in fastio.names_in(folder) if name.endswith(".json")]
    found = [_parse(f"{folder}/{name}") for name in sorted(names)]
    return [record for record in found if record]


def save(home_dir: str, record: Record) -> None:
    """Remember a change."""
    document = {"v": FORMAT} | asdict(record)
    fastio.replace_file(_file(home_dir, record.path), json.dumps(document, indent=1).encode())


def forget(home_dir: str, record: Record) -> None:
    """Drop the memory of a settings file that has been put back."""
    fastio.remove(_file(home_dir, record.path))
    if record.restore:
        fastio.remove(record.restore)


def keep_original(home_dir: str, path: str, raw: bytes) -> str:
    """Store the bytes to put back; returns where."""
    target = f"{home_dir}/install/{digest(os.fsencode(path))[:16]}.original"
    fastio.replace_file(target, raw)
    return target


def _file(home_dir: str, path: str) -> str:
    return f"{home_dir}/install/{digest(os.fsencode(path))[:16]}.json"


def _parse(file: str) -> Record | None:
    try:
        document: Any = json.loads(Path(file).read_bytes())
        if document.pop("v") != FORMAT:
            return None
        return Record(**document)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
