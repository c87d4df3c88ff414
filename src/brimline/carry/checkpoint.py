"""The checkpoint: the ledger for people and for programs, read back before it counts as saved.

Files that the user named as critical are kept in the store, so a checkpoint that is verified is
one from which the state can be had back whatever happens to the files.
"""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING, Any

from brimline import programs
from brimline.bulk import put
from brimline.carry import card, ledger, links
from brimline.errors import StateError, StoreError
from brimline.fast import io, paths
from brimline.foreign import flatten, quote

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


FORMAT = 2
MARKDOWN, DOCUMENT = links.CHECKPOINT, "checkpoint.json"
_LARGEST_FILE_BYTES = 8 << 20
_TRIES = 2

_MOMENT_CHARACTERS = 30


def build_and_save_document(  # noqa: PLR0913 - what a checkpoint is of, beside the ledger
    home_dir: str,
    record: ledger.Ledger,
    *,
    trigger: str,
    project_dir: str,
    transcript: str | None,
    figures: dict[str, Any],
    critical_files: Sequence[str] = (),
    write: Callable[[str, bytes], None] = io.replace_file,
) -> dict[str, Any]:
    """Write the checkpoint and read it back; returns what it holds.

    Args:
        home_dir: the data folder.
        record: what the session is known to hold.
        trigger: why it is written.
        project_dir: the session's project.
        transcript: the session's file.
        figures: how full the window was.
        critical_files: what else is kept, by path.
        write: puts a file in place whole; a seam for tests.

    Raises:
        StateError: it is not on the disk as it should be, after a second try.
    """
    folder = paths.carry_session_dir(home_dir, record.session)
    document: dict[str, Any] = {
        "v": FORMAT,
        "at": round(time.time(), 3),
        "session": record.session,
        "trigger": trigger,
        "transcript": transcript,
        "project": project_dir,
        "reading": figures,
        "git": programs.branch_commit_and_changed_files(project_dir) if project_dir else {},
        "ledger": ledger.to_document(record),
    }
    problem = ""
    for _ in range(_TRIES):
        try:
            kept = _store_critical_files(home_dir, record.session, project_dir, critical_files)
            document["files"] = kept
            texts = {
                MARKDOWN: checkpoint_markdown(document, record),
                DOCUMENT: json.dumps(document, indent=1, ensure_ascii=False) + "\n",
            }
            for name, text in texts.items():
                write(f"{folder}/{name}", text.encode("utf-8", "replace"))
            problem = _why_not_as_written(home_dir, folder, texts, kept)
        except (OSError, StoreError) as error:
            problem = getattr(error, "strerror", None) or str(error)
        if not problem:
            return document
    raise StateError(f"the checkpoint in {folder} could not be saved: {problem}")


def last_checkpoint_age_s(home_dir: str, session_id: str) -> float:
    """Return how long ago the last checkpoint of a session was saved; very long ago without any."""
    path = f"{paths.carry_session_dir(home_dir, session_id)}/{DOCUMENT}"
    return time.time() - io.file_time(path)


def compaction_refusal_text(error: StateError) -> str:
    """Return what the person is told where a manual compaction is refused."""
    return (
        f"{error}. Free some space or check the folder, then run /compact again; within a "
        "minute it goes through even if the checkpoint still cannot be saved."
    )


def checkpoint_markdown(document: dict[str, Any], record: ledger.Ledger) -> str:
    """The checkpoint for a person: all that is recorded, messages in full."""
    lines = [f"# Checkpoint of session {document['session']}", "", *_when_why_where_lines(document)]
    sections = _section_entries_by_title(record)
    sections["Messages of the user"] = [_message_entry_text(message) for message in record.messages]
    sections["Kept files"] = [
        _bullet("", f"{file['path']}: {file['key'] or file['problem']}")
        for file in document["files"]
    ]
    for title, entries in sections.items():
        if entries:
            lines += ["", f"## {title}", "", *entries]
    return "\n".join(lines) + "\n"


def _when_why_where_lines(document: dict[str, Any]) -> list[str]:
    """Return when, why and where it was saved."""
    moment = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(document["at"]))
    lines = [
        f"- saved: {moment} ({document['trigger']})",
        _bullet("project: ", document["project"]),
        _bullet("transcript: ", document["transcript"]),
    ]
    state = document["git"]
    if state:
        told = f"{state['branch']} at {state['head']}, {len(state['dirty'])} changed files"
        lines.append(_bullet("git: ", told))
    occupancy = document["reading"].get("occupancy")
    return lines if occupancy is None else [*lines, f"- tokens in use: {occupancy:,}"]


def _section_entries_by_title(record: ledger.Ledger) -> dict[str, list[str]]:
    """Return what was done and is to be done, by title."""
    checks = record.checks.values()
    return {
        "Notes": [_bullet("", f"{note['kind']}: {note['text']}") for note in record.notes.values()],
        "Tasks": [_bullet("", f"{state}: {subject}") for state, subject in record.tasks.values()],
        "Plan": [_bullet("", record.plan)] if record.plan else [],
        "Commits and pull requests": [
            *(_bullet("", f"{commit} {subject}") for commit, subject in record.commits),
            *(_bullet("", address) for address in record.pulls),
        ],
        "Checks": [_bullet("", f"`{check.get('command')}`: {check['result']}") for check in checks],
        "Files changed": [_bullet("", path) for path in record.changed],
        "Files read": [_bullet("", path) for path in record.read],
        "Commands that succeeded": [
            _bullet("", f"`{ran['line']}`") for ran in record.commands.values()
        ],
    }


def _bullet(label: str, text: Any) -> str:
    return f"- {label}{flatten(str(text), ledger.PASTE_CHARACTERS)}"


def _message_entry_text(message: dict[str, Any]) -> str:
    """A message as it was written; one of several lines as a quotation."""
    text, end = message["text"], card.paste_size_text(message)
    at = flatten(str(message["at"] or ""), _MOMENT_CHARACTERS)
    return f"- {at}{end}\n{quote(text)}" if "\n" in text else _bullet(f"{at} ", text) + end


def _store_critical_files(
    home_dir: str, session: str, project_dir: str, critical_files: Sequence[str]
) -> list[dict[str, Any]]:
    """Critical files by the hash of their content; one that is missing is said to be."""
    conductor = paths.conductor_state_paths(project_dir) if project_dir else ()
    named = [os.path.join(project_dir, os.path.expanduser(path)) for path in critical_files]
    wanted = [path for path in conductor if os.path.lexists(path)] + named
    return [_store_file(home_dir, session, project_dir, path) for path in dict.fromkeys(wanted)]


def _store_file(home_dir: str, session: str, project_dir: str, path: str) -> dict[str, Any]:
    try:
        if paths.is_link_out_of_folder(path, project_dir):
            return {"path": path, "key": None, "problem": "a link that leads out of the project"}
        data = io.read_file(path, _LARGEST_FILE_BYTES + 1)
    except OSError as error:
        return {"path": path, "key": None, "problem": error.strerror or str(error)}
    if len(data) > _LARGEST_FILE_BYTES:
        return {"path": path, "key": None, "problem": "larger than 8 MB"}
    key = put.put(home_dir, data, {"tool": "checkpoint", "source": path, "session": session})
    return {"path": path, "key": key, "bytes": len(data)}


def _why_not_as_written(home_dir: str, folder: str, texts: dict[str, str], kept: list[Any]) -> str:
    """Return what is not on the disk as it was meant to be; empty where all is."""
    for name, text in texts.items():
        if io.read_file(f"{folder}/{name}") != text.encode("utf-8", "replace"):
            return f"{name} does not hold what was written to it"
    for entry in kept:
        if entry["key"]:
            from brimline.bulk import contents

            contents.read_content(home_dir, entry["key"])  # raises where it is not what it was
    return ""
