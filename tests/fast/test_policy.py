"""The compiled policy: read by hooks, overridden by the environment, never in their way."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from brimline.fast import paths, policy
from brimline.settings import config
from brimline.settings.values import default_values


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"null", b'{"v":1}', b'{"v":99,"values":{}}', b"\xff", b"[" * 5_000],
)
def test_a_damaged_file_means_the_defaults(content: bytes, home_dir: str, project_dir: str) -> None:
    """Whatever lies there, hooks go on; a fresh installation needs nothing on disk."""
    assert policy.load(home_dir, project_dir).values == default_values()
    assert not Path(home_dir).exists()
    path = Path(paths.policy_file(home_dir, project_dir))
    path.parent.mkdir(parents=True)
    path.write_bytes(content)

    assert policy.load_compiled(home_dir, project_dir) is None
    assert policy.load(home_dir, project_dir).values == default_values()


@pytest.mark.row("S0-15", "S0-28")
def test_the_environment_is_on_top_of_the_file(
    home_dir: str, project_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A good value wins, a bad or empty one leaves what the file says."""
    document = _compiled(home_dir, project_dir)
    document["values"] |= {"context_window": 5, "compaction_tokens": 4}
    _store(home_dir, project_dir, document)
    monkeypatch.setenv("BRIMLINE_CONTEXT_WINDOW", "1_000_000")
    monkeypatch.setenv("BRIMLINE_COMPACTION_TOKENS", "lots")
    monkeypatch.setenv("CLAUDE_CODE_AUTO_COMPACT_WINDOW", "\u00b2")
    monkeypatch.setenv("BRIMLINE_GUARD_TIERS", "inf,2,1,0")
    monkeypatch.setenv("BRIMLINE_GUARD_PRESET", "")
    monkeypatch.setenv("BRIMLINE_UNHEARD_OF", "1")

    loaded = policy.load(home_dir, project_dir)
    values = loaded.values

    assert loaded.client["autocompact_window"] is None
    assert values["context_window"] == 1_000_000
    assert values["compaction_tokens"] == 4
    assert values["guard.tiers"] == [30, 15, 7, 3]
    assert values["guard.preset"] == "default"


def test_the_clients_own_variables_are_on_top_of_its_files(
    home_dir: str, project_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Window, percentage and model; the window's variable silences the settings per model."""
    document = _compiled(home_dir, project_dir)
    document["client"] = {
        "autocompact_window": 100_000,
        "autocompact_window_by_model": {"claude-opus-5": 400_000},
        "model": "opus",
    }
    _store(home_dir, project_dir, document)

    assert policy.load(home_dir, project_dir).client["autocompact_window_by_model"]

    monkeypatch.setenv("CLAUDE_CODE_AUTO_COMPACT_WINDOW", "180000")
    monkeypatch.setenv("CLAUDE_AUTOCOMPACT_PCT_OVERRIDE", "50")
    monkeypatch.setenv("ANTHROPIC_MODEL", "sonnet[1m]")
    client = policy.load(home_dir, project_dir).client

    assert client["autocompact_window"] == 180_000
    assert client["autocompact_window_by_model"] == {}
    assert client["autocompact_pct"] == 50
    assert client["model"] == "sonnet[1m]"


@pytest.mark.parametrize(
    ("variables", "known"),
    [
        ({}, {}),
        ({"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "0"}, {}),
        ({"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "x"}, {}),
        ({"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "50"}, {"autocompact_pct": 50}),
        ({"CLAUDE_CODE_IDLE_COMPACT_MIN_TOKENS": "7"}, {"idle_least_tokens": 7}),
        ({"CLAUDE_CODE_MAX_CONTEXT_TOKENS": "9"}, {"most_tokens": 9}),
        (
            {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "9"},
            {"autocompact_window": 9, "autocompact_window_by_model": {}},
        ),
        ({"CLAUDE_CODE_DISABLE_1M_CONTEXT": "1"}, {"large_window_off": True}),
        ({"CLAUDE_CODE_DISABLE_1M_CONTEXT": "0"}, {}),
        ({"CLAUDE_CODE_DISABLE_1M_CONTEXT": "5"}, {}),
        ({"DISABLE_COMPACT": "true"}, {"autocompact_enabled": False}),
        ({"DISABLE_AUTO_COMPACT": "yes"}, {"autocompact_enabled": False}),
        ({"CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1"}, {"memory_off": True}),
        ({"CLAUDE_CODE_DISABLE_AUTO_MEMORY": "0"}, {"memory_off": None}),
        ({"ANTHROPIC_MODEL": "m"}, {"model": "m"}),
    ],
)
def test_each_variable_says_one_thing(variables: dict[str, str], known: dict[str, Any]) -> None:
    """A number or a yes; anything else says nothing."""
    client: dict[str, Any] = {}

    policy.apply_client_environment(client, variables.get)

    assert client == known


def _compiled(home_dir: str, project_dir: str) -> dict[str, Any]:
    config.compile_policy(home_dir, project_dir)
    document: dict[str, Any] = json.loads(
        Path(paths.policy_file(home_dir, project_dir)).read_bytes()
    )
    return document


def _store(home_dir: str, project_dir: str, document: dict[str, Any]) -> None:
    Path(paths.policy_file(home_dir, project_dir)).write_text(json.dumps(document))


def test_what_the_environment_says_is_not_changed_by_a_preset(
    home_dir: str, project_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it does not say is; a word that means nothing is as if it were not said."""
    monkeypatch.setenv("BRIMLINE_GUARD_PRESET", "ccm-70-80-90")
    tiers = policy.load(home_dir, project_dir).values["guard.tiers"]
    monkeypatch.setenv("BRIMLINE_GUARD_TIERS", "51,62")
    mine = policy.load(home_dir, project_dir).values["guard.tiers"]
    monkeypatch.setenv("BRIMLINE_GUARD_TIERS", "many")

    assert tiers == [70, 80, 90]
    assert mine == [51, 62]
    assert policy.load(home_dir, project_dir).values["guard.tiers"] == tiers
