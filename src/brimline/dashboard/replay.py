"""A recorded session under other settings: what would have been said, kept out and compacted."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from typing import Any

from brimline import output
from brimline.errors import BrimlineError, ConfigError
from brimline.fast import paths
from brimline.launch import PACKAGE_DIR
from brimline.settings import config
from brimline.settings.catalogue import BY_KEY

# What the user's own settings and experience are, for a data folder to throw away.
_TAKEN_ALONG = ("config.toml", "learned.json")
# Nothing of the folder we are in, or of PYTHONPATH, is imported; our own folder comes last.
_REHEARSE = (
    f"import sys; sys.path.append({os.path.dirname(PACKAGE_DIR)!r}); "
    "from brimline.hooks.rehearse import main; main(*sys.argv[1:])"
)
_SHOWN = 60
_NOTE = (
    "A compaction counts what came in after the last request, too. "
    "After one that is put off, the session goes on by the growth that was recorded after it."
)


def replay_session(path: str, preset: str | None, chosen: list[str]) -> dict[str, Any]:
    """Play a session through the rooms in a process of its own, in a folder to throw away.

    Raises:
        BrimlineError: a setting is wrong, or the session cannot be played.
    """
    wanted = dict(map(_split_set_option, [f"guard.preset={preset}"] * bool(preset) + chosen))
    if preset and wanted["guard.preset"] != preset:
        raise ConfigError("--preset and --set guard.preset name different presets: give one")
    own = tempfile.TemporaryDirectory(prefix="brimline-replay-", ignore_cleanup_errors=True)
    with own as folder:
        for name in _TAKEN_ALONG:
            if os.path.isfile(source := f"{paths.data_dir()}/{name}"):
                shutil.copy(source, f"{folder}/{name}")
        variables = {BY_KEY[key].variable: text for key, text in wanted.items()}
        done = subprocess.run(
            [sys.executable, "-I", "-c", _REHEARSE, os.path.abspath(path), f"{folder}/s"],
            env=os.environ | variables | {"BRIMLINE_HOME": folder},
            capture_output=True,
            check=False,
        )
    if done.returncode:
        last_line = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise BrimlineError(f"{path} could not be replayed: {last_line}")
    return _document_of_steps(wanted, [json.loads(line) for line in done.stdout.splitlines()])


def _document_of_steps(wanted: dict[str, str], steps: list[dict[str, Any]]) -> dict[str, Any]:
    """What came of it, under the keys that other programs rely on."""
    requests = [step for step in steps if step["kind"] == "request"]
    return {
        "settings": wanted,
        "requests": len(requests),
        "peak_tokens_recorded": max((request["recorded"] for request in requests), default=None),
        "peak_tokens": max((request["tokens"] for request in requests), default=None),
        "kept_out_tokens": sum(step["tokens"] for step in steps if step["kind"] == "offloaded"),
        "compactions": sum(step["kind"] == "compacted" for step in steps),
        "events": [step for step in steps if step["kind"] != "request"],
        "occupancy_tokens": [request["tokens"] for request in requests],
    }


def _split_set_option(text: str) -> tuple[str, str]:
    key, sign, value = text.partition("=")
    if not sign and config.find_setting(key):
        raise ConfigError(f"write --set {key}=VALUE")
    config.parse_value(key, value)
    return key, value


def replay_text(document: dict[str, Any]) -> str:
    """For a person: what would have been different, then what would have happened when."""
    settings = ", ".join(f"{key} = {value}" for key, value in document["settings"].items())
    fullest, recorded = (
        output.number_text(document[f"peak_tokens{end}"]) for end in ("", "_recorded")
    )
    pairs = [
        ("settings", settings or "those in force"),
        ("requests", f"{document['requests']:,}"),
        ("fullest", f"{fullest}; recorded {recorded}"),
        ("kept out", f"~{document['kept_out_tokens']:,} tokens"),
        ("compactions", str(document["compactions"])),
    ]
    lines = [output.name_value_text(pairs)]
    rows = [
        [
            str(event["request"]),
            event["kind"],
            output.number_text(event["tokens"]),
            output.one_line(event["text"], 200),
        ]
        for event in document["events"][:_SHOWN]
    ]
    if rows:
        happened = output.table_text(["request", "what", "tokens", "of it"], rows, right={0, 2})
        lines += ["", happened, _NOTE]
    if len(document["events"]) > _SHOWN:
        lines.append(f"… {len(document['events']) - _SHOWN:,} more; --json has all of them")
    return "\n".join(lines)
