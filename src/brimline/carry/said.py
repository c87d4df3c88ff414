"""What the user, the assistant and subagents said, taken into the ledger sentence by sentence."""

from __future__ import annotations

from brimline.carry import closing, failures, goals, phrases, words
from brimline.carry import items as kinds
from brimline.carry.meaning import Ending, endings, meaning
from brimline.carry.noting import PROMPT_CHARACTERS, note
from brimline.carry.sentences import left_out, sentences

TYPE_CHECKING = False
if TYPE_CHECKING:
    from brimline.carry.items import Item, Ledger
    from brimline.carry.meaning import Meaning
    from brimline.carry.noting import Origin
    from brimline.carry.sentences import Sentence

_PROMPT_HEAD = 80
_AGENT_CHARACTERS = 360
_FACTS_OF_A_PROMPT = 20
_FACTS_OF_A_REPLY = 6
_FACTS_OF_A_REPORT = 10
_LEAST_WORDS_OF_A_DEED = 2
_DEED_CHARACTERS = 160
_DIRECTIVES = {"decide": kinds.DECISION, "note": kinds.NOTE}
_MARKED = 5.0
_PASTED_ERROR = 3.5
_HINT = 0.5


def by_user(ledger: Ledger, text: str, origin: Origin, *, is_plan: bool = False) -> None:
    """Take in what the user wrote.

    Args:
        ledger: the ledger.
        text: their words.
        origin: where they stand.
        is_plan: whether most of it is a plan that was handed over, of which only the goal is told.
    """
    text = _directives(ledger, text, origin)
    if not text:
        return
    note(ledger, kinds.PROMPT, text[:PROMPT_CHARACTERS], kinds.USER, origin)
    meant = [(sentence, meaning(sentence, kinds.USER)) for sentence in sentences(text)]
    if is_plan:
        goals.aim(ledger, text, meant, origin)
        return
    left = [pair for pair in meant if not _ended(ledger, *pair, kinds.USER, origin)]
    used = goals.aim(ledger, text, left, origin)
    told = [found for sentence, found in left if found and sentence not in used]
    for item in _note_all(ledger, told, kinds.USER, origin, _FACTS_OF_A_PROMPT):
        item.extra["prompt"] = text[:_PROMPT_HEAD]
    pasted = failures.reported(left_out(text))
    if pasted:
        note(ledger, kinds.FACT, pasted, kinds.USER, origin, _PASTED_ERROR)


def by_assistant(ledger: Ledger, text: str, origin: Origin) -> None:
    """Take in what the assistant told the user."""
    meant = [(sentence, meaning(sentence, kinds.ASSISTANT)) for sentence in sentences(text)]
    left = [pair for pair in meant if not _ended(ledger, *pair, kinds.ASSISTANT, origin)]
    told = [found for _, found in left if found]
    listed = {
        found.text
        for sentence, found in left
        if found and found.kind == kinds.TASK and sentence.is_item
    }
    noted = _note_all(ledger, told, kinds.ASSISTANT, origin, _FACTS_OF_A_REPLY)
    if listed:
        _replace_list(ledger, [item for item in noted if item.text in listed], origin)


def by_subagent(ledger: Ledger, name: str, text: str, origin: Origin, **extra: str) -> None:
    """Take in a subagent's report: a short one whole, of a long one what it says exactly."""
    report = _without_frame(text)
    if not report:
        return
    label = f"{name}: " if name else ""
    whole = " ".join(report.split())
    if len(whole) <= _AGENT_CHARACTERS:
        note(ledger, kinds.AGENT, label + whole, kinds.SUBAGENT, origin, 2.0, **extra)
        return
    meant = [meaning(sentence, kinds.SUBAGENT) for sentence in sentences(report)]
    told = [found for found in meant if found]
    head = max(told, key=lambda found: found.weight).text if told else whole
    head = head[:_AGENT_CHARACTERS]
    note(ledger, kinds.AGENT, label + head, kinds.SUBAGENT, origin, 1.5, **extra)
    rest = [found for found in told if found.text != head]
    _note_all(ledger, rest, kinds.SUBAGENT, origin, _FACTS_OF_A_REPORT)


def _note_all(
    ledger: Ledger, told: list[Meaning], source: str, origin: Origin, most_facts: int
) -> list[Item]:
    """Note what a text says, in its order; of its facts only the weightiest."""
    facts = sorted((found for found in told if found.kind == kinds.FACT), key=lambda f: -f.weight)
    dropped = facts[most_facts:]
    return [
        note(ledger, found.kind, found.text, source, origin, found.weight)
        for found in told
        if found not in dropped
    ]


def _replace_list(ledger: Ledger, listed: list[Item], origin: Origin) -> None:
    """A new list of what is left takes the place of the assistant's last one."""
    for item in listed:
        item.extra["listed"] = True
    for item in ledger.of(kinds.TASK, status=kinds.OPEN):
        if item.source == kinds.ASSISTANT and item.extra.get("listed") and item not in listed:
            closing.end(item, kinds.SUPERSEDED, origin.at)


def _directives(ledger: Ledger, text: str, origin: Origin) -> str:
    """Take in `brim:decide …`, `brim:note …`, `brim:done …`; the text without those lines."""
    if "brim:" not in text.lower():
        return text
    rest = []
    for line in text.splitlines():
        word, _, told = line.strip().partition(" ")
        name = word.lower().removeprefix("brim:")
        is_ours = word.lower().startswith("brim:") and bool(told.strip())
        if is_ours and name in _DIRECTIVES:
            note(ledger, _DIRECTIVES[name], told.strip(), kinds.USER, origin, _MARKED)
        elif is_ours and name == "done":
            _done(ledger, told.strip(), origin)
        else:
            rest.append(line)
    return "\n".join(rest).strip()


def _done(ledger: Ledger, told: str, origin: Origin) -> None:
    if closing.close(ledger, Ending(kinds.DONE, told, 1.0), origin.at) is None:
        note(ledger, kinds.TASK, told, kinds.USER, origin).status = kinds.DONE


def _ended(
    ledger: Ledger, sentence: Sentence, found: Meaning | None, source: str, origin: Origin
) -> bool:
    """Whether a sentence put an end to something, and says no more than that."""
    own = found.kind if found and found.weight >= 1 and found.kind != kinds.FACT else ""
    for ending in endings(sentence, source):
        if _stands(own, ending):
            continue
        closed = closing.close(ledger, ending, origin.at)
        if closed is not None:
            beyond = ending.mention - words.content(closed.text)
            return bool(sentence.is_checked) or own in ("", kinds.TASK) or len(beyond) <= 1
        if source != kinds.USER and _is_a_deed(sentence, ending, found):
            note(ledger, kinds.TASK, sentence.text, source, origin).status = kinds.DONE
            return True
    return False


def _stands(own: str, ending: Ending) -> bool:
    """Whether a sentence is a rule, a choice or a task in itself rather than the end of one."""
    if not own or ending.strength == 1:
        return False
    return own != kinds.DECISION or ending.strength <= _HINT


def _is_a_deed(sentence: Sentence, ending: Ending, found: Meaning | None) -> bool:
    """Whether a sentence tells of finished work that was never on a list."""
    if ending.strength < 1 or ending.status != kinds.DONE or (found and found.kind != kinds.FACT):
        return False
    begins = sentence.plain.startswith(phrases.DEED_BEGINS)
    if not begins and not sentence.plain.endswith(phrases.DEED_ENDS) and not sentence.is_checked:
        return False
    is_short = len(sentence.text) <= _DEED_CHARACTERS
    return is_short and len(ending.mention) >= _LEAST_WORDS_OF_A_DEED


def _without_frame(text: str) -> str:
    """A report without what the client puts around it."""
    lines = []
    for line in text.splitlines():
        if line.startswith(("agentId:", "<usage>")):
            break
        if not line.startswith(("<tools-used-before-summary>", "[brimline stored")):
            lines.append(line)
    return "\n".join(lines).strip()
