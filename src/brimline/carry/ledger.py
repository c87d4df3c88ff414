"""What a session says about itself, in rows that say what they are, kept beside its transcript.

The ledger is folded from the transcript, reading only what is new. The place reached is inside its
own file, so the two cannot part. Everything is kept by a name (a path, a task's number, a command),
so rows that are read again change nothing.
"""

from __future__ import annotations

from _blake2 import blake2b

from brimline.fast import io, json, paths
from brimline.masking import mask

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FORMAT = 2
LEDGER_FILE = "ledger.json"
_LARGEST_LEDGER = 4 << 20
# Longer messages, by characters or lines, are pastes: the first line and the size are kept.
PASTE_CHARACTERS, PASTE_LINES = 1_200, 15
KEEP, DECIDE = "keep", "decide"
_MOST_MESSAGES, _MOST_NOTES = 400, 200


class Ledger:
    """The record of one session."""

    def __init__(self, session: str) -> None:
        self.session = session
        self.previous: str | None = None
        """The session that this one goes on from, after `/clear` or a fork."""
        self.forked_from = ""
        """The session that the client says its rows were copied from."""
        self.adopted = ""
        """The session whose record was taken over into this one."""
        self.compactions = 0
        self.results = 0
        """Of tool calls, whether they are still sent or not."""
        self.messages: list[dict[str, Any]] = []
        """Of the user: `id`, `at`, `text`, `kind`, and of a paste its `size` in characters."""
        self.dropped_messages = 0
        self.queued: list[str] = []
        """What was typed while the assistant worked; the client may repeat it as a prompt."""
        self.notes: dict[str, dict[str, Any]] = {}
        self.tasks: dict[str, list[str]] = {}
        """By number: state and subject."""
        self.plan = ""
        self.folder = ""
        self.branch = ""
        self.changed: dict[str, int] = {}
        self.read: dict[str, int] = {}
        """Paths, the latest last."""
        self.instructions: dict[str, int] = {}
        """Instruction files that the client loaded on the way, with a file they are about."""
        self.subagents = 0
        """How many have reported; what they did stands in files of their own."""
        self.commits: list[list[str]] = []
        self.pulls: list[str] = []
        self.checks: dict[str, dict[str, Any]] = {}
        self.commands: dict[str, dict[str, Any]] = {}
        """By shape: the `line` as it ran last, when `first` and `last`, if in the `background`."""
        self.failed: list[str] = []
        """The last commands that failed, to be told by one that works."""
        self.worked: list[list[str]] = []
        """Commands that worked, each with the similar one that had failed."""
        self.calls: dict[str, list[Any]] = {}
        """Tool calls that have not been answered yet."""
        self.cursor: dict[str, Any] = {}
        """How far the transcript was read."""
        self.unread_bytes = 0
        self.forgotten: list[str] = []
        """Ids of messages and notes that the user wants gone, wherever they are read again."""
        self.summary_expected = False
        self.boundary_at = ""
        """While rows are only written again: when the compaction was that wrote them."""

    def has_state(self) -> bool:
        """Tell whether it holds more than what stands in the session's own window."""
        done = (self.tasks, self.plan, self.changed, self.commits, self.checks, self.notes)
        return bool(self.compactions or any(done))

    def open_task_count(self) -> int:
        """Return how many tasks are not completed."""
        return sum(state != "completed" for state, _ in self.tasks.values())


def put_last_and_drop_oldest(entries: dict[str, Any], name: str, value: Any, most: int) -> None:
    """Keep a value as the latest of its kind; the oldest go where there are too many."""
    entries.pop(name, None)
    entries[name] = value
    while len(entries) > most:
        del entries[next(iter(entries))]


def id_of_note_or_message(kind: str, text: str) -> str:
    """Eight digits that name a note or a message on the command line."""
    return blake2b(f"{kind}\0{text}".encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()


def add_message(ledger: Ledger, text: str, at: str | None, kind: str) -> None:
    """Keep what the user wrote; of a paste its first line and its size."""
    text = mask(text)
    message: dict[str, Any] = {"at": at, "kind": kind, "text": text}
    if is_paste(text):
        message["size"] = len(text)
        message["text"] = next(line.strip() for line in text.split("\n") if line.strip())
    message["id"] = id_of_note_or_message(str(at), message["text"])
    ids = {earlier["id"] for earlier in ledger.messages}
    if message["id"] not in ids and message["id"] not in ledger.forgotten:
        ledger.messages.append(message)
    if len(ledger.messages) > _MOST_MESSAGES:
        ledger.messages.pop(0)
        ledger.dropped_messages += 1


def is_paste(text: str) -> bool:
    """Tell whether a text is too long to be a message."""
    return len(text) > PASTE_CHARACTERS or text.count("\n") > PASTE_LINES


def add_or_renew_note(ledger: Ledger, kind: str, text: str, at: Any, source: str = "user") -> None:
    """Keep something that was marked as worth keeping."""
    text = mask(text.strip())
    if not text:
        return
    note_id = id_of_note_or_message(kind, text)
    # Written again it is news: what was done or forgotten before does not count any more.
    note = {"id": note_id, "kind": kind, "text": text, "at": at, "source": source}
    put_last_and_drop_oldest(ledger.notes, note_id, note, _MOST_NOTES)


def load(home_dir: str, session_id: str) -> Ledger:
    """The ledger as it was last saved; an empty one where there is none, or a damaged one.

    Of a session that was forgotten it begins where the transcript ended then.
    """
    path = f"{paths.carry_session_dir(home_dir, session_id)}/{LEDGER_FILE}"
    try:
        return from_document(json.parse_object(io.read_file(path, _LARGEST_LEDGER)), session_id)
    except FileNotFoundError:
        from brimline.state import forgotten

        record = Ledger(session_id)
        record.cursor = (
            forgotten.forgotten_line_by_session(home_dir).get(session_id, {}).get("cursor", {})
        )
        return record
    except (OSError, ValueError):
        return Ledger(session_id)


def save(home_dir: str, ledger: Ledger) -> None:
    """Put the ledger in its place, whole or not at all.

    Raises:
        OSError: it cannot be written.
    """
    path = f"{paths.carry_session_dir(home_dir, ledger.session)}/{LEDGER_FILE}"
    io.replace_file(path, json.dumps(to_document(ledger)).encode())


def forget_note_or_message(home_dir: str, session_id: str, item: str) -> None:
    """Take a message or a note out of what is kept, also where it is read again.

    Raises:
        OSError: it cannot be written.
    """
    record = load(home_dir, session_id)
    record.messages = [message for message in record.messages if message["id"] != item]
    record.notes.pop(item, None)
    record.forgotten = [*record.forgotten, item][-_MOST_MESSAGES:]
    save(home_dir, record)


def empty_ledger_of_same_session(record: Ledger) -> Ledger:
    """A ledger that is to be folded from the beginning; whose it is and goes on from stays."""
    fresh = Ledger(record.session)
    fresh.previous, fresh.forgotten = record.previous, record.forgotten
    return fresh


def to_document(ledger: Ledger) -> dict[str, Any]:
    """The ledger as JSON values."""
    return {"v": FORMAT} | ledger.__dict__


def from_document(document: dict[str, Any], session_id: str) -> Ledger:
    """The ledger from JSON values; what is not of its kind is left out."""
    ledger = Ledger(session_id)
    if document.get("v") != FORMAT:
        return ledger
    for name, empty in list(ledger.__dict__.items()):
        value = document.get(name)
        if name != "session" and (isinstance(value, type(empty)) or empty is None):
            setattr(ledger, name, value)
    return ledger if _has_values_of_right_types(ledger) else Ledger(session_id)


def _has_values_of_right_types(ledger: Ledger) -> bool:
    """Tell whether a ledger that was read can be gone on with: files get damaged and edited."""
    texts = (*ledger.queued, *ledger.pulls, *ledger.failed, *ledger.forgotten)
    pairs = (*ledger.tasks.values(), *ledger.commits, *ledger.worked)
    with_texts = (
        (("text", "id"), (*ledger.messages, *ledger.notes.values())),
        (("result",), ledger.checks.values()),
        (("line",), ledger.commands.values()),
    )
    return (
        all(isinstance(text, str) for text in texts)
        and all(isinstance(pair, list) and list(map(type, pair)) == [str, str] for pair in pairs)
        and all(_has_text_fields(value, names) for names, values in with_texts for value in values)
    )


def _has_text_fields(value: Any, names: tuple[str, ...]) -> bool:
    """Tell whether a JSON value is an object with these texts."""
    return isinstance(value, dict) and all(isinstance(value.get(name), str) for name in names)
