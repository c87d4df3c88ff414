"""How it went: the figures of the page are those of `cost`, and advice follows from them."""

from __future__ import annotations

import time
from collections import Counter
from importlib import resources
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
    assert values["period"].total == total
    assert values["tokens"] >= 110_000
    wide = values["plots"]["dollars"][0]
    assert (wide.count, len(wide.shapes), len(wide.below)) == (7, 2, 4)
    assert {shape.name for shape in wide.shapes} == {"claude-opus-4-6", "claude-sonnet-4-6"}
    assert shown(home_dir, 1)["period"].total["requests"] == 1


def test_a_year_is_drawn_in_weeks(home_dir: str, folder: Path) -> None:
    """A bar of a day would be a hair."""
    made = session(folder)
    for _ in range(5):
        made.reply(50_000)
        made.now += 30 * DAY_S

    values = shown(home_dir, 365)

    assert values["unit"] == "week"
    assert values["plots"]["tokens"][0].count == 18


def test_advice_follows_from_figures_and_names_a_command(home_dir: str, folder: Path) -> None:
    """One tool that fills windows, compactions that cost; a calm week gets none."""
    made = session(folder, model="claude-opus-4-6")
    made.reply(20_000)
    assert shown(home_dir)["advice"] == []

    for number in range(3):
        call = made.tool_call(40_000 + number, "Read", file_path="/a.py")
        made.tool_result(call, "line of a file\n" * 3_000)
        made.reply(90_000 + number)
        made.compact(165_000, summary="s " * 9_000)
    advice = shown(home_dir)["advice"]

    assert 0 < len(advice) <= 3
    assert all(each.command.startswith("brimline ") for each in advice)
    (on_read,) = [each for each in advice if "Results of Read" in each.text]
    assert on_read.command == f"brimline session inspect {ID[:8]}"
    assert any("Compactions took about $" in each.text for each in advice)


def period(
    *, cached: int = 100, paid: float = 1.0, compacting: float = 0.0, read: int = 0, hooks: int = 0
) -> overall.Period:
    """Days of so many percent from the cache, so many dollars, and 100 tokens that came in."""
    total = {"input_tokens": 100 - cached, "cache_read_tokens": cached, "dollars": paid}
    total |= {"cache_write_5m_tokens": 0, "cache_write_1h_tokens": 0}
    results = {"Read": read, "Grep": 30, "Bash": 100 - hooks - read - 30} if read else {}
    rows: list[dict[str, Any]] = [
        {"id": "11111111-x", "injected_tokens": hooks, "tools": {"Read": 1}, "causes": {}}
        | {"compacted": [[]]},
        {"id": "22222222-x", "injected_tokens": 0, "tools": {"Read": 9}, "causes": {"edit": 2}}
        | {"compacted": [[], []]},
    ]
    compacted: list[dict[str, Any]] = [{"dollars": compacting}, {"dollars": None}]
    return overall.Period(total, rows, compacted, Counter(results))


@pytest.mark.parametrize(
    ("calm", "worth", "command"),
    [
        ({"cached": 85}, {"cached": 84}, "brimline dashboard"),
        ({"compacting": 0.05}, {"compacting": 0.06}, "brimline session purge 22222222 --dry-run"),
        ({"read": 40}, {"read": 41}, "brimline session inspect 22222222"),
        ({"read": 40, "hooks": 15}, {"read": 40, "hooks": 16}, "brimline dashboard"),
    ],
    ids=["cache", "compactions", "tools", "injections"],
)
def test_a_figure_is_worth_a_sentence_above_its_share(
    calm: dict[str, Any], worth: dict[str, Any], command: str
) -> None:
    """At it there is none; a tool is looked at where it brought in most."""
    assert overall.advice_with_largest_shares(period(**calm)) == []
    assert [each.command for each in overall.advice_with_largest_shares(period(**worth))] == [
        command
    ]


def test_of_much_advice_the_three_sentences_with_the_largest_shares_are_given() -> None:
    """The cause of most breaks of the cache is named."""
    given = overall.advice_with_largest_shares(period(cached=30, compacting=0.9, read=50, hooks=16))

    assert [round(each.share, 2) for each in given] == [0.9, 0.7, 0.5]
    assert given[1].text.startswith("70% of what was sent did not come from the cache; most breaks")
    assert "“edit”" in given[1].text


def test_days_without_a_request_need_no_advice() -> None:
    """Nothing was missed, paid or brought in."""
    nothing = dict.fromkeys(
        ("input_tokens", "cache_read_tokens", "cache_write_5m_tokens", "cache_write_1h_tokens"), 0
    )

    empty = overall.Period({**nothing, "dollars": None}, [], [], Counter())

    assert (empty.sent_tokens, empty.cache_share, empty.compaction_dollars) == (0, 1.0, 0)
    assert overall.advice_with_largest_shares(empty) == []


def test_a_compaction_that_several_sessions_have_is_counted_once() -> None:
    """By its id; those without one are told apart by their session and place."""

    def row(name: str, *compacted: tuple[str | None, float]) -> dict[str, Any]:
        figures = [{"uuid": uuid, "at": at} for uuid, at in compacted]
        return {"id": name, "model": f"model of {name}", "compacted": figures}

    rows = [row("a", ("u1", 3.0), (None, 1.0), (None, 4.0)), row("b", ("u1", 3.0), (None, 2.0))]

    made = overall.distinct_compactions(rows)

    assert [each["at"] for each in made] == [1.0, 2.0, 3.0, 4.0]
    assert [each["model"][-1] for each in made] == ["a", "b", "a", "a"]


def test_compactions_take_no_more_than_all(home_dir: str, folder: Path) -> None:
    """Summaries are not in the bill, so a session of little else costs less than they did."""
    made = session(folder, model="claude-opus-4-6")
    made.reply(1_000)
    made.compact(900_000, summary="s " * 9_000)
    made.reply(1_000)

    (advice,) = [each for each in shown(home_dir)["advice"] if "Compactions" in each.text]

    assert "100% of it all" in advice.text


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
    assert sorted(names(empty=True)) == ["00000000-empty", ID]
    for words in ("importer ROWS", "1f0c2d3e", "dev/other", "100%"):
        assert names(words=words) == [ID], words
    for words in ("importer walrus", "%", "' OR 1=1 --"):
        assert names(words=words) == ([ID] if words == "%" else []), words


def test_sessions_are_sorted_by_what_they_cost(home_dir: str, folder: Path) -> None:
    """Those without a known cost come last."""
    names = ("00000000-a", "00000000-b", "00000000-c")
    for name in names:
        session(folder, name).reply(50_000)
    known = index.Index(home_dir)
    known.refresh()
    bills = {names[0]: {"dollars": 0.5}, names[2]: {"dollars": 2.0}}

    rows, _ = known.page_of_sessions(index.Filter(sort="cost"), 50, bills)

    assert [row["id"] for row in rows] == [names[2], names[0], names[1]]


def test_an_ended_session_speaks_in_the_past_tense(home_dir: str, folder: Path) -> None:
    """One that was written to a moment ago may go on."""
    made = session(folder)
    made.prompt("go")
    made.reply(50_000)

    told = story.read_story(made.path, home_dir)
    assert told.is_running
    assert "in use; " in pages.headline_sentence_of_story(told)
    told.is_running = False
    ended = pages.session_page_values(told, redacted=False)

    assert ended["headline"] == (
        "It ended with 50,000 of 200,000 tokens in use, 117,000 tokens before the brim."
    )
    page = pages.render_page("session_body.html", **ended, within="")
    assert "held at the end" in page
    assert "was expected there" in page


def test_an_edit_is_a_diff(home_dir: str, folder: Path) -> None:
    """Lines that go and come, with their styles; other calls are shown as they were made."""
    made = session(folder)
    made.prompt("go")
    call = made.tool_call(
        30_000, "Edit", file_path="/a.py", old_string="one\ntwo\n", new_string="one\nthree\n"
    )
    made.tool_result(call, "done")
    made.reply(31_000)
    told = story.read_story(made.path, home_dir)

    texts = [text for _, text in pages.new_items_and_text_by_row(told, told.moments[1])]
    (change,) = [text for text in texts if "three" in text]

    lines = pages.template_environment().filters["hunks"](change)
    assert ("removed", "-two") in lines
    assert ("added", "+three") in lines
    assert lines[0] == ("", "/a.py")
    assert pages.template_environment().filters["hunks"]("- a list\n+ of things") == []


def test_lines_of_a_diff_stand_below_each_other_by_their_tabs(home_dir: str, folder: Path) -> None:
    """A page leaves tabs to the style: its marks before a line would count as columns."""
    made = session(folder)
    call = made.tool_call(
        30_000, "Edit", file_path="/a.go", old_string="\tone\n\ttwo", new_string="\tone\n\tthree"
    )
    made.tool_result(call, "done")
    made.reply(31_000)
    told = story.read_story(made.path, home_dir)
    moment = told.moments[1]
    values = {
        "story": told,
        "moment": moment,
        "rows": pages.new_items_and_text_by_row(told, moment),
    }
    values |= {"within": "", "label": "", "replaced": []}
    around = {"navigation": (), "here": "", "busy": None, "title": ""}

    page = pages.render_page("request.html", **values, **around)

    for line in ("<span> \tone</span>", ">-\ttwo</span>", ">+\tthree</span>"):
        assert line in page
    style = resources.files("brimline.dashboard").joinpath("static/page.css")
    assert "tab-size: 4" in style.read_text("utf-8")


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


def test_the_five_projects_that_cost_most_are_shown(home_dir: str, folder: Path) -> None:
    """The dearest first."""
    for number in range(7):
        name = f"{number}f0c2d3e-aaaa-4bbb-8ccc-000000000002"
        made = SessionBuilder(str(folder / f"{name}.jsonl"), name, f"/home/dev/p{number}")
        for _ in range(number + 1):
            made.reply(50_000)

    projects = shown(home_dir)["projects"]

    assert [row["project"] for row in projects] == [f"/home/dev/p{n}" for n in (6, 5, 4, 3, 2)]
    dollars = [row["dollars"] for row in projects]
    assert dollars == sorted(dollars, reverse=True)


@pytest.mark.parametrize(("span", "unit"), [(30, "day"), (90, "day"), (91, "week"), (365, "week")])
def test_more_than_ninety_days_are_weeks(home_dir: str, folder: Path, span: int, unit: str) -> None:
    """As many bars as there is room for."""
    session(folder).reply(50_000)

    assert shown(home_dir, span)["unit"] == unit


def test_a_day_has_its_compactions_and_its_share_of_the_cache(home_dir: str, folder: Path) -> None:
    """In percent of all that was sent."""
    made = session(folder)
    made.reply(50_000)
    made.reply(60_000)
    made.compact(60_000)
    made.reply(9_000)

    values = shown(home_dir)

    total, plots = values["period"].total, values["plots"]
    share = 100 * total["cache_read_tokens"] / values["period"].sent_tokens
    assert plots["compactions"][0].piled == [1.0]
    assert plots["cache"][0].piled == [pytest.approx(share)]
    used = values["period"].sent_tokens + total["output_tokens"]
    assert plots["tokens"][0].piled == [used]
    assert plots["dollars"][0].piled == [pytest.approx(total["dollars"])]


def test_only_the_cause_of_most_breaks_is_named() -> None:
    """Not the next one."""
    days = period(cached=30)
    days.rows[0]["causes"] = {"expired": 5, "edit": 1}

    (given,) = overall.advice_with_largest_shares(days)

    assert given.text.endswith("; most breaks were “expired”.")


def test_sums_of_the_days_are_those_of_their_sessions(home_dir: str, folder: Path) -> None:
    """What was sent, what came back, and what nobody knows a price of."""
    made = session(folder)
    made.reply(50_000, output_tokens=700)
    made.reply(60_000, output_tokens=300)

    values = shown(home_dir)

    assert values["tokens"] == 111_000
    assert values["period"].sent_tokens == 110_000
    assert values["until"] == max(values["until"], "2000-01-01")
    assert (values["span"], values["sessions"]) == (30, 1)
    assert period(compacting=0.25).compaction_dollars == 0.25
    assert period(read=20, hooks=20).ratio_to_tokens_brought_in(20) == 0.2


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
            pages.session_page_values(told, [], spendings, redacted=hides)
            for hides in (False, True)
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
    """Each with a bar of its own."""
    bars = overall._first_day_of_bar_by_day(spent(*days), span)

    assert len(bars) == count
    assert min(bars) == first
    assert all(day == bar for day, bar in bars.items())


def test_weeks_begin_with_the_first_day() -> None:
    """The last may be shorter; where nothing was sent there is one day."""
    bars = overall._first_day_of_bar_by_day(spent(0, 15), 91)

    assert list(bars.values()) == (["2026-03-01"] * 7 + ["2026-03-08"] * 7 + ["2026-03-15"] * 2)
    assert len(overall._first_day_of_bar_by_day([], 30)) == 1


def test_a_long_cause_and_a_long_name_of_a_tool_are_cut() -> None:
    """At sixty and forty characters."""
    days = period(cached=30)
    days.rows[0]["causes"] = {"c" * 61: 5}
    (on_cache,) = overall.advice_with_largest_shares(days)
    days.rows[0]["causes"] = {"c" * 60: 5}
    (whole,) = overall.advice_with_largest_shares(days)
    tools = period()
    tools.tools = Counter({"t" * 41: 90, "Bash": 10})
    (on_tools,) = overall.advice_with_largest_shares(tools)
    tools.tools = Counter({"t" * 40: 90, "Bash": 10})

    assert f"“{'c' * 59}…”." in on_cache.text
    assert f"“{'c' * 60}”." in whole.text
    assert on_tools.text.startswith(f"Results of {'t' * 39}… are 90% of what came in: see which")
    assert f"Results of {'t' * 40} are" in overall.advice_with_largest_shares(tools)[0].text
    assert on_tools.command == "brimline session inspect 11111111"


def test_five_tools_that_brought_in_most_are_shown(home_dir: str, folder: Path) -> None:
    """The largest first, over all sessions of the days."""
    made = session(folder)
    for number in range(6):
        call = made.tool_call(20_000 + 9_000 * number, f"Tool{number}", pattern="p")
        made.tool_result(call, f"{number}\n" * 1_000 * (number + 1))
    made.reply(90_000)

    tools = shown(home_dir)["tools"]

    assert [name for name, _ in tools] == ["Tool5", "Tool4", "Tool3", "Tool2", "Tool1"]
    assert all(tokens > 0 for _, tokens in tools)
