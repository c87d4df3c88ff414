"""What is ours in the data folder, file by file: the user may have named a folder of their own."""

from __future__ import annotations

import contextlib
import os
import re

from brimline import config
from brimline.fast import io, paths
from brimline.hooks import table

_ROOMS = sorted({room for answered in table.EVENTS.values() for room in answered.rooms})
# Folder, then the names in it that only brimline writes. `*` stands for every folder there is.
_OURS = (
    ("", r"(errors|audit|learned)\.jsonl(\.old)?|learned\.json|libraries|command|config\.toml"),
    ("", r"offload-learned(\.\d+)?\.jsonl(\.old)?"),
    (
        "",
        r"history\.(jsonl|lock)|series\.lock|series\.sqlite3(\.damaged-\d+)?(-wal|-shm|-journal)?",
    ),
    ("policy", r"[0-9a-f]{24}\.json"),
    ("install", r"[0-9a-f]{16}(\.json|\.[0-9a-f]{16}\.original)"),
    ("backups", r"settings(\.local)?\.json\.\d{8}_\d{6}(\.\d+)?"),
    ("backups/purges/*", r"\d+\.jsonl|unfinished"),
    (
        "sessions/*",
        (
            r"(statusline|checkpoint|telemetry)\.json|spool(\.\d+)?\.jsonl|(spoke-L|window-|compacted-)\d+"
            r"|ceiling-\d+\.\d+|quota-\d+[hd]\.\d+|reminder"
            r"|client|offload-(read|whole|warned|lines)-[0-9a-f]{24}|offload-past|offload-(pins|edited)\.jsonl"
            r"|offload-(again|taken)-[0-9a-f]{24}-\d+|yields-to-settings"
            r"|carried-\d+|carry-(remainder|refused|incomplete)"
            # What else a room of the table leaves begins with its name.
            rf"|({'|'.join(_ROOMS)})-[\w.-]+"
        ),
    ),
    ("carry/*", r"(ledger|checkpoint|audit-\d+)\.json|(checkpoint|card)\.md|notes\.jsonl"),
    ("carry/clients", r"\d+"),
    ("carry/projects", r"[0-9a-f]{24}\.json"),
    (
        "store",
        (
            r"index\.jsonl(\.old)?|last_key|format|clients|references\.json|tidied|recompressed"
            r"|search\.sqlite3(-wal|-shm|-journal)?"
        ),
    ),
    ("search", r"\d+-\d+\.sqlite3(-wal|-shm|-journal)?"),
    ("store/tmp", r"\d+\.\d+\.tmp|[0-9a-f]{64}\.(blob|json|pin)\.\d+\.\d+\.gone"),
    ("store/blobs/*", r"[0-9a-f]{62}"),
    ("store/meta/*", r"[0-9a-f]{62}\.(json|pin)"),
)
_FOLDERS = (
    *("", "policy", "install", "backups", "backups/purges", "backups/purges/*"),
    *("sessions", "sessions/*", "carry", "carry/*"),
    *("store", "store/tmp", "store/blobs", "store/blobs/*", "store/meta", "store/meta/*"),
    "search",
)
# What a write that was cut short leaves behind.
_LEFTOVER = r"(\.\d+\.\d+\.tmp)?"


def files(home_dir: str) -> list[str]:
    """Every file of ours in the data folder."""
    return [
        file
        for pattern, names in _OURS
        for folder in _matching(home_dir, pattern)
        for file in _ours_in(folder, names)
    ]


def folders(home_dir: str) -> list[str]:
    """Every folder of ours in the data folder, the outer ones first, itself included."""
    found = [folder for pattern in _FOLDERS for folder in _matching(home_dir, pattern)]
    return [folder for folder in found if os.path.isdir(folder)]


def delete(home_dir: str) -> list[str]:
    """Delete our files and the folders that this empties; returns what is still in the data folder.

    Raises:
        OSError: something of ours cannot be deleted.
    """
    doomed = files(home_dir)
    if not _is_our_config(home_dir):
        doomed = [file for file in doomed if file != paths.user_config(home_dir)]
    for file in doomed:
        io.remove(file)
    for folder in reversed(folders(home_dir)):
        if not os.path.islink(folder):  # whoever made the link may still want it
            with contextlib.suppress(OSError):  # something in there is not ours
                os.rmdir(folder)
    return sorted(io.names_in(home_dir))


def _ours_in(folder: str, names: str) -> list[str]:
    """Our files in a folder, by their exact names."""
    found = [name for name in sorted(io.names_in(folder)) if _is_file(f"{folder}/{name}")]
    ours = [name for name in found if re.fullmatch(f"({names}){_LEFTOVER}", name)]
    return [f"{folder}/{name}" for name in ours]


def _is_file(path: str) -> bool:
    return os.path.islink(path) or not os.path.isdir(path)


def _matching(home_dir: str, pattern: str) -> list[str]:
    """The folders a pattern stands for; below the data folder itself no link is followed."""
    found = [home_dir]
    for name in pattern.split("/") if pattern else []:
        inner = [
            f"{folder}/{entry}"
            for folder in found
            for entry in (sorted(io.names_in(folder)) if name == "*" else [name])
        ]
        found = [path for path in inner if os.path.isdir(path) and not os.path.islink(path)]
    return found


def _is_our_config(home_dir: str) -> bool:
    """Whether `config.toml` holds nothing but settings of ours, those of earlier versions too."""
    nowhere = f"{home_dir}/install"  # no project: only the user's own file counts
    problems = config.load(home_dir, nowhere, environment=False).problems
    return all(problem.endswith(config.NO_LONGER) for problem in problems)
