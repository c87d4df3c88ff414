"""What the summary of a compaction no longer names, each with its way back.

Made from the session's file when somebody asks; a compaction without a model loses nothing.
"""

from __future__ import annotations

from typing import Any

from brimline import output
from brimline.bulk import layout, stub
from brimline.carry import card
from brimline.carry.ledger import put_last_and_drop_oldest
from brimline.transcript import clienttools, read, row, words

_SHOWN = 5
_TEXT_CHARACTERS = 60
_MOST_KEPT = 1_000


def losses_by_boundary(path: str) -> dict[str, dict[str, Any]]:
    """By the row that a compaction begins with: messages, files and outputs.

    Raises:
        OSError: the session's file cannot be read.
    """
    reader = _Reader()
    for fields in read.rows_of_file(path):
        reader.read_row(fields)
    return reader.by_boundary


def lines_of_one_loss(loss: dict[str, Any], session_id: str) -> list[str]:
    """Lines for a person: what the summary no longer names, and how to have it back."""
    ways = {
        "messages": f"brimline carry show --session {session_id[:8]}",
        "files": "to be read again",
        "outputs": "brimline store get KEY",
    }
    lines = []
    for kind, way in ways.items():
        last = [output.Path(name) if kind == "files" else name for name in loss[kind][-_SHOWN:]]
        names = "; ".join(output.one_line(name, _TEXT_CHARACTERS) for name in last)
        if names:
            count = output.count_text(len(loss[kind]), kind[:-1])
            shown = f"{len(last)} of {len(loss[kind])}: " if len(loss[kind]) > _SHOWN else ""
            lines.append(f"{count} not in the summary ({way}): {shown}{names}")
    return lines


class _Reader:
    """Takes the rows of a session, and notes what each summary leaves out of all until then."""

    def __init__(self) -> None:
        self.by_boundary: dict[str, dict[str, Any]] = {}
        # Names, the latest last: messages, files, and keys of stored outputs with what they are of.
        self._messages: dict[str, None] = {}
        self._files: dict[str, None] = {}
        self._outputs: dict[str, str] = {}
        self._boundary = ""

    def read_row(self, fields: dict[str, Any]) -> None:
        """Look at the next row."""
        if row.is_summary(fields):
            self._note_losses_of_summary(row.content_text(row.blocks_sent_to_model(fields)), fields)
        elif row.is_compaction_row(fields):
            self._boundary = row.uuid_of(fields) or ""
        else:
            self._note_messages_outputs_and_calls(fields)

    def _note_losses_of_summary(self, summary: str, fields: dict[str, Any]) -> None:
        flat = " ".join(summary.split())
        marked = card.mark_words(flat)
        found = {
            "messages": [
                text
                for text in self._messages
                if not card.does_summary_hold({"text": text}, marked)
            ],
            "files": [path for path in self._files if path.rpartition("/")[2] not in flat],
            "outputs": [
                f"{layout.shorten_key(key)} {subject}".strip()
                for key, subject in self._outputs.items()
                if layout.shorten_key(key) not in flat and not (subject and subject in flat)
            ],
        }
        self.by_boundary[self._boundary or row.uuid_of(fields) or ""] = found
        self._boundary = ""

    def _note_messages_outputs_and_calls(self, fields: dict[str, Any]) -> None:
        if message := words.users_own_message(fields):
            put_last_and_drop_oldest(self._messages, message, None, _MOST_KEPT)
        for result in row.main_thread_results(fields):
            is_preview = result.text.startswith(stub.BEGINNINGS)
            preview = stub.first_reference_in(result.text) if is_preview else None
            if preview:
                subject = preview.source or preview.tool or ""
                put_last_and_drop_oldest(self._outputs, preview.key, subject, _MOST_KEPT)
        for call in row.main_thread_calls(fields):
            path = clienttools.file_of_call(call.arguments)
            if path and call.name in clienttools.FILE_TOOLS:
                put_last_and_drop_oldest(self._files, path, None, _MOST_KEPT)
