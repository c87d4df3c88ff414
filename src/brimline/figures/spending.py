"""What requests used, added up by transcript, model and quarter of an hour.

rows = spending.read_spendings(home_dir, reader.all_transcripts(), user_rows)
"""

from __future__ import annotations

import glob
import os
from typing import TYPE_CHECKING, Any, NamedTuple

from brimline.figures import store
from brimline.models import prompt_limits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from brimline.transcript.read import Progress

# Days begin at one of these everywhere on earth.
_SHARE_S = 900
_ADDED_UP = """
    SELECT path, session, project, title, billed.is_subagent, model, kind,
        min(at), max(at), count(*),
        max(input + write_5m + write_1h + read), sum(searches),
        sum(input), sum(write_5m), sum(write_1h), sum(read), sum(output)
    FROM billed JOIN transcript ON transcript.id = transcript
    WHERE counts AND at >= ?
    GROUP BY transcript, model, kind, billed.is_subagent, CAST(at / ? AS INTEGER), {}
    ORDER BY path, min(at)
"""


class Spending(NamedTuple):
    """What some requests of one transcript used; a subagent's belong to who started it."""

    path: str
    session_id: str
    project: str
    title: str
    is_subagent: bool
    model: str
    kind: str
    """What makes them dearer: `fast`, `us`, both, or nothing."""
    at: float
    last_at: float
    requests: int
    largest_prompt_tokens: int
    searches: int
    input_tokens: int
    cache_write_5m_tokens: int
    cache_write_1h_tokens: int
    cache_read_tokens: int
    output_tokens: int

    @property
    def tokens(self) -> tuple[int, ...]:
        """By how they were billed, those of the replies last: the order of `TOKENS`."""
        written = (self.cache_write_5m_tokens, self.cache_write_1h_tokens)
        return (self.input_tokens, *written, self.cache_read_tokens, self.output_tokens)


TOKENS = Spending._fields[-5:]


def read_spendings(
    home_dir: str | None,
    files: Sequence[str],
    user_rows: Sequence[dict[str, Any]] = (),
    since: float = 0.0,
    progress: Progress = None,
    notes: list[str] | None = None,
    *,
    in_shares: bool = False,
) -> list[Spending]:
    """What the requests of transcripts used; one that several have counts in one of them.

    Args:
        home_dir: the data folder; without it nothing is kept.
        files: the transcripts.
        user_rows: the user's own rows of the table of models.
        since: of no earlier request.
        progress: called with numbers of bytes that were read.
        notes: gets what a reader of the figures should know.
        in_shares: whether several processes may read them.

    Raises:
        StateError: the figures cannot be read.
    """
    limits = [f"(input + write_5m + write_1h + read > {at:d})" for at in prompt_limits(user_rows)]
    asked = _ADDED_UP.format(" + ".join(["0", *limits]))
    wanted = {os.fsencode(path) for path in files}
    with store.opened(home_dir) as figures:
        told = figures.refresh(files, progress=progress, in_shares=in_shares)
        rows = figures.base.execute(asked, (since, _SHARE_S)).fetchall()
    if notes is not None:
        notes += told
    return [Spending(os.fsdecode(path), *rest) for path, *rest in rows if path in wanted]


def files_of_session(path: str) -> list[str]:
    """The transcript of one session, and those of its subagents."""
    own, folder = glob.escape(path.removesuffix(".jsonl")), glob.escape(os.path.dirname(path))
    inside = glob.glob(f"{own}/subagents/*.jsonl")
    beside = glob.glob(f"{folder}/agent-*.jsonl")  # as older clients have them
    return [file for file in (path, *inside, *beside) if os.path.isfile(file)]
