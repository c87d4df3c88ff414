"""The tools `recall` and `recall_elsewhere`: one stored output by its key, or what a query finds.

The first serves the project of the session that asks, whatever the arguments are. The client shows
an answer of up to 50,000 characters, and puts a longer one into a file; so content comes in pages.
"""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from brimline.bulk import contents, layout
from brimline.errors import StoreError
from brimline.fast import clock
from brimline.foreign import flatten
from brimline.mcp import remembered
from brimline.output import utc_minute_text
from brimline.recall import stored
from brimline.session import originals

if TYPE_CHECKING:
    from collections.abc import Iterable

    from brimline.recall.record import Hit
    from brimline.transcript.project import Project

BUDGET_S = 4.0
_AROUND = " `'\"[]()"
_LONGEST_KEY = 80
_LINE_CHARACTERS = 600
_HIT_CHARACTERS = 240
_TOLD_CHARACTERS = 80
_SOURCE_CHARACTERS = 60
_HITS_PER_ANSWER, _MOST_HITS = 10, 20
_LINES_PER_HIT = 5
_LATEST = 1e11  # what is later is no time
_NO_UTF8 = r"; bytes that are not UTF-8 are shown as \xNN"

# With the first line; the rest of the way to the client's limit is for its own additions.
LARGEST_CHARACTERS = 30_000
_FRAME_CHARACTERS = 1_000
ROOM = LARGEST_CHARACTERS - _FRAME_CHARACTERS
# What a query finds takes 2,000 tokens at most, of 2.2 characters each where a text packs badly.
SEARCH_ROOM = 4_000


class Asked(NamedTuple):
    """What a call asks for; empty is not asked for."""

    key: str = ""
    query: str = ""
    lines: str = ""


def answer(
    home_dir: str, project_dir: str, within: Project | None, arguments: dict[str, Any]
) -> str:
    """The text for the model.

    Args:
        home_dir: the data folder.
        project_dir: whose settings hold.
        within: the project that is served; None: all are.
        arguments: of the call.

    Raises:
        StoreError: the arguments are wrong, or what is asked for cannot be had.
    """
    call = _parse_arguments(arguments)
    layout.refuse_newer_format(home_dir)
    if not call.key:
        return _search_said_and_stored(home_dir, project_dir, within, call)
    if said := remembered.KEY.fullmatch(call.key.strip(_AROUND)):
        return remembered.entry_text(home_dir, int(said[1]), within)
    key = _resolve_key(home_dir, call.key.strip(_AROUND).rstrip(".…"))
    meta = contents.read_sidecar(home_dir, key)
    if within:
        stored.refuse_other_projects(home_dir, within, key, meta)
    return _stored_output_text(home_dir, key, meta, call)


def _parse_arguments(arguments: dict[str, Any]) -> Asked:
    unset = Asked()._asdict()
    fields = {name: value for name, value in arguments.items() if value is not None}
    if type(fields.get("lines")) is int:
        fields["lines"] = str(fields["lines"])  # a single line
    for name, value in fields.items():
        if name not in unset:
            raise StoreError(f"recall takes {', '.join(unset)}, not {name[:40]!r}")
        if not isinstance(value, str):
            raise StoreError(f"{name} must be a text")
    call = Asked(**{name: value for name, value in fields.items() if str(value).strip()})
    if not call.key and not call.query:
        raise StoreError("give key, of one stored output, or query, to find some")
    return call


def _resolve_key(home_dir: str, text: str) -> str:
    if text == contents.LAST or len(text) > _LONGEST_KEY:
        raise StoreError(f"{text[:_LONGEST_KEY]!r} is not a key: give sha256: and its digits")
    try:
        return contents.resolve_key(home_dir, text)
    except StoreError:
        if originals.put_back_into_store(home_dir, text):
            return contents.resolve_key(home_dir, text)
        raise


def _stored_output_text(home_dir: str, key: str, meta: dict[str, Any], call: Asked) -> str:
    data = contents.read_content(home_dir, key)
    name = _key_and_origin_text(key, meta)
    if stored.is_binary(data):
        remedy = f"for the user: `brimline store get {layout.shorten_key(key)} > FILE` saves it"
        return f"[brimline recall {name}: binary, {len(data):,} bytes, not shown; {remedy}]"
    lines = contents.byte_lines_without_breaks(data)
    if not lines:
        return f"[brimline recall {name}: empty]"
    span = contents.parse_range(call.lines or "1:", len(lines))
    if call.query:
        return _matching_lines_text(name, lines, span, call.query)
    page = page_of_lines_that_fit(lines, span)
    note = "" if data.decode("utf-8", "ignore").encode() == data else _NO_UTF8
    return f"[brimline recall {name}: {_extent_text(page, span, len(lines))}{note}]\n{page.text}"


def _extent_text(page: Page, span: contents.Span, count: int) -> str:
    """Tell which lines are shown of how many, and how to ask for the next."""
    following = f'; next: lines="{page.rest}"' if page.rest else ""
    if page.part:
        first, last, length = page.part
        shown = f"characters {first:,}-{last:,} of {length:,}"
        return f"line {span.first:,} of {count:,}, {shown}{following}"
    if (span.first, page.last, span.skipped) == (1, count, 0):
        return f"all {count:,} lines" if count > 1 else "its only line"
    return f"lines {span.first:,}-{page.last:,} of {count:,}{following}"


def _matching_lines_text(name: str, lines: list[bytes], span: contents.Span, query: str) -> str:
    """The lines of one output that hold the words, as many as fit."""
    texts = [decode_line(line) for line in lines[span.first - 1 : span.last]]
    wanted = stored.parse_terms(query)
    fitting = sorted(stored.indices_of_lines_with_terms(texts, wanted))
    shown = _rows_that_fit(
        f"{at + span.first}: {stored.clip_line_around_term(texts[at], wanted, _LINE_CHARACTERS)}"
        for at in fitting
    )
    following = ""
    if len(shown) < len(fitting):
        following = f'; next: lines="{fitting[len(shown)] + span.first}:{span.last}"'
    words = repr(flatten(query, _TOLD_CHARACTERS))
    of = f"{len(lines):,} lines"
    if len(texts) < len(lines):
        of = f"lines {span.first:,}-{span.last:,} (of {len(lines):,})"
    head = f"[brimline recall {name}: {len(fitting):,} of {of} hold {words}{following}]"
    return "\n".join([head, *shown])


def _search_said_and_stored(
    home_dir: str, project_dir: str, within: Project | None, asked: Asked
) -> str:
    """Return what a query finds: what was said, and stored outputs."""
    said = ""
    if not asked.lines:  # those are for more of the outputs
        room = SEARCH_ROOM // 2
        said = remembered.search_as_text(home_dir, project_dir, asked.query, room, within)
    try:
        outputs = _search_outputs_as_text(home_dir, within, asked, SEARCH_ROOM - len(said))
    except StoreError as error:
        if not said:
            raise
        return f"{said}\n[stored outputs were not searched: {error}]"
    return f"{said}\n{outputs}" if said and "\n" in outputs else said or outputs


def _search_outputs_as_text(home_dir: str, within: Project | None, asked: Asked, room: int) -> str:
    """Stored outputs that a query finds, each with the lines that fit."""

    def choose_hits_to_show(count: int) -> contents.Span:
        span = contents.parse_range(asked.lines or f"1:{_HITS_PER_ANSWER}", count, "hit")
        return span._replace(last=min(span.last, span.first + _MOST_HITS - 1))

    until = time.monotonic() + BUDGET_S
    if within and within.session:
        _take_in_originals_of_session(home_dir, within.session, asked.query)
    result = stored.find_outputs(home_dir, asked.query, within, choose_hits_to_show, until=until)
    words = repr(flatten(asked.query, _TOLD_CHARACTERS))
    if not result.states and not result.pending:
        whose = " of this project" if within else ""
        return f"[brimline recall: no output{whose} is stored yet]"
    if not result.total:
        first = f"[brimline recall: none of {len(result.states):,} stored outputs holds {words}]"
        return "\n".join([first, *_lines_on_what_not_searched(result)])
    wanted = stored.parse_terms(asked.query)
    numbered = enumerate(result.hits, result.span.first)
    texts = (f"{number}. {_stored_hit_text(hit, home_dir, wanted)}" for number, hit in numbered)
    blocks = _rows_that_fit(texts, room)
    last, total = result.span.first + len(blocks) - 1, result.total
    rest = f'; next: lines="{last + 1}:{min(last + _HITS_PER_ANSWER, total)}"'
    how = "that hold" if result.all_words else "that hold some of (none holds all)"
    shown = f"hits {result.span.first:,}-{last:,} of {total:,} {how} {words}"
    shown += rest if last < total else ""
    return "\n".join([f"[brimline recall: {shown}]", *blocks, *_lines_on_what_not_searched(result)])


def _take_in_originals_of_session(home_dir: str, session_id: str, query: str) -> None:
    """Let the search find what this session's requests have no more, and nobody stored."""
    parts = [stored.folded_text(term) for term in stored.parse_terms(query)]

    def count_fitting(text: str) -> int:
        folded = stored.folded_text(text)
        return sum(part in folded for part in parts)

    with contextlib.suppress(OSError):  # what is stored is found all the same
        originals.store_unsent_results_fitting(home_dir, session_id, count_fitting)


def _rows_that_fit(rows: Iterable[str], room: int = ROOM) -> list[str]:
    """The first rows, as many as one answer has room for; a search shows one at least."""
    shown = list[str]()
    for row in rows:
        room -= characters_as_client_counts(row) + 1
        if room < 0 and (shown or characters_as_client_counts(row) > ROOM):
            break
        shown.append(row)
    return shown


def _stored_hit_text(hit: Hit, home_dir: str, wanted: list[str]) -> str:
    key = layout.PREFIX + hit.id
    described = contents.read_sidecar(home_dir, key)
    parts, made = [_key_and_origin_text(key, described)], described.get("created")
    if isinstance(made, int | float) and 0 < made < _LATEST:
        parts.append(utc_minute_text(clock.format_utc(made)))
    if isinstance(described.get("lines"), int):
        parts.append(f"{described['lines']:,} lines")
    # The search knows words by their stems; lines are found by the words as they are written.
    fitting = stored.lines_with_terms(hit.record.text, wanted, _HIT_CHARACTERS)
    shown = fitting[:_LINES_PER_HIT] or [flatten(hit.snippet, 2 * _HIT_CHARACTERS)]
    rest = [f"and {len(fitting) - len(shown):,} more"] if len(fitting) > len(shown) else []
    return "\n   ".join([", ".join(parts), *filter(None, shown), *rest])


def _lines_on_what_not_searched(result: stored.Found) -> list[str]:
    """Return what was not searched."""
    cases = (
        (result.pending, "were not searched for lack of time: ask again, the search goes on"),
        (result.states.count(stored.BINARY), "are binary and were not searched"),
        (result.states.count(stored.HEAD), "are large: only the first 200 kB were searched"),
        (result.states.count(stored.TITLE), "are so old that only their commands were searched"),
        (result.states.count(stored.DAMAGED), "are damaged or cannot be read here"),
    )
    return [f"Stored outputs that {what}: {count:,}." for count, what in cases if count]


def _key_and_origin_text(key: str, described: dict[str, Any]) -> str:
    """A key with where its content comes from."""
    tool, source, code = described.get("tool"), described.get("source"), described.get("exit")
    parts = [flatten(tool, _SOURCE_CHARACTERS)] if isinstance(tool, str) else []
    if isinstance(source, str):
        shown = flatten(source, _SOURCE_CHARACTERS, keep_end=source.startswith("/"))
        parts.append('"' + shown.replace('"', "'") + '"')
    if isinstance(code, int):
        parts.append(f"exit {code}")
    return f"{layout.shorten_key(key)} ({' '.join(parts)})" if parts else layout.shorten_key(key)


class Page(NamedTuple):
    """As much as fits into one answer."""

    text: str
    last: int
    """The last line that is shown, whole or in part."""
    rest: str = ""
    """What to ask for next; empty where all is shown."""
    part: tuple[int, int, int] | None = None
    """Of a line too long for one answer: the first and last character shown, and its length."""


def page_of_lines_that_fit(lines: list[bytes], asked: contents.Span, room: int = ROOM) -> Page:
    """The lines of a span, as many as fit; the first one is cut where it alone is too long."""
    shown: list[str] = []
    for number in range(asked.first, asked.last + 1):
        whole = decode_line(lines[number - 1])
        text = whole[asked.skipped :] if number == asked.first else whole
        if characters_as_client_counts(text) + 1 > room:
            if shown:
                return Page("\n".join(shown), number - 1, f"{number}:{asked.last}")
            piece = cut_to_room_in_utf16_units(text, room)
            end = asked.skipped + len(piece)
            part = (asked.skipped + 1, end, len(whole))
            return Page(piece, number, f"{number}@{end + 1}:{asked.last}", part)
        room -= characters_as_client_counts(text) + 1
        shown.append(text)
    return Page("\n".join(shown), asked.last)


def decode_line(line: bytes) -> str:
    """A line as text; bytes that are not UTF-8 become visible."""
    return line.decode("utf-8", "backslashreplace")


def characters_as_client_counts(text: str) -> int:
    """Count characters as the client does: those of UTF-16, of which rarer ones take two."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def cut_to_room_in_utf16_units(text: str, room: int) -> str:
    """The beginning of a text that the client counts as no longer than `room`."""
    return text.encode("utf-16-le", "surrogatepass")[: 2 * room].decode("utf-16-le", "ignore")
