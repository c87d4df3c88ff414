"""What a page says of a request, and what a shared one keeps to itself."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from jinja2 import nodes

from brimline.dashboard import pages, story
from brimline.dashboard.pages import (
    _CELL_CHARACTERS,
    _MOST_ROWS,
    _NAME_CHARACTERS,
    _SUBJECT_CHARACTERS,
    _TOP,
)
from brimline.dashboard.story import Item
from brimline.figures import spending
from brimline.figures.totals import Notice
from brimline.gauge import wording

if TYPE_CHECKING:
    from brimline.testing import SessionBuilder

_MACROS = Path(pages.__file__).with_name("templates") / "macros.html"


def filtered(name: str, *arguments: Any) -> Any:
    """A value as a template prints it."""
    return pages.template_environment().filters[name](*arguments)


def test_figures_of_a_page_are_read_at_a_glance() -> None:
    """What is not known is a dash, never a zero."""
    assert [filtered("n", value) for value in (None, 0, 12_345)] == ["–", "0", "12,345"]
    shares = [filtered("percent", *pair) for pair in ((1, 4), (0, 4), (1, 0), (None, 4))]
    assert shares == ["25%", "0%", "–", "–"]
    assert [filtered("money", value) for value in (None, 0.5)] == ["–", "$0.50"]
    folders = [filtered("folder", path) for path in ("/home/dev/shop/", "/", "", None)]
    assert folders == ["shop", "/", "unknown", "unknown"]
    counts = [filtered("count", number, "story", "stories") for number in (1, 2, 1_000)]
    assert counts == ["1 story", "2 stories", "1,000 stories"]
    assert [filtered("count", number, "row") for number in (1, 2)] == ["1 row", "2 rows"]


@pytest.mark.parametrize(
    ("kind", "name", "shown"),
    [
        ("hook", "PreToolUse:Bash", "PreToolUse"),
        ("hook", "SecretProject", "another event"),
        ("client", "todo_reminder", "todo_reminder"),
        ("client", "our plan for May", "unknown"),
        ("client", "w" * 64, "w" * 64),
        ("client", "w" * 65, "unknown"),
        ("tool_result", "Read", "Read"),
        ("tool_result", "mcp__acme__buy", "a tool of an MCP server"),
        ("tool_result", "AcmeTool", "another tool"),
        ("", "Stop", "Stop"),
    ],
)
def test_a_shared_page_names_only_what_everybody_has(kind: str, name: str, shown: str) -> None:
    """Nothing that anybody wrote."""
    assert pages.public_tool_name(kind, name) == shown


@pytest.mark.parametrize(
    ("name", "subject", "whole", "shared"),
    [
        ("Read", "/home/dev/shop/cart.py", "/home/dev/shop/cart.py", ".py"),
        ("Read", "/home/dev/plan.acme", "/home/dev/plan.acme", ""),
        ("Grep", "secret.py", "secret.py", ""),
        ("Bash", "git push acme", "git push acme", "git"),
        ("Bash", "acme-tool run", "acme-tool run", ""),
    ],
)
def test_of_a_shared_item_the_ending_or_a_common_program_is_shown(
    name: str, subject: str, whole: str, shared: str
) -> None:
    """One's own page shows all of it, as far as a line goes."""
    item = Item("tool_result", name, 10, subject)
    kind = "tool results"

    assert pages.label_of_item(item) == f"{kind}: {name} {whole}"
    assert pages.label_of_item(item, shared=True) == f"{kind}: {name} {shared}".rstrip()
    assert pages.label_of_item(item._replace(name="")) == kind


def test_a_long_name_and_a_long_subject_are_cut() -> None:
    """What just fits is whole."""
    name, subject = "n" * _NAME_CHARACTERS, "s" * _SUBJECT_CHARACTERS

    exact = pages.label_of_item(Item("tool_result", name, 10, subject))
    cut = pages.label_of_item(Item("tool_result", f"{name}n", 10, f"{subject}s"))

    assert exact.endswith(f": {name} {subject}")
    assert cut.endswith(f": {name[1:]}… {subject[1:]}…")


@pytest.mark.parametrize(
    ("model", "shared"),
    [
        ("claude-opus-4-1", "claude-opus-4-1"),
        ("claude-opus-4-1[1m]", "claude-opus-4-1[1m]"),
        ("acme-secret-7", ""),
        ("claude-Acme", ""),
    ],
)
def test_a_shared_page_hides_a_model_that_is_not_everybodys(
    session: SessionBuilder, home_dir: str, model: str, shared: str
) -> None:
    """The user's own page names it, and the project."""
    session.model = model
    session.reply(50_000)
    told = story.read_story(session.path, home_dir)

    own, redacted = [pages.session_page_values(told, shared=hides) for hides in (False, True)]

    assert (own["model"], redacted["model"]) == (model, shared)
    assert (own["project"], redacted["project"]) == (told.project, "")


def test_a_request_is_a_line_with_its_size_and_what_was_lost(
    session: SessionBuilder, home_dir: str
) -> None:
    """And its tier where there is one."""
    for tokens in (50_000, 60_000, 70_000):
        session.reply(tokens)
    session.compact(70_000)
    session.reply(9_000)
    told = story.read_story(session.path, home_dir)

    first, _, third, fourth = [
        pages.summary_line_of_request(moment, single=True) for moment in told.moments
    ]

    assert first.startswith("Request 1, ")
    assert first.endswith(": 50,000 tokens, 25% of the window")
    assert "; the forecast was " in third
    assert third.endswith(" more requests")
    assert fourth.endswith(": 9,000 tokens, 4% of the window; cache lost: compaction")


def test_what_a_hook_added_is_shown_with_its_words(session: SessionBuilder, home_dir: str) -> None:
    """At the request that was the first to carry it."""
    session.prompt("Go")
    session.reply(20_000)
    session.compact(20_000)
    for text in ("Always answer in French.", "[brimline card] What was said"):
        attached = {
            "type": "hook_additional_context",
            "hookName": "SessionStart",
            "content": [text],
        }
        session.row("attachment", attachment=attached)
    session.reply(9_000)
    session.reply(10_000)
    told = story.read_story(session.path, home_dir)

    texts = [text for _, text in pages.new_items_and_text_by_row(told, told.moments[1])]

    assert any("Always answer in French." in text for text in texts)
    assert not any(
        "French" in text for _, text in pages.new_items_and_text_by_row(told, told.moments[0])
    )
    own, shared = [pages.session_page_values(told, shared=hides) for hides in (False, True)]
    ((number, card),) = own["cards"]
    assert number == 2
    assert card.startswith("[brimline card] What was said")
    assert shared["cards"] == []


def test_a_page_lists_the_twelve_largest_items(session: SessionBuilder, home_dir: str) -> None:
    """And what was announced and refused, in the order of time."""
    for number in range(_TOP + 1):
        call = session.tool_call(20_000 + 1_000 * number, "Grep", pattern="p")
        session.tool_result(call, f"{number}\n" * 1_000)
    session.reply(40_000)
    told = story.read_story(session.path, home_dir)
    told.figures.messages = [Notice(at, "", tier, None, 9) for at, tier in ((3.0, 2), (1.0, 1))]
    tools = ((2.0, "PreToolUse", "mcp__x__y"), (0.5, "Stop", None))
    told.figures.blocks = [Notice(at, event, 1, tool, 9) for at, event, tool in tools]

    values = pages.session_page_values(told, shared=True)

    assert len(values["largest"]) == _TOP
    assert [text for _, text in values["notices"]] == [
        "Stop refused",
        "L1 announced",
        "a tool of an MCP server refused",
        "L2 announced",
    ]


def test_an_edit_is_shown_with_two_lines_around_it(session: SessionBuilder, home_dir: str) -> None:
    """Each of several edits of a file, below its name; what has another shape as it is."""
    around = "\n".join("abcdefg")
    edits = [{"old_string": around, "new_string": around.replace("d", "D")}, "no edit"]
    session.tool_call(20_000, "MultiEdit", file_path="/a.py", edits=edits)
    session.tool_call(21_000, "MultiEdit", file_path="/a.py", edits="none")
    session.reply(25_000)
    told = story.read_story(session.path, home_dir)

    _, first, second = [
        "\n".join(text for _, text in pages.new_items_and_text_by_row(told, moment))
        for moment in told.moments
    ]

    assert first == "/a.py\n@@ -2,5 +2,5 @@\n b\n c\n-d\n+D\n e\n f"
    assert '"edits": "none"' in second


@pytest.mark.parametrize(
    ("at", "told"),
    [(None, "unknown"), (0.0, "unknown"), (1_767_225_659.9, "2026-01-01 00:00Z")],
)
def test_a_report_has_times_to_the_minute_in_utc(at: float | None, told: str) -> None:
    """What has no time is unknown, on any page."""
    assert pages._local_or_utc_time_text(at, single=True) == told
    own = pages._local_or_utc_time_text(at)
    assert own == told if told == "unknown" else re.fullmatch(r"20\d\d-\d\d-\d\d \d\d:\d\d", own)


@pytest.mark.parametrize(
    ("part", "share"), [(-0.4, "0%"), (0.4, "0%"), (0.6, "1%"), (-1, "-1%"), (100, "100%")]
)
def test_a_share_is_whole_percents_and_nothing_has_no_sign(part: float, share: str) -> None:
    """Of a hundred."""
    assert filtered("percent", part, 100) == share


def test_a_session_that_runs_is_told_by_where_it_stands_and_another_by_how_it_ended(
    session: SessionBuilder, home_dir: str
) -> None:
    """In one sentence each."""
    session.reply(50_000)
    told = story.read_story(session.path, home_dir)
    lines = []
    for is_running in (True, False):
        told.is_running = is_running
        lines.append(pages.headline_sentence_of_story(told))

    document = told.now.document()
    assert lines == [wording.status_sentence(document), wording.last_status_sentence(document)]
    assert lines[0] != lines[1]


@pytest.mark.parametrize("are_final", [[True, True], [True, False]])
def test_a_cost_is_at_least_that_where_replies_were_recorded_in_part(
    session: SessionBuilder, home_dir: str, are_final: list[bool]
) -> None:
    """The client may have kept only the beginning of some; without a request there is none."""
    for _ in are_final:
        session.reply(50_000)
    told = story.read_story(session.path, home_dir)
    for moment, is_final in zip(told.moments, are_final, strict=True):
        moment.is_final = is_final
    spendings = spending.read_spendings(home_dir, [session.path])

    shown = pages.session_page_values(told, [], spendings)["cost"]

    assert shown.startswith("$" if all(are_final) else "at least $")
    assert pages.session_page_values(told)["cost"] is None


def test_the_chart_of_a_session_that_was_just_compacted_says_so_at_its_end(
    session: SessionBuilder, home_dir: str
) -> None:
    """Where the sentence above it has an estimate."""
    session.reply(30_000)
    session.reply(160_000)
    session.compact(161_000)

    shown = pages.session_page_values(story.read_story(session.path, home_dir))

    assert "estimated: no model request since the compaction" in shown["headline"]
    assert shown["columns"][-1][1].endswith("; compacted since")
    assert shown["plots"]["occupancy"][0].marks[-1].name == "compacted after request 2"


@pytest.mark.parametrize(
    ("trigger", "tokens", "why"),
    [
        ("auto", 168_000, "The client compacted by itself at 168,000 tokens: it does so from"),
        ("auto", 120_000, "The client compacted by itself at 120,000 tokens, earlier than"),
        ("manual", 120_000, "You asked for it at 120,000 tokens, 47,000 before it would"),
        ("other", 120_000, "The session's file does not say who asked for it at 120,000"),
    ],
)
def test_a_compaction_is_explained_in_words(
    session: SessionBuilder, home_dir: str, trigger: str, tokens: int, why: str
) -> None:
    """Who wanted it, and what the window was full of."""
    session.reply(20_000)
    session.tool_result(session.tool_call(30_000, command="cat big.log"), "line " * 60_000)
    session.reply(tokens)
    session.compact(tokens, trigger)
    session.reply(30_000)
    told = story.read_story(session.path, home_dir)

    (compaction,) = pages.session_page_values(told)["compactions"]

    assert compaction["why"].startswith(why)
    assert "of that: tool results; the largest item: Bash cat big.log, " in compaction["why"]
    (shared,) = pages.session_page_values(told, shared=True)["compactions"]
    assert "big.log" not in shared["why"]


@pytest.mark.parametrize(
    ("rows", "shown"), [(_MOST_ROWS, _MOST_ROWS), (_MOST_ROWS + 1, _MOST_ROWS)]
)
def test_of_a_request_sixty_rows_are_shown(
    session: SessionBuilder, home_dir: str, rows: int, shown: int
) -> None:
    """The first of them, the largest above."""
    for number in range(rows):
        session.prompt(f"wish {number:03} " + "word " * (number + 1))
    session.reply(50_000)
    told = story.read_story(session.path, home_dir)

    found = pages.new_items_and_text_by_row(told, told.moments[0])

    assert len(found) == shown
    assert found[0][1].startswith(f"wish {shown - 1:03}")
    sizes = [sum(item.tokens for item in items) for items, _ in found]
    assert sizes == sorted(sizes, reverse=True)


def test_a_page_holds_no_control_characters_but_tabs_and_lines() -> None:
    """Whatever the texts in it hold; marks of Markdown are left out where asked for."""
    page = pages.render_page("enter.html")
    marked = [filtered("unmarked", text) for text in ("## A *bold* `word`", "- one | two", "a-b")]

    assert "\x1b" not in page
    assert marked == ["A bold word", "one  two", "a-b"]
    assert page.lstrip().lower().startswith("<!doctype html>")
    assert len(filtered("line", "x" * (_CELL_CHARACTERS + 1))) == _CELL_CHARACTERS
    assert filtered("line", "x" * _CELL_CHARACTERS) == "x" * _CELL_CHARACTERS


@pytest.mark.parametrize("name", pages.template_environment().list_templates(["html"]))
def test_a_template_uses_only_filters_and_functions_that_exist(name: str) -> None:
    """A renamed one would answer with an error page."""
    environment = pages.template_environment()
    source = Path(str(environment.get_template(name).filename)).read_text(encoding="utf-8")
    tree = environment.parse(source)
    macros = environment.parse(_MACROS.read_text(encoding="utf-8")).find_all(nodes.Macro)

    used = {found.name for found in tree.find_all(nodes.Filter)}
    imported = {one for found in tree.find_all(nodes.FromImport) for one in found.names}
    own = {found.name for found in tree.find_all(nodes.Macro)}
    called = {
        call.node.name for call in tree.find_all(nodes.Call) if isinstance(call.node, nodes.Name)
    }

    assert used <= environment.filters.keys()
    assert imported <= {macro.name for macro in macros}
    assert called - imported - own <= environment.globals.keys()


def test_the_arguments_of_a_call_are_shown_as_given(session: SessionBuilder, home_dir: str) -> None:
    """One below the other, letters as they are."""
    session.prompt("go")
    session.tool_call(20_000, "Grep", pattern="größer", path="src")
    session.reply(25_000)
    told = story.read_story(session.path, home_dir)

    texts = [
        text for moment in told.moments for _, text in pages.new_items_and_text_by_row(told, moment)
    ]

    assert '{\n "pattern": "größer",\n "path": "src"\n}' in texts
