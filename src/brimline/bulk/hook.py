"""Bulk's face to the hooks: a large result on its way into the window, overwrites.

Fast path: imports only `clienttools`, `io`, `paths`, `session` and `marks`.
"""

from __future__ import annotations

from brimline.bulk import marks
from brimline.bulk.marks import LEARNED, OFFER, PAST, PREVIEWED
from brimline.fast import io, paths
from brimline.state.session import MOD_ALIVE
from brimline.transcript import clienttools

TYPE_CHECKING = False
if TYPE_CHECKING:
    from brimline.fast.decision import Decision
    from brimline.hooks.turn import Turn

_ROTATE_AT_BYTES = 256 << 10
_WITHOUT_MOD = "offload-without-mod"
NO_MOD = (
    "brimline: its mod does not run here, so that large results stay whole and compactions are the "
    "client's own. It takes Claude Code 2.1.287, and settings that do not forbid mods."
)
END_IS_LOST = (
    "[brimline] The client cut this output at 10,000 characters; its end is missing. "
    "Run it again with `2>&1 | tail -60`."
)


def post_tool_use(turn: Turn) -> Decision | None:
    """The replacement for a result that is bulk; notes what was fetched back, seen, changed."""
    if any(name.startswith(OFFER) for name in turn.state.names):
        marks.count_down_repeat_offers(turn)
    is_edit = turn.event.tool in clienttools.EDITING
    if is_edit and (path := clienttools.file_of_call(turn.event.tool_input)):
        marks.note_edited_file(turn, path)
    if not _may_result_need_handling(turn):
        return None
    from brimline.bulk import intercept, tool_results

    event = turn.event
    result = tool_results.parse_answer(event.tool, event.tool_input, event.tool_response)
    if result and PAST not in turn.state.names and event.tool in ("Read", "Bash"):
        from brimline.bulk import past

        past.catch_up_from_transcript(turn)
    return intercept.decide_on_result(turn, result) if result else None


def post_tool_use_failure(turn: Turn) -> Decision | None:
    """A note where the client threw away the end of what a failing command printed."""
    if not clienttools.has_failed_output_lost_its_end(turn.event.error):
        return None
    from brimline.fast.decision import Decision

    return Decision(model_notes=(END_IS_LOST,))


def pre_tool_use(turn: Turn) -> Decision | None:
    """A refusal where the model is about to overwrite what it has seen as a preview only."""
    names = turn.state.names
    if PAST not in names:
        from brimline.bulk import past

        past.catch_up_from_transcript(turn, waits=True)
    if not any(name.startswith(PREVIEWED) for name in names):
        return None
    from brimline.bulk import intercept

    return intercept.refuse_unseen_overwrite(turn)


def user_prompt_submit(turn: Turn) -> Decision | None:
    """Tell where the plugin runs without its mod."""
    if MOD_ALIVE not in turn.state.names and paths.is_plugin():
        return _tell_that_mod_is_missing(turn)
    return None


def _tell_that_mod_is_missing(turn: Turn) -> Decision | None:
    """Say so at the second prompt, by which the mod would have signed, and then no more."""
    folder = turn.state.folder
    if io.create_exclusively(f"{folder}/{_WITHOUT_MOD}", b"") or not io.create_exclusively(
        f"{folder}/{_WITHOUT_MOD}-told", b""
    ):
        return None
    from brimline.fast.decision import Decision

    return Decision(person_notes=(NO_MOD,))


def session_start(turn: Turn) -> None:
    """Note that the session, which has just begun, has no past in which files were seen."""
    if turn.event.source in ("startup", "clear"):
        io.create_exclusively(f"{turn.state.folder}/{PAST}", b"")


def tidy(turn: Turn, until: float) -> None:
    """Keep to the store's limits, once a day; put what was learned of calls aside where it grew."""
    import os

    io.rotate_if_too_large(f"{turn.home}/{LEARNED}", _ROTATE_AT_BYTES)
    if os.path.isdir(f"{turn.home}/store"):
        from brimline.bulk import retention

        limits = (turn.values["store.max_mb"], turn.values["store.max_age_days"])
        retention.tidy(turn.home, *limits, turn.traces, until=until)


def _may_result_need_handling(turn: Turn) -> bool:
    """Tell whether a result may be too large, or was fetched back."""
    event, values, names = turn.event, turn.values, turn.state.names
    if values["offload.preset"] == "off":
        return False
    sent_bytes = event.payload_bytes
    if event.tool == "Read":
        sent_bytes += clienttools.count_line_number_bytes(event.tool_response)
    if sent_bytes > min(values["offload.inline_bytes"], values["offload.read_bytes"]):
        return True
    # Only a call that names us can have fetched a stored output.
    command = event.tool_input.get("command")
    if "brimline" in (command if isinstance(command, str) else event.tool):
        return True
    # Each further look at a file that was shown as a preview counts.
    return event.tool == "Read" and any(name.startswith(PREVIEWED) for name in names)
