"""What compactions cost, by what they took in, wrote and left."""

from __future__ import annotations

import time
from typing import Any

import pytest

from brimline import models
from brimline.carry import lost
from brimline.fast import paths
from brimline.figures import aftermath
from brimline.testing import SessionBuilder

MODEL = models.lookup_model("claude-opus-5-5")
SUMMARY_TOKENS = 28_500 / MODEL.characters_per_token


def compaction(**fields: Any) -> dict[str, Any]:
    """One of a history, without a figure of its own."""
    usual = {"session_id": "s1", "uuid": "u1", "at": 0.0, "lost": None, "dollars": None}
    figures = {"pre_tokens": 100_000, "post_tokens": 20_000, "model": "claude-opus-5-5"}
    return usual | figures | {"summary_characters": None, "rewritten_tokens": None} | fields


@pytest.mark.parametrize(
    ("fields", "read", "put_out", "written"),
    [
        ({}, 0, 0.0, 20_000),
        ({"summary_characters": 0}, 0, 0.0, 20_000),
        ({"summary_characters": 28_500}, 100_000, SUMMARY_TOKENS, 20_000),
        ({"rewritten_tokens": 5_000}, 0, 0.0, 5_000),
        ({"rewritten_tokens": 0}, 0, 0.0, 0),
        ({"pre_tokens": 0, "post_tokens": 0}, 0, 0.0, 0),
    ],
)
def test_a_compaction_costs_its_summary_and_what_is_written_again(
    fields: dict[str, Any], read: int, put_out: float, written: int
) -> None:
    """The context from the cache, the summary as it is put out, the rest written to the cache."""
    made = compaction(**fields)
    prices = MODEL.prices_for_prompt(made["pre_tokens"])
    assert prices is not None

    aftermath.fill_in_dollars([made])

    dollars = read * prices.read + put_out * prices.output + written * prices.write_5m
    assert made["dollars"] == pytest.approx(dollars / 1_000_000, abs=1e-6)


@pytest.mark.parametrize(
    "fields", [{"pre_tokens": None}, {"post_tokens": None}, {"model": "gpt-9"}, {"model": None}]
)
def test_what_is_not_known_of_a_compaction_has_no_price(fields: dict[str, Any]) -> None:
    """None, not zero; those after it have theirs."""
    unknown, known = compaction(**fields), compaction()

    aftermath.fill_in_dollars([unknown, known])

    assert unknown["dollars"] is None
    assert known["dollars"] > 0


@pytest.mark.parametrize("document", [{}, {"compactions": None}, {"compactions": []}])
def test_a_history_without_compactions_stays_as_it_is(document: dict[str, Any]) -> None:
    """Of sessions or savings alone."""
    before = dict(document)

    aftermath.fill_in_costs_and_losses(document)

    assert document == before


def compacted_session(project_dir: str, number: int) -> dict[str, Any]:
    """A compaction whose summary names nothing, in a session of its own."""
    name = f"{number:08}-8a41-4f0b-b6a7-6f1f0a5b9c20"
    path = f"{paths.project_transcripts_dir(project_dir)}/{name}.jsonl"
    session = SessionBuilder(path, name, project_dir)
    for _ in range(number + 1):  # so that each boundary has an id of its own
        session.prompt(f"Rule {number}.")
    session.compact(150_000, summary="None.")
    (boundary,) = lost.losses_by_boundary(path)
    return compaction(session_id=name, uuid=boundary, at="2026-01-08T15:49:03Z")


def test_what_the_last_compactions_lost_is_filled_in(project_dir: str) -> None:
    """Those before them have their price alone; a session whose file is gone has it too."""
    count = aftermath._LOST_OF_LAST
    listed = [compacted_session(project_dir, number) for number in range(count)]
    listed[1:1] = [compaction(session_id="gone")]

    aftermath.fill_in_costs_and_losses({"compactions": listed})

    lost = [each["lost"] and each["lost"]["messages"] for each in listed]
    assert lost == [None, None, *([f"Rule {number}."] for number in range(1, count))]
    assert all(each["dollars"] for each in listed)


def test_where_time_is_up_no_further_session_is_read(project_dir: str) -> None:
    """Prices need none; what was known before stays."""
    made = [compacted_session(project_dir, number) for number in range(2)]
    made[0]["lost"] = known = {"messages": ["known"]}

    aftermath.fill_in_costs_and_losses({"compactions": made}, until=time.monotonic() - 1)
    assert [each["lost"] for each in made] == [known, None]
    assert all(each["dollars"] for each in made)

    aftermath.fill_in_costs_and_losses({"compactions": made}, until=time.monotonic() + 600)
    assert made[0]["lost"] is known
    assert made[1]["lost"]["messages"] == ["Rule 1."]


def test_prices_are_for_a_million_tokens() -> None:
    """To the last cent of a large sum."""
    prices = MODEL.prices_for_prompt(100_000)
    assert prices is not None
    made = compaction(rewritten_tokens=1_000_000_000)

    aftermath.fill_in_dollars([made])

    assert made["dollars"] == pytest.approx(1_000 * prices.write_5m, abs=1e-6)


@pytest.mark.parametrize("before", [100_000, 100_001])
def test_a_compaction_is_priced_by_the_size_of_its_context(before: int) -> None:
    """Some models are dearer above a size; what is left has the same price then."""
    model = models.lookup_model("claude-haiku-5-5")
    prices, small = model.prices_for_prompt(before), model.prices_for_prompt()
    assert prices is not None
    assert small is not None
    made = compaction(model="claude-haiku-5-5", pre_tokens=before, summary_characters=2_850)

    aftermath.fill_in_dollars([made])

    summary_tokens = 2_850 / model.characters_per_token
    dollars = before * prices.read + summary_tokens * prices.output + 20_000 * prices.write_5m
    assert made["dollars"] == pytest.approx(dollars / 1_000_000, abs=1e-6)
    assert (prices.read > small.read) is (before > 100_000)
