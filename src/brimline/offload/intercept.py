"""Swaps a large tool result for a reference: decide, preview, store, mark, answer in its shape.

Fast path: imports only rooms of ours; what makes previews is loaded once a result is too large.
"""

from __future__ import annotations

from brimline.decision import Decision
from brimline.offload import decide as deciding
from brimline.offload import experience, recall, toolresult
from brimline.offload.hook import LARGE_BYTES, PINS_WAIT
from brimline.offload.seen import Looks, refusal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from brimline.offload.calls import Call
    from brimline.offload.decide import Rules
    from brimline.offload.toolresult import ToolResult
    from brimline.state.session import SessionState

# Of several tokenizers the one that finds fewest tokens in a text: savings are not overstated.
CHARACTERS_PER_TOKEN = 2.85
# What a reference takes beside its preview.
_FRAME = " " * 400


class _Case:
    """A result on its way into the window, and all that is needed to decide about it."""

    __slots__ = ("call", "found", "home_dir", "looks", "state", "values")

    def __init__(
        self,
        call: Call,
        found: ToolResult,
        looks: Looks,
        state: SessionState,
        values: dict[str, Any],
        home_dir: str,
    ) -> None:
        self.call = call
        self.found = found
        self.looks = looks
        self.state = state
        self.values = values
        self.home_dir = home_dir


def after(
    call: Call, state: SessionState, values: dict[str, Any], home_dir: str
) -> Decision | None:
    """What becomes of a result that may be large: a reference in its place, or nothing.

    The questions, in their order; the first that says so lets the result pass. Before all of them
    `hook.py` has asked whether it is a subagent's, and whether it can be large at all.

    1. Is its shape unknown? (`toolresult.find`)
    2. Does it come from us? (`recall.is_ours`)
    3. Do the rules let it pass: its size, its tool, its file, its command? (`decide`)
    4. Is replacing switched off?
    5. Has experience more to say than the rules: a command whose references are always fetched
       back passes, a trivial one that prints much does not? (`experience.settles`)
    6. Would a reference save too little? (`decide.is_worth_it`)
    7. Does a parallel Read show the file's preview already? (`seen.Looks.claim_preview`)
    """
    found = toolresult.find(call.tool, call.tool_input, call.response)
    if found is None:
        return None
    looks = Looks(state, call.cwd)
    if recall.is_ours(call.tool, call.tool_input):
        experience.note_recall(call, found, looks, home_dir)
        return None
    if call.tool == "Read" and not looks.knows_the_past:
        from brimline.offload import inherited

        inherited.take_over(call, looks, home_dir)
    case = _Case(call, found, looks, state, values, home_dir)
    rules = _rules(values)
    swapped = None if _reason_to_pass(case, rules) else _swap(case, rules)
    if swapped is None:
        _note_passing(case)
    return swapped


def before_write(call: Call, state: SessionState, home_dir: str) -> Decision | None:
    """Whether an overwrite is refused because the model has seen a preview of the file only."""
    path = call.tool_input.get("file_path")
    if not isinstance(path, str):
        return None
    looks = Looks(state, call.cwd)
    if not looks.knows_the_past:
        from brimline.offload import inherited

        inherited.take_over(call, looks, home_dir, waits=True)
    if looks.claim_warning(path):
        return Decision(permission="deny", reason=refusal(path))
    return None


def _reason_to_pass(case: _Case, rules: Rules) -> str | None:
    """The answers to questions 3 to 5."""
    call, text = case.call, case.found.text
    reason = deciding.reason_to_pass(call.tool, call.tool_input, text, rules, case.looks)
    if reason == deciding.SECOND_LOOK:
        experience.note_second_look(call, case.home_dir)
    if case.values["offload.preset"] == "off":
        return reason or deciding.SWITCHED_OFF
    return experience.settles(call, reason, len(text), case.home_dir)


def _swap(case: _Case, rules: Rules) -> Decision | None:
    """The answers to questions 6 and 7, and the reference where both are no."""
    from brimline.offload import preview as previews
    from brimline.offload import recallcommand
    from brimline.offload import reference as references

    call, found = case.call, case.found
    preview = previews.make_preview(found.text, call.tool, found.subject)
    ratio = CHARACTERS_PER_TOKEN
    if not deciding.is_worth_it(found.text, preview.text + _FRAME, rules, ratio):
        return None
    key, described = _store(case)
    if call.tool == "Read" and not _claims_preview(case, key):
        return None
    _pin_if_waiting(key, case)
    program = recallcommand.find(case.home_dir)
    text = references.reference(described, preview, note=found.note, program=program)
    fields = {"tool": call.tool, "key": key, "bytes": described["bytes"], "shown": len(text)}
    case.state.add_line("Offloaded", fields)
    experience.note_swap(call, key, described["bytes"], case.home_dir)
    return Decision(replacement=found.replaced(text))


def _claims_preview(case: _Case, key: str) -> bool:
    found = case.found
    total_lines = found.lines[2] if found.lines else found.text.count("\n") + 1
    return case.looks.claim_preview(found.subject, key, total_lines)


def _note_passing(case: _Case) -> None:
    """What is noted of a result that stays: lines of a file, and content for a pin that waits."""
    found = case.found
    if case.call.tool == "Read" and found.lines:
        case.looks.note_lines(found.subject, found.lines)
    if PINS_WAIT in case.state.names and len(found.text) >= LARGE_BYTES:
        _pin_if_waiting(_store(case)[0], case)


def _store(case: _Case) -> tuple[str, dict[str, Any]]:
    """Keep the content; returns its key and what a reference tells about it."""
    from brimline.store import put as store

    content = case.found.content()
    meta = {
        "tool": case.call.tool,
        "source": case.found.subject or None,
        "exit": case.found.exit_code,
        "session": case.state.session_id,
        "cwd": case.call.cwd,
    }
    key = store.put(case.home_dir, content, meta)
    size = {"key": key, "bytes": len(content), "lines": store.count_lines(content)}
    return key, meta | size


def _pin_if_waiting(key: str, case: _Case) -> None:
    if PINS_WAIT in case.state.names:
        from brimline.offload import pinning

        pinning.on_result(key, case.state, case.home_dir)


def _rules(values: dict[str, Any]) -> Rules:
    """The rules of the preset with the user's own sizes."""
    preset = deciding.PRESETS.get(values["offload.preset"], deciding.DEFAULT)
    inline_bytes = values["offload.inline_bytes"]
    sizes = dict.fromkeys(preset.thresholds, inline_bytes)
    return deciding.Rules(
        sizes | {"Read": values["offload.read_bytes"]},
        least_tokens=preset.least_tokens,
        least_ratio=preset.least_ratio,
        configuration_bytes=preset.configuration_bytes,
        code_bytes=values["offload.code_bytes"] if preset.code_bytes else None,
    )
