"""How large the window is, and where the client is expected to compact. Pure.

Fast path: imports nothing. The figures of the client are those of `docs/explanation/client.md`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

DEFAULT_WINDOW_TOKENS = 200_000
LARGE_WINDOW_TOKENS = 1_000_000
# The client keeps 20,000 tokens for the summary and 13,000 as a buffer.
SUMMARY_RESERVE_TOKENS = 20_000
COMPACTION_RESERVE_TOKENS = 33_000
VERIFIED_SOURCES = frozenset({"config", "statusline", "settings", "observed"})

_LARGE_MARK = "[1m]"
# A hint only: the client gives models from this version on a large window by default.
_LARGE_FROM_VERSION = (4, 7)
# The client compacts these on its own; older models and `[1m]` variants wait for an API refusal.
_ENFORCED_FROM_VERSION = (4, 6)
_OLDEST_KNOWN_VERSION = (4, 5)
# Recorded sessions of these clients and older ones all compacted at the threshold by themselves.
_LAST_ALWAYS_ENFORCING = (2, 1, 42)


class Window:
    """Tokens of the window and how we know."""

    def __init__(self, tokens: int, source: str) -> None:
        self.tokens = tokens
        self.source = source


class CompactionPoint:
    """Where the client compacts, how we know, and whether it does so on its own."""

    def __init__(
        self, tokens: int, source: str, effective_window_tokens: int, *, enforced: bool | None
    ) -> None:
        self.tokens = tokens
        self.source = source
        self.effective_window_tokens = effective_window_tokens
        self.enforced = enforced
        # What the client's settings and the window alone would lead to expect.
        self.expected_tokens = tokens


def resolve_window(
    *,
    configured: int | None,
    statusline: int | None,
    client: dict[str, Any],
    observed: int | None,
    occupancy_tokens: int | None,
    model: str | None,
    requested_model: str | None = None,
) -> Window:
    """The first source that knows: config, status line, settings, observation, model name."""
    if configured:
        return Window(configured, "config")
    if statusline:
        return Window(statusline, "statusline")
    if _asks_for_large_window(requested_model or client.get("model"), model):
        return Window(LARGE_WINDOW_TOKENS, "settings")
    proved = max(observed or 0, proved_window(occupancy_tokens) or 0)
    if proved:
        return Window(proved, "observed")
    version = model_version(model)
    if version is None:
        return Window(DEFAULT_WINDOW_TOKENS, "default")
    large = version >= _LARGE_FROM_VERSION
    return Window(LARGE_WINDOW_TOKENS if large else DEFAULT_WINDOW_TOKENS, "model")


def proved_window(occupancy_tokens: int | None) -> int | None:
    """The window that an occupancy proves: above 200,000 it must be the next size up."""
    if not occupancy_tokens or occupancy_tokens <= DEFAULT_WINDOW_TOKENS:
        return None
    return -(-occupancy_tokens // LARGE_WINDOW_TOKENS) * LARGE_WINDOW_TOKENS


def resolve_compaction(  # noqa: PLR0913 - every source is named once, here
    *,
    configured: int | None,
    client: dict[str, Any],
    window: Window,
    model: str | None,
    version: str | None,
    requested_model: str | None = None,
    learned: dict[str, int] | None = None,
    remaining_percent: int | None = None,
) -> CompactionPoint:
    """The first source that knows: config, earlier compactions, the client's settings, the window.

    Args:
        configured: what the user says.
        client: facts from the client's settings.
        window: the window.
        model: the model that answers.
        version: the client's version.
        requested_model: the model as it was asked for.
        learned: points learned under this user's settings, by `learned_key`.
        remaining_percent: assume this much of the window to be left instead of 33,000 tokens.
    """
    by_model = client.get("autocompact_window_by_model") or {}
    chosen = by_model.get(model) or client.get("autocompact_window")
    limit = min(chosen, window.tokens) if chosen else None
    effective = limit or window.tokens
    marked = _is_marked_large(requested_model or client.get("model"))
    expected = _expected_point(effective, client if limit else {})
    tokens, source = expected, "settings" if limit else "window"
    known = (learned or {}).get(learned_key(window.tokens, effective))
    if configured:
        tokens, source = configured, "config"
    elif known:
        tokens, source = known, "learned"
    elif remaining_percent is not None:
        tokens, source = effective * (100 - remaining_percent) // 100, "preset"
    enforced = _enforced(client, limit, model, version, marked=marked)
    point = CompactionPoint(tokens, source, effective, enforced=enforced)
    point.expected_tokens = expected
    return point


def _expected_point(effective: int, client: dict[str, Any]) -> int:
    """The window less the client's reserve; a percentage can only lower it."""
    point = max(0, effective - COMPACTION_RESERVE_TOKENS)
    percent = client.get("autocompact_pct")
    if not percent:
        return point
    return min(point, int((effective - SUMMARY_RESERVE_TOKENS) * percent / 100))


def learned_key(window_tokens: int, effective_window_tokens: int) -> str:
    """Under which a learned compaction point is kept: it holds for these settings only."""
    return f"{window_tokens}:{effective_window_tokens}"


def model_version(model: str | None) -> tuple[int, int] | None:
    """Major and minor version in a model's name; None where it tells none."""
    text = "".join([letter if letter.isalnum() else " " for letter in model or ""])
    # Longer numbers are dates.
    numbers = [int(part) for part in text.split() if part.isdecimal() and len(part) <= 2]  # noqa: PLR2004
    return (numbers[0], numbers[1] if len(numbers) > 1 else 0) if numbers else None


def _is_marked_large(name: Any) -> bool:
    return isinstance(name, str) and name.lower().endswith(_LARGE_MARK)


def _asks_for_large_window(name: Any, model: str | None) -> bool:
    """Whether a model setting asks for 1M and is about the model that is running."""
    if not _is_marked_large(name):
        return False
    family = name.lower()[: -len(_LARGE_MARK)]
    return model is None or family in model


def _enforced(
    client: dict[str, Any],
    limit: int | None,
    model: str | None,
    version: str | None,
    *,
    marked: bool,
) -> bool | None:
    """Whether the client compacts at its threshold; None where nobody has seen it."""
    if client.get("autocompact_enabled") is False:
        return False
    if limit is not None:
        return True
    numbers = [int(part) if part.isdecimal() else 0 for part in (version or "").split(".")]
    if version is not None and tuple(numbers) <= _LAST_ALWAYS_ENFORCING:
        return True
    found = model_version(model)
    if found is None or found < _OLDEST_KNOWN_VERSION:
        return None
    if marked and found < _LARGE_FROM_VERSION:
        return False
    return found >= _ENFORCED_FROM_VERSION
