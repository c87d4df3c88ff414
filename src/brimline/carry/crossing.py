"""Around a compaction: save before it, hand back after it, and look what the summary dropped."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from brimline import fastio, paths
from brimline.carry import (
    card,
    findings,
    forks,
    gitstate,
    instructions,
    items,
    links,
    reading,
    save,
)
from brimline.carry.hook import CARRIED, REMAINDER
from brimline.carry.notes import merged
from brimline.errors import StateError
from brimline.state import failures
from brimline.state.failures import guarded

if TYPE_CHECKING:
    from brimline.carry.items import Ledger
    from brimline.carry.session import Session
    from brimline.state.session import SessionState

_REFUSED = "carry-refused"
_INCOMPLETE = "carry-incomplete"
# A manual compaction is refused at most this often.
_REFUSAL_S = 60.0
_PRE_COMPACT_BYTES = 4 << 20
_START_S = 0.5
_GIVEN_S = 60.0
_OWN_INSTRUCTIONS = "compact-instructions.txt"
_OWN_BYTES = 64 << 10
_INCOMPLETE_NOTE = " The checkpoint could not be saved; this may be incomplete."


class Prepared(NamedTuple):
    """What is printed before a compaction, or why a manual one is refused."""

    instructions: str = ""
    refusal: str = ""


def before(session: Session, trigger: str, figures: dict[str, Any]) -> Prepared:
    """Save the state, verified, and say what the summary has to hold.

    An automatic compaction is never refused: after an API error that would be the session's end.
    """
    ledger = _ledger(session, budget_bytes=_PRE_COMPACT_BYTES)
    refusal = ""
    try:
        save.save(session.home_dir, ledger, _occasion(session, trigger, figures))
        _unmark(session.state, _INCOMPLETE)
    except StateError as error:
        _note_incomplete(session, error)
        if trigger == "manual" and session.values["carry.block_manual"] and _may_refuse(session):
            refusal = (
                f"{error}. Free some space or check the folder, then run /compact again; within a "
                "minute it goes through even if the checkpoint still cannot be saved."
            )
    if not session.values["carry.instructions"]:
        return Prepared("", refusal)
    rules = marked_rules(session)
    return Prepared(instructions.instructions(ledger, rules, own=_own_instructions()), refusal)


def at_start(session: Session, source: str, pid: str | None, room: int) -> list[str]:
    """What the model is given at the start of a session, by what kind of start it is.

    Args:
        session: the session that starts.
        source: what kind of start it is, as the client says.
        pid: the client's process.
        room: how many characters there are for it.
    """
    extra = _unknown_rules(session, room // 2) if source in ("startup", "clear", "compact") else []
    return [*_carried(session, source, pid, room - sum(len(text) + 2 for text in extra)), *extra]


def _carried(session: Session, source: str, pid: str | None, room: int) -> list[str]:
    previous = links.session_of_client(session.home_dir, pid) if source == "clear" else None
    guarded(
        session.home_dir,
        "links",
        lambda: links.note_client(session.home_dir, pid, session.state.session_id),
    )
    if source in ("compact", "resume", "fork"):
        return _hand_back(session, source, room)
    if not session.values["carry.pointer"]:
        return []
    if source == "clear":
        return _point_to(session, previous)
    found = links.unfinished(session.home_dir, session.project_dir)
    return [links.pointer(found)] if found and source == "startup" else []


def after(session: Session, summary: str, trigger: str) -> None:
    """Compare the summary with the ledger; what neither it nor the card holds is given back."""
    from brimline.carry import audit

    ledger = _ledger(session, budget_bytes=0)
    text = _given_card(session) or card.card(ledger, marked_rules(session))
    found = audit.audit(summary, ledger, text, home_dir=session.home_dir)
    # The row of this compaction is written after this event.
    number = ledger.compactions + 1
    occupancy = session.state.last_line("PreCompact").get("occupancy")
    audit.save(
        session.home_dir, ledger.session, number, found, trigger=trigger, pre_tokens=occupancy
    )
    left = findings.remainder(found)
    if left:
        path = f"{session.state.folder}/{REMAINDER}"
        fastio.replace_file(path, left.encode("utf-8", "replace"))


def _given_card(session: Session) -> str:
    """The card that was given a moment ago, which may have had to share its room."""
    path = f"{paths.carry_session_dir(session.home_dir, session.state.session_id)}/card.md"
    try:
        if abs(time.time() - os.stat(path).st_mtime) > _GIVEN_S:
            return ""
        return fastio.read_file(path).decode("utf-8", "replace")
    except OSError:
        return ""


def take_remainder(state: SessionState) -> str:
    """What is still to be given back, for the one hook that gets hold of it."""
    path = f"{state.folder}/{REMAINDER}"
    taken = f"{path}.{os.getpid()}.{time.monotonic_ns()}.tmp"
    try:
        os.rename(path, taken)
        text = fastio.read_file(taken).decode("utf-8", "replace")
    except OSError:
        return ""
    fastio.remove(taken)
    return text


def at_end(session: Session) -> None:
    """Leave what the next session of this project is told, and a trace in the daily note."""
    ledger = _ledger(session, budget_s=_START_S)
    guarded(
        session.home_dir,
        "links",
        lambda: links.note_unfinished(session.home_dir, session.project_dir, ledger),
    )
    if session.values["carry.vault"]:
        from brimline.carry import breadcrumb

        guarded(session.home_dir, "breadcrumb", lambda: breadcrumb.leave(session, ledger))


def keep_up(session: Session) -> None:
    """Read on in a session that has grown much, so that a compaction finds little left to read."""
    for name in session.state.names:
        if name.startswith(CARRIED):
            fastio.remove(f"{session.state.folder}/{name}")
    size = os.stat(session.transcript).st_size
    fastio.create_exclusively(f"{session.state.folder}/{CARRIED}{size}", b"")
    _ledger(session, budget_bytes=_PRE_COMPACT_BYTES)


def marked_rules(session: Session) -> list[str]:
    """The rules that survive every compaction, from disk; none where they cannot be read."""
    found: list[str] = []

    def read() -> None:
        from brimline.rules import marked

        chosen = session.values["rules.organisation_file"]
        rules = marked.read(session.project_dir, chosen)
        found.extend(f"{text} [{name}]" if name else text for name, text in rules)

    guarded(session.home_dir, "rules", read)
    return found


def _unknown_rules(session: Session, room: int) -> list[str]:
    """Instruction files that the client itself does not load."""
    found: list[str] = []

    def read() -> None:
        from brimline.rules import assemble

        chosen = session.values["rules.organisation_file"]
        found.append(assemble.unknown_to_client(session.project_dir, chosen, room))

    guarded(session.home_dir, "rules", read)
    return [text for text in found if text]


def _hand_back(session: Session, source: str, room: int) -> list[str]:
    ledger = _ledger(session, budget_s=_START_S)
    if source != "compact" and not ledger.compactions and not ledger.previous:
        return []
    text = card.card(ledger, marked_rules(session), budget=room - len(_INCOMPLETE_NOTE))
    if not text:
        return []
    if _INCOMPLETE in session.state.names and source == "compact":
        text = text.replace(card.OPENING, card.OPENING + _INCOMPLETE_NOTE)
    path = f"{paths.carry_session_dir(session.home_dir, ledger.session)}/card.md"
    data = text.encode("utf-8", "replace")
    guarded(session.home_dir, "card", lambda: fastio.replace_file(path, data))
    return [text]


def _point_to(session: Session, previous: str | None) -> list[str]:
    """After `/clear`: the old session's ledger is linked, and named."""
    if previous is None or previous == session.state.session_id:
        return []
    old = reading.load(session.home_dir, previous)
    if not old.items:
        return []
    ledger = items.Ledger(session.state.session_id, previous=previous)
    guarded(session.home_dir, "links", lambda: reading.save(session.home_dir, ledger))
    open_tasks = len(list(old.of(items.TASK, status=items.OPEN)))
    errors = len(list(old.of(items.ERROR, status=items.OPEN)))
    goals = [item.text for item in old.of(items.GOAL)]
    goal = " ".join(goals[-1].split())[:160] if goals else ""
    found = {"session": previous, "goal": goal, "tasks": open_tasks, "errors": errors}
    return [links.pointer(found, cleared=True)]


def _ledger(session: Session, **budget: Any) -> Ledger:
    """The ledger as far as the transcript tells, with what the person added."""
    ledger = reading.bring_up_to_date(
        session.home_dir,
        session.state.session_id,
        session.transcript,
        unsaved=lambda error: guarded(
            session.home_dir, "ledger", lambda: failures.record(session.home_dir, "ledger", error)
        ),
        **budget,
    )
    guarded(
        session.home_dir, "fork", lambda: forks.adopt(session.home_dir, ledger, session.transcript)
    )
    return merged(session.home_dir, ledger)


def _occasion(session: Session, trigger: str, figures: dict[str, Any]) -> save.Occasion:
    return save.Occasion(
        trigger=trigger,
        transcript=session.transcript,
        project_dir=session.project_dir,
        reading=figures,
        git=gitstate.describe(session.project_dir),
        critical_files=session.values["carry.critical_files"],
    )


def _own_instructions() -> str | None:
    path = f"{paths.client_config_dir()}/{_OWN_INSTRUCTIONS}"
    try:
        text = fastio.read_file(path, _OWN_BYTES).decode("utf-8", "replace")
    except OSError:
        return None
    return text if text.strip() else None


def _may_refuse(session: Session) -> bool:
    """Whether no compaction was refused within the last minute; notes that this one is."""
    path = f"{session.state.folder}/{_REFUSED}"
    try:
        age_s = time.time() - os.stat(path).st_mtime
        if 0 <= age_s < _REFUSAL_S:
            return False
    except OSError:
        pass
    try:
        fastio.replace_file(path, b"")
    except OSError:
        # Where even this cannot be written, nobody could tell a second refusal from the first.
        return False
    return True


def _unmark(state: SessionState, name: str) -> None:
    if name in state.names:
        fastio.remove(f"{state.folder}/{name}")


def _note_incomplete(session: Session, error: StateError) -> None:
    """Where nothing can be written, these notes cannot be either."""
    mark = f"{session.state.folder}/{_INCOMPLETE}"
    guarded(session.home_dir, "PreCompact", lambda: fastio.create_exclusively(mark, b""))
    guarded(
        session.home_dir,
        "PreCompact",
        lambda: failures.record(session.home_dir, "PreCompact", error),
    )
