"""What offloading kept out of a session's context and what was fetched back, as its spool tells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from brimline.models import MOST_CHARACTERS_PER_TOKEN

if TYPE_CHECKING:
    from collections.abc import Iterable


class Saved(NamedTuple):
    """What references kept out, and what was fetched back, in characters unless said otherwise."""

    references: int = 0
    stored_bytes: int = 0
    client_shown_characters: int = 0
    """What the client would have shown without us."""
    shown: int = 0
    """What the references took."""
    recalls: int = 0
    recalled: int = 0

    @property
    def kept_out_tokens(self) -> int:
        """Estimated; below zero where previews show more than the client would have."""
        characters = self.client_shown_characters - self.shown - self.recalled
        return round(characters / MOST_CHARACTERS_PER_TOKEN)

    @property
    def kept_out_text(self) -> str:
        """The same as a text."""
        from brimline.figures import lookback

        return lookback.kept_out_tokens_text(self.kept_out_tokens)


def saved_in_one_session(home_dir: str, session_id: str) -> Saved:
    """Add up what the spool of one session tells."""
    return _saved_by_spool_rows(_spool_rows_or_empty(home_dir, session_id))


def document(home_dir: str, sessions: list[str]) -> dict[str, int]:
    """The savings of some sessions as a document: what the client would have shown, less ours.

    `gateway_tokens` is the most that a gateway kept out of one request.
    """
    from brimline.figures import totals

    spools = [_spool_rows_or_empty(home_dir, name) for name in sessions]
    saved = sum_savings(map(_saved_by_spool_rows, spools))
    by_gateway = (totals.most_saved_and_all_rewritten(rows)[0] or 0 for rows in spools)
    return {
        "references": saved.references,
        "stored_bytes": saved.stored_bytes,
        "recalls": saved.recalls,
        "would_have_shown_characters": saved.client_shown_characters,
        "reference_characters": saved.shown,
        "recalled_characters": saved.recalled,
        "tokens_estimated": saved.kept_out_tokens,
        "gateway_tokens": max(by_gateway, default=0),
    }


def _spool_rows_or_empty(home_dir: str, session_id: str) -> list[dict[str, Any]]:
    from brimline.figures import spool

    try:
        return spool.read_spooled_events(home_dir, session_id)
    except OSError:  # it cannot be read, which a note says
        return []


def sum_savings(savings: Iterable[Saved]) -> Saved:
    """All of them together."""
    return Saved(*map(sum, zip(*savings, strict=True)))


def _saved_by_spool_rows(rows: list[dict[str, Any]]) -> Saved:
    # What a compaction moved out, or another session, and is fetched back was not kept out here.
    replaced = {row.get("key") for row in rows if row.get("event") == "Offloaded"} | {None}
    return sum_savings(_saved_by_spool_row(row) for row in rows if row.get("key") in replaced)


def _saved_by_spool_row(row: dict[str, Any]) -> Saved:
    """Return what one row of a spool adds."""
    figures = [row.get(name) for name in ("bytes", "would", "shown")]
    size, client_shown, shown = (figure if isinstance(figure, int) else 0 for figure in figures)
    if row.get("event") == "Recalled":
        return Saved(recalls=1, recalled=shown)
    if row.get("event") != "Offloaded":
        return Saved()
    return Saved(references=1, stored_bytes=size, client_shown_characters=client_shown, shown=shown)
