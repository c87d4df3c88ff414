"""Swaps a large tool result for a reference: decide, preview, store, mark, answer in its shape.

Fast path: imports only rooms of ours; what makes previews is loaded once a result is too large.
"""

from __future__ import annotations

from brimline.decision import Decision
from brimline.offload import decide as deciding
from brimline.offload import experience, toolresult
from brimline.offload.seen import Looks, refusal
from brimline.offload.waiting import LARGE_BYTES, WAITING_FILE

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


def after(
    call: Call, state: SessionState, values: dict[str, Any], home_dir: str
) -> Decision | None:
    """What becomes of a result that may be large: a reference in its place, or nothing."""
    found = toolresult.find(call.tool, call.tool_input, call.response)
    if found is None:
        return None
    looks = Looks(state, call.cwd)
    if deciding.is_ours(call.tool, call.tool_input):
        experience.note_recall(call, found, looks, home_dir)
        return None
    rules = _rules(values)
    reason = deciding.decide(call.tool, call.tool_input, found.text, rules, looks).reason
    if reason == deciding.SECOND_LOOK:
        looks.note_whole(found.subject)
        experience.note_second_look(call, home_dir)
    swapped = None
    if values["offload.preset"] != "off":
        reason = experience.settles(call, reason, len(found.text), home_dir)
        swapped = None if reason else _swap(call, found, rules, state, home_dir, values)
    if swapped is None and WAITING_FILE in state.names and len(found.text) >= LARGE_BYTES:
        _pin_if_waiting(_store(call, found, state, home_dir, values)[0], state, home_dir)
    return swapped


def before_write(path: Any, state: SessionState, cwd: str) -> Decision | None:
    """Whether an overwrite is refused because the model has seen a preview of the file only."""
    if isinstance(path, str) and Looks(state, cwd).claim_warning(path):
        return Decision(permission="deny", reason=refusal(path))
    return None


def _swap(
    call: Call,
    found: ToolResult,
    rules: Rules,
    state: SessionState,
    home_dir: str,
    values: dict[str, Any],
) -> Decision | None:
    from brimline.offload import preview as previews
    from brimline.offload import recallcommand
    from brimline.offload import reference as references

    preview = previews.make_preview(found.text, call.tool, found.subject)
    ratio = CHARACTERS_PER_TOKEN
    if not deciding.is_worth_it(found.text, preview.text + _FRAME, rules, ratio):
        return None
    key, described = _store(call, found, state, home_dir, values)
    if call.tool == "Read" and not Looks(state, call.cwd).claim_preview(
        found.subject, key, described["bytes"]
    ):
        return None  # a parallel Read of the same file shows the preview; this one passes
    _pin_if_waiting(key, state, home_dir)
    if values["offload.preset"] == "ccm":
        text = references.cached_message(described)
    else:
        program = recallcommand.find(home_dir)
        text = references.reference(described, preview, note=found.note, program=program)
    fields = {"tool": call.tool, "key": key, "bytes": described["bytes"], "shown": len(text)}
    state.add_line("Offloaded", fields)
    experience.note_swap(call, key, described["bytes"], home_dir)
    return Decision(replacement=found.replaced(text))


def _store(
    call: Call, found: ToolResult, state: SessionState, home_dir: str, values: dict[str, Any]
) -> tuple[str, dict[str, Any]]:
    """Keep the content; returns its key and what a reference tells about it."""
    from brimline.store import put as store

    content = found.content()
    meta = {
        "tool": call.tool,
        "source": found.subject or None,
        "exit": found.exit_code,
        "session": state.session_id,
        "cwd": call.cwd,
    }
    key = store.put(home_dir, content, meta, compression=values["store.compression"])
    size = {"key": key, "bytes": len(content), "lines": store.count_lines(content)}
    return key, meta | size


def _pin_if_waiting(key: str, state: SessionState, home_dir: str) -> None:
    if WAITING_FILE in state.names:
        from brimline.offload import pinning

        pinning.on_result(key, state, home_dir)


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
