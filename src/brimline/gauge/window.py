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
# Hints only: model names say nothing reliable about a window, and the list ages with every release.
_LARGE_MODELS = ("opus-4-7", "opus-4-8", "opus-5", "sonnet-5", "fable", "mythos")


class Window:
    """Tokens of the window and how we know."""

    __slots__ = ("source", "tokens")

    def __init__(self, tokens: int, source: str) -> None:
        self.tokens = tokens
        self.source = source


class CompactionPoint:
    """Where the client compacts, how we know, and whether it does so on its own."""

    __slots__ = ("effective_window_tokens", "enforced", "source", "tokens")

    def __init__(
        self, tokens: int, source: str, effective_window_tokens: int, *, enforced: bool | None
    ) -> None:
        self.tokens = tokens
        self.source = source
        self.effective_window_tokens = effective_window_tokens
        self.enforced = enforced


def resolve_window(
    *,
    configured: int | None,
    statusline: int | None,
    client: dict[str, Any],
    observed: int | None,
    occupancy_tokens: int | None,
    model: str | None,
) -> Window:
    """The first source that knows: config, status line, client settings, observation, model name."""
    if configured:
        return Window(configured, "config")
    if statusline:
        return Window(statusline, "statusline")
    if _asks_for_large_window(client.get("model"), model):
        return Window(LARGE_WINDOW_TOKENS, "settings")
    proved = max(observed or 0, proved_window(occupancy_tokens) or 0)
    if proved:
        return Window(proved, "observed")
    if model and any(name in model for name in _LARGE_MODELS):
        return Window(LARGE_WINDOW_TOKENS, "model")
    return Window(DEFAULT_WINDOW_TOKENS, "default")


def proved_window(occupancy_tokens: int | None) -> int | None:
    """The window that an occupancy proves: above 200,000 it must be the next size up."""
    if not occupancy_tokens or occupancy_tokens <= DEFAULT_WINDOW_TOKENS:
        return None
    size = LARGE_WINDOW_TOKENS
    while occupancy_tokens > size:
        size += LARGE_WINDOW_TOKENS
    return size


def resolve_compaction(
    *,
    configured: int | None,
    client: dict[str, Any],
    window: Window,
    model: str | None,
    version: str | None,
) -> CompactionPoint:
    """The first source that knows: config, the client's settings, the window itself."""
    limit = _auto_compact_window(client, window.tokens, model)
    effective = limit or window.tokens
    enforced = _enforced(client, limit, window, model, version)
    if configured:
        return CompactionPoint(configured, "config", effective, enforced=enforced)
    point = max(0, effective - COMPACTION_RESERVE_TOKENS)
    if limit is None:
        return CompactionPoint(point, "window", effective, enforced=enforced)
    ratio = client.get("autocompact_pct")
    if ratio:
        point = min(point, int((effective - SUMMARY_RESERVE_TOKENS) * ratio / 100))
    return CompactionPoint(point, "settings", effective, enforced=enforced)


def _asks_for_large_window(setting: Any, model: str | None) -> bool:
    """Whether the client's model setting asks for 1M and is about the model that is running."""
    if not isinstance(setting, str) or not setting.lower().endswith(_LARGE_MARK):
        return False
    family = setting.lower()[: -len(_LARGE_MARK)]
    return model is None or family in model


def _auto_compact_window(client: dict[str, Any], window: int, model: str | None) -> int | None:
    by_model = client.get("autocompact_window_by_model") or {}
    chosen = by_model.get(model) or client.get("autocompact_window")
    return min(chosen, window) if chosen else None


def _enforced(
    client: dict[str, Any],
    limit: int | None,
    window: Window,
    model: str | None,
    version: str | None,
) -> bool | None:
    if client.get("autocompact_enabled") is False:
        return False
    if limit is not None:
        return True
    if version is not None and _version(version) <= _LAST_ALWAYS_ENFORCING:
        return True
    if model is None:
        return None
    return any(name in model for name in _ENFORCING_MODELS)


# Recorded sessions of these clients and older ones all compacted at the threshold by themselves.
_LAST_ALWAYS_ENFORCING = (2, 1, 42)
_ENFORCING_MODELS = ("opus-5", "sonnet-5")


def _version(text: str) -> tuple[int, ...]:
    return tuple([int(part) if part.isdigit() else 0 for part in text.split(".")])
