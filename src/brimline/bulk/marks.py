"""What offload notes in a session's folder: marks that say enough by their name, edited files.

Fast path: imports only `io`, `json` and `paths`. A quiet hook sees from the folder's listing that
there is nothing to do.
"""

from __future__ import annotations

from brimline.fast import io, json, paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from brimline.hooks.turn import Turn

# From this size on a result is one that may be pinned as the last large one.
LARGE_BYTES = 5_000
# One for each file that was shown as a preview.
PREVIEWED = "offload-read-"
# The files that the session changed.
EDITED = "offload-edited.jsonl"
# Says that the session has no past, or that what its transcript tells of it is noted too.
PAST = "offload-past"
# One for each preview whose call may be repeated, a byte in it for each result since; and one for
# each of those that was.
OFFER, TAKEN = "offload-again-", "offload-taken-"
OFFERED_RESULTS = 10
# In the data folder: what was learned of calls.
LEARNED = "offload-learned.jsonl"


def note_edited_file(turn: Turn, path: str) -> None:
    """The model changed a file."""
    line = json.dumps(paths.resolve_links(path, turn.event.cwd))
    io.append_line(f"{turn.state.folder}/{EDITED}", line)
    turn.state.names.append(EDITED)


def was_file_edited(turn: Turn, path: str) -> bool:
    """Tell whether the session changed a file."""
    if EDITED not in turn.state.names:
        return False
    line = json.dumps(paths.resolve_links(path, turn.event.cwd))
    return line in state_file_text(turn, EDITED).split("\n")


def state_file_text(turn: Turn, name: str) -> str:
    """Return what stands in a file of the session's folder; empty where there is none."""
    try:
        return io.read_file(f"{turn.state.folder}/{name}").decode("ascii", "replace")
    except OSError:
        return ""


def count_down_repeat_offers(turn: Turn, number: int = 1) -> None:
    """More results came after a preview; after ten its offer is gone."""
    for offer in [name for name in turn.state.names if name.startswith(OFFER)]:
        path = f"{turn.state.folder}/{offer}"
        io.append_line(path, "\n" * (number - 1))
        try:
            is_open = io.system.stat(io.path_bytes(path)).st_size <= OFFERED_RESULTS
        except OSError:
            is_open = False  # another hook was faster
        if not is_open:
            turn.state.names.remove(offer)
            io.remove(path)
            io.remove(f"{turn.state.folder}/{TAKEN}{offer[len(OFFER) :]}")
