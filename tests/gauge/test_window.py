"""Window and compaction point: the first source that knows, as a table."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brimline.gauge.window import (
    VERIFIED_SOURCES,
    Window,
    model_version,
    proved_window,
    resolve_compaction,
    resolve_window,
)

SONNET = "claude-sonnet-4-5-20250929"
OPUS = "claude-opus-5"
# Everything that could answer, strongest first; each row of the table takes one more away.
EVERYTHING: dict[str, Any] = {
    "configured": 300_000,
    "statusline": 400_000,
    "client": {"model": "sonnet[1m]"},
    "observed": 2_000_000,
    "occupancy_tokens": 2_500_000,
    "model": SONNET,
}


@pytest.mark.row("S0-29")
@pytest.mark.parametrize(
    ("without", "tokens", "source"),
    [
        ({}, 300_000, "config"),
        ({"configured": None}, 400_000, "statusline"),
        ({"statusline": None}, 1_000_000, "settings"),
        ({"client": {}}, 3_000_000, "observed"),
        ({"occupancy_tokens": None}, 2_000_000, "observed"),
        ({"observed": None}, 200_000, "model"),
        ({"model": None}, 200_000, "default"),
    ],
)
@pytest.mark.row("S0-28")
def test_the_strongest_source_that_knows_wins(
    without: dict[str, Any], tokens: int, source: str
) -> None:
    """Config, status line, client settings, observation, model name, default: in that order."""
    keys = ["configured", "statusline", "client", "occupancy_tokens", "observed", "model"]
    missing = keys[: keys.index(next(iter(without))) + 1] if without else []
    known = EVERYTHING | {key: {} if key == "client" else None for key in missing}

    window = resolve_window(**known)

    assert (window.tokens, window.source) == (tokens, source)


@pytest.mark.parametrize(
    ("setting", "requested", "model", "source"),
    [
        ("sonnet[1m]", None, SONNET, "settings"),
        ("claude-sonnet-4-5-20250929[1M]", None, SONNET, "settings"),
        ("opus[1m]", None, SONNET, "model"),
        ("sonnet", None, SONNET, "model"),
        ("sonnet[1m]", None, None, "settings"),
        (None, "claude-sonnet-4-5-20250929[1m]", SONNET, "settings"),
        ("sonnet[1m]", "claude-sonnet-4-5-20250929", SONNET, "model"),
        (5, None, SONNET, "model"),
    ],
)
def test_the_mark_of_a_large_window_counts_for_the_model_that_runs(
    setting: Any, requested: str | None, model: str | None, source: str
) -> None:
    """`[1m]` asks for a million tokens, unless another model took over since."""
    window = _window(client={"model": setting}, model=model, requested_model=requested)

    assert window.source == source
    assert window.tokens == (1_000_000 if source == "settings" else 200_000)


@pytest.mark.row("S0-29")
@pytest.mark.parametrize(
    ("model", "tokens", "source"),
    [
        (SONNET, 200_000, "model"),
        ("claude-haiku-4-5", 200_000, "model"),
        (OPUS, 1_000_000, "model"),
        ("claude-sonnet-5-20260101", 1_000_000, "model"),
        ("claude-opus-4-7", 1_000_000, "model"),
        ("mystery", 200_000, "default"),
        ("", 200_000, "default"),
        (None, 200_000, "default"),
    ],
)
def test_a_models_name_is_a_hint_only(model: str | None, tokens: int, source: str) -> None:
    """Its window is used but never counts as verified, no more than the default does."""
    window = _window(model=model)

    assert (window.tokens, window.source) == (tokens, source)
    assert window.source not in VERIFIED_SOURCES


@pytest.mark.parametrize(
    ("occupancy", "window"),
    [
        (None, None),
        (0, None),
        (200_000, None),
        (200_001, 1_000_000),
        (1_000_000, 1_000_000),
        (1_000_001, 2_000_000),
        (10**15, 10**15),
    ],
)
def test_an_occupancy_proves_the_next_size_up(occupancy: int | None, window: int | None) -> None:
    """What does not fit into 200,000 tokens is in a window of a million, or more."""
    assert proved_window(occupancy) == window


@pytest.mark.parametrize(
    ("client", "window", "model", "tokens", "source", "effective"),
    [
        ({}, 200_000, SONNET, 167_000, "window", 200_000),
        ({}, 1_000_000, OPUS, 967_000, "window", 1_000_000),
        ({"autocompact_window": 180_000}, 200_000, SONNET, 147_000, "settings", 180_000),
        ({"autocompact_window": 150_000}, 200_000, SONNET, 117_000, "settings", 150_000),
        ({"autocompact_window": 100_000}, 200_000, SONNET, 67_000, "settings", 100_000),
        # Clamped to the model's window.
        ({"autocompact_window": 300_000}, 200_000, SONNET, 167_000, "settings", 200_000),
        ({"autocompact_window": 400_000}, 1_000_000, OPUS, 367_000, "settings", 400_000),
        # A percentage counts only once a window is set, and only lowers.
        ({"autocompact_pct": 50}, 200_000, SONNET, 167_000, "window", 200_000),
        (
            {"autocompact_window": 200_000, "autocompact_pct": 50},
            200_000,
            SONNET,
            90_000,
            "settings",
            200_000,
        ),
        (
            {"autocompact_window": 200_000, "autocompact_pct": 99},
            200_000,
            SONNET,
            167_000,
            "settings",
            200_000,
        ),
        # The model's own entry is stronger than the general one, and no other model's counts.
        (
            {"autocompact_window": 200_000, "autocompact_window_by_model": {OPUS: 500_000}},
            1_000_000,
            OPUS,
            467_000,
            "settings",
            500_000,
        ),
        (
            {"autocompact_window": 150_000, "autocompact_window_by_model": {OPUS: 500_000}},
            200_000,
            SONNET,
            117_000,
            "settings",
            150_000,
        ),
        ({"autocompact_window": 20_000}, 200_000, SONNET, 0, "settings", 20_000),
    ],
)
def test_the_compaction_point_follows_the_clients_arithmetic(
    client: dict[str, Any], window: int, model: str, tokens: int, source: str, effective: int
) -> None:
    """As observed: the window less 33,000, or the auto-compact window less that, if one is set."""
    point = resolve_compaction(
        configured=None,
        client=client,
        window=Window(window, "statusline"),
        model=model,
        version="2.1.325",
    )

    assert (point.tokens, point.source) == (tokens, source)
    assert point.effective_window_tokens == effective


def test_a_configured_point_is_the_point() -> None:
    """The user's word is stronger than the client's settings; the effective window stays theirs."""
    point = resolve_compaction(
        configured=155_000,
        client={"autocompact_window": 180_000},
        window=Window(200_000, "default"),
        model=SONNET,
        version=None,
    )

    assert (point.tokens, point.source) == (155_000, "config")
    assert point.effective_window_tokens == 180_000


@pytest.mark.parametrize(
    ("client", "model", "version", "requested", "enforced"),
    [
        ({}, SONNET, "2.1.325", None, False),
        ({}, "claude-opus-4-5", "2.1.325", None, False),
        ({}, "claude-haiku-4-5", "2.1.325", None, False),
        ({}, SONNET, "2.1.325", "claude-sonnet-4-5-20250929[1m]", False),
        ({}, OPUS, "2.1.325", None, True),
        ({}, "claude-sonnet-5", "2.1.325", None, True),
        ({}, OPUS, None, None, True),
        # Clients up to 2.1.42 compacted every model by themselves.
        ({}, SONNET, "2.1.42", None, True),
        ({}, SONNET, "2.0.74", None, True),
        ({}, SONNET, "1.0.109", None, True),
        ({}, SONNET, "2.1.43", None, False),
        ({}, SONNET, "2.10.1", None, False),
        # A window in the settings turns it on, the switch turns it off.
        ({"autocompact_window": 200_000}, SONNET, "2.1.325", None, True),
        ({"autocompact_enabled": True}, SONNET, "2.1.325", None, False),
        ({"autocompact_enabled": False}, OPUS, "2.1.325", None, False),
        ({"autocompact_enabled": False, "autocompact_window": 9}, OPUS, "2.1.42", None, False),
        # Nobody has seen these.
        ({}, None, "2.1.325", None, None),
        ({}, None, None, None, None),
        ({}, "mystery", "2.1.325", None, None),
    ],
)
def test_whether_the_client_enforces_the_point_is_known_unknown_or_denied(
    client: dict[str, Any],
    model: str | None,
    version: str | None,
    requested: str | None,
    enforced: bool | None,
) -> None:
    """Yes, no and "nobody has seen it" are told apart."""
    point = resolve_compaction(
        configured=None,
        client=client,
        window=Window(200_000, "default"),
        model=model,
        version=version,
        requested_model=requested,
    )

    assert point.enforced is enforced


@pytest.mark.parametrize(
    ("model", "version"),
    [
        (SONNET, (4, 5)),
        ("claude-opus-4-20250514", (4, 0)),
        ("claude-3-5-sonnet-20241022", (3, 5)),
        (OPUS, (5, 0)),
        ("claude-sonnet-4-5[1m]", (4, 5)),
        ("gpt", None),
        (None, None),
    ],
)
def test_a_version_is_read_from_a_models_name(
    model: str | None, version: tuple[int, int] | None
) -> None:
    """Dates are no versions, and a name without numbers tells nothing."""
    assert model_version(model) == version


@given(model=st.text(max_size=20), version=st.text("0123456789.²٣-abc", max_size=12))
@settings(max_examples=300, deadline=None, database=None)
def test_foreign_names_and_versions_never_raise(model: str, version: str) -> None:
    """Both come from files that others write."""
    window = _window(model=model, client={"model": model + "[1m]"})
    point = resolve_compaction(
        configured=None, client={}, window=window, model=model, version=version
    )

    assert point.tokens > 0


def _window(**known: Any) -> Window:
    unknown: dict[str, Any] = {
        "configured": None,
        "statusline": None,
        "client": {},
        "observed": None,
        "occupancy_tokens": None,
        "model": None,
    }
    return resolve_window(**(unknown | known))
