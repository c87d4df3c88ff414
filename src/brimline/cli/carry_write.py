"""What `brimline carry card` and `checkpoint` make of a ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from brimline import config
from brimline.carry import card, crossing, gitstate, save
from brimline.cli.carry_sessions import session
from brimline.gauge import reading as gauge

if TYPE_CHECKING:
    from brimline.carry.items import Ledger
    from brimline.carry.session import Session
    from brimline.cli.carry_sessions import Place


def card_text(home_dir: str, place: Place, ledger: Ledger) -> str:
    """The card of a session, with the rules that are always in force."""
    return card.card(ledger, crossing.marked_rules(session(home_dir, place)))


def write_checkpoint(home_dir: str, place: Place, ledger: Ledger) -> dict[str, Any]:
    """Write and verify a checkpoint; returns where it is and what is kept with it.

    Raises:
        StateError: it is not on the disk as it should be.
    """
    about = session(home_dir, place)
    occasion = save.Occasion(
        trigger="asked for",
        transcript=place.transcript,
        project_dir=place.project_dir,
        reading=_figures(about),
        git=gitstate.describe(place.project_dir),
        critical_files=about.values["carry.critical_files"],
    )
    path = save.save(home_dir, ledger, occasion)
    document = save.load(home_dir, place.session_id) or {}
    return {
        "session_id": place.session_id,
        "path": path,
        "items": len(ledger.items),
        "files": document.get("files", []),
    }


def _figures(about: Session) -> dict[str, Any]:
    if not about.transcript:
        return {}
    rules = config.live_policy(about.home_dir, about.project_dir)
    found: dict[str, Any] = gauge.measure(about.transcript, about.state, rules).figures()
    return found
