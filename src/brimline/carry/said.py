"""What the user, the assistant and subagents said, taken into the ledger sentence by sentence."""

from __future__ import annotations

from brimline.carry import closing, cues, failures, words
from brimline.carry import items as kinds
from brimline.carry.items import Item
from brimline.carry.meaning import Ending, endings, meaning
from brimline.carry.sentences import left_out, sentences

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from brimline.carry.items import Ledger
    from brimline.carry.meaning import Meaning
    from brimline.carry.sentences import Sentence

_TEXT_CHARACTERS = 600
_PROMPT_CHARACTERS = 2_000
_GOAL_CHARACTERS = 330
_AGENT_CHARACTERS = 360
_FACTS_OF_A_REPLY = 6
_FACTS_OF_A_REPORT = 10
_LEAST_WORDS_OF_A_GOAL = 3
_LEAST_WORDS_OF_A_DEED = 2
_DEED_CHARACTERS = 160
_DIRECTIVES = {"decide": kinds.DECISION, "note": kinds.NOTE}
_OWN_MEANING = (kinds.CONSTRAINT, kinds.DECISION, kinds.REJECTED)
_MARKED = 5.0
_REPEATED = 0.25
_MOST_REPEATED = 1.0
_NEW_GOAL = (
    *(" new task ", " next task ", " lets work on ", " lets start ", " lets move on ", " the goal "),
    *(" your task ", " i want you to ", " i need you to ", " implement the following ", " goal is "),
    *(" we need to build ", " switching topics ", " different topic ", " now lets ", " new topic "),
)


class Origin:
    """The row in which something was said."""

    __slots__ = ("at", "row")

    def __init__(self, at: str | None, row: str | None) -> None:
        self.at = at
        self.row = row


def by_user(ledger: Ledger, text: str, origin: Origin, *, is_plan: bool = False) -> None:
    """Take in what the user wrote.

    Args:
        ledger: the ledger.
        text: their words.
        origin: where they stand.
        is_plan: whether most of it is a plan that was pasted or handed over.
    """
    text = _directives(ledger, text, origin)
    if not text:
        return
    spoken = sentences(text)
    add(ledger, kinds.PROMPT, text[:_PROMPT_CHARACTERS], kinds.USER, origin)
    meant = [(sentence, meaning(sentence, kinds.USER)) for sentence in spoken]
    if not is_plan:
        meant = [pair for pair in meant if not _ended(ledger, pair[0], kinds.USER, origin, pair[1])]
    used = _goal(ledger, text, meant, origin)
    for sentence, found in [] if is_plan else meant:
        if found and sentence not in used:
            add(ledger, found.kind, found.text, kinds.USER, origin, found.weight, prompt=text[:80])
    pasted = failures.reported(left_out(text))
    if pasted and not is_plan:
        add(ledger, kinds.FACT, pasted, kinds.USER, origin, 3.5)


def by_assistant(ledger: Ledger, text: str, origin: Origin) -> None:
    """Take in what the assistant told the user."""
    facts, listed = [], []
    for sentence in sentences(text):
        found = meaning(sentence, kinds.ASSISTANT)
        if _ended(ledger, sentence, kinds.ASSISTANT, origin, found):
            continue
        if found and found.kind == kinds.FACT:
            facts.append(found)
        elif found:
            item = add(ledger, found.kind, found.text, kinds.ASSISTANT, origin, found.weight)
            if item.kind == kinds.TASK and sentence.is_item:
                listed.append(item)
    _add_facts(ledger, facts, kinds.ASSISTANT, origin, _FACTS_OF_A_REPLY)
    _replace_list(ledger, listed, origin)


def _replace_list(ledger: Ledger, listed: list[Item], origin: Origin) -> None:
    """A new list of what is left takes the place of the assistant's last one."""
    for item in listed:
        item.extra["listed"] = True
    for item in ledger.of(kinds.TASK, status=kinds.OPEN) if listed else ():
        if item.source == kinds.ASSISTANT and item.extra.get("listed") and item not in listed:
            closing.end(item, kinds.SUPERSEDED, origin.at)


def by_subagent(ledger: Ledger, name: str, text: str, origin: Origin, **extra: str) -> None:
    """Take in what a subagent reported: a short report whole, of a long one what it says exactly."""
    report = _without_frame(text)
    if not report:
        return
    label = f"{name}: " if name else ""
    whole = " ".join(report.split())
    if len(whole) <= _AGENT_CHARACTERS:
        add(ledger, kinds.AGENT, label + whole, kinds.SUBAGENT, origin, 2.0, **extra)
        return
    spoken = sentences(report)
    head = next((s.text for s in spoken if not words.plain(s.text).startswith(cues.NARRATION)), "")
    add(ledger, kinds.AGENT, label + head[:_AGENT_CHARACTERS], kinds.SUBAGENT, origin, 1.5, **extra)
    meant = [meaning(sentence, kinds.SUBAGENT) for sentence in spoken if sentence.text != head]
    _add_facts(ledger, [m for m in meant if m], kinds.SUBAGENT, origin, _FACTS_OF_A_REPORT)


def add(  # noqa: PLR0913 - an item has these parts
    ledger: Ledger,
    kind: str,
    text: str,
    source: str,
    origin: Origin,
    weight: float = 1.0,
    **extra: object,
) -> Item:
    """Take an item in; one that is said again counts for more."""
    most = _PROMPT_CHARACTERS if kind == kinds.PROMPT else _TEXT_CHARACTERS
    cut = text if len(text) <= most else text[: most - 1] + "…"
    item = Item(kind, cut, source, at=origin.at, row=origin.row, weight=weight, extra=dict(extra))
    known = ledger.items.get(item.id)
    if known is not None and known.row != origin.row:
        # What a user says again matters; what the assistant does is a phrase of its.
        sign = -1 if source == kinds.ASSISTANT else 1
        times = known.extra.get("again", 0) + 1
        item.extra["again"] = times
        known.weight = max(0.1, weight + sign * min(times * _REPEATED, _MOST_REPEATED))
        item.weight = known.weight
    return ledger.add(item)


def _directives(ledger: Ledger, text: str, origin: Origin) -> str:
    """Take in `brim:decide …`, `brim:note …`, `brim:done …`; the text without those lines."""
    if "brim:" not in text.lower():
        return text
    rest = []
    for line in text.splitlines():
        word, _, told = line.strip().partition(" ")
        name = word.lower().removeprefix("brim:")
        told = told.strip()
        if not word.lower().startswith("brim:") or not told:
            rest.append(line)
        elif name in _DIRECTIVES:
            add(ledger, _DIRECTIVES[name], told, kinds.USER, origin, _MARKED)
        elif name == "done":
            _done(ledger, told, origin)
        else:
            rest.append(line)
    return "\n".join(rest).strip()


def _done(ledger: Ledger, told: str, origin: Origin) -> None:
    ending = Ending(kinds.DONE, told, is_sure=True)
    if closing.close(ledger, ending, origin.at) is None:
        add(ledger, kinds.TASK, told, kinds.USER, origin).status = kinds.DONE


def _ended(
    ledger: Ledger, sentence: Sentence, source: str, origin: Origin, found: Meaning | None
) -> bool:
    """Whether a sentence put an end to something, and says no more than that."""
    # What is a rule or a choice in itself seldom ends a task as well.
    has_own = found is not None and found.kind in _OWN_MEANING and found.weight >= 1
    for ending in endings(sentence, source):
        closed = closing.close(ledger, ending, origin.at, least=closing.LIKELY if has_own else None)
        if closed is not None:
            beyond = ending.mention - words.content(closed.text)
            says_more = has_own and len(beyond) > 1
            return bool(sentence.is_checked) or not says_more
        if source != kinds.USER and _is_a_deed(sentence, ending, found):
            add(ledger, kinds.TASK, sentence.text, source, origin).status = ending.status
            return True
    return False


def _is_a_deed(sentence: Sentence, ending: Ending, found: Meaning | None) -> bool:
    """Whether a sentence tells of finished work that was never on a list."""
    if not ending.is_sure or ending.status != kinds.DONE:
        return False
    if found and found.kind != kinds.FACT:
        return False
    return (
        len(ending.mention) >= _LEAST_WORDS_OF_A_DEED and len(sentence.text) <= _DEED_CHARACTERS
    )


def _goal(
    ledger: Ledger, text: str, meant: list[tuple[Sentence, Meaning | None]], origin: Origin
) -> list[Sentence]:
    """Note what the user is after; returns the sentences that need not be noted again."""
    plain_kinds = (None, kinds.FACT, kinds.TASK)
    free = [s for s, found in meant if (found.kind if found else None) in plain_kinds]
    free = [s for s in free if len(words.content(s.text)) >= _LEAST_WORDS_OF_A_GOAL]
    if not free:
        return []
    is_new = "goal" not in ledger.state or any(cue in words.plain(text) for cue in _NEW_GOAL)
    used = list(_leading(free))
    told = " ".join(sentence.text for sentence in used)
    _forget_request(ledger)
    if is_new:
        ledger.state["goal"] = add(ledger, kinds.GOAL, told, kinds.USER, origin, 2.0).id
        return used
    request = add(ledger, kinds.GOAL, told, kinds.USER, origin, 1.0, role="request")
    ledger.state["request"] = request.id
    return []


def _forget_request(ledger: Ledger) -> None:
    """Only the last request is a goal; all of them stay as prompts."""
    last = ledger.items.get(str(ledger.state.get("request")))
    if last is not None and last.extra.get("role") == "request":
        del ledger.items[last.id]


def _leading(spoken: list[Sentence]) -> Iterator[Sentence]:
    length = 0
    for sentence in spoken[:3]:
        length += len(sentence.text) + 1
        if length > _GOAL_CHARACTERS and length > len(sentence.text) + 1:
            return
        yield sentence


def _add_facts(
    ledger: Ledger, facts: list[Meaning], source: str, origin: Origin, most: int
) -> None:
    """The weightiest of what one text says, in its order."""
    chosen = sorted(facts, key=lambda fact: -fact.weight)[:most]
    for fact in facts:
        if fact in chosen:
            add(ledger, fact.kind, fact.text, source, origin, fact.weight)


def _without_frame(text: str) -> str:
    """A report without what the client puts around it."""
    lines = []
    for line in text.splitlines():
        if line.startswith(("agentId:", "<usage>")):
            break
        if not line.startswith(("<tools-used-before-summary>", "</", "[brimline stored")):
            lines.append(line)
    return "\n".join(lines).strip()
