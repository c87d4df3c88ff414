"""The answers to slash commands: the texts that the same commands print in a shell.

Each is made here, in the hook's own process, within a few seconds; a session that takes longer to
read is for a shell.
"""

from __future__ import annotations

import os
import re
import shlex
import time
from typing import TYPE_CHECKING

from brimline import output
from brimline.bulk import contents, layout, pinning, pins
from brimline.errors import BrimlineError
from brimline.fast.decision import Decision
from brimline.hooks.slashcommands import ANSWERED, FORGET
from brimline.transcript import find

if TYPE_CHECKING:
    from collections.abc import Callable

    from brimline.hooks.slashcommands import SlashCommand
    from brimline.hooks.turn import Turn

    Watch = Callable[[int], None]

TIMEOUT_S = 3.0
# A screenful or two; the rest is for a shell.
_SHOWN_CHARACTERS = 6_000
# Of 80 columns the client leaves about 70 to a hook's text.
_COLUMNS = 70
_PROMPT = re.compile(r"/(?:[\w-]+:)?brim:([\w-]+)[ \t]*(.*)", re.DOTALL)
_NOT_A_PERSON = "brimline: a schedule of this session sends this command: only you may give it."
_KEY = re.compile(r"(?:sha256:)?[0-9a-f]{6,64}")
_MEMORY_HITS, _OUTPUT_HITS = 5, 10


def decision_answering_prompt(turn: Turn) -> Decision | None:
    """The answer to a prompt; None for one that is not ours, or that is for the model."""
    match = _PROMPT.fullmatch(turn.event.prompt.rstrip())
    known = (*ANSWERED, FORGET)
    command = next((c for c in known if match and c.name == match[1]), None)
    if match is None or command is None:
        return None
    if find.does_schedule_send(turn.event.transcript, turn.event.prompt):
        return Decision(permission="deny", reason=_NOT_A_PERSON)
    arguments = match[2].strip()
    with output.temporary_terminal_columns(_COLUMNS):
        text = turn.attempt(f"/brim:{command.name}", _answer_in_time, turn, command, arguments)
    if text is None:
        name = f"{turn.state.command_start}{command.name}"
        text = f"brimline: {name} failed; `brimline doctor` shows why."
    return Decision(permission="deny", reason=text)


def _answer_in_time(turn: Turn, command: SlashCommand, arguments: str) -> str:
    """The text of a command, if it is made in time; else what to type in a shell."""
    line = _same_command_for_shell(turn, command, arguments if command.hint else "")
    if arguments and not command.hint:
        name = f"{turn.state.command_start}{command.name}"
        return f"brimline: {name} takes no words: type it alone, or in a shell: {line}"
    until = time.monotonic() + TIMEOUT_S

    def stop_if_late(_amount: int) -> None:
        if time.monotonic() > until:
            raise TimeoutError

    try:
        text = output.without_control_characters(
            _ANSWERS[command.name](turn, arguments, stop_if_late)
        )
    except TimeoutError:
        return f"brimline: no answer here (it took longer than {TIMEOUT_S:g} s); in a shell: {line}"
    except BrimlineError as error:
        return f"brimline: {error}"
    if len(text) <= _SHOWN_CHARACTERS:
        return text
    shown = text[:_SHOWN_CHARACTERS].rpartition("\n")[0]
    return f"{shown}\n… the rest in a shell: {line}"


def _same_command_for_shell(turn: Turn, command: SlashCommand, arguments: str) -> str:
    words = [word for word in command.words if not word.isupper()]
    if command.name == "recall":
        words = ["store", "get", "--"] if _KEY.fullmatch(arguments) else [*words, "--"]
    words += arguments.split()
    if command.about_session:
        words += ["--session", turn.event.session_id]
    return shlex.join(["brimline", *words])


def _answer_status(turn: Turn, _arguments: str, watch: Watch) -> str:
    from brimline.figures import store
    from brimline.gauge import session_status
    from brimline.session import copies

    path = find.checked_transcript(turn.event.transcript)
    recorded = store.measure(turn.home, path, watch)
    document = session_status.status_document(path, recorded, turn.home, turn.policy)
    purged = copies.purged_tokens_by_call_since(turn.home, path, document["measured_at"]).total()
    return session_status.text(document, purged)


def _answer_all_history(turn: Turn, arguments: str, _watch: Watch) -> str:
    from brimline.figures import aftermath, lookback, savings, store
    from brimline.settings import config

    if arguments not in ("", "--compactions"):
        return f"Usage: {turn.state.command_start}history [--compactions]"
    until = time.monotonic() + TIMEOUT_S
    with store.opened(turn.home) as figures:
        notes = figures.refresh(lookback.transcripts_of_one_or_all(None), until=until)
        document = lookback.document(figures, savings.document, compactions=bool(arguments))
    aftermath.fill_in_costs_and_losses(document, config.user_model_rows(turn.home), until)
    notes = [f"note: {note}" for note in [*notes, *document["notes"]]]
    return "\n".join([aftermath.text(document), *notes])


def _answer_recall(turn: Turn, arguments: str, _watch: Watch) -> str:
    if not arguments:
        start = f"{turn.state.command_start}recall"
        return f"brimline: {start} KEY shows a stored output, {start} TEXT searches."
    if _KEY.fullmatch(arguments):
        layout.refuse_newer_format(turn.home)
        key = contents.resolve_key(turn.home, arguments)
        return contents.read_content(turn.home, key).decode("utf-8", "replace").removesuffix("\n")
    from brimline.recall import found_outputs, hits

    if hits.is_entry_key(arguments):
        return hits.neighbourhood_text(hits.entry_with_neighbours(turn.home, arguments))
    from brimline.recall import together
    from brimline.transcript import find, project

    place = find.folder_it_began_in(turn.event.transcript) or turn.event.cwd or os.getcwd()
    within = project.project_of_folder(place)._replace(session=turn.state.session_id)
    until = time.monotonic() + TIMEOUT_S
    said = together.document(turn.home, place, arguments, _MEMORY_HITS, within)
    stored = found_outputs.document(turn.home, arguments, within, _OUTPUT_HITS, until=until)
    parts = [hits.text(said)] if said["hits"] else []
    parts += [found_outputs.text(stored)] if stored["outputs"] else []
    if not parts:
        nothing = found_outputs.none_found_text(stored, arguments, everywhere=False)
        parts = [f"{hits.NOTHING}\nbrimline: {nothing}"]
    if said["reading"]:
        parts.append(f"note: {hits.progress_text(said['reading'])}")
    if said["problem"]:
        parts.insert(0, f"note: from this machine alone: {said['problem']}")
    return output.without_strong_marks("\n\n".join(parts))


def _do_checkpoint(turn: Turn, _arguments: str, _watch: Watch) -> str:
    from brimline.carry import session_record

    session = session_record.Place(turn.state.session_id, turn.event.transcript, turn.project)
    document = session_record.save_checkpoint(turn.home, session, turn.policy)
    return session_record.saved_checkpoint_text(document)


def _answer_purge(turn: Turn, _arguments: str, watch: Watch) -> str:
    from brimline.session import purge, session_documents, session_text

    path = os.path.realpath(find.checked_transcript(turn.event.transcript))
    options = purge.Options(rule=turn.values["compaction.inside"])
    planned = purge.plan_purge(path, options, turn.home, watch)
    document = session_documents.purge_plan_document(path, planned)
    if not planned.changes:
        return f"{session_text.purge_plan_text(document)}\nNothing to purge."
    document["changes"] = session_documents.documents_of_results_to_purge(planned)
    return session_text.purge_dry_run_text(document, ["brimline", "session", "purge", path])


def _do_pin_last(turn: Turn, arguments: str, _watch: Watch) -> str:
    words = arguments.removeprefix(pins.LAST).split(maxsplit=1) or [pins.SOFT]
    level = words[0].lower()
    if level not in (pins.SOFT, pins.HARD):  # a typo is not taken for a reason
        return f"Usage: {turn.state.command_start}pin [last] [soft|hard] [reason]"
    return pinning.pin_last_large_result(turn, level, " ".join(words[1:]) or None)


def _do_unpin(turn: Turn, arguments: str, _watch: Watch) -> str:
    layout.refuse_newer_format(turn.home)
    if arguments in ("", pins.LAST):
        key = pinning.ensure_last_large_result_is_stored(turn)
        if key is None:
            return "brimline: there is no large result yet."
    else:
        key = contents.resolve_key(turn.home, arguments)
    pins.pin(turn.home, key, pins.NONE)
    return f"brimline: {layout.shorten_key(key)} is no longer pinned."


def _switch_off_in_session(turn: Turn, _arguments: str, _watch: Watch) -> str:
    turn.state.switch_off_or_on(off=True)
    on = f"{turn.state.command_start}on"
    return f"brimline: silent in this session until {on}; nothing is measured or kept out."


def _switch_on_in_session(turn: Turn, _arguments: str, _watch: Watch) -> str:
    turn.state.switch_off_or_on(off=False)
    return "brimline: at work in this session."


def _forget(turn: Turn, arguments: str, _watch: Watch) -> str:
    from brimline.slash import forgetting

    return forgetting.forget_if_confirmed(turn, arguments)


_ANSWERS = {
    "status": _answer_status,
    "history": _answer_all_history,
    "recall": _answer_recall,
    "checkpoint": _do_checkpoint,
    "purge": _answer_purge,
    "pin": _do_pin_last,
    "unpin": _do_unpin,
    "off": _switch_off_in_session,
    "on": _switch_on_in_session,
    "forget": _forget,
}
