"""The table of models: every name gets figures, and what is assumed says so."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimline import models
from brimline.fast import paths, policy
from brimline.settings import config, values

if TYPE_CHECKING:
    from pathlib import Path

ROW = {"families": ["opus"], "versions": ["6.1"], "window_tokens": 2_000_000}


@pytest.mark.parametrize(
    ("name", "label", "assumed", "window", "bound"),
    [
        ("claude-opus-5-5", "opus 5.5", False, 1_000_000, True),
        ("claude-opus-5-5-20261001[1m]", "opus 5.5", False, 1_000_000, True),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "sonnet 4.5", False, 200_000, False),
        ("claude-3-5-haiku-20241022", "haiku 3.5", False, 200_000, False),
        ("claude-mythos-5-2", "fable 5.2", False, 1_000_000, True),
        ("claude-opus-4-8", "opus 5", False, 1_000_000, False),
        ("claude-opus-6-1", "opus 5.5", True, 1_000_000, True),
        ("claude-sonnet-5-3", "sonnet 5", True, 1_000_000, False),
        ("claude-haiku-2", "haiku 3.5", True, 200_000, False),
        ("opus", "opus 5.5", True, 1_000_000, True),
        ("claude-zephyr-7", "opus 5.5", True, 1_000_000, True),
        ("gpt-9", "", False, 200_000, False),
        (None, "", False, 200_000, False),
    ],
)
def test_a_name_is_found_or_taken_for_the_nearest_older_one(
    name: str | None, label: str, assumed: bool, window: int, bound: bool
) -> None:
    """Dates, regions and marks do not matter; what no row has is marked."""
    model = models.lookup_model(name)

    assert (model.label, model.is_assumed) == (label, assumed)
    assert (model.window_tokens, model.binds_thinking) == (window, bound)
    assert model.is_known is bool(label)


def test_prices_can_depend_on_the_prompt() -> None:
    """Haiku 5.5 is five times as dear above 100,000 tokens; a cache's lifetime has its price."""
    small, large = [
        models.lookup_model("claude-haiku-5-5").prices_for_prompt(size)
        for size in (100_000, 100_001)
    ]
    opus = models.lookup_model("claude-opus-5-5").prices_for_prompt()

    assert small is not None
    assert large is not None
    assert opus is not None
    assert (small.input, large.input, large.read) == (0.10, 0.50, 0.05)
    assert (opus.write_price(300), opus.write_price(3_600), opus.read / opus.input) == (5, 8, 0.05)
    assert models.lookup_model("gpt-9").prices_for_prompt() is None


def test_every_shipped_row_is_one_that_a_user_could_write() -> None:
    """The table passes its own check, holds every field, and its families run newest first."""
    newest: dict[str, Any] = {}
    for row in models.shipped_rows():
        assert values.check_and_complete_model(row) == (
            {"prices_above": None, "prices_before": [], "fast_times": 2} | row
        )
        version = max([int(number) for number in text.split(".")] for text in row["versions"])
        assert version < newest.get(row["families"][0], [99])
        newest[row["families"][0]] = version


def test_a_users_row_wins_and_is_completed(home_dir: str, world: Path) -> None:
    """It holds for commands and, compiled, for hooks, without the prices that no hook needs."""
    path = paths.user_config(home_dir)
    (world / "project").mkdir(exist_ok=True)
    project = str(world / "project")
    _write(path, f"[[models]]\n{_toml(ROW)}")
    config.compile_policy(home_dir, project)

    rows = config.user_model_rows(home_dir)
    known = models.lookup_model("claude-opus-6-1", rows)
    assert (known.window_tokens, known.is_assumed, known.binds_thinking) == (2_000_000, False, True)
    assert models.lookup_model("claude-opus-5-5", rows).window_tokens == 1_000_000
    compiled = policy.load(home_dir, project).models
    assert compiled is not None
    assert models.lookup_model_in_rows("claude-opus-6-1", compiled).window_tokens == 2_000_000
    assert not any("prices" in row for row in compiled)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"versions": ["6"]}, "needs families"),
        (ROW | {"window": 5}, "cannot have window = 5"),
        (ROW | {"window_tokens": 0}, "cannot have window_tokens = 0"),
        (ROW | {"window_tokens": 1.5}, "cannot have window_tokens = 1.5"),
        (ROW | {"versions": ["new"]}, "cannot have versions"),
        (ROW | {"families": []}, "cannot have families"),
        (ROW | {"binds_thinking": 1}, "cannot have binds_thinking"),
        (ROW | {"prices": {"input": 1}}, "cannot have prices"),
    ],
)
def test_a_wrong_row_is_named_and_the_rest_holds(
    home_dir: str, world: Path, row: dict[str, Any], said: str
) -> None:
    """One sentence per row, as for every other setting."""
    _write(paths.user_config(home_dir), f"store.max_mb = 7\n[[models]]\n{_toml(row)}")

    found = config.load(home_dir, str(world))

    assert found.models == []
    assert len(found.problems) == 1
    assert said in found.problems[0]
    assert found.values["store.max_mb"] == 7


@given(st.text() | st.none())
def test_any_name_has_figures(name: str | None) -> None:
    """Whatever a client calls a model."""
    model = models.lookup_model(name)

    assert model.window_tokens > model.reserve_tokens > 0
    assert model.characters_per_token > 1


def _write(path: str, text: str) -> None:
    import os

    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def _toml(row: dict[str, Any]) -> str:
    lines = []
    for key, value in row.items():
        if isinstance(value, dict):
            lines.append(f"{key} = {{ {', '.join(f'{k} = {v}' for k, v in value.items())} }}")
        else:
            lines.append(f"{key} = {json.dumps(value)}")
    return "\n".join(lines) + "\n"


def test_before_settings_are_compiled_hooks_go_by_the_table() -> None:
    """Every model is taken for what it is, though no row was handed over."""
    keys = (
        *("window_tokens", "compacts_up_to_tokens", "characters_per_token"),
        "binds_thinking",
    )
    for row in models.shipped_rows():
        for version in row["versions"]:
            name = f"claude-{row['families'][0]}-{version.replace('.', '-')}"
            taken_for = models.lookup_model_in_rows(name, [])
            assert [getattr(taken_for, key) for key in keys] == [row[key] for key in keys], name


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("claude-opus-5-5-20261001", "5.5"),
        ("claude-opus-5", "5"),
        ("claude-opus-5-0", "5"),
        ("claude-x-12-34-5", "12.34"),
        ("claude-x-123", ""),
        (None, ""),
    ],
)
def test_a_version_is_at_most_two_numbers_of_two_digits(name: str | None, version: str) -> None:
    """Longer ones are dates."""
    assert models.version_text(name) == version


def test_the_client_keeps_room_for_a_summary_and_a_buffer() -> None:
    """As many tokens as a reply may have, at most 20,000, and 13,000 more."""
    small, large = [models.Model({"output_tokens": tokens}) for tokens in (8_000, 64_000)]
    assert (small.reserve_tokens, large.reserve_tokens) == (21_000, 33_000)
    assert not small.is_known
    assert not small.is_assumed
    assert models.Model({}).output_tokens == 64_000
    assert models.Model({}).compacts_up_to_tokens is None


def test_the_price_of_writing_goes_by_the_lifetime() -> None:
    """Up to five minutes the lower one."""
    prices = models.Prices(
        {"input": 1, "output": 2, "write_5m": 3, "write_1h": 4, "read": 5}  # dollars
    )
    assert [prices.write_price(lifetime) for lifetime in (0, 300, 301, 3_600)] == [3, 3, 4, 4]
    assert (prices.input, prices.output, prices.read) == (1, 2, 5)


def test_a_row_without_versions_holds_for_all_of_its_family() -> None:
    """And is not an assumption."""
    found = models.lookup_model_in_rows("our-zephyr-3", [{"families": ["zephyr"], "versions": []}])

    assert (found.label, found.is_assumed, found.is_known) == ("zephyr", False, True)
