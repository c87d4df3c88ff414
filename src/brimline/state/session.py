"""What brimline remembers of one session, in small files that parallel hooks can share.

Fast path: imports only `time`, `fast.io`, `fast.json` and `fast.paths`.
Nothing here is locked: a line is appended in one write, a file is replaced whole, and "once" means
that exactly one process managed to create a file.
"""

from __future__ import annotations

import time

from brimline.fast import io, json, paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FORMAT = 1
_CLAIM = "spoke-L"
_AGAIN = "spoke-again-"
# Behind it stands a window size that an occupancy proved.
WINDOW = "window-"
# Behind it stands how long the transcript was when the last compaction was over. The client writes
# the boundary a little later; what stands before this offset is gone.
COMPACTED = "compacted-"
_SNAPSHOT = "statusline.json"
SPOOL = "spool.jsonl"
# Of others than hooks; `spool.*` is read as one.
_SPOOLS = {"Gateway": "spool.gateway.jsonl"}
# A compaction without a model, which the client announces to no hook.
MOVED_OUT = "MovedOut"
# Results that the client dropped by itself.
CLEARED = "Cleared"
_OLDEST_MOVE_S = 600
GATEWAY_SAVED = "gateway-saved"
_FIRST_LINE_BYTES = 64 << 10
_LOOK_BACK_BYTES = 1 << 20
# What the last hook told those who poll.
TELEMETRY = "telemetry.json"
# What the mod last said of itself: when, in which client, how set.
MOD_ALIVE = "mod-alive"
MOD_READING = "mod-reading"
_MOD_NOTICE = "mod-notice"
# The calls that the client itself brought to a hook, in a session that has the mod as well.
MOD_JUDGED = "mod-judged"
# A session in which what the command installed leaves everything to the plugin.
LEFT_TO_PLUGIN = "left-to-plugin"
_OFF = "off"


class Snapshot(io.Record):
    """What the client last told about a session; each part may be unknown."""

    at: float
    window_tokens: int | None = None
    occupancy_tokens: int | None = None
    output_tokens: int | None = None
    model: str | None = None
    rate_limits: dict[str, Any] | None = None
    cost_usd: float | None = None
    # Who was told: the status line, or the mod, which is a `client`'s own figure at every call.
    source: str = "statusline"

    def has_values_of_right_types(self) -> bool:
        """Tell whether every part is of its kind, as in everything we wrote ourselves."""
        counts = ("window_tokens", "occupancy_tokens", "output_tokens")
        kinds: dict[str, Any] = dict.fromkeys(counts, int | None)
        kinds |= {"at": int | float, "cost_usd": int | float | None, "model": str | None}
        return all(isinstance(getattr(self, name), kind) for name, kind in kinds.items())


class SessionState:
    """The files of one session under the data folder."""

    def __init__(self, home_dir: str, session_id: object) -> None:
        self.session_id = paths.safe_session_id(session_id)
        self.folder = paths.session_dir(home_dir, session_id)
        self.names = io.list_names(self.folder)
        # Whether the user silenced us in this session.
        self.is_off = _OFF in self.names
        # Whether any tier was announced in this climb.
        self.has_spoken = any(name.startswith(_CLAIM) for name in self.names)

    @property
    def command_start(self) -> str:
        """How our commands begin where the person types them."""
        return "/brim-" if MOD_ALIVE in self.names else "/brim:"

    def switch_off_or_on(self, *, off: bool) -> None:
        """Fall silent in this session, or speak again."""
        if off:
            io.create_exclusively(f"{self.folder}/{_OFF}", b"")
        else:
            io.remove(f"{self.folder}/{_OFF}")

    def snapshot(self) -> Snapshot | None:
        """Read what status line or mod was told last; None where neither was."""
        shown = self._read_snapshot_in_file(_SNAPSHOT) if _SNAPSHOT in self.names else None
        read = self._read_snapshot_in_file(MOD_READING) if MOD_READING in self.names else None
        if read is None or (shown and shown.at >= read.at):
            return shown
        if shown:  # the mod tells nothing but how full it is
            read.window_tokens, read.model = shown.window_tokens, shown.model
            read.rate_limits, read.cost_usd = shown.rate_limits, shown.cost_usd
        return read

    def _read_snapshot_in_file(self, name: str) -> Snapshot | None:
        stored = self.read_document(name)
        if "at" not in stored:
            return None
        snapshot = Snapshot(**stored)
        return snapshot if snapshot.has_values_of_right_types() else None

    def save_snapshot(self, snapshot: Snapshot) -> None:
        """Keep what the status line told."""
        self.save_document(_SNAPSHOT, vars(snapshot))

    def save_document(self, name: str, document: dict[str, Any]) -> None:
        """Put a document into a file of its own."""
        data = json.dumps({"v": FORMAT} | document).encode()
        io.replace_file(f"{self.folder}/{name}", data)

    def read_document(self, name: str) -> dict[str, Any]:
        """A document of ours; empty where it is missing, damaged or of another version."""
        if name not in self.names:
            return {}
        try:
            stored = json.parse_object(io.read_file(f"{self.folder}/{name}"))
        except (OSError, ValueError):
            return {}
        return stored if stored.pop("v", None) == FORMAT else {}

    def save_mod_notice(self, text: str, until: str = "request") -> None:
        """Leave a line for the mod to show to the person until the next request, or `prompt`."""
        self.save_document(_MOD_NOTICE, {"at": time.time(), "text": text, "until": until})

    def spool_event(self, event: str, fields: dict[str, Any]) -> None:
        """Append one event to the session's spool, with the milliseconds that this hook took."""
        own_ms = round(time.process_time() * 1000, 1)
        line = {"at": round(time.time(), 3), "event": event, "ms": own_ms} | fields
        json.append_line(f"{self.folder}/{_SPOOLS.get(event, SPOOL)}", line)

    def last_spooled_row_of(self, event: str) -> dict[str, Any]:
        """The latest spooled line of an event, if it is not too long ago; empty without one."""
        mark = f'"event":"{event}"'.encode()
        path = f"{self.folder}/{_SPOOLS.get(event, SPOOL)}"
        try:
            found = json.rows_backward(path, mark, _LOOK_BACK_BYTES)
            return next((row for row in found if isinstance(row, dict)), {})
        except OSError:
            return {}

    def recent_cold_compaction_row(self) -> dict[str, Any]:
        """Return what the compaction that has just been made without a model moved out; else empty.

        One that came to nothing is followed by a summary of the client's, which is announced.
        """
        moved = self.last_spooled_row_of(MOVED_OUT)
        at, now = moved.get("at", 0), time.time()
        # The line's time is rounded, so that it may be a little later than now.
        if (
            abs(now - at) > _OLDEST_MOVE_S
            or self.last_spooled_row_of("PreCompact").get("at", 0) >= at
        ):
            return {}
        return moved

    def last_gateway_saved_tokens(self, occupancy_tokens: int | None) -> int | None:
        """Read what the gateway kept out of a request that took so much; None if of another one.

        The client may have compacted since, or gone on without a gateway.
        """
        try:
            saved, told = io.read_file(f"{self.folder}/{GATEWAY_SAVED}", 64).split()
            return int(saved) if int(told) == occupancy_tokens else None
        except (OSError, ValueError):
            return None

    def begun_at(self) -> float | None:
        """Return when the first event of this session was spooled; None before it."""
        try:
            start = io.read_file(f"{self.folder}/{SPOOL}", _FIRST_LINE_BYTES)
            at = json.loads(start.decode("utf-8", "replace"))["at"]
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return at if isinstance(at, int | float) else None

    def largest_number_after_prefix(self, mark: str) -> int | None:
        """The largest number in the names that begin with a mark; None without one."""
        told = [name[len(mark) :] for name in self.names if name.startswith(mark)]
        # Earlier versions wrote more behind a dot.
        return max([_int_or_zero(text.partition(".")[0]) for text in told], default=None)

    def save_size_at_compaction(self, size: int) -> None:
        """Keep how long the transcript was when a compaction was over."""
        for name in self.names:
            if name.startswith(COMPACTED):
                io.remove(f"{self.folder}/{name}")
        io.create_exclusively(f"{self.folder}/{COMPACTED}{size}", b"")

    def save_proved_window(self, tokens: int) -> None:
        """Keep a window size proved by an occupancy; later readings may be below it again."""
        io.create_exclusively(f"{self.folder}/{WINDOW}{tokens}", b"")

    def offsets_of_spoken_levels(self) -> dict[int, int]:
        """Tiers announced in this climb, each with the transcript offset it was measured at."""
        spoken = {}
        for name in self.names:
            if name.startswith(_CLAIM):
                spoken[_int_or_zero(name[len(_CLAIM) :])] = self._read_offset_of_claim(name)
        return spoken

    def claim_level(self, level: int, offset: int) -> bool:
        """Take the right to announce a tier; of all parallel hooks exactly one gets it."""
        return io.create_exclusively(f"{self.folder}/{_CLAIM}{level}", str(offset).encode())

    def claim_speaking_for_request(self, offset: int) -> bool:
        """Take the right to speak once for a model request, told by where its reply stands."""
        name = f"{_AGAIN}{offset}"
        if name in self.names or not io.create_exclusively(f"{self.folder}/{name}", b""):
            return False
        for old in self.names:
            if old.startswith(_AGAIN):
                io.remove(f"{self.folder}/{old}")
        return True

    def release_level(self, level: int) -> None:
        """Let a tier be announced again."""
        io.remove(f"{self.folder}/{_CLAIM}{level}")

    def _read_offset_of_claim(self, name: str) -> int:
        try:
            return _int_or_zero(
                io.read_file(f"{self.folder}/{name}", 32).decode("ascii", "replace")
            )
        except OSError:
            return 0


def _int_or_zero(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() else 0
