"""The document behind `store search`, and its text: stored outputs that hold some words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from brimline import output
from brimline.bulk import layout, listing
from brimline.bulk.contents import Span
from brimline.recall import stored

if TYPE_CHECKING:
    from brimline.recall.record import Hit
    from brimline.transcript.project import Project

_LINES_PER_HIT, _HIT_CHARACTERS = 5, 200


def document(
    home_dir: str, query: str, project: Project | None, limit: int, **how: Any
) -> dict[str, Any]:
    """The outputs that a query finds, the best first, each with the lines that fit.

    Args:
        home_dir: the data folder.
        query: the words.
        project: where to look; None for all projects.
        limit: how many outputs to show.
        how: `until` and `watch` of `stored.find_outputs`.

    Raises:
        StoreError: the search cannot be used.
    """
    layout.refuse_newer_format(home_dir)
    result = stored.find_outputs(
        home_dir, query, project, lambda count: Span(1, min(limit, count)), **how
    )
    terms = stored.parse_terms(query)
    return {
        "all_words": result.all_words,
        "pending": result.pending,
        "found": result.total,
        "searched": len(result.states),
        "outputs": [_output_row(hit, terms) for hit in result.hits],
    }


def _output_row(hit: Hit, terms: list[str]) -> dict[str, Any]:
    """An output with the lines that fit, numbered."""
    fitting = stored.lines_with_terms(hit.record.text, terms, _HIT_CHARACTERS)[:_LINES_PER_HIT]
    return {
        "key": layout.PREFIX + hit.record.ref,
        "lines": [output.one_line(part, 2 * _HIT_CHARACTERS) for part in fitting or [hit.snippet]],
        **output.pick_attrs(hit.record, "title project session at"),
    }


def text(document: dict[str, Any]) -> str:
    """The outputs for a person; empty where there are none."""
    told = []
    for row in document["outputs"]:
        head = f"{listing.short_digits_of_key(row['key'])}  {output.one_line(row['title'])}"
        told.append("\n  ".join([head, *row["lines"]]))
    return "\n".join(told)


def none_found_text(document: dict[str, Any], query: str, *, everywhere: bool) -> str:
    """Say that no output holds the words."""
    outputs = output.count_text(document["searched"], "stored output")
    more = "" if everywhere else "; --everywhere asks all projects"
    return f"none of {outputs} holds {output.one_line(query)}{more}"
