"""What sessions cost: whose requests count, once each, at which price, in which group."""

from __future__ import annotations

import os
import textwrap
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from brimline import models
from brimline.fast import clock, paths
from brimline.figures import aftermath, bill, reader, spending, store, traces
from brimline.settings import values
from brimline.state import forgotten
from brimline.state.forgotten import Asked
from brimline.testing import SessionBuilder

if TYPE_CHECKING:
    from tests.cli.conftest import Run

FIRST = "1f0c2d3e-8a41-4f0b-b6a7-6f1f0a5b9c20"
SECOND = "2f0c2d3e-8a41-4f0b-b6a7-6f1f0a5b9c20"
DAY_S = 86_400


def built(project_dir: str, session_id: str = FIRST, model: str = "claude-opus-5-5") -> Any:
    """A session where the client keeps those of a project."""
    folder = paths.project_transcripts_dir(project_dir)
    return SessionBuilder(f"{folder}/{session_id}.jsonl", session_id, project_dir, model)


def usage(*tokens: int, an_hour: int = 0) -> dict[str, Any]:
    """Fresh, written, read and output tokens; so many of those written stay for an hour."""
    names = ("input", "cache_creation_input", "cache_read_input", "output")
    counts: dict[str, Any] = {f"{n}_tokens": t for n, t in zip(names, tokens, strict=True)}
    return counts | {"cache_creation": {"ephemeral_1h_input_tokens": an_hour}}


def ask(
    session: SessionBuilder, name: str, told: dict[str, Any], model: str = "", **extra: Any
) -> None:
    """A request whose reply the client recorded with this usage."""
    message = {"id": name, "role": "assistant", "model": model or session.model, "content": []}
    session.row("assistant", message=message | {"usage": told}, **extra)


def spent(home_dir: str) -> list[spending.Spending]:
    """What all transcripts tell."""
    return spending.read_spendings(home_dir, reader.all_transcripts())


@pytest.mark.parametrize(
    ("model", "told", "dollars"),
    [
        ("claude-opus-5-5", usage(1_000_000, 0, 0, 0), 4),
        ("claude-opus-5-5", usage(0, 1_000_000, 0, 0), 5),
        ("claude-opus-5-5", usage(0, 1_000_000, 0, 0, an_hour=1_000_000), 8),
        ("claude-opus-5-5", usage(0, 1_000_000, 0, 0, an_hour=400_000), 6.2),
        ("claude-opus-5-5", usage(0, 0, 1_000_000, 0), 0.2),
        ("claude-opus-5-5", usage(0, 0, 0, 1_000_000), 20),
        # Haiku 5.5 is dearer above 100,000 tokens of prompt, whatever they are made of.
        ("claude-haiku-5-5", usage(0, 0, 100_000, 0), 0.001),
        ("claude-haiku-5-5", usage(0, 1, 100_000, 0), 0.005001),
    ],
)
def test_each_kind_of_token_has_its_price(
    model: str, told: dict[str, Any], dollars: float, home_dir: str, project_dir: str
) -> None:
    """Both lifetimes of the cache, and prices that depend on the size of the prompt."""
    ask(built(project_dir, model=model), "msg_1", told)

    (row,) = bill.bill_rows_by_group(spent(home_dir), ("model",))

    assert row["model"] == model
    assert row["dollars"] == pytest.approx(dollars, abs=1e-9)
    assert row["is_assumed"] is False


def test_a_request_counts_once_wherever_it_is_written(home_dir: str, project_dir: str) -> None:
    """In rows of one reply the last is full; kept rows, forks and copies are the same request."""
    first, fork = built(project_dir), built(project_dir, SECOND)
    ask(first, "msg_1", usage(0, 0, 0, 1))
    ask(first, "msg_1", usage(0, 0, 0, 1_000))
    first.compact(167_000)
    ask(first, "msg_1", usage(0, 0, 0, 1_000))
    ask(fork, "msg_1", usage(0, 0, 0, 1_000), forkedFrom={"sessionId": FIRST})
    ask(fork, "msg_2", usage(0, 0, 0, 2_000))

    rows = {row["session"]: row for row in bill.bill_rows_by_group(spent(home_dir), ("session",))}

    assert {name: row["requests"] for name, row in rows.items()} == {FIRST: 1, SECOND: 1}
    assert [rows[name]["output_tokens"] for name in (FIRST, SECOND)] == [1_000, 2_000]


def test_subagents_belong_to_their_session(home_dir: str, project_dir: str) -> None:
    """In the folder of newer clients and beside the sessions, as older ones keep them."""
    first = built(project_dir)
    ask(first, "msg_1", usage(0, 0, 0, 1_000))
    folder = os.path.dirname(first.path)
    for number, path in enumerate(
        (f"{folder}/{FIRST}/subagents/agent-a1.jsonl", f"{folder}/agent-a2.jsonl")
    ):
        agent = SessionBuilder(path, FIRST, project_dir, "claude-haiku-4-5")
        ask(agent, f"msg_a{number}", usage(0, 0, 0, 1_000), isSidechain=True)

    (row,) = bill.bill_rows_by_group(spent(home_dir), ("session",))

    assert (row["session"], row["requests"]) == (FIRST, 3)
    assert (row["dollars"], row["subagent_dollars"]) == (0.03, 0.01)


def test_what_the_service_did_not_answer_costs_nothing(home_dir: str, project_dir: str) -> None:
    """Errors, synthetic rows, prompts and damage; a model without prices is counted apart."""
    session = built(project_dir)
    ask(session, "msg_1", usage(9, 9, 9, 9), "<synthetic>")
    ask(session, "msg_2", usage(9, 9, 9, 9), isApiErrorMessage=True)
    session.prompt('{"usage": 1}')
    session.raw(b'{"type":"assistant","message":{"usage":7}}\n{"type":"assi')
    assert bill.document(spent(home_dir))["total"]["requests"] == 0
    session.raw(b"\n")
    ask(session, "msg_3", usage(9, 9, 9, 9), "my-own-model")

    total = bill.document(spent(home_dir))["total"]

    assert (total["requests"], total["unpriced_requests"], total["dollars"]) == (1, 1, None)


def test_sums_agree_however_they_are_grouped(
    home_dir: str, project_dir: str, brimline: Run
) -> None:
    """By session, day, project and model; a newer model's price is assumed and said to be."""
    for number, name in enumerate((FIRST, SECOND)):
        session = built(project_dir, name)
        session.cwd = f"/home/dev/project{number}"
        for step, model in enumerate(("claude-opus-5-5", "claude-sonnet-4-6", "claude-opus-7")):
            session.now += DAY_S
            ask(session, f"msg_{number}{step}", usage(10, 20_000, 90_000, 500), model)

    documents = [brimline("cost", "--by", by, "--json").document for by in bill.GROUPS]

    assert [len(document["rows"]) for document in documents] == [2, 3, 1, 1, 3, 2, 3]
    totals = [document["total"] for document in documents]
    assert totals == [totals[0]] * 7
    for document in documents:
        added = sum(row["dollars"] for row in document["rows"])
        assert added == pytest.approx(totals[0]["dollars"])
    assert totals[0]["is_assumed"]
    told = brimline("cost", "--by", "model").out
    assert "about $" in told
    assert "at list price for 6 requests" in told
    assert "newer than the table" in told


def test_since_takes_a_day_or_a_stretch_of_time(project_dir: str, brimline: Run) -> None:
    """What came before is left out; anything else is refused in a sentence."""
    session = built(project_dir)
    ask(session, "msg_1", usage(0, 0, 0, 1_000))
    session.now += 40 * DAY_S
    ask(session, "msg_2", usage(0, 0, 0, 1_000))

    def requests(since: str) -> int:
        count: int = brimline("cost", "--since", since, "--json").document["total"]["requests"]
        return count

    assert [requests("2026-01-01"), requests("2026-10-15"), requests("2036-01-01")] == [2, 1, 0]
    assert requests("99999w") == 2
    refused = brimline("cost", "--since", "yesterday")
    assert refused.code == 2
    assert "--since takes a day (2026-11-01), 24h, 7d or 2w, not 'yesterday'" in refused.err
    assert brimline("cost", "--since", "2036-01-01").out == "No request was recorded since then.\n"


def test_a_forgotten_session_leaves_no_figures(
    home_dir: str, project_dir: str, brimline: Run
) -> None:
    """And none come back; what it says later counts again."""
    session = built(project_dir)
    ask(session, "msg_1", usage(0, 0, 0, 1_000))
    ask(built(project_dir, SECOND), "msg_2", usage(0, 0, 0, 1_000))
    spent(home_dir)

    assert brimline("forget", "--session", FIRST, "--yes").code == 0

    assert FIRST.encode() not in Path(home_dir, store.FILE).read_bytes()
    assert [one.session_id for one in spent(home_dir)] == [SECOND]
    traces.forget(home_dir, Asked((SECOND,)), dry_run=True)
    assert [name for name, *_ in traces.sessions(home_dir)] == [SECOND]


def test_what_a_forgotten_session_asks_from_that_moment_on_counts_again(
    home_dir: str, project_dir: str
) -> None:
    """What it asked before does not, not even by a millisecond."""
    session = built(project_dir)
    for millisecond in (499, 500, 501):
        at = f"2026-01-01T00:00:00.{millisecond}Z"
        ask(session, f"msg_{millisecond}", usage(0, 0, 0, 1_000), timestamp=at)
    forgotten.note_forgotten(
        home_dir,
        datetime(2026, 1, 1, microsecond=500_000, tzinfo=UTC).timestamp(),
        {"session": FIRST},
    )

    assert [one.requests for one in spent(home_dir)] == [2]


_WITHOUT_A_MODEL = {"pre_tokens": 160_000, "post_tokens": 40_000, "summary_characters": None}


@pytest.mark.parametrize(
    ("figures", "dollars"),
    [
        # Read once more from the cache, a summary of 1,000 tokens, 40,000 tokens written again.
        ({"pre_tokens": 160_000, "post_tokens": 40_000, "summary_characters": 2_200}, 0.252),
        (_WITHOUT_A_MODEL, 0.2),
        # The next request read most of it from the cache, as its usage says.
        ({**_WITHOUT_A_MODEL, "rewritten_tokens": 4_000}, 0.02),
        ({"pre_tokens": None, "post_tokens": 40_000, "summary_characters": 9}, None),
    ],
)
def test_a_compaction_has_a_price(figures: dict[str, Any], dollars: float | None) -> None:
    """Without a summary no model was asked; where a size is unknown there is none."""
    compaction = {"model": "claude-opus-5-5", "dollars": None, "rewritten_tokens": None} | figures

    aftermath.fill_in_dollars([compaction])

    assert compaction["dollars"] == pytest.approx(dollars)


def test_a_pipe_among_the_transcripts_costs_nothing(home_dir: str, project_dir: str) -> None:
    """Whatever lies in the client's folder, the sessions beside it are counted."""
    session = built(project_dir)
    ask(session, "msg_1", usage(1, 0, 0, 0))
    os.mkfifo(f"{os.path.dirname(session.path)}/{SECOND}.jsonl")

    assert [each.session_id for each in spent(home_dir)] == [FIRST]


def row(name: str = FIRST, **fields: Any) -> dict[str, Any]:
    """A row of a bill of nothing, with what is given."""
    usual: dict[str, Any] = {"session": name, "dollars": 0.0, "subagent_dollars": 0.0}
    usual |= {"is_assumed": False, "requests": 1, "unpriced_requests": 0}
    usual |= {"last_at": "2026-11-17T10:00:00.000Z", "title": "A wish", "project": "/home/dev/p"}
    usual |= {"models": ["claude-opus-4-5-20251101"]}
    return usual | dict.fromkeys(spending.TOKENS, 0) | fields


def told(*rows: dict[str, Any], total: dict[str, Any], by: str = "session") -> list[str]:
    """The lines that a person gets."""
    document = {"by": by, "since": None, "total": row() | total, "rows": rows}
    return bill.text(document).splitlines()


@pytest.mark.parametrize(
    ("dollars", "text"),
    [
        (0.0, "$0.00"),
        (0.000001, "under $0.0001"),
        (0.000456, "$0.00046"),
        (0.00999, "$0.01"),
        (0.01, "$0.01"),
        (0.015, "$0.01"),
        (1.0, "$1.00"),
        (1234.5, "$1,234.50"),
    ],
)
def test_dollars_are_told_to_the_cent_and_smaller_ones_to_two_digits(
    dollars: float, text: str
) -> None:
    """Nothing at all is no small amount."""
    assert bill.format_dollars(dollars) == text


def test_a_bill_has_a_row_each_that_says_what_it_is_of() -> None:
    """Sessions by date, tokens, model, project and title; all else by its share of the cache."""
    tokens: dict[str, Any] = dict.fromkeys(spending.TOKENS[:3], 1)
    spent_row = row(dollars=1.5, requests=1_200, **tokens, cache_read_tokens=1, output_tokens=6)

    shown = told(spent_row, row(SECOND, dollars=None, title=""), total={"dollars": 1.5})

    assert shown[:3] == [
        "   cost  last        tokens  model     project  title",
        f"  $1.50  2026-11-17      10  opus-4-5  dev/p    {FIRST[: bill._SHORT_ID]} A wish",
        f"unknown  2026-11-17       0  opus-4-5  dev/p    {SECOND[: bill._SHORT_ID]}",
    ]
    assert shown[4] == "$1.50 at list price for 1 request."
    assert shown[5:] == [
        "What the client does not record, such as titles and its summaries, is not in it."
    ]
    named = told({**spent_row, "project": "/home/dev/a-project"}, total={}, by="project")
    assert named[:2] == [
        " cost  requests  tokens  from cache  project",
        "$1.50     1,200      10         25%  /home/dev/a-project",
    ]


@pytest.mark.parametrize(
    ("total", "sentence"),
    [
        ({"requests": 2}, "$0.00 at list price for 2 requests."),
        ({"dollars": 3.0, "is_assumed": True}, "about $3.00 at list price for 1 request."),
        ({"is_assumed": True}, "About: a model is newer than the table of prices."),
        ({"subagent_dollars": 0.5}, "Of that $0.50 for subagents."),
    ],
)
def test_a_bill_says_what_else_is_known_of_it(total: dict[str, Any], sentence: str) -> None:
    """And nothing of what is not the case."""
    with_it, without = told(row(), total=total), told(row(), total={})

    assert sentence in with_it
    assert sentence not in without


MOST = bill._SHOWN_ROWS


@pytest.mark.parametrize(
    ("rows", "more"), [(MOST, ""), (MOST + 2, "… and 2 more, $3.00: --json has them all")]
)
def test_of_a_long_bill_some_rows_are_shown(rows: int, more: str) -> None:
    """And what the others come to."""
    shown = told(*[row(f"{number:08}", dollars=1.5) for number in range(rows)], total={})

    assert sum(f"{number:08}" in line for number, line in enumerate(shown[1 : MOST + 1])) == MOST
    assert shown[MOST + 1] == more


def test_a_model_without_a_price_is_named_with_the_lines_that_give_it_one(
    home_dir: str, project_dir: str, brimline: Run
) -> None:
    """They work as they are shown."""
    session = built(project_dir)
    for name in ("msg_1", "msg_2"):
        ask(session, name, usage(1_000_000, 0, 0, 0), "Glimmer-7b")

    lines = brimline("cost").out.splitlines()

    first = lines.index("No price for 2 requests of Glimmer-7b. In config.toml:")
    given = "\n".join(lines[first + 1 : first + 4]).replace("input = 0.0", "input = 3.0")
    Path(home_dir, "config.toml").write_text(textwrap.dedent(given) + "\n")
    document = brimline("cost", "--json").document
    assert (document["total"]["dollars"], document["unpriced"]) == (6.0, {})


@pytest.mark.parametrize(
    ("more", "model", "dollars"),
    [
        ({}, "claude-opus-5-5", 4.0),
        ({"speed": "standard", "inference_geo": "not_available"}, "claude-opus-5-5", 4.0),
        ({"speed": "fast"}, "claude-opus-5-5", 8.0),
        ({"speed": "fast"}, "claude-opus-4-6", 30.0),
        ({"inference_geo": "us"}, "claude-opus-5-5", 4.4),
        ({"speed": "fast", "inference_geo": "us"}, "claude-opus-5-5", 8.8),
        ({"server_tool_use": {"web_search_requests": 3}}, "claude-opus-5-5", 4.03),
        ({"server_tool_use": {"web_search_requests": "3"}}, "claude-opus-5-5", 4.0),
    ],
)
def test_what_makes_a_request_dearer_is_in_its_price(
    home_dir: str, project_dir: str, more: dict[str, Any], model: str, dollars: float
) -> None:
    """Fast mode, requests that stay in a country, searches of the service's own."""
    ask(built(project_dir), "msg_1", usage(1_000_000, 0, 0, 0) | more, model)

    total = bill.document(spent(home_dir))["total"]

    assert total["dollars"] == pytest.approx(dollars)


def test_a_price_holds_from_a_day_on(home_dir: str, project_dir: str) -> None:
    """What was asked before costs what it cost then."""
    session = built(project_dir, model="glimmer")
    for day in (1, 2, 3):
        at = f"2026-11-0{day}T00:00:00.000Z"
        ask(session, f"msg_{day}", usage(1_000_000, 0, 0, 0), timestamp=at)
    prices = dict.fromkeys(models.PRICE_NAMES, 1.0)
    before = [prices | {"until": f"2026-11-0{day}", "input": 10.0 * day} for day in (2, 3)]
    own = values.check_and_complete_model(
        {"families": ["glimmer"], "prices": prices, "prices_before": before}
    )

    rows = bill.document(spent(home_dir), "day", [own])["rows"]

    assert [row["dollars"] for row in rows] == [1.0, 30.0, 20.0]


def test_weeks_begin_on_mondays_and_blocks_with_a_full_hour(
    home_dir: str, project_dir: str
) -> None:
    """A block takes five hours; the next begins with the first request behind it."""
    session = built(project_dir)
    for number, at in enumerate(
        ("11-15T23:10", "11-16T01:00", "11-16T03:59", "11-16T04:00", "12-01T00:00")
    ):
        ask(session, f"msg_{number}", usage(1, 0, 0, 0), timestamp=f"2026-{at}:00.000Z")
    told = spent(home_dir)

    counted = {
        by: [(row[by], row["requests"]) for row in bill.document(told, by)["rows"]]
        for by in ("week", "month", "block")
    }

    assert counted == {
        "week": [("2026-11-30", 1), ("2026-11-16", 3), ("2026-11-09", 1)],
        "month": [("2026-12", 1), ("2026-11", 4)],
        "block": [
            ("2026-12-01T00:00:00.000Z", 1),
            ("2026-11-16T04:00:00.000Z", 1),
            ("2026-11-15T23:00:00.000Z", 3),
        ],
    }


def test_the_block_that_runs_says_what_is_left_and_what_it_will_come_to(
    home_dir: str, project_dir: str
) -> None:
    """At the pace until now."""
    session = built(project_dir)
    hour = clock.now_s() // 3_600 * 3_600
    at = clock.format_utc(hour - 3_600)
    ask(session, "msg_1", usage(1_000_000, 0, 0, 0), timestamp=at)

    document = bill.document(spent(home_dir), "block")

    running = document["running"]
    passed_s = 5 * 3_600 - running["left_seconds"]
    assert 3_600 <= passed_s <= 7_202
    assert running["dollars_at_this_pace"] == pytest.approx(4 * 5 * 3_600 / passed_s, rel=0.001)
    assert "$4.00 so far, " in bill.text(document)


@pytest.mark.parametrize(
    ("since", "text"),
    [(None, "No request was recorded yet."), ("2026", "No request was recorded since then.")],
)
def test_a_bill_of_nothing_is_a_sentence(since: str | None, text: str) -> None:
    """Which says since when."""
    empty = bill.document([], "day")

    assert bill.text(empty | {"since": since}) == text
    assert (empty["total"]["dollars"], empty["total"]["first_at"]) == (0.0, None)
    assert bill.document([], "day", since=60.0)["since"] == "1970-01-01T00:01:00.000Z"


def test_a_row_tells_when_its_requests_began_and_ended(home_dir: str, project_dir: str) -> None:
    """Whatever their order; the group that was heard of last comes first."""
    early, late = "2026-11-01T10:00:00.000Z", "2026-11-02T12:30:00.000Z"
    first, second = built(project_dir), built(project_dir, SECOND)
    ask(first, "msg_1", usage(5, 0, 0, 0), timestamp=late)
    ask(first, "msg_2", usage(7, 0, 0, 0), timestamp=early)
    ask(second, "msg_3", usage(9, 0, 0, 0), timestamp="2026-11-01T11:00:00.000Z")

    rows = bill.bill_rows_by_group(spent(home_dir), ("session",))

    assert [line["session"] for line in rows] == [FIRST, SECOND]
    assert (rows[0]["first_at"], rows[0]["last_at"]) == (early, late)
    assert [line["input_tokens"] for line in rows] == [12, 9]
    since = datetime(2026, 11, 1, 11, tzinfo=UTC).timestamp()
    total = bill.document(spent(home_dir), "day", since=since)["total"]
    assert (total["requests"], total["input_tokens"]) == (2, 14)


@pytest.mark.parametrize("kind", spending.TOKENS)
def test_a_thousand_million_tokens_cost_a_thousand_times_their_price(kind: str) -> None:
    """To the last cent."""
    model = models.lookup_model("claude-opus-5-5")
    used = dict.fromkeys(spending.TOKENS, 0) | {kind: 1_000_000_000}
    names: dict[str, Any] = dict.fromkeys(spending.Spending._fields, 0)
    spent = spending.Spending(**names | {"kind": ""} | used)
    prices = model.prices_for_prompt(0)
    assert prices is not None
    by_kind = dict(
        zip(
            spending.TOKENS,
            (prices.input, prices.write_5m, prices.write_1h, prices.read, prices.output),
            strict=True,
        )
    )

    dollars = bill.dollars_of_spending(spent, model)

    assert dollars == pytest.approx(1_000 * by_kind[kind], abs=1e-6)
