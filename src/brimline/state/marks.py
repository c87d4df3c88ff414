"""What was already said in a session beside the tiers: ceiling advice, reminder, rate limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from brimline import fastio

if TYPE_CHECKING:
    from brimline.state.session import SessionState

_CEILING = "ceiling-"
_QUOTA = "quota-"
_REMINDER = "reminder"


def ceiling_marks(state: SessionState) -> list[tuple[int, int]]:
    """Bucket and band of every ceiling advice that still counts."""
    found = []
    for name in state.names:
        bucket, _, band = name.removeprefix(_CEILING).partition(".")
        if name.startswith(_CEILING) and bucket.isdecimal() and band.isdecimal():
            found.append((int(bucket), int(band)))
    return found


def claim_ceiling(state: SessionState, bucket: int, band: int) -> bool:
    """Take the right to give one advice; of all parallel hooks exactly one gets it."""
    return fastio.create_exclusively(f"{state.folder}/{_CEILING}{bucket}.{band}", b"")


def release_ceiling(state: SessionState, bucket: int, band: int) -> None:
    """Let an advice be given again."""
    fastio.remove(f"{state.folder}/{_CEILING}{bucket}.{band}")


def forget_ceiling(state: SessionState) -> None:
    """After a compaction every advice may be given again."""
    for bucket, band in ceiling_marks(state):
        release_ceiling(state, bucket, band)


def enter_quota_band(state: SessionState, limit: str, band: int) -> bool:
    """Whether a band of a rate limit is entered just now; leaving it lets it be told again."""
    for higher in (1, 2):
        name = f"{_QUOTA}{limit}.{higher}"
        if higher > band and name in state.names:
            fastio.remove(f"{state.folder}/{name}")
    if band == 0:
        return False
    news = fastio.create_exclusively(f"{state.folder}/{_QUOTA}{limit}.{band}", b"")
    for lower in range(1, band):
        fastio.create_exclusively(f"{state.folder}/{_QUOTA}{limit}.{lower}", b"")
    return news


def reminder(state: SessionState) -> tuple[str, int]:
    """The fingerprint of the reminder given last, and how many prompts came since."""
    if _REMINDER not in state.names:
        return "", 0
    try:
        text = fastio.read_file(f"{state.folder}/{_REMINDER}", 64).decode("ascii", "replace")
    except OSError:
        return "", 0
    fingerprint, _, prompts = text.partition(" ")
    return fingerprint, int(prompts) if prompts.isdecimal() else 0


def remember_reminder(state: SessionState, fingerprint: str, prompts: int) -> None:
    """Keep what was given and how long ago."""
    fastio.replace_file(f"{state.folder}/{_REMINDER}", f"{fingerprint} {prompts}".encode())
