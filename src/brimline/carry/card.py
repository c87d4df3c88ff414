"""The card: what the model is given back after a compaction, most important first. Pure.

Nothing in it depends on the time, so the same ledger gives the same bytes.
"""

from __future__ import annotations

from brimline.carry import items as kinds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from brimline.carry.items import Item, Ledger

BUDGET_CHARACTERS = 9_000
TRUNCATED = "[truncated]"
# What everything we give back begins with, so that it is not taken for the user's own words.
OPENING = (
    "[brimline card] The conversation before this was compacted. What follows was kept from it "
    "word for word; it holds unless the user says otherwise. Finished work is listed so that it "
    "is not done again."
)
_LINE_CHARACTERS = 420
_SHORT_CHARACTERS = 160
_FINISHED_CHARACTERS = 900
_FILES = 12


class Line:
    """A line of the card: where it stands, and how soon it goes when there is no room."""

    __slots__ = ("order", "priority", "section", "text")

    def __init__(self, section: int, order: int, priority: float, text: str) -> None:
        self.section = section
        self.order = order
        self.priority = priority
        self.text = text


# Title, kinds, priority of the first line and how much each further one counts less.
_SECTIONS: tuple[tuple[str, tuple[str, ...], float], ...] = (
    ("Rules that are always in force", (), 1_000),
    ("Constraints of the user", (kinds.CONSTRAINT,), 900),
    ("Goal", (kinds.GOAL,), 850),
    ("Open tasks", (kinds.TASK,), 800),
    ("Plan", (kinds.PLAN,), 780),
    ("Decisions", (kinds.DECISION,), 760),
    ("Rejected, do not propose again", (kinds.REJECTED,), 750),
    ("Answers of the user", (kinds.ANSWER,), 740),
    ("Notes", (kinds.NOTE,), 735),
    ("Open errors", (kinds.ERROR,), 700),
    ("Results of subagents", (kinds.AGENT,), 680),
    ("Exact values", (kinds.FACT,), 640),
    ("Running in the background", (kinds.BACKGROUND,), 600),
    ("Files in play", (kinds.FILE,), 500),
)
_FINISHED_SECTION = len(_SECTIONS)
_FINISHED_PRIORITY = 650.0
_STEP = 1.0


def card(
    ledger: Ledger, marked_rules: Sequence[str] = (), *, budget: int = BUDGET_CHARACTERS
) -> str:
    """The whole card within a budget of characters; empty where there is nothing to carry.

    Args:
        ledger: what the session is known to hold.
        marked_rules: rules that survive every compaction, from disk, each once.
        budget: the most characters.
    """
    return facts(OPENING, ledger, marked_rules, budget=budget)


def facts(opening: str, ledger: Ledger, marked_rules: Sequence[str], *, budget: int) -> str:
    """What the card holds, under another opening."""
    lines = [*_rule_lines(marked_rules), *_item_lines(ledger), *_finished_lines(ledger)]
    return _render(opening, lines, budget) if lines else ""


def _render(opening: str, lines: Sequence[Line], budget: int) -> str:
    """A text of titled sections with as many lines as fit, the least important left out."""
    kept = _fitting(opening, lines, budget)
    parts = [opening]
    section = -1
    for line in sorted(kept, key=lambda line: (line.section, line.order)):
        if line.section != section:
            section = line.section
            parts.append(f"\n{_title(section)}:")
        parts.append(line.text)
    if len(kept) < len(lines):
        parts.append(f"\n{TRUNCATED} {len(lines) - len(kept)} more: `brimline carry show`")
    return "\n".join(parts)


def _fitting(opening: str, lines: Sequence[Line], budget: int) -> list[Line]:
    """The most important lines that fit together with the titles they need."""
    left = budget - len(opening) - len(TRUNCATED) - 60
    titled: set[int] = set()
    kept = []
    for line in sorted(lines, key=lambda line: (-line.priority, line.section, line.order)):
        title = 0 if line.section in titled else len(_title(line.section)) + 3
        cost = len(line.text) + 1 + title
        if cost <= left:
            left -= cost
            titled.add(line.section)
            kept.append(line)
    return kept


def _title(section: int) -> str:
    return _SECTIONS[section][0] if section < _FINISHED_SECTION else "Finished"


def _rule_lines(marked_rules: Sequence[str]) -> Iterator[Line]:
    priority = _SECTIONS[0][2]
    for order, rule in enumerate(marked_rules):
        yield Line(0, order, priority - order * _STEP, _bullet(rule, _LINE_CHARACTERS * 2))


def _item_lines(ledger: Ledger) -> Iterator[Line]:
    for section, (_, wanted, priority) in enumerate(_SECTIONS):
        found = list(ledger.of(*wanted, status=kinds.OPEN)) if wanted else []
        if wanted == (kinds.FILE,):
            found = _latest_files(found)
        ranked = sorted(range(len(found)), key=lambda at: (-found[at].weight, -at))
        rank_of = {at: rank for rank, at in enumerate(ranked)}
        for order, item in enumerate(found):
            # The first few of every kind come before the many of one kind.
            lowered = priority - rank_of[order] * _STEP - (rank_of[order] >= _most(wanted)) * 300
            yield Line(section, order, lowered, _spelled(item))


def _most(wanted: tuple[str, ...]) -> int:
    """How many lines of a section come before less important sections have had their turn."""
    return 40 if wanted == (kinds.CONSTRAINT,) else 25


def _latest_files(files: list[Item]) -> list[Item]:
    """What was changed before what was only read; of each the latest."""
    changed = [item for item in files if item.extra.get("did") != "read"]
    only_read = [item for item in files if item.extra.get("did") == "read"]
    return (only_read[-_FILES // 2 :] if len(changed) < _FILES else []) + changed[-_FILES:]


def _finished_lines(ledger: Ledger) -> Iterator[Line]:
    closed = [
        item
        for item in ledger.of(kinds.TASK, kinds.CONSTRAINT, kinds.DECISION, kinds.PLAN)
        if not item.is_open
    ]
    folded = sum(ledger.folded.values())
    texts = [f"{_shortened(item.text, _SHORT_CHARACTERS)} ({item.status})" for item in closed]
    text = "; ".join(reversed(texts))
    if folded:
        text += f"; and {folded} older ones"
    if text:
        line = "- " + _shortened(text, _FINISHED_CHARACTERS)
        yield Line(_FINISHED_SECTION, 0, _FINISHED_PRIORITY, line)


def _spelled(item: Item) -> str:
    text = _bullet(item.text, _LINE_CHARACTERS)
    if item.kind == kinds.TASK and item.extra.get("state") == "in_progress":
        return f"{text} (in progress)"
    if item.kind == kinds.ERROR and item.extra.get("command"):
        command = _shortened(str(item.extra["command"]), _SHORT_CHARACTERS)
        return f"- `{command}`: {text[2:]}"
    if item.kind == kinds.FILE and item.extra.get("did"):
        return f"{text} ({item.extra['did']})"
    if item.extra.get("key"):
        return f"{text} (all of it: `brimline store get {str(item.extra['key'])[:19]}`)"
    return text


def _bullet(text: str, most: int) -> str:
    return "- " + _shortened(text, most)


def _shortened(text: str, most: int) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= most else plain[: most - 1].rstrip() + "…"
