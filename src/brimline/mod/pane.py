"""The pane beside a session: how its window filled, what it holds, what was moved out.

The rows are made here, coloured pieces of text that the mod draws as they are. Every figure and
most words are those of `status`, `status --composition` and `history`.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from brimline import output
from brimline.fast import paths, policy
from brimline.figures import history, lookback, savings, spending, store, subagents
from brimline.gauge import composition_text, reading, window, wording
from brimline.gauge.context import ContextReader
from brimline.settings import config
from brimline.state.session import SessionState
from brimline.transcript.typed import Session

if TYPE_CHECKING:
    from brimline.figures.totals import Compaction

    # Texts and their styles: a colour, `bold`, `dim`, or none.
    Row = list[tuple[str, str]]

_LEAST_ROWS, _MOST_ROWS = 3, 8
_LABEL, _WIDEST_BAR = 6, 4
# A brim that is further away would flatten the bars.
_FAR = 3
# The columns of what stands beside the bars in a pane that is wide and low, and of the bars there.
_PARTS, _LEAST_COLUMNS = 50, 24
# The rows of what the window holds at the least, and the smallest share of it that has one.
_LEAST_PARTS, _LEAST_SHARE = 5, 0.001
_BLANK: Row = [("", "")]


def respond(request: dict[str, Any], home_dir: str) -> dict[str, Any]:
    """Return the rows of the pane, and whether there will be more to say in a moment.

    Args:
        request: what the mod sends: session, folder, and the `columns` and `rows` of the pane.
        home_dir: the data folder.

    Raises:
        KeyError: it has another shape.
        OSError, StateError: what is kept of the session cannot be read.
    """
    session = request["session"]
    path = paths.transcript_of_session(session)
    with output.temporary_terminal_columns(request["columns"]):
        if not path:
            return {"rows": _rows_of_text_lines(output.wrapped_text(wording.status_sentence(None)))}
        return _answer_for_session(path, SessionState(home_dir, session), request, home_dir)


def _answer_for_session(
    path: str, state: SessionState, request: dict[str, Any], home_dir: str
) -> dict[str, Any]:
    settings = policy.load(home_dir, request["cwd"])
    session, context = Session(), ContextReader()
    for found in session.rows_of(path):
        context.read_row(found)
    now = reading.measure_session(path, state, settings, requests=reading.HISTORY_REQUESTS)
    closed = context.close()
    now.estimated_tokens = closed.tokens_after_compaction
    pairs = _occupancy_pairs(now) + _savings_compaction_pairs(state.session_id, path, home_dir, now)
    pairs += _running_subagents_pairs(path, home_dir)
    head, tokens = _rows_of_text_lines(output.name_value_text(pairs)), _request_tokens(session, now)
    report = composition_text.composition_document(closed.composed)
    is_compacted = now.occupancy_tokens is None
    if is_compacted:  # what the file tells may be from before that
        report["parts"] = []
    columns, room = output.terminal_columns(), request["rows"] - len(head) - 1
    if columns < _PARTS + _LEAST_COLUMNS:
        parts = _rows_of_context_parts(report, room - _LEAST_ROWS - 4)
        chart = _draw_chart(tokens, now, (columns, room - len(parts) - 1))
        body = [*chart, _BLANK, *parts]
    else:
        with output.temporary_terminal_columns(_PARTS):
            parts = _rows_of_context_parts(report, room)
        left = columns - _PARTS
        body = _put_side_by_side(_draw_chart(tokens, now, (left - 2, room)), parts, left)
    is_behind = is_compacted and bool(session.occupancies_since_compaction)
    return {"rows": [*head, _BLANK, *body], "is_behind": is_behind}


def _put_side_by_side(left: list[Row], right: list[Row], columns: int) -> list[Row]:
    """Put rows beside each other, the second ones behind so many columns."""
    nothing: Row = []
    rows = []
    for row, other in itertools.zip_longest(left, right, fillvalue=nothing):
        blanks = columns - sum(len(text) for text, _ in row)
        rows.append([*row, (" " * blanks, ""), *other])
    return rows


def _occupancy_pairs(now: reading.Reading) -> list[tuple[str, str]]:
    """Say where the session stands, in the words of `status`."""
    document = now.document()
    if now.occupancy_tokens is None:
        return [("in use", wording.not_measured_text(document))]
    tier = f", tier {wording.tier_text(document)}" if now.tier else ""
    pairs = [
        ("in use", f"{wording.in_use_text(document)} ({wording.used_share_text(document)}){tier}"),
        ("next request", wording.next_request_text(document)),
        ("the brim", f"{wording.ending_at_text(document)}, {wording.margin_left_text(document)}"),
        ("forecast", wording.requests_left_text(document)),
    ]
    return [pair for pair in pairs if pair[1]]


def _savings_compaction_pairs(
    session: str, path: str, home_dir: str, now: reading.Reading
) -> list[tuple[str, str]]:
    """Say what was kept out of the window as it arrived, if any, and how it was compacted last."""
    saved = savings.document(home_dir, [session])
    has_saved = saved["references"] or saved["gateway_tokens"]
    pairs = [("kept out", lookback.kept_out_text(saved))] if has_saved else []
    with store.opened(home_dir) as figures:
        compactions_made = history.read_session(figures, session, [path]).figures.compactions
    return pairs + [
        ("compacted", _last_compaction_text(last, now)) for last in compactions_made[-1:]
    ]


def _running_subagents_pairs(path: str, home_dir: str) -> list[tuple[str, str]]:
    """Say which subagents run, each with its window and its cost, if any does."""
    files = spending.files_of_session(path)
    if not any(map(subagents.is_written_now, files[1:])):
        return []
    own = config.user_model_rows(home_dir)
    rows = subagents.document(spending.read_spendings(home_dir, files, own), path, own)
    return [("subagents", subagents.running_text(rows))]


def _last_compaction_text(last: Compaction, now: reading.Reading) -> str:
    """Say what a compaction did; what the next request will take is not known before it.

    Until then the client's own figure counts messages alone, as no other figure does.
    """
    if last.moved_out is None:
        how = "by a summary"
        if last.summary_characters is not None:
            how += f" of {last.summary_characters:,} characters"
    else:
        how = f"without a model, {output.count_text(last.moved_out, 'result')} moved out"
    if last.pre_tokens is None:
        return how
    is_known = now.occupancy_tokens is not None and last.post_tokens is not None
    after = f" to {last.post_tokens:,}" if is_known else ""
    return f"from {last.pre_tokens:,}{after} tokens, {how}"


def _request_tokens(session: Session, now: reading.Reading) -> list[int]:
    """Return the tokens of each request; the client may know one that is not in the file yet."""
    tokens = [request.tokens for request in session.requests]
    is_newer = now.measured_by not in (None, "transcript")
    if is_newer and now.occupancy_tokens is not None and tokens[-1:] != [now.occupancy_tokens]:
        tokens.append(now.occupancy_tokens)
    return tokens


def _draw_chart(tokens: list[int], now: reading.Reading, size: tuple[int, int]) -> list[Row]:
    """Draw a bar for each request, in the colour of the tier that its size is in, up to the brim.

    Where there are more requests than columns, a bar is the largest of several.
    """
    if not tokens:
        return []
    columns = max(1, size[0] - _LABEL)
    shown = output.group_peaks(tokens, columns)
    wide = min(_WIDEST_BAR, columns // len(shown))
    cells = [value for value in shown for _ in range(wide)]
    brim, peak = now.compaction.tokens, max(tokens)
    if brim > _FAR * peak:
        far = f"{window.word_for_ending(now.compaction.ending)}, at {brim:,}, is far above"
        top, rows = peak, [[(f"How it filled; {far}", "bold")]]
    else:
        edge = f"{wording.short_token_count_text(brim):>{_LABEL - 1}} {'┄' * columns}"
        top, rows = brim, [[("How it filled", "bold")], [(edge, "dim")]]
    colours = [wording.tier_colour(now.ladder.tier_at(value), now.tier_count) for value in cells]
    if now.tier is not None:  # what came since the last request may have lifted its tier
        last = wording.tier_colour(now.tier, now.tier_count)
        colours[-wide:] = [last] * wide
    height = min(_MOST_ROWS, max(_LEAST_ROWS, size[1] - len(rows) - 1))
    rows += [
        [(_axis_label_of_row(at, height, top), "dim"), *_split_bars_by_colour(line, colours)]
        for at, line in enumerate(output.vertical_bar_rows(cells, top, height))
    ]
    return [*rows, [(f"{'':{_LABEL}}{_axis_of_request_numbers(len(tokens), len(cells))}", "dim")]]


def _axis_label_of_row(at: int, height: int, top: int) -> str:
    """Name the row that is half as high as all of them, and the lowest one."""
    half = top * (height - height // 2) // height
    text = {height // 2: wording.short_token_count_text(half), height - 1: "0"}
    return f"{text.get(at, ''):>{_LABEL - 1}} "


def _split_bars_by_colour(line: str, colours: list[str]) -> Row:
    """Cut a row of bars where the colour changes."""
    cells = zip(colours, line, strict=True)
    groups = itertools.groupby(cells, key=lambda cell: cell[0])
    return [("".join(mark for _, mark in group), colour) for colour, group in groups]


def _axis_of_request_numbers(count: int, cells: int) -> str:
    """Number the first and the last request below their bars."""
    last = str(count)
    return "1" if count == 1 else f"1{last:>{max(cells - 1, len(last) + 1)}}"


def _rows_of_context_parts(report: dict[str, Any], room: int) -> list[Row]:
    """Say what the last request consisted of, largest first, as `status --composition` does.

    What has next to no share is left out; what there is no room for is one row with its sum.
    """
    if not report["parts"]:
        return []
    least = _LEAST_SHARE * report["occupancy_tokens"]
    parts, tools = (
        [part for part in report[key] if abs(part["tokens"]) >= least]
        for key in ("parts", "tool_results_by_tool")
    )
    del tools[composition_text.SHOWN_TOOLS :]
    _merge_last_parts(parts, tools, max(_LEAST_PARTS, room) - 1)
    shown = report | {"parts": parts, "tool_results_by_tool": tools}
    title: Row = [(f"What the {report['occupancy_tokens']:,} tokens are", "bold")]
    return [title, *_rows_of_text_lines("\n".join(composition_text.part_lines(shown)))]


def _merge_last_parts(parts: list[dict[str, Any]], tools: list[dict[str, Any]], rows: int) -> None:
    """Put the last parts into one where they need more rows; tools stand below their results."""
    hidden: list[dict[str, Any]] = []
    while len(parts) + len(tools) + bool(hidden) > rows:
        is_tool = tools and parts[-1]["kind"] == "tool_result"
        hidden.append(tools.pop() | {"tokens": 0} if is_tool else parts.pop())
    if hidden:
        name = f"{len(hidden)} more (status --composition)"
        parts.append({"kind": "", "name": name, "tokens": sum(part["tokens"] for part in hidden)})


def _rows_of_text_lines(text: str) -> list[Row]:
    return [[(output.without_control_characters(line), "")] for line in text.split("\n")]
