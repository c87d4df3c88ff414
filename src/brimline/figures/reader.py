"""One transcript in figures, read in one pass and later on from where that ended."""

from __future__ import annotations

import glob
import json
import os
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from brimline.fast import clock, io, paths
from brimline.masking import mask
from brimline.transcript import find, measuring, pieces, read, row, words
from brimline.transcript.compactions import Recorded
from brimline.transcript.typed import Request, Session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import BinaryIO

    from brimline.transcript.read import Progress
    from brimline.transcript.row import Spent

# What stands before the place from which a transcript is read on shows that it is the same one.
_SEEN_BYTES = 256
_MARKS = (*measuring.MARKS, measuring.ATTACHMENT, measuring.TITLE, *measuring.PROMPTS)
_PROMPT_CHARACTERS = 200
# Of a longer one no more is looked through for secrets.
_MASKED_CHARACTERS = 10_000


class Billed(NamedTuple):
    """What the service asked for one request, of the main thread or of a subagent."""

    key: str
    at: float
    model: str
    kind: str
    """What makes it dearer: `fast`, `us`, both, or nothing."""
    searches: int
    input_tokens: int
    cache_write_5m_tokens: int
    cache_write_1h_tokens: int
    cache_read_tokens: int
    output_tokens: int
    is_subagent: bool


class Kept(NamedTuple):
    """What is kept of a transcript."""

    columns: tuple[Any, ...]
    """From its stamp on."""
    past: str
    """The requests that a compaction lies behind, those left out that were kept before."""
    billed: list[tuple[Any, ...]]
    """As it is in the file."""


@dataclass
class Transcript:
    """What one file tells, and how far it was read."""

    path: str
    stamp: str = ""
    session_id: str = ""
    """The one that it is part of: a subagent's is that which started it."""
    project: str = ""
    title: str = ""
    is_fork: bool = False
    number: int | None = None
    """In the file of figures."""
    read_to: int = 0
    seen: str = ""
    first_prompt: str = ""
    prompts: list[float] = field(default_factory=list)
    """When the user sent something."""
    measured: Session = field(default_factory=Session)
    past_requests: int = 0
    """How many of its requests were kept before, and do not change any more."""
    billed: dict[str, Billed] = field(default_factory=dict)
    """Requests by key: those that are new, or tell more than before."""

    @property
    def name(self) -> str:
        """What it is called, else how it began."""
        return " ".join((self.title or self.first_prompt).split())

    @property
    def last_at(self) -> float:
        """When the user or the model was heard of last."""
        return max(*self.prompts[-1:], *[one.at for one in self.measured.requests[-1:]], 0.0, 0.0)

    @cached_property
    def is_subagent(self) -> bool:
        """Whether a subagent wrote it."""
        return find.is_subagent_file(self.path)

    def read_row(self, value: dict[str, Any], offset: int) -> None:
        """Take the next row."""
        session = self.measured
        self.project = self.project or row.cwd_of(value) or ""
        self.is_fork = self.is_fork or row.forked_from_session(value) is not None
        if session.measure_row(value, is_boundary=row.is_compaction_row(value)):
            self._note_billed(value, value, offset, session.requests[-1].spent)
            return
        self.title = row.title_of(value) or self.title
        reply = row.reply_in_progress(value) or value
        if self._note_billed(reply, value, offset):
            return
        if (prompt := pieces.prompt_of_row(value)) is not None:
            self._note_prompt(value, prompt)

    def _note_billed(
        self, reply: dict[str, Any], value: dict[str, Any], offset: int, spent: Spent | None = None
    ) -> bool:
        """Note what a reply was billed for, on its row or within another; whether it was."""
        costs = row.costs_of(reply, spent)
        if costs is None:
            return False
        key = row.message_id(reply) or f"{self.path}:{offset}"
        known = self.billed.get(key)
        begun = known.at if known else clock.parse_utc(row.timestamp_text_of(reply)) or 0.0
        is_subagent = self.is_subagent or row.is_sidechain(value) or reply is not value
        self.billed[key] = Billed(key, begun, row.model_of(reply), *costs, is_subagent)
        return True

    def _note_prompt(self, value: dict[str, Any], text: str) -> None:
        at = clock.parse_utc(row.timestamp_text_of(value))
        if at is not None and not row.is_sidechain(value):
            self.prompts.append(at)
            if not self.first_prompt:
                own = words.title_in_prompt(text)[:_MASKED_CHARACTERS]
                self.first_prompt = mask(own)[:_PROMPT_CHARACTERS]

    def kept(self) -> Kept:
        """What is kept of it."""
        names = (self.stamp, self.session_id, self.project, self.name)
        flags = (self.is_subagent, self.is_fork)
        session = self.measured
        every, count = session.requests, len(session.compactions)
        begun = next((at for at, one in enumerate(every) if one.segment == count), len(every))
        new = every[self.past_requests : begun]
        past = _json_of_requests(new) if new else ""
        fields = (self.read_to, self.seen, self.title, self.first_prompt, self.prompts)
        measured = (_json_of_requests(every[begun:]), session.compactions, session.attached)
        document = json.dumps((*fields, *measured, session.largest_occupancy_tokens))
        return Kept((*names, *flags, 0, document), past, list(map(tuple, self.billed.values())))

    def fill_in(self, document: str, past: Iterable[str]) -> None:
        """Take what was kept of it, and maybe of its requests before the last compaction."""
        fields = json.loads(document)
        self.read_to, self.seen, self.title, self.first_prompt, self.prompts = fields[:5]
        requests = [one for told in past for one in json.loads(told)]
        self.past_requests = len(requests)
        requests = [
            Request(number, name, at, model, segment, final, row.Spent(*spent), attached)
            for number, (name, at, model, segment, final, spent, attached) in enumerate(
                requests + json.loads(fields[5]), 1
            )
        ]
        compactions = [Recorded(*each) for each in fields[6]]
        attached = None if fields[7] is None else Counter(fields[7])
        self.measured.go_on_from(requests, compactions, attached, fields[8])

    def read_on(self, since: Callable[[str], float], progress: Progress) -> None:
        """Read what came since.

        Args:
            since: until when each session was forgotten.
            progress: called with numbers of bytes that were read.

        Raises:
            OSError: the file cannot be read.
        """
        with read.open_transcript_file(self.path) as file:
            start = self.read_to
            self.read_to = _end_of_last_row(self.path, os.fstat(file.fileno()).st_size)
            file.seek(start)
            length = max(0, self.read_to - start)
            for offset, value in measuring.rows_that_measure(file, _MARKS, progress, length):
                self.session_id = self.session_id or _session_of_transcript(self.path, value)
                forgotten_at = since(self.session_id)
                at = clock.parse_utc(row.timestamp_text_of(value)) if forgotten_at else None
                if not forgotten_at or (at or 0.0) >= forgotten_at:
                    self.read_row(value, offset)
            self.seen = _bytes_before(file, self.read_to)
        self.session_id = self.session_id or find.session_id_of(self.path)

    def goes_on(self) -> bool:
        """Tell whether its file goes on from where it was read to; one in its place does not.

        Raises:
            OSError: the file cannot be read.
        """
        with read.open_transcript_file(self.path) as file:
            inode = os.fstat(file.fileno()).st_ino
            is_same = self.stamp.rpartition(" ")[2] == str(inode)
            return is_same and _bytes_before(file, self.read_to) == self.seen


def _json_of_requests(requests: list[Request]) -> str:
    return json.dumps(
        [
            [one.id, one.at, one.model, one.segment, one.is_final, _counts(one.spent), one.attached]
            for one in requests
        ]
    )


def _counts(spent: row.Spent) -> tuple[int, ...]:
    prompt = (spent.input_tokens, spent.cache_read_tokens, spent.cache_written_tokens)
    return (*prompt, spent.output_tokens, spent.written_for_an_hour_tokens)


def stamp_of_file(path: str) -> str:
    """What tells whether a transcript has changed: its size, time and place on the disk.

    Raises:
        OSError: there is no such file.
    """
    found = os.stat(path)
    return f"{found.st_size} {found.st_mtime_ns} {found.st_ino}"


def _bytes_before(file: BinaryIO, offset: int) -> str:
    file.seek(max(0, offset - _SEEN_BYTES))
    return file.read(min(offset, _SEEN_BYTES)).hex()


def _end_of_last_row(path: str, size: int) -> int:
    """Where the last row ends that is whole: its line may be one that is being written."""
    for offset, line in io.lines_backward_with_offsets(path):
        if offset + len(line) >= size and not line.endswith(b"\n"):
            return offset if read.Line(1, offset, line).problem else size
        break
    return size


def _session_of_transcript(path: str, first: dict[str, Any]) -> str:
    """The session that a transcript is part of; older clients keep subagents beside it."""
    folder = os.path.dirname(path)
    if os.path.basename(folder) == "subagents":
        return os.path.basename(os.path.dirname(folder))
    is_own = not find.is_subagent_file(path)
    return find.session_id_of(path) if is_own else row.session_id_in(first) or ""


def all_transcripts() -> list[str]:
    """Every session of the client, and every subagent's."""
    projects = f"{glob.escape(paths.client_config_dir())}/projects"
    return sorted(find.files_beginning_with()) + glob.glob(f"{projects}/*/*/subagents/*.jsonl")
