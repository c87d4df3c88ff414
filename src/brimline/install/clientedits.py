"""The user's settings around edits that the client makes for us: they are put back as they were.

The client writes the whole file anew in its own manner when it installs a plugin. While nobody else
changed it since, the bytes from before come back; otherwise what our leaving empties goes.
"""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any, NamedTuple

from brimline import clientsettings
from brimline.fast import io
from brimline.install import clientstate, jsontext, settingsfile, wiring

FORMAT = 1
_MADE_BY_CLIENT = ("enabledPlugins", "extraKnownMarketplaces")
_LOST = "lost"


class _Record(NamedTuple):
    path: str
    after: str
    """Digest of what the client left."""
    original: str | None
    """Digest of the bytes from before, if they are known; None: there was no file."""
    made: list[str]
    """Members that the client added to the settings."""


def settings_path() -> str:
    """The settings that the client edits."""
    return clientsettings.settings_files("")["user"]


def remember(home_dir: str, before: bytes | None) -> None:
    """Keep the settings as they were before the client's edits, which are done by now.

    Raises:
        OSError: the data folder cannot be written.
    """
    path = settings_path()
    after = settingsfile.read(path).raw
    if after is None or after == before:
        return
    known = _load(home_dir)
    digest = settingsfile.digest(after)
    if known and before is not None and settingsfile.digest(before) == known.after:
        _save(home_dir, known._replace(after=digest))
    elif _mention_plugin(before):
        # Somebody else wrote in between, so that these bytes are no state without the plugin.
        _save(home_dir, _Record(path, digest, _LOST, known.made if known else []))
    else:
        made = [key for key in _MADE_BY_CLIENT if key not in _value(before)]
        if before is not None:
            io.replace_file(_original(home_dir), before)
        original = settingsfile.digest(before) if before is not None else None
        _save(home_dir, _Record(path, digest, original, made))


def is_last_writer(home_dir: str) -> bool:
    """Whether the settings still are what the client left."""
    known = _load(home_dir)
    raw = settingsfile.read(settings_path()).raw
    return bool(known and raw is not None and settingsfile.digest(raw) == known.after)


def put_back(home_dir: str, *, untouched: bool) -> None:
    """After the client took its edits back: the bytes from before, or at least no empty members.

    Args:
        home_dir: the data folder with the record.
        untouched: what `is_last_writer` said before the client took them back.

    Raises:
        InstallError: the settings cannot be written.
    """
    known = _load(home_dir)
    if known is None or known.path != settings_path():
        return
    file = settingsfile.read(known.path)
    if file.raw is not None:
        _put(file, _after(home_dir, file, known, untouched=untouched))
    forget(home_dir)


def forget(home_dir: str) -> None:
    """Drop the record."""
    for path in (_path(home_dir), _original(home_dir)):
        with contextlib.suppress(OSError):  # a record that stays does no harm
            io.remove(path)


def _after(
    home_dir: str, file: settingsfile.SettingsFile, known: _Record, *, untouched: bool
) -> bytes | None:
    if untouched and known.original is None:
        return None
    if untouched:
        with contextlib.suppress(OSError):
            raw = Path(_original(home_dir)).read_bytes()
            if settingsfile.digest(raw) == known.original:
                return raw
    return _without_empty(file, known.made)


def _put(file: settingsfile.SettingsFile, after: bytes | None) -> None:
    if after is None:
        settingsfile.delete(file, folder=False)
    elif after != file.raw:
        settingsfile.replace(file, after)


def _without_empty(file: settingsfile.SettingsFile, made: list[str]) -> bytes:
    text = file.text
    for key in made:
        if wiring.parse(text).get(key) == {}:
            text = jsontext.remove(text, (key,))
    return file.encode(text)


def _mention_plugin(raw: bytes | None) -> bool:
    named = (clientstate.PLUGIN_ID, clientstate.MARKETPLACE)
    members = [_value(raw).get(key) for key in _MADE_BY_CLIENT]
    return any(name in member for member in members if isinstance(member, dict) for name in named)


def _value(raw: bytes | None) -> dict[str, Any]:
    try:
        value = json.loads(raw or b"{}")
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _load(home_dir: str) -> _Record | None:
    try:
        document: Any = json.loads(Path(_path(home_dir)).read_bytes())
        if document.pop("v") != FORMAT:
            return None
        return _Record(**document)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _save(home_dir: str, record: _Record) -> None:
    document = {"v": FORMAT} | record._asdict()
    io.replace_file(_path(home_dir), json.dumps(document, indent=1).encode())


def _path(home_dir: str) -> str:
    return f"{home_dir}/install/client-edits.json"


def _original(home_dir: str) -> str:
    return f"{home_dir}/install/client-edits.original"
