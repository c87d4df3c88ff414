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
_FOUND_CHARACTERS = 300
_SHORT_CHARACTERS = 110
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


class Section:
    """A part of the card: which open items stand in it, and how soon they go."""

    __slots__ = ("first", "kind", "most", "priority", "source", "title")

    def __init__(
        self,
        title: str,
        kind: str,
        priority: float,
        first: int = 25,
        most: int = 1_000,
        source: str = "",
    ) -> None:
        self.title = title
        self.kind = kind
        self.priority = priority
        self.first = first
        """How many lines come before less important sections have had their turn."""
        self.most = most
        """How many lines there are at most, whatever room there is."""
        self.source = source
        """Only what a user said, or only what others did; empty for both."""

    def holds(self, item: Item) -> bool:
        """Whether an item stands in this section."""
        if item.kind != self.kind:
            return False
        return not self.source or (item.source == kinds.USER) == (self.source == kinds.USER)


_SECTIONS = (
    Section("Constraints of the user", kinds.CONSTRAINT, 900, first=40),
    Section("Goal", kinds.GOAL, 850, most=5),
    Section("Open tasks", kinds.TASK, 800, first=30),
    Section("Plan", kinds.PLAN, 780, most=3),
    Section("Decisions", kinds.DECISION, 760),
    Section("Rejected, do not propose again", kinds.REJECTED, 750),
    Section("Answers of the user", kinds.ANSWER, 740),
    Section("Notes", kinds.NOTE, 735),
    Section("Told by the user", kinds.FACT, 720, first=30, most=70, source=kinds.USER),
    Section("Open errors", kinds.ERROR, 700, first=12),
    Section("Results of subagents", kinds.AGENT, 680, first=15),
    Section("Found out", kinds.FACT, 640, first=30, most=70, source=kinds.ASSISTANT),
    Section("Running in the background", kinds.BACKGROUND, 600),
    Section("Files in play", kinds.FILE, 690, first=8),
)
_RULES, _FIRST_SECTION = 0, 1
_FINISHED, _RESOLVED = len(_SECTIONS) + 1, len(_SECTIONS) + 2
_OTHER_TITLES = {
    _RULES: "Rules that are always in force",
    _FINISHED: "Finished",
    _RESOLVED: "Errors that are gone",
}
_RULES_PRIORITY, _FINISHED_PRIORITY, _RESOLVED_PRIORITY = 1_000.0, 650.0, 300.0
# What one line more of a section counts less, and what one does after its first ones.
_STEP, _AFTER_THE_FIRST = 1.0, 300.0
_MOST_RESOLVED = 6
_ENDED_KINDS = (kinds.TASK, kinds.CONSTRAINT, kinds.DECISION, kinds.PLAN, kinds.GOAL)


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
    lines = [
        *_rule_lines(marked_rules),
        *_item_lines(ledger),
        *_finished_lines(ledger),
        *_resolved_lines(ledger),
    ]
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
    return _OTHER_TITLES.get(section) or _SECTIONS[section - _FIRST_SECTION].title


def _rule_lines(marked_rules: Sequence[str]) -> Iterator[Line]:
    for order, rule in enumerate(marked_rules):
        priority = _RULES_PRIORITY - order * _STEP
        yield Line(_RULES, order, priority, _bullet(rule, _LINE_CHARACTERS * 2))


def _item_lines(ledger: Ledger) -> Iterator[Line]:
    for number, section in enumerate(_SECTIONS, _FIRST_SECTION):
        found = [item for item in ledger.of(section.kind, status=kinds.OPEN) if section.holds(item)]
        if section.kind == kinds.FILE:
            found = _latest_files(found)
        # Of two that weigh the same the later one counts for more.
        ranked = sorted(range(len(found)), key=lambda at: (-found[at].weight, -at))
        for rank, at in enumerate(ranked[: section.most]):
            lowered = rank * _STEP + (rank >= section.first) * _AFTER_THE_FIRST
            yield Line(number, at, section.priority - lowered, _spelled(found[at]))


def _latest_files(files: list[Item]) -> list[Item]:
    """What was changed before what was only read; of each the latest."""
    changed = [item for item in files if item.extra.get("did") != "read"]
    only_read = [item for item in files if item.extra.get("did") == "read"]
    return (only_read[-_FILES // 2 :] if len(changed) < _FILES else []) + changed[-_FILES:]


def _finished_lines(ledger: Ledger) -> Iterator[Line]:
    """What is not to be done again, in one line; the client's own tasks first, the latest first."""
    closed = [item for item in ledger.of(*_ENDED_KINDS) if not item.is_open]
    # What only a newer list of the assistant's left out was perhaps never done.
    closed = [item for item in closed if not _was_left_out(item)]
    closed.sort(key=lambda item: item.source == kinds.TOOL)
    texts = [f"{_shortened(item.text, _SHORT_CHARACTERS)} ({item.status})" for item in closed]
    text = _shortened("; ".join(reversed(texts)), _FINISHED_CHARACTERS)
    folded = sum(ledger.folded.get(kind, 0) for kind in _ENDED_KINDS)
    if folded:
        text += f"{'; and' if text else ''} {folded} more, earlier"
    if text:
        yield Line(_FINISHED, 0, _FINISHED_PRIORITY, "- " + text.strip())


def _was_left_out(item: Item) -> bool:
    return item.kind == kinds.TASK and item.status == kinds.SUPERSEDED


def _resolved_lines(ledger: Ledger) -> Iterator[Line]:
    """Errors whose command has passed since: how they looked may still be of use."""
    gone = [item for item in ledger.of(kinds.ERROR) if not item.is_open]
    for order, item in enumerate(gone[-_MOST_RESOLVED:]):
        yield Line(_RESOLVED, order, _RESOLVED_PRIORITY + order, _spelled(item))


def _spelled(item: Item) -> str:
    is_found = item.kind == kinds.FACT and item.source != kinds.USER
    text = _bullet(item.text, _FOUND_CHARACTERS if is_found else _LINE_CHARACTERS)
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
