"""What the user is after: the goal of the session, a new one, and the latest request. Pure."""

from __future__ import annotations

from brimline.carry import items as kinds
from brimline.carry import words
from brimline.carry.noting import note

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from brimline.carry.items import Ledger
    from brimline.carry.meaning import Heard
    from brimline.carry.noting import Origin

_GOAL_CHARACTERS = 330
_MOST_SENTENCES = 3
_LEAST_WORDS = 3
_OPENING_CHARACTERS = 400
_FREE = (None, kinds.FACT)
_NEW_GOAL = (
    *(" new task ", " next task ", " lets work on ", " lets start ", " lets move on "),
    *(" the goal ", " your task ", " i want you to ", " i need you to "),
    *(" implement the following ", " goal is ", " we need to build ", " switching topics "),
    *(" different topic ", " now lets ", " new topic "),
)


def aim(ledger: Ledger, text: str, meant: list[Heard], origin: Origin) -> list[Heard]:
    """Note what a prompt is after; returns the sentences that need not be noted again.

    Args:
        ledger: the ledger.
        text: the whole prompt.
        meant: its sentences that ended nothing.
        origin: where it stands.
    """
    used = list(_leading(meant))
    if not used:
        return []
    told = " ".join(heard.sentence.text for heard in used)
    _forget_request(ledger)
    if _is_new(ledger, text):
        ledger.state["goal"] = note(ledger, kinds.GOAL, told, kinds.USER, origin, 2.0).id
        return used
    request = note(ledger, kinds.GOAL, told, kinds.USER, origin, 1.0)
    if request.row == origin.row:
        request.extra["role"] = "request"
        ledger.state["request"] = request.id
    return []


def _is_new(ledger: Ledger, text: str) -> bool:
    opening = words.plain(text[:_OPENING_CHARACTERS])
    return "goal" not in ledger.state or any(cue in opening for cue in _NEW_GOAL)


def _leading(meant: list[Heard]) -> Iterator[Heard]:
    """The first sentences that are no rule, choice or task, as many as make a goal."""
    length = count = 0
    for heard in meant:
        text = heard.sentence.text
        if heard.kind not in _FREE or len(words.content(text)) < _LEAST_WORDS:
            continue
        length += len(text) + 1
        if count == _MOST_SENTENCES or (count and length > _GOAL_CHARACTERS):
            return
        count += 1
        yield heard


def _forget_request(ledger: Ledger) -> None:
    """Only the latest request is a goal; all of them stay as prompts."""
    last = ledger.items.get(str(ledger.state.pop("request", "")))
    if last is not None and last.extra.get("role") == "request":
        del ledger.items[last.id]
