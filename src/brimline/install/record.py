"""What the installer remembers about each settings file it changed, so that it can be put back."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from brimline.fast import io
from brimline.install.settingsfile import digest

FORMAT = 1
_SHORT = 16


@dataclass(slots=True)
class Record:
    """One changed settings file.

    A record is saved before the settings are written. Where the writing fails or is cut short it is
    ahead of the settings, which does no harm: it only speaks about files whose digest it names.
    """

    path: str
    written: list[str] = field(default_factory=list)
    """Digests of everything we wrote over the same original, the newest last."""
    original: str | None = None
    """Digest of the bytes that uninstalling puts back; None: there was no file."""
    made: list[list[str | int]] = field(default_factory=list)
    """Containers in the settings that exist only for our entries."""
    made_folder: bool = False
    """Whether the settings file's folder was made for it."""
    interpreter: str = ""
    root: str = ""
    """What the entries start: only this may be started where a stranger can write the settings."""


def load(home_dir: str, path: str) -> Record | None:
    """The record of a settings file, or None where we never changed it."""
    return _parse(f"{_stem(home_dir, path)}.json")


def load_all(home_dir: str) -> list[Record]:
    """The records of every settings file we changed."""
    folder = f"{home_dir}/install"
    names = [name for name in io.names_in(folder) if name.endswith(".json")]
    found = [_parse(f"{folder}/{name}") for name in sorted(names)]
    return [record for record in found if record]


def save(home_dir: str, record: Record) -> None:
    """Remember a change."""
    document = {"v": FORMAT} | asdict(record)
    target = f"{_stem(home_dir, record.path)}.json"
    io.replace_file(target, json.dumps(document, indent=1).encode())


def forget(home_dir: str, path: str) -> None:
    """Drop everything remembered of a settings file that has been put back."""
    stem = _stem(home_dir, path)
    folder, _, start = stem.rpartition("/")
    for name in io.names_in(folder):
        if name.startswith(start):
            io.remove(f"{folder}/{name}")


def keep_original(home_dir: str, path: str, raw: bytes) -> str:
    """Store the bytes to put back; returns their digest."""
    key = digest(raw)
    io.replace_file(_original_file(home_dir, path, key), raw)
    return key


def original_bytes(home_dir: str, record: Record) -> bytes | None:
    """The bytes to put back; None: there was no file.

    Raises:
        LookupError: they are gone or damaged.
    """
    if record.original is None:
        return None
    try:
        raw = Path(_original_file(home_dir, record.path, record.original)).read_bytes()
    except OSError as error:
        raise LookupError(str(error)) from error
    if digest(raw) != record.original:
        raise LookupError("the kept original was changed")
    return raw


def _original_file(home_dir: str, path: str, key: str) -> str:
    return f"{_stem(home_dir, path)}.{key[:_SHORT]}.original"


def _stem(home_dir: str, path: str) -> str:
    return f"{home_dir}/install/{digest(os.fsencode(path))[:_SHORT]}"


def _parse(file: str) -> Record | None:
    try:
        document: Any = json.loads(Path(file).read_bytes())
        if document.pop("v") != FORMAT:
            return None
        record = Record(**document)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return record if _is_sound(record) else None


def _is_sound(record: Record) -> bool:
    return (
        isinstance(record.path, str)
        and isinstance(record.written, list)
        and isinstance(record.original, str | None)
        and isinstance(record.made, list)
        and all(isinstance(path, list) for path in record.made)
    )
