"""Draws `images/compaction.svg` from `images/compaction.json`: one session, compacted both ways.

The figures are those of requests that the real client sent, with brimline's mod and without it:
what the messages held, by kind, in tokens. Results are left out: they are most of every request,
and both ways let go of old ones. The colours are those of the dashboard.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

IMAGES = Path(__file__).parent / "images"
COLOURS = {
    "words": ("#2e7d4f", "the user's words, and the client's"),
    "replies": ("#2f6fb0", "replies"),
    "calls": ("#d9a63a", "calls"),
    "lines": ("#c2527a", "lines with a key, for results that were moved out"),
}
_LEFT, _WIDTH, _HEIGHT, _GAP = 60, 800, 150, 70
_INK, _SOFT = "#57606a", "#d4d8dd"
_DASHED = 'stroke-dasharray="3 3"'


def main() -> None:
    """Write the picture."""
    runs = json.loads((IMAGES / "compaction.json").read_bytes())
    most = max(_total(request) for run in runs.values() for request in run)
    parts = [_legend()]
    titles = {
        "with": "Compacted by brimline's mod, no request to a model: what was said and done stays",
        "without": "Compacted by the client, a model summarises: it goes",
    }
    for at, (name, title) in enumerate(titles.items()):
        parts.append(_panel(runs[name], title, 50 + at * (_HEIGHT + _GAP), most))
    height = 50 + 2 * (_HEIGHT + _GAP)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_LEFT + _WIDTH + 20} {height}"'
    style = 'font-family="sans-serif" font-size="12"'
    background = '<rect width="100%" height="100%" fill="#fff"/>'
    text = "\n".join([f"{head} {style}>", background, *parts, "</svg>", ""])
    (IMAGES / "compaction.svg").write_text(text, encoding="utf-8")


def _total(request: dict[str, Any]) -> int:
    return sum(request[kind] for kind in COLOURS)


def _legend() -> str:
    found, x = [], _LEFT
    for colour, label in COLOURS.values():
        found.append(f'<rect x="{x}" y="12" width="10" height="10" fill="{colour}"/>')
        found.append(f'<text x="{x + 15}" y="21" fill="{_INK}">{label}</text>')
        x += 32 + 6 * len(label)
    return "\n".join(found)


def _panel(requests: list[dict[str, Any]], title: str, top: int, most: int) -> str:
    """A bar for each request, with what it held besides results; compactions are marked."""
    bottom, step = top + _HEIGHT, _WIDTH / len(requests)
    found = [f'<text x="{_LEFT}" y="{top - 8}" fill="{_INK}" font-weight="bold">{title}</text>']
    for share in (0, 0.5, 1):
        y = bottom - share * _HEIGHT
        found.append(f'<path d="M{_LEFT} {y}h{_WIDTH}" stroke="{_SOFT}"/>')
        label = f"{share * most / 1000:.0f}k"
        found.append(
            f'<text x="{_LEFT - 8}" y="{y + 4}" text-anchor="end" fill="{_INK}">{label}</text>'
        )
    for at, request in enumerate(requests):
        x, y = _LEFT + at * step, float(bottom)
        for kind, (colour, _) in COLOURS.items():
            high = request[kind] / most * _HEIGHT
            y -= high
            place = f'x="{x:.1f}" y="{y:.1f}" width="{step * 0.9:.1f}" height="{high:.1f}"'
            found.append(f'<rect {place} fill="{colour}"/>')
        if at and _is_compacted(requests[at - 1], request):
            found.append(f'<path d="M{x:.1f} {top}V{bottom}" stroke="{_INK}" {_DASHED}/>')
    legend = "tokens besides results, request by request; dashed: compactions"
    found.append(f'<text x="{_LEFT}" y="{bottom + 16}" fill="{_INK}">{legend}</text>')
    return "\n".join(found)


def _is_compacted(before: dict[str, Any], request: dict[str, Any]) -> bool:
    return bool(request["results"] < before["results"])


if __name__ == "__main__":
    main()
