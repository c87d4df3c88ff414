"""What requests used, added up by transcript, model and a stretch of time.

found = spending.read_spendings(home_dir, reader.all_transcripts(), user_rows)
"""

from __future__ import annotations

import glob
import os
from typing import TYPE_CHECKING, Any, NamedTuple

from brimline.figures import store
from brimline.models import prompt_limits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from brimline.figures.store import Store
    from brimline.transcript.read import Progress

# Days begin at a quarter of an hour everywhere on earth; a price holds from a day of UTC on.
QUARTER_S, DAY_S = 900, 86_400
_ADDED_UP = """
    SELECT path, session, project, title, added.* FROM (
        SELECT is_subagent, model, kind, min(at) AS first_at, max(at), count(*),
            max(input + write_5m + write_1h + read), sum(searches),
            sum(input), sum(write_5m), sum(write_1h), sum(read), sum(output), transcript
        FROM billed WHERE counts AND at >= ?
        GROUP BY transcript, model, kind, is_subagent, CAST(at / ? AS INTEGER), {}
    ) AS added JOIN transcript ON transcript.id = transcript ORDER BY path, first_at
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
    progress: Progress = None,
) -> list[Spending]:
    """What the requests of transcripts used by now.

    Args:
        home_dir: the data folder; without it nothing is kept.
        files: the transcripts.
        user_rows: the user's own rows of the table of models.
        progress: called with numbers of bytes that were read.

    Raises:
        StateError: the figures cannot be read.
    """
    with store.opened(home_dir) as figures:
        figures.refresh(files, progress=progress)
        return spendings_of(figures, files, user_rows)


def spendings_of(
    figures: Store,
    files: Sequence[str],
    user_rows: Sequence[dict[str, Any]] = (),
    since: float = 0.0,
    stretch_s: int = QUARTER_S,
) -> list[Spending]:
    """The same by what is known; one request that several transcripts have counts in one of them.

    Args:
        figures: what is known.
        files: the transcripts.
        user_rows: the user's own rows of the table of models.
        since: of no earlier request.
        stretch_s: how much time is added up, one of those above.
    """
    limits = [f"(input + write_5m + write_1h + read > {at:d})" for at in prompt_limits(user_rows)]
    asked = _ADDED_UP.format(" + ".join(["0", *limits]))
    wanted = {os.fsencode(path) for path in files}
    rows = figures.base.execute(asked, (since, stretch_s))
    return [Spending(os.fsdecode(path), *rest) for path, *rest, _ in rows if path in wanted]


def files_of_session(path: str) -> list[str]:
    """The transcript of one session, and those of its subagents."""
    own, folder = glob.escape(path.removesuffix(".jsonl")), glob.escape(os.path.dirname(path))
    inside = glob.glob(f"{own}/subagents/*.jsonl")
    beside = glob.glob(f"{folder}/agent-*.jsonl")  # as older clients have them
    return [file for file in (path, *inside, *beside) if os.path.isfile(file)]
