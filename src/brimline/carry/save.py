"""The full checkpoint: the ledger for people and for programs, read back before it counts as saved.

Files that the user named as critical are kept in the store, so a checkpoint that is verified is
one from which the state can be had back whatever happens to the files.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from brimline import fastio, paths
from brimline.carry import items
from brimline.errors import StateError, StoreError
from brimline.store import put, read

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from brimline.carry.items import Ledger

FORMAT = 1
MARKDOWN, DOCUMENT = "checkpoint.md", "checkpoint.json"
_LARGEST_FILE_BYTES = 8 << 20
_TRIES = 2
TITLES = {
    items.CONSTRAINT: "Constraints",
    items.GOAL: "Goals",
    items.TASK: "Tasks",
    items.PLAN: "Plan",
    items.DECISION: "Decisions",
    items.REJECTED: "Rejected options",
    items.ANSWER: "Answers",
    items.NOTE: "Notes",
    items.ERROR: "Errors",
    items.AGENT: "Results of subagents",
    items.FACT: "Exact values",
    items.BACKGROUND: "In the background",
    items.FILE: "Files",
    items.PROMPT: "Prompts",
}


@dataclass(frozen=True, slots=True)
class Occasion:
    """What a checkpoint is of, beside the ledger."""

    trigger: str
    transcript: str | None = None
    project_dir: str = ""
    reading: dict[str, Any] = field(default_factory=dict)
    git: dict[str, Any] = field(default_factory=dict)
    critical_files: Sequence[str] = ()


def save(
    home_dir: str,
    ledger: Ledger,
    occasion: Occasion,
    *,
    write: Callable[[str, bytes], None] = fastio.replace_file,
) -> str:
    """Write the checkpoint and read it back; returns the path of its readable part.

    Args:
        home_dir: the data folder.
        ledger: what the session is known to hold.
        occasion: what it is of.
        write: puts a file in place whole; a seam for tests.

    Raises:
        StateError: it is not on the disk as it should be, after a second try.
    """
    folder = paths.carry_session_dir(home_dir, ledger.session)
    problem = ""
    for _ in range(_TRIES):
        try:
            document = _document(home_dir, ledger, occasion)
            texts = {MARKDOWN: markdown(document), DOCUMENT: _as_json(document)}
            for name, text in texts.items():
                write(f"{folder}/{name}", text.encode("utf-8", "replace"))
            problem = _difference(home_dir, folder, texts, document)
        except OSError as error:
            problem = error.strerror or str(error)
        except StoreError as error:
            problem = str(error)
        if not problem:
            return f"{folder}/{MARKDOWN}"
    raise StateError(f"the checkpoint in {folder} could not be saved: {problem}")


def load(home_dir: str, session_id: str) -> dict[str, Any] | None:
    """The checkpoint as it was saved last; None without a sound one."""
    folder = paths.carry_session_dir(home_dir, session_id)
    try:
        found = json.loads(fastio.read_file(f"{folder}/{DOCUMENT}"))
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and found.get("v") == FORMAT else None


def markdown(document: dict[str, Any]) -> str:
    """The checkpoint for a person: everything, the closed items with their state."""
    ledger = items.from_document(document["ledger"], document["session"])
    parts = [f"# Checkpoint of session {document['session']}", "", *_facts(document)]
    for kind, title in TITLES.items():
        found = list(ledger.of(kind))
        if found:
            parts += ["", f"## {title}", "", *[_line(item) for item in found]]
    if document["files"]:
        parts += ["", "## Kept files", ""]
        parts += [
            f"- {entry['path']}: {entry['key'] or entry['problem']}" for entry in document["files"]
        ]
    return "\n".join(parts) + "\n"


def _facts(document: dict[str, Any]) -> list[str]:
    moment = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(document["at"]))
    lines = [f"- saved: {moment} ({document['trigger']})", f"- project: {document['project']}"]
    lines.append(f"- transcript: {document['transcript']}")
    git = document["git"]
    if git:
        dirty = len(git.get("dirty") or [])
        lines.append(f"- git: {git.get('branch')} at {git.get('head')}, {dirty} changed files")
    occupancy = document["reading"].get("occupancy")
    if occupancy is not None:
        lines.append(f"- tokens in use: {occupancy:,}")
    return lines


def _line(item: items.Item) -> str:
    text = " ".join(item.text.split())
    state = "" if item.is_open else f" ({item.status})"
    return f"- {text}{state}"


def _document(home_dir: str, ledger: Ledger, occasion: Occasion) -> dict[str, Any]:
    return {
        "v": FORMAT,
        "at": round(time.time(), 3),
        "session": ledger.session,
        "trigger": occasion.trigger,
        "transcript": occasion.transcript,
        "project": occasion.project_dir,
        "reading": occasion.reading,
        "git": occasion.git,
        "ledger": items.to_document(ledger),
        "files": _keep_files(home_dir, ledger.session, occasion),
    }


def _keep_files(home_dir: str, session: str, occasion: Occasion) -> list[dict[str, Any]]:
    """Critical files by the hash of their content; one that is missing is said to be."""
    project = occasion.project_dir
    conductor = paths.conductor_files(project) if project else ()
    named = [os.path.join(project, os.path.expanduser(path)) for path in occasion.critical_files]
    wanted = [path for path in conductor if os.path.isfile(path)] + named
    return [_keep_file(home_dir, session, path) for path in dict.fromkeys(wanted)]


def _keep_file(home_dir: str, session: str, path: str) -> dict[str, Any]:
    try:
        data = fastio.read_file(path, _LARGEST_FILE_BYTES + 1)
    except OSError as error:
        return {"path": path, "key": None, "problem": error.strerror or str(error)}
    if len(data) > _LARGEST_FILE_BYTES:
        return {"path": path, "key": None, "problem": "larger than 8 MB"}
    key = put.put(home_dir, data, {"tool": "checkpoint", "source": path, "session": session})
    return {"path": path, "key": key, "bytes": len(data)}


def _difference(home_dir: str, folder: str, texts: dict[str, str], document: dict[str, Any]) -> str:
    """What is not on the disk as it was meant to be; empty where all is."""
    for name, text in texts.items():
        if fastio.read_file(f"{folder}/{name}") != text.encode("utf-8", "replace"):
            return f"{name} does not hold what was written to it"
    for entry in document["files"]:
        if entry["key"]:
            read.get(home_dir, entry["key"])  # raises where its content is not what it was
    return ""


def _as_json(document: dict[str, Any]) -> str:
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"
