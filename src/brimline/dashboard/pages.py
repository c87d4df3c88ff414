"""The page of a session: what it shows, with texts and paths or without, and its templates."""

from __future__ import annotations

import difflib
import json
import os
import re
import time
from functools import cache
from typing import TYPE_CHECKING, Any, BinaryIO

from jinja2 import Environment, PackageLoader, StrictUndefined, pass_context

from brimline import output
from brimline.bulk import shell, stub
from brimline.carry import card, lost
from brimline.dashboard import chart
from brimline.fast import clock
from brimline.figures import aftermath, bill, lookback, subagents, totals
from brimline.gauge import window, wording
from brimline.gauge.composition import NAMES
from brimline.hooks.table import EVENTS
from brimline.transcript import clienttools, read, row

if TYPE_CHECKING:
    from collections.abc import Sequence

    from brimline.dashboard.story import Item, Moment, Story
    from brimline.figures.spending import Spending
    from brimline.figures.totals import Notice

_TOP = 12
_EDITED = ("old_string", "new_string")
_SUBJECT_CHARACTERS, _NAME_CHARACTERS = 80, 60
_CELL_CHARACTERS = 120
_MOST_ROWS = 60
# Everybody has such files; any other ending may say what somebody works on.
_ENDINGS = frozenset(
    """.bash .c .cc .cfg .conf .cpp .cs .css .csv .dart .diff .env .gif .go .gradle .h .hpp .html
    .ini .ipynb .java .jpg .js .json .jsonl .jsx .kt .less .lock .log .lua .m .md .mjs .mod .patch
    .pdf .php .pl .png .proto .py .pyi .r .rb .rs .rst .scala .scss .sh .sql .sum .svelte .svg
    .swift .tf .toml .ts .tsv .tsx .txt .vue .xml .yaml .yml .zsh""".split()  # noqa: SIM905
)
# The client's own; those of MCP servers and any other may name what somebody works with.
_TOOLS = frozenset(
    (
        *(*clienttools.FILE_TOOLS, *clienttools.ANSWERING, *clienttools.TERSE, "LS", "KillShell"),
        *("BashOutput", "ExitPlanMode", "EnterPlanMode", "AskUserQuestion", "SlashCommand"),
        *("TaskCreate", "TaskUpdate", "TaskList", "TaskGet", "TaskOutput", "TaskStop"),
        *("ToolSearch", "SendMessage", "LSP", "Monitor"),
    )
)
# As the service demands it of the names of tools, and the client writes its own words.
_MODEL = re.compile(r"claude-[a-z0-9.-]{1,40}(\[1m\])?")
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
# Of one text; a page is to be read, and `brimline store get` has the rest.
MOST_CHARACTERS = 60_000
# What Markdown puts before and around words.
_MARKS = re.compile(r"^[\s#>+*|-]+|[*`|]+")


@cache
def template_environment() -> Environment:
    """The templates; everything that they print is escaped."""
    files = PackageLoader("brimline.dashboard")
    made = Environment(loader=files, autoescape=True, undefined=StrictUndefined)
    made.filters |= {
        "n": lambda value: "–" if value is None else f"{value:,}",
        "short": wording.short_token_count_text,
        "percent": _percent_text,
        "when": pass_context(_date_time_text),
        "clock": pass_context(
            lambda context, timestamp: _date_time_text(context, clock.parse_utc(timestamp))
        ),
        "model": bill.short_model_name,
        "price": bill.row_dollars_text,
        "unmarked": lambda text: _MARKS.sub("", str(text)),
        "line": lambda text, most=_CELL_CHARACTERS: output.one_line(text, most),
        "size": output.size_text,
        "ending": window.word_for_ending,
        "count": lambda number, noun, nouns="": (
            f"{number:,} {nouns}" if nouns and number != 1 else output.count_text(number, noun)
        ),
        "money": lambda dollars: "–" if dollars is None else bill.format_dollars(dollars),
        "folder": lambda path: os.path.basename((path or "unknown").rstrip("/")) or "/",
        "folders": output.folder_names,
        "account": aftermath.short_account,
        "duration": output.duration_text,
        "reference": stub.first_reference_in,
    }
    made.globals |= {
        "label_of_item": label_of_item,
        "public_tool_name": public_tool_name,
        "names": NAMES,
    }
    made.globals["loss_text"] = lost.lines_of_one_loss
    made.globals["most_characters"] = MOST_CHARACTERS
    return made


def _percent_text(part: float | None, whole: float | None) -> str:
    """A share, in which nothing is as little as less than nothing."""
    return f"{round(part / whole, 2) + 0:.0%}" if whole and part is not None else "–"


def _date_time_text(context: Any, at: float | None) -> str:
    return _local_or_utc_time_text(at, single=context.get("single", False))


def _local_or_utc_time_text(at: float | None, *, single: bool = False) -> str:
    """A time of this machine, to the minute; a report, which others read elsewhere, has UTC."""
    if not at:
        return "unknown"
    if single:
        return output.utc_minute_text(clock.format_utc(at))
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at))


def render_page(template: str, **values: Any) -> str:
    """A page without control characters but tabs, whatever the texts in it hold.

    How wide a tab is depends on the text before it, not on the marks of the page: the style says.
    """
    page = template_environment().get_template(template).render(**values)
    return "\t".join(map(output.without_control_characters, page.split("\t")))


def session_page_values(
    story: Story,
    user_models: Sequence[dict[str, Any]] = (),
    spendings: Sequence[Spending] = (),
    *,
    shared: bool = False,
    single: bool = False,
) -> dict[str, Any]:
    """All that the page of a session shows; of one that is shared, what everybody may know.

    A single file may be read anywhere, so that its times are in UTC.
    """
    shown, model = chart.fullest_moment_per_column(story.moments), story.most_used_model
    return {
        "story": story,
        "project": "" if shared else story.project or "unknown",
        "model": model if not shared or _MODEL.fullmatch(model) else "",
        "shared": shared,
        "single": single,
        "headline": headline_sentence_of_story(story),
        "cost": _cost_text(story, spendings, user_models),
        "subagents": _subagents(story, spendings, user_models, shared=shared),
        "plots": _session_plots(story, shown),
        "columns": _columns(story, shown, single=single),
        "largest": largest_items_and_their_requests(story, _TOP),
        "notices": _announcements_and_refusals(story),
        "offloads": [one for one in story.events if one["event"] in ("Offloaded", "Recalled")],
        "gateway": totals.most_saved_and_all_rewritten(story.events),
        "cards": [] if shared else _cards_after_compactions(story),
        "compactions": _compactions_with_costs_and_losses(story, user_models, shared=shared),
    }


def _cost_text(
    story: Story, spendings: Sequence[Spending], user_models: Sequence[dict[str, Any]]
) -> str | None:
    """What it cost, `at least` that where the client recorded only the beginning of replies."""
    own = [each for each in spendings if each.session_id == story.session_id]
    rows = bill.bill_rows_by_group(own, (), user_models)
    cost = bill.row_dollars_text(rows[0]) if rows else None
    is_partial = cost and "$" in cost and not all(moment.is_final for moment in story.moments)
    return f"at least {cost}" if is_partial else cost


def _subagents(
    story: Story,
    spendings: Sequence[Spending],
    user_models: Sequence[dict[str, Any]],
    *,
    shared: bool,
) -> list[dict[str, Any]]:
    """Its subagents; where others read it, by numbers, and without what they were for."""
    rows = subagents.document(spendings, story.path, user_models)
    for number, each in enumerate(rows if shared else (), 1):
        known = each["model"] if _MODEL.fullmatch(each["model"]) else "unknown"
        each.update(agent=str(number), about="", model=known, is_running=False)
    return rows


def _columns(story: Story, shown: list[Moment], *, single: bool) -> list[list[Any]]:
    """What each column of the charts tells to who points at it."""
    columns = [[one.number, summary_line_of_request(one, single=single)] for one in shown]
    if shown and len(story.compactions) > shown[-1].segment:
        columns[-1][1] = f"{columns[-1][1]}; compacted since"
    return columns


def _session_plots(story: Story, shown: list[Moment]) -> dict[str, list[chart.Plot]]:
    return {
        "occupancy": [chart.occupancy_plot(story, shown, size) for size in chart.SIZES],
        "forecast": [chart.forecast_plot(shown, size) for size in chart.LOW_SIZES],
        "cache": [chart.cache_plot(shown, size) for size in chart.LOW_SIZES],
    }


def _compactions_with_costs_and_losses(
    story: Story, user_models: Sequence[dict[str, Any]], *, shared: bool
) -> list[dict[str, Any]]:
    """The session's compactions with what each cost and, unless texts are to stay out, lost."""
    compactions = lookback.compaction_documents(story.session_id, story.figures)
    aftermath.fill_in_dollars(compactions, user_models)
    if compactions and not shared:
        aftermath.fill_in_what_summary_lost(compactions, story.path)
    in_file = {recorded.uuid: number for number, recorded in enumerate(story.compactions)}
    for each, of_story in zip(compactions, story.figures.compactions, strict=True):
        each["at"] = of_story.at
        each["why"] = _why_compacted(story, each, in_file.get(each["uuid"]), shared=shared)
        if each["account"] and each["uuid"] not in in_file:
            each["account"] += "; undone since"
    return compactions


def _why_compacted(
    story: Story, compaction: dict[str, Any], number: int | None, *, shared: bool
) -> str:
    """Say why a compaction came, by the last request before it; empty where that is not known."""
    moments = [moment for moment in story.moments if moment.segment == number]
    if not moments:
        return ""
    last = moments[-1]
    items = [item for moment in moments for item in moment.items if item.kind != "floor"]
    most = max(items, key=lambda item: item.tokens, default=None)
    label = label_of_item(most, shared=shared) if most else ""
    largest = most and (label.partition(": ")[2] or label, most.tokens)
    return aftermath.why_text(compaction, last.reading.compaction.tokens, last.parts, largest)


def headline_sentence_of_story(story: Story) -> str:
    """Where it stands, in a sentence."""
    document = story.now.document()
    return (
        wording.status_sentence(document)
        if story.is_running
        else wording.last_status_sentence(document)
    )


def summary_line_of_request(moment: Moment, *, single: bool = False) -> str:
    """One request in a line, for who points at it."""
    when = _local_or_utc_time_text(moment.at, single=single)
    text = f"Request {moment.number}, {when}: {moment.tokens:,} tokens"
    text += f", {moment.tokens / moment.reading.window.tokens:.0%} of the window"
    text += f"; L{moment.reading.tier}" if moment.reading.tier else ""
    if moment.outlook and moment.outlook.high:
        low, high = moment.outlook.low, moment.outlook.high
        text += f"; the forecast was {low:,} to {high:,} more requests"
    return text + (f"; cache lost: {moment.broke.cause}" if moment.broke else "")


def new_items_and_text_by_row(story: Story, moment: Moment) -> list[tuple[list[Item], str]]:
    """Return what a request was the first to carry, with the texts, as they stand in the file.

    Raises:
        OSError: the file cannot be read.
    """
    by_row: dict[int, list[Item]] = {}
    for item in moment.items:
        by_row.setdefault(item.offset, []).append(item)
    by_row.pop(-1, None)
    with read.open_transcript_file(story.path) as file:
        found = [(by_row[at], row_text_at(file, at)) for at in sorted(by_row)[:_MOST_ROWS]]
    return sorted(found, key=lambda row: -sum(item.tokens for item in row[0]))


def row_text_at(file: BinaryIO, offset: int) -> str:
    """Return what the row that stands there says."""
    file.seek(offset)
    line = next(read.lines_of_stream(file), None)
    records = line.records if line else ()
    return "\n\n".join([text for record in records for text in _texts_of_row(record.value)])


def _texts_of_row(value: dict[str, Any]) -> list[str]:
    """The words of a row that the model gets."""
    if attached := row.attachment_of(value):
        return row.all_texts_in(row.rendered_attachment(value) or attached)
    said = [*row.thinking_texts(value), *row.content_texts(row.blocks_sent_to_model(value))]
    said += [_arguments_text(call.name, call.arguments) for call in row.main_thread_calls(value)]
    return [*said, *[one.text for one in row.main_thread_results(value)]]


def _arguments_text(tool: str, arguments: dict[str, Any]) -> str:
    """The arguments of a call; of an edit, what it changes."""
    edits = arguments.get("edits") if tool == "MultiEdit" else [arguments]
    if tool not in ("Edit", "MultiEdit") or not isinstance(edits, list):
        return json.dumps(arguments, indent=1, ensure_ascii=False)
    lines = [clienttools.file_of_call(arguments)]
    for edit in edits:
        texts = [edit.get(name) if isinstance(edit, dict) else None for name in _EDITED]
        before, after = (text.split("\n") if isinstance(text, str) else [] for text in texts)
        lines += list(difflib.unified_diff(before, after, lineterm="", n=2))[2:]
    return "\n".join(lines)


def label_of_item(item: Item, *, shared: bool = False) -> str:
    """What an item is about: of a shared one the ending of a file or a common program, no more."""
    name, subject = item.name, item.subject
    if shared:
        ending = os.path.splitext(subject)[1] if name in clienttools.FILE_TOOLS else ""
        subject = ending if ending in _ENDINGS else ""
        subject = shell.main_program_if_known(item.subject) if name == "Bash" else subject
        name = name and public_tool_name(item.kind, name)
    subject = output.one_line(output.subject_as_path_or_text(name, subject), _SUBJECT_CHARACTERS)
    told = f": {output.one_line(name, _NAME_CHARACTERS)} {subject}".rstrip() if name else ""
    return f"{NAMES[item.kind]}{told}"


def public_tool_name(kind: str, name: str) -> str:
    """A tool, an event or the client's word for what it attached: nothing that anybody wrote."""
    if kind == "hook":
        event = name.partition(":")[0]
        return event if event in EVENTS else "another event"
    if kind == "client":
        return name if _WORD.fullmatch(name) else "unknown"
    if name.startswith(clienttools.MCP_PREFIX):
        return "a tool of an MCP server"
    return name if name in _TOOLS or name in EVENTS else "another tool"


def _cards_after_compactions(story: Story) -> list[tuple[int, str]]:
    """The first request after each compaction, with the card that it got."""
    firsts = {moment.segment: moment for moment in reversed(story.moments) if moment.segment}
    cards = []
    with read.open_transcript_file(story.path) as file:
        for moment in reversed(firsts.values()):
            for offset in sorted(
                {item.offset for item in moment.items if item.kind == "hook"} - {-1}
            ):
                _, mark, text = row_text_at(file, offset).partition(card.MARK)
                cards += [(moment.number, mark + text)] * bool(mark)
    return cards


def largest_items_and_their_requests(story: Story, most: int) -> list[tuple[int, Item]]:
    """The largest items of all requests, each with the number of its request."""
    every = [(one.number, item) for one in story.moments for item in one.items]
    return sorted(every, key=lambda row: -row[1].tokens)[:most]


def _announcements_and_refusals(story: Story) -> list[tuple[Notice, str]]:
    said = [(one, f"L{one.tier} announced") for one in story.figures.messages]
    refused = [(one, public_tool_name("", one.tool or one.event)) for one in story.figures.blocks]
    said += [(one, f"{name} refused") for one, name in refused]
    return sorted(said, key=lambda row: row[0].at)
