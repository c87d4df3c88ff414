"""The texts around a compaction: what the summary is asked to hold, what the model gets back. Pure.

Nothing in them depends on the time, so the same ledger gives the same bytes. Where there is too
much, the oldest messages give way first, then the state.
"""

from __future__ import annotations

import re
from functools import partial

from brimline.foreign import flatten
from brimline.masking import mask

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from brimline.carry.ledger import Ledger

BUDGET_CHARACTERS = 9_000
MARK = "[brimline card]"
OPENING = (
    f"{MARK} Recorded from the session itself, not from a summary: what the user wrote, "
    "word for word, and the state of the work as tool calls left it. Where messages differ, the "
    "later one wins."
)
# In few lines: the client prints them on the screen when the user compacts by hand.
# One paragraph: a manual compaction prints it on the screen, behind the hook's command line.
INSTRUCTIONS = (
    "In the summary keep: the task and its objectives in the user's own words; decisions, why, "
    "and options rejected; exact file paths; what is still to be done, in order; errors and "
    "whether they are resolved; critical state: names, numbers, commands. Quote word for word "
    "every message of the user that sets a rule or corrects you. Be brief on completed work. "
    'End with a section "## Lessons": one line each, "- …", for what was learned of this project '
    "that helps another session; leave it out if nothing was."
)
INSTRUCTIONS_CHARACTERS = 1_500
# The client cuts what a hook prints here beyond this.
_OWN_INSTRUCTIONS_CHARACTERS = 10_000
_OUTDATED = " What brimline said of context tiers before this compaction no longer holds."
_INCOMPLETE = " The checkpoint could not be saved; this may be incomplete."
_UNREAD = " It knows the last part of the session: {0:,.0f} MB before that were not read."
_SEARCHABLE = (
    "\nResults of {0:,} tool calls came before this: `recall` finds each by file, command or words."
)
_NOTES_CHARACTERS, _PINNED_CHARACTERS, _RULE_CHARACTERS = 1_500, 1_200, 800
_STATE_CHARACTERS, _MESSAGES_CHARACTERS = 2_000, 6_000
# Of one message, beside the ellipsis.
_MESSAGE_CHARACTERS = 600
_LINE_CHARACTERS = 130
# Puts a mark at both ends of each word of a text, so that no part of one is found in it.
mark_words = partial(re.compile(r"[^\W_]+").sub, "\0\\g<0>\0")
# A message that stands in a longer one that is shown is not shown again; short ones may by chance.
_CONTAINED_CHARACTERS = 40


def summary_instructions(ledger: Ledger, own: str = "") -> str:
    """What the client's summary is asked to hold: the user's own text or ours, and marked notes.

    Args:
        ledger: the session's record, with the person's notes.
        own: the user's own instructions, which replace ours.
    """
    general = own.strip() or INSTRUCTIONS
    most = _OWN_INSTRUCTIONS_CHARACTERS if own.strip() else INSTRUCTIONS_CHARACTERS
    if len(general) > most:
        return general[: most - 1] + "…"
    title = "Take over word for word:"
    room = min(_NOTES_CHARACTERS, most - len(f"{general}\n\n{title}"))
    notes = _lines_that_fit(_open_note_lines(ledger), room)
    return "\n\n".join([general, "\n".join([title, *notes])]) if notes else general


def card_text(
    ledger: Ledger,
    marked_rules: Sequence[Sequence[str]] = (),
    *,
    pinned: Sequence[Sequence[str]] = (),
    budget: int = BUDGET_CHARACTERS,
    incomplete: bool = False,
    outdated: bool = False,
) -> str:
    """Return what the model gets back after a compaction; empty where there is nothing.

    Args:
        ledger: the session's record, with the person's notes.
        marked_rules: file and text of each marked rule that the client does not load again.
        pinned: texts that are pinned in the session's budget, by compartment.
        budget: the most characters.
        incomplete: whether the checkpoint before it could not be saved.
        outdated: whether a tier was announced, in a message that the client may have kept.
    """
    opening = OPENING + (_OUTDATED if outdated else "") + (_INCOMPLETE if incomplete else "")
    if ledger.unread_bytes:
        opening += _UNREAD.format(max(1, ledger.unread_bytes / 1_000_000))
    if ledger.results:
        opening += _SEARCHABLE.format(ledger.results)
    notes = _section("Notes", _lines_that_fit(_open_note_lines(ledger), _NOTES_CHARACTERS))
    kept = _section("Pinned in the budget", _pinned_budget_lines(pinned))
    rules = _section(
        "Marked rules of instruction files loaded on the way", _marked_rule_lines(marked_rules)
    )
    fixed = opening + notes + kept + rules
    state = _work_state_section(ledger, min(_STATE_CHARACTERS, budget - len(fixed)))
    room = min(_MESSAGES_CHARACTERS, budget - len(fixed) - len(state))
    messages = _messages_section(ledger, room)
    return fixed + state + messages if len(fixed) > len(opening) or state or messages else ""


def card_text_after_lossless_compaction(
    ledger: Ledger, moved: Mapping[str, Any], *, pinned: Sequence[Sequence[str]] = ()
) -> str:
    """What the model gets after a compaction without a model, which leaves all that was said.

    Args:
        ledger: the session's record, with the person's notes.
        moved: how many results and inputs were moved out.
        pinned: texts that are pinned in the session's budget, by compartment.
    """
    results, inputs = (moved.get(name, 0) for name in ("results", "inputs"))
    cut = f", and the middle of {inputs} long input{'s' * (inputs != 1)}" if inputs else ""
    opening = (
        f"{MARK} Compacted without a summary. Moved out: {results} old result{'s' * (results != 1)}"
        f"{cut}. Each names its key: `recall` with it gives it back."
    )
    reading = "Read a file again before you edit it: the client no longer counts it as read."
    unseen = [
        *_lines_that_fit(_pinned_budget_lines(pinned), _PINNED_CHARACTERS),
        *_lines_that_fit(_open_note_lines(ledger, "person"), _NOTES_CHARACTERS),
    ]
    return "\n".join([opening, reading, *(["Still in force:", *unseen] if unseen else [])])


def _open_note_lines(ledger: Ledger, source: str = "") -> list[str]:
    """Notes that still hold, all or of one source, newest first, because the oldest give way."""
    open_notes = [
        note
        for note in ledger.notes.values()
        if not note.get("done") and source in ("", note.get("source"))
    ]
    words = {"decide": "decided", "keep": "keep"}
    return [
        f"- {words.get(note['kind'], 'keep')}: {flatten(note['text'], _MESSAGE_CHARACTERS + 1)}"
        for note in reversed(open_notes)
    ]


def _pinned_budget_lines(pinned: Sequence[Sequence[str]]) -> list[str]:
    """Of each compartment the newest, as far as its room goes; how many more is said."""
    lines = []
    for texts in pinned:
        bullets = [f"- {flatten(mask(text), 300)}" for text in texts]
        shown = _lines_that_fit(bullets, _PINNED_CHARACTERS)
        left = len(texts) - len(shown)
        lines += [*shown, f"- [{left} more: `context_budget` lists them]"] if left else shown
    return lines


def _marked_rule_lines(marked_rules: Sequence[Sequence[str]]) -> list[str]:
    """Each rule with its file."""
    return [
        f"- {flatten(mask(text), _RULE_CHARACTERS)}{f' ({flatten(file)})' if file else ''}"
        for file, text in marked_rules
    ]


def _work_state_section(ledger: Ledger, room: int) -> str:
    """Tasks, plan, git, checks, files, commands: what comes last gives way first."""
    worked = list(dict.fromkeys(_command_bullet(line) for line, _ in reversed(ledger.worked)))[:3]
    repeated = [
        line for line in dict.fromkeys(_repeated_command_lines(ledger)) if line not in worked
    ]
    changed = _lines_that_fit(_lines_per_folder(ledger.changed, ledger), 500)
    ran_too = "- their files, commits and task updates are not listed here"
    parts = [
        _section("Subagents ran too", [ran_too] if ledger.subagents else []),
        _section("Tasks", _lines_that_fit(_task_lines(ledger), 600)),
        _section("Plan written last", [f"- {flatten(ledger.plan)}"] if ledger.plan else []),
        _section("Git", _lines_that_fit(_git_lines(ledger), 450)),
        _section("Checks, the last result of each", _lines_that_fit(_check_lines(ledger), 500)),
        _section("Files changed, latest first", changed),
        _section("Worked after a similar command had failed", worked),
        _section("Commands that ran more than once without an error", repeated[:8]),
        _section("Files read lately", _lines_that_fit(_lines_per_folder(ledger.read, ledger), 300)),
    ]
    kept = ""
    for part in parts:
        while part and len(kept) + len(part) > room:
            # A title without a line under it says nothing.
            part = part.rpartition("\n")[0] if part.count("\n") > 3 else ""  # noqa: PLW2901, PLR2004
        kept += part
    return kept


def _task_lines(ledger: Ledger) -> list[str]:
    lines = [
        f"- {flatten(state, 20).replace('_', ' ')}: {flatten(subject, _LINE_CHARACTERS)}"
        for state, subject in sorted(ledger.tasks.values(), key=lambda task: task[0])
        if state != "completed"
    ]
    done = [
        flatten(subject, 60) for state, subject in ledger.tasks.values() if state == "completed"
    ]
    if done:
        lines.append("- completed: " + flatten("; ".join(reversed(done)), 300))
    return lines


def _git_lines(ledger: Ledger) -> list[str]:
    # The client writes `HEAD` where no branch is checked out, or there is no repository.
    lines = [f"- branch {flatten(ledger.branch)}"] if ledger.branch not in ("", "HEAD") else []
    lines += [f"- pull request made here: {flatten(address)}" for address in reversed(ledger.pulls)]
    if ledger.commits:
        made = [
            f"{flatten(commit, 12)} {flatten(subject, 70)}"
            for commit, subject in reversed(ledger.commits)
        ]
        lines.append("- commits made here, latest first: " + flatten("; ".join(made), 300))
    return lines


def _check_lines(ledger: Ledger) -> list[str]:
    lines = []
    for check in reversed(ledger.checks.values()):
        end = flatten(str(check.get("end") or ""), 80)
        lines.append(
            f"{_command_bullet(str(check.get('command')), 90)}: {flatten(str(check['result']), 60)}"
            + (", before later edits" if check.get("edited") else "")
            + (f", ended: {end}" if end else "")
        )
    return list(dict.fromkeys(lines))


def _command_bullet(command: str, most: int = _LINE_CHARACTERS) -> str:
    lines = [line.strip() for line in command.replace(" 2>&1", "").split("\n")]
    return f"- `{flatten(' ⏎ '.join(filter(None, lines)), most)}`"


def _repeated_command_lines(ledger: Ledger) -> list[str]:
    """Commands of a shape that ran more than once, the latest first: those are run again."""
    return [
        _command_bullet(ran["line"]) + (" (in the background)" if ran.get("background") else "")
        for ran in reversed(ledger.commands.values())
        if ran.get("first") != ran.get("last")
    ]


def _lines_per_folder(paths: dict[str, int], ledger: Ledger) -> list[str]:
    """Many names in little room: by folder, the latest first."""
    folders: dict[str, list[str]] = {}
    for path in reversed(paths):
        separator = "/" if "/" in path else "\\"
        folder, mark, name = path.removeprefix(ledger.folder + separator).rpartition(separator)
        folders.setdefault(folder + mark, []).append(name)
    return [
        "- " + (f"{flatten(folder)}: " if folder else "") + flatten(", ".join(names), 400)
        for folder, names in folders.items()
    ]


def _messages_section(ledger: Ledger, room: int) -> str:
    title = "\n\nMessages of the user, newest first:"
    room -= len(title)
    kept: list[str] = []
    left_out = 0
    shown = ""
    for message in reversed(ledger.messages):
        text = flatten(message["text"], _MESSAGE_CHARACTERS + 1)
        line = "\n- " + _label_of_message_kind(message) + text + paste_size_text(message)
        if f"\n- {text}\n" in shown or (len(text) >= _CONTAINED_CHARACTERS and text in shown):
            continue
        if left_out or len(line) > room - _LINE_CHARACTERS:
            left_out += 1
            continue
        room -= len(line)
        kept.append(line)
        shown += f"\n- {text}\n"
    if not kept:
        return ""
    if left_out + ledger.dropped_messages:
        older = f"{left_out + ledger.dropped_messages} older ones are left out"
        listed = f"{len(ledger.messages)} messages" if ledger.dropped_messages else "all"
        kept.append(f"\n[{older}; `brimline carry show` has {listed}]")
    return title + "".join(kept)


def _label_of_message_kind(message: dict[str, object]) -> str:
    kind = str(message.get("kind"))
    return f"({flatten(kind)}) " if kind == "answer" or kind.startswith("refusing") else ""


def paste_size_text(message: dict[str, object]) -> str:
    """Return how much there was of a paste of which the first line is kept."""
    size = message.get("size")
    return f" [first line of {size:,} characters]" if isinstance(size, int) else ""


def does_summary_hold(message: dict[str, object], summary: str) -> bool:
    """Tell whether a summary, with its words marked, holds a message as words of their own."""
    return mark_words(message_beginning_on_one_line(message)) in summary


def message_beginning_on_one_line(message: dict[str, object]) -> str:
    """Return what of a message has to be in a text that is said to hold it."""
    return " ".join(str(message["text"]).split())[:_MESSAGE_CHARACTERS].rstrip()


def _section(title: str, lines: list[str]) -> str:
    return f"\n\n{title}:\n" + "\n".join(lines) if lines else ""


def _lines_that_fit(lines: list[str], room: int) -> list[str]:
    """The first lines that fit."""
    kept = []
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            break
        kept.append(line)
    return kept
