"""A compaction, from the save before it to the card after it, and what keeps the record up to date.

Fast path: imports nothing; what a branch needs is loaded in it.

PreCompact writes the checkpoint and tells the summary what to hold. SessionStart(compact) gives the
card, which reaches the very next request. PostCompact notes which messages the summary holds. In
between the ledger is folded as the transcript grows, so that no hook has to read all of it. Where
the mod compacts without a model, it writes the checkpoint itself, and the card has three lines.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from brimline.carry.ledger import Ledger
    from brimline.fast.decision import Decision
    from brimline.hooks.turn import Turn

# In a session's folder: how long the transcript was when the ledger was last brought up to date.
FOLDED = "carried-"
_FOLD_EVERY_BYTES = 2 << 20
# And: the state could not be saved, a manual compaction was refused.
_INCOMPLETE, _REFUSED = "carry-incomplete", "carry-refused"
# A hook reads at most so much of a transcript.
_MOST_BYTES = 5 << 20
_REFUSAL_S = 60.0
# A compaction takes no longer; an older checkpoint is of another one.
_COMPACTION_S = 3_600.0
_KEEP_DAYS = 30
_BUDGET = "budget.jsonl"
_OWN_INSTRUCTIONS, _OWN_BYTES = "compact-instructions.txt", 64 << 10


def pre_compact(turn: Turn) -> Decision | None:
    """Save the state, verified, and say what the summary has to hold.

    An automatic compaction is never refused: after an API error that would be the session's end.
    """
    if not turn.values["carry.enabled"]:
        return None
    from brimline.carry import card, checkpoint
    from brimline.errors import StateError
    from brimline.fast import io
    from brimline.fast.decision import Decision

    record = _updated_ledger(turn)
    trigger = turn.event.trigger
    try:
        _save_checkpoint_or_raise(turn, record, trigger)
        io.remove(f"{turn.state.folder}/{_INCOMPLETE}")
    except StateError as error:
        turn.attempt("PreCompact", _note_failed_checkpoint, turn, error)
        if trigger == "manual" and _claim_refusal_this_minute(turn):
            return Decision(permission="deny", reason=checkpoint.compaction_refusal_text(error))
    return Decision(model_notes=(card.summary_instructions(record, _read_summary_instructions()),))


def session_start(turn: Turn) -> Decision | None:
    """The card after a compaction; after `/clear` and in a new session a pointer to what was."""
    if not turn.values["carry.enabled"]:
        return None
    from brimline.carry import links
    from brimline.fast import io
    from brimline.fast.decision import Decision

    source, pid = turn.event.source, io.env("CLAUDE_PID")
    previous = links.last_session_of_client(turn.home, pid) if source == "clear" else None
    turn.attempt("links", links.note_session_of_client, turn.home, pid, turn.state.session_id)
    if source == "compact":
        text = _make_card_text(turn)
        return Decision(model_notes=(text,)) if text else None
    told: tuple[str, ...] = ()
    if source == "clear":
        told = links.link_and_describe_cleared_session(turn.home, turn.state.session_id, previous)
    elif source == "startup":
        left = links.last_unfinished_session(turn.home, turn.project)
        told = (
            links.past_session_texts("in an earlier session of this project", left) if left else ()
        )
    return Decision(model_notes=told[:1], person_notes=told[1:]) if told else None


def post_compact(turn: Turn) -> None:
    """Note which messages of the user the summary holds word for word."""
    summary = " ".join(turn.event.summary.split())
    if not summary or not turn.values["carry.enabled"]:
        return
    from brimline.carry import card, ledger, notes

    record = notes.merge_notes_into_ledger(turn.home, ledger.load(turn.home, turn.state.session_id))
    summary = card.mark_words(summary)
    held = sum(card.does_summary_hold(message, summary) for message in record.messages)
    size = turn.state.last_spooled_row_of("Carded").get("characters", 0)
    turn.spool_event("Carried", messages=len(record.messages), held=held, card_characters=size)


def post_tool_use(turn: Turn) -> None:
    """Read on in a session that has grown much, so that a compaction finds little left to read."""
    size = turn.reading.offset
    if size < _FOLD_EVERY_BYTES or not turn.values["carry.enabled"]:
        return
    from brimline.fast import io

    marks = [name for name in turn.state.names if name.startswith(FOLDED)]
    sizes = [io.parse_positive_number(name.removeprefix(FOLDED)) or 0 for name in marks]
    if size - max(sizes, default=0) < _FOLD_EVERY_BYTES:
        return
    for name in marks:
        io.remove(f"{turn.state.folder}/{name}")
    io.create_exclusively(f"{turn.state.folder}/{FOLDED}{size}", b"")
    turn.attempt("carry", _updated_ledger, turn)


stop = user_prompt_submit = post_tool_use


def session_end(turn: Turn) -> None:
    """Leave word for the next session of this project, and a line in the daily note."""
    if not turn.values["carry.enabled"]:
        return
    from brimline.carry import links

    record = _updated_ledger(turn)
    turn.attempt("links", links.note_or_drop_unfinished_session, turn.home, turn.project, record)
    place = turn.values["carry.daily_note"]
    if place:
        from brimline.carry import daily_note

        turn.attempt("breadcrumb", daily_note.append_session_line, record, turn.project, place)


def tidy(turn: Turn, until: float) -> None:
    """Read on in this session as far as time allows; drop what is kept of old ones."""
    from brimline.carry import fold, ledger, links

    links.delete_old_session_folders(turn.home, turn.state.session_id, _KEEP_DAYS * 86_400, until)
    if turn.values["carry.enabled"]:
        record = ledger.load(turn.home, turn.state.session_id)
        if fold.fold_new_rows(record, turn.event.transcript, until=until):
            ledger.save(turn.home, record)


def checkpoint_or_raise_if_on(turn: Turn, trigger: str) -> None:
    """Write the checkpoint now, as the last tiers do.

    Raises:
        StateError: it is not on the disk as it should be.
    """
    if turn.values["carry.enabled"]:
        _save_checkpoint_or_raise(turn, _updated_ledger(turn), trigger)


def _updated_ledger(turn: Turn) -> Ledger:
    """The record of the session up to now, saved, with what people added to it."""
    from brimline.carry import fold, ledger, links, notes

    record = ledger.load(turn.home, turn.state.session_id)
    transcript = turn.event.transcript
    changed = fold.fold_new_rows(record, transcript, most_bytes=_MOST_BYTES)
    adopted = turn.attempt("fork", links.merge_origin_into_fork, turn.home, record, transcript)
    if changed or adopted:
        turn.attempt("ledger", ledger.save, turn.home, record)
    return notes.merge_notes_into_ledger(turn.home, record)


def _make_card_text(turn: Turn) -> str:
    from brimline.carry import card, checkpoint

    # A disk that is full keeps no mark either.
    age_s = checkpoint.last_checkpoint_age_s(turn.home, turn.state.session_id)
    pinned = turn.attempt("budget", _pinned_texts_of_budget, turn) or ()
    moved = turn.state.recent_cold_compaction_row()
    if moved:
        return card.card_text_after_lossless_compaction(_updated_ledger(turn), moved, pinned=pinned)
    record = _updated_ledger(turn)
    rules = turn.attempt("rules", _marked_rules, turn, record) or ()
    text = card.card_text(
        record,
        rules,
        pinned=pinned,
        budget=turn.characters_left_for_notes() - 2,
        incomplete=_INCOMPLETE in turn.state.names or age_s > _COMPACTION_S,
        outdated=turn.state.has_spoken,
    )
    if text:
        turn.spool_event("Carded", characters=len(text))
    return text


def _marked_rules(turn: Turn, record: Ledger) -> list[list[str]]:
    """Return the marked rules that a summary loses."""
    if not record.instructions:
        return []
    from brimline.rules import marked

    return marked.rules_of_loaded_files(turn.project, record.instructions)


def _pinned_texts_of_budget(turn: Turn) -> list[list[str]]:
    """Return what is pinned in the session's budget, where it has one."""
    from brimline.fast import io, paths

    folder = paths.carry_session_dir(turn.home, turn.state.session_id)
    if _BUDGET not in io.list_names(folder):
        return []
    from brimline.budget import items

    return items.load_pinned_texts_of_safety_and_task(turn.home, turn.state.session_id)


def _save_checkpoint_or_raise(turn: Turn, record: Ledger, trigger: str) -> None:
    from brimline.carry import checkpoint, links

    checkpoint.build_and_save_document(
        turn.home,
        record,
        trigger=trigger,
        project_dir=turn.project,
        transcript=turn.event.transcript,
        figures=turn.reading.recorded_figures(),
        critical_files=turn.values["carry.critical_files"],
    )
    turn.attempt("links", links.note_or_drop_unfinished_session, turn.home, turn.project, record)


def _read_summary_instructions() -> str:
    """The user's own instructions for summaries, from the client's folder."""
    from brimline.fast import io, paths

    path = f"{paths.client_config_dir()}/{_OWN_INSTRUCTIONS}"
    try:
        return io.read_file(path, _OWN_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""


def _note_failed_checkpoint(turn: Turn, error: Any) -> None:
    """Note that a checkpoint failed, as far as anything can be written."""
    from brimline.fast import io
    from brimline.state import logs

    logs.record_failure(turn.home, "PreCompact", error, turn.event.session_id)
    io.create_exclusively(f"{turn.state.folder}/{_INCOMPLETE}", b"")


def _claim_refusal_this_minute(turn: Turn) -> bool:
    """Tell whether no compaction was refused within the last minute; notes that this one is."""
    import time

    from brimline.fast import io

    path = f"{turn.state.folder}/{_REFUSED}"
    if 0 <= time.time() - io.file_time(path) < _REFUSAL_S:
        return False
    try:
        io.replace_file(path, b"")
    except OSError:
        # Where even this cannot be written, nobody could tell a second refusal from the first.
        return False
    return True
