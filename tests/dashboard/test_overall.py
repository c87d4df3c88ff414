"""How it went: the figures of the page are those of `cost`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from brimline.dashboard import index, overall, pages, story
from brimline.figures import bill, reader, spending
from brimline.testing import SessionBuilder

if TYPE_CHECKING:
    from pathlib import Path

DAY_S = 86_400
ID = "1f0c2d3e-aaaa-4bbb-8ccc-000000000002"


@pytest.fixture
def folder(world: Path) -> Path:
    """Where the client keeps the sessions of a project."""
    return world / "home" / ".claude" / "projects" / "-home-dev-other"


def session(folder: Path, name: str = ID, **more: Any) -> SessionBuilder:
    """An empty session of that project."""
    return SessionBuilder(str(folder / f"{name}.jsonl"), name, "/home/dev/other", **more)


def shown(home_dir: str, span: int = 30) -> dict[str, Any]:
    """What the page shows of all that is there."""
    known = index.Index(home_dir)
    known.refresh()
    spendings = spending.read_spendings(home_dir, reader.all_transcripts())
    return overall.overall_page_values(spendings, known.rows_of_all_sessions(), [], span)


def test_dollars_and_tokens_are_those_of_the_bill(home_dir: str, folder: Path) -> None:
    """By day and model, over the days that were chosen; empty days have a place on the axis."""
    made = session(folder, model="claude-opus-4-6")
    made.reply(50_000)
    made.now += 3 * DAY_S
    made.model = "claude-sonnet-4-6"
    made.reply(60_000)
    spendings = spending.read_spendings(home_dir, reader.all_transcripts())

    values = shown(home_dir)

    total = bill.document(spendings, "day", [])["total"]
    assert values["dollars"] == bill.row_dollars_text(total)
    assert values["requests"] == total["requests"]
    assert values["tokens"] >= 110_000
    wide = values["plots"]["dollars"][0]
    assert (wide.count, len(wide.shapes), len(wide.below)) == (7, 2, 4)
    assert {shape.name for shape in wide.shapes} == {"claude-opus-4-6", "claude-sonnet-4-6"}
    assert shown(home_dir, 1)["requests"] == 1


def test_a_compaction_that_several_sessions_have_is_counted_once() -> None:
    """By its id; those without one are told apart by their session and place."""

    def row(name: str, *compacted: tuple[str | None, float]) -> dict[str, Any]:
        figures = [{"uuid": uuid, "at": at} for uuid, at in compacted]
        return {"id": name, "model": f"model of {name}", "compacted": figures}

    rows = [row("a", ("u1", 3.0), (None, 1.0), (None, 4.0)), row("b", ("u1", 3.0), (None, 2.0))]

    made = overall.distinct_compactions(rows)

    assert [each["at"] for each in made] == [1.0, 2.0, 3.0, 4.0]
    assert [each["model"][-1] for each in made] == ["a", "b", "a", "a"]


def test_sessions_are_searched_and_empty_ones_left_out(home_dir: str, folder: Path) -> None:
    """By every word, in title, project, id and model, whatever signs it has."""
    made = session(folder)
    made.prompt("Why does the Importer drop 100% of rows?")
    made.reply(50_000)
    session(folder, "00000000-empty").prompt("nothing came of it")
    known = index.Index(home_dir)
    known.refresh()

    def names(**chosen: Any) -> list[str]:
        rows, count = known.page_of_sessions(index.Filter(**chosen), 50, {})
        assert len(rows) == count
        return [row["id"] for row in rows]

    assert names() == [ID]
    for words in ("importer ROWS", "1f0c2d3e", "dev/other", "100%"):
        assert names(words=words) == [ID], words
    for words in ("importer walrus", "%", "' OR 1=1 --"):
        assert names(words=words) == ([ID] if words == "%" else []), words


def test_an_ended_session_speaks_in_the_past_tense(home_dir: str, folder: Path) -> None:
    """One that was written to a moment ago may go on."""
    made = session(folder)
    made.prompt("go")
    made.reply(50_000)

    told = story.read_story(made.path, home_dir)
    assert told.is_running
    assert "in use; " in pages.headline_sentence_of_story(told)
    told.is_running = False
    ended = pages.session_page_values(told)

    assert ended["headline"] == (
        "It ended with 50,000 of 200,000 tokens in use, 117,000 tokens before the brim."
    )
    page = pages.render_page("session_body.html", **ended)
    assert "held at the end" in page
    assert "was expected there" in page


def test_sessions_with_a_request_within_the_days_are_counted(home_dir: str, folder: Path) -> None:
    """One request is enough; neither a mere wish nor what was long before counts."""
    session(folder, "11111111-a").reply(50_000)
    session(folder, "22222222-b").prompt("A wish")
    for _ in range(2):
        session(folder, "33333333-c").reply(60_000)
    old = session(folder, "44444444-d")
    old.now -= 60 * DAY_S
    old.reply(40_000, message_id="old")

    assert shown(home_dir)["sessions"] == 2
    assert shown(home_dir, 90)["sessions"] == 3


def test_the_projects_that_cost_most_are_shown(home_dir: str, folder: Path) -> None:
    """The dearest first."""
    for number in range(overall._TOP + 2):
        name = f"{number}f0c2d3e-aaaa-4bbb-8ccc-000000000002"
        made = SessionBuilder(str(folder / f"{name}.jsonl"), name, f"/home/dev/p{number}")
        for _ in range(number + 1):
            made.reply(50_000)

    projects = shown(home_dir)["projects"]

    assert [row["project"] for row in projects] == [
        f"/home/dev/p{n}" for n in range(overall._TOP + 1, 1, -1)
    ]
    dollars = [row["dollars"] for row in projects]
    assert dollars == sorted(dollars, reverse=True)


def test_a_day_has_its_compactions_and_its_share_of_the_cache(home_dir: str, folder: Path) -> None:
    """In percent of all that was sent."""
    made = session(folder)
    made.reply(50_000)
    made.reply(60_000)
    made.compact(60_000)
    made.reply(9_000)

    values = shown(home_dir)

    plots = values["plots"]
    assert plots["compactions"][0].piled == [1.0]
    assert plots["cache"][0].piled == [pytest.approx(values["cache_percent"])]
    assert 0 < values["cache_percent"] < 100
    assert plots["tokens"][0].piled == [values["tokens"]]
    assert f"${plots['dollars'][0].piled[0]:.2f}" == values["dollars"]


def test_sums_of_the_days_are_those_of_their_sessions(home_dir: str, folder: Path) -> None:
    """What was sent, what came back, and what nobody knows a price of."""
    made = session(folder)
    made.reply(50_000, output_tokens=700)
    made.reply(60_000, output_tokens=300)

    values = shown(home_dir)

    assert values["tokens"] == 111_000
    assert values["until"] == max(values["until"], "2000-01-01")
    assert (values["span"], values["sessions"]) == (30, 1)


def test_a_shared_page_numbers_subagents_and_hides_models_that_are_not_everybodys(
    home_dir: str, folder: Path
) -> None:
    """In the order in which they began; the user's own page has their names."""
    made = session(folder)
    made.reply(50_000)
    for name, model, later_s in (("b", "claude-sonnet-4-6", 60), ("a", "acme-9", 120)):
        inner = folder / ID / "subagents" / f"agent-{name}.jsonl"
        worker = SessionBuilder(str(inner), ID, "/home/dev/other", model)
        worker.now += later_s
        worker.reply(33_000, message_id=name)
    spendings = spending.read_spendings(home_dir, reader.all_transcripts())
    told = story.read_story(made.path, home_dir)

    own, shared = [
        [(one["agent"], one["model"]) for one in values["subagents"]]
        for values in (
            pages.session_page_values(told, [], spendings, shared=hides) for hides in (False, True)
        )
    ]

    assert own == [("b", "claude-sonnet-4-6"), ("a", "acme-9")]
    assert shared == [("1", "claude-sonnet-4-6"), ("2", "unknown")]


def spent(*days: int) -> list[spending.Spending]:
    """Requests at noon of some days."""
    noon = time.mktime((2026, 3, 1, 12, 0, 0, 0, 0, -1))
    return [
        spending.Spending("p", "s", "", "", False, "m", "", at, at, 1, 1, 0, 1, 0, 0, 0, 1)
        for at in (noon + day * DAY_S for day in days)
    ]


@pytest.mark.parametrize(
    ("days", "span", "first", "count"),
    [
        ((0,), 30, "2026-03-01", 1),
        ((0, 20), 30, "2026-03-01", 21),
        ((0, 20), 7, "2026-03-15", 7),
        ((0, 20), 1, "2026-03-21", 1),
        ((20, 0), 21, "2026-03-01", 21),
        ((0, 20), 20, "2026-03-02", 20),
    ],
)
def test_days_are_counted_back_from_the_last_request_to_the_first(
    days: tuple[int, ...], span: int, first: str, count: int
) -> None:
    """Each once; where nothing was sent there is one day."""
    found = overall._days_up_to_last_request(spent(*days), span)

    assert len(found) == len(set(found)) == count
    assert min(found) == found[0] == first
    assert len(overall._days_up_to_last_request([], span)) == 1
