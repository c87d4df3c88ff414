"""What the user, the assistant and subagents said, taken into the ledger sentence by sentence."""

from __future__ import annotations

from brimline.carry import closing, failures, goals, phrases, refrains, values, words
from brimline.carry import items as kinds
from brimline.carry.meaning import Ending, hear
from brimline.carry.noting import PROMPT_CHARACTERS, note
from brimline.carry.sentences import left_out, sentences

TYPE_CHECKING = False
if TYPE_CHECKING:
    from brimline.carry.items import Item, Ledger
    from brimline.carry.meaning import Heard
    from brimline.carry.noting import Origin

_PROMPT_HEAD = 80
_AGENT_CHARACTERS = 360
_FACTS_OF_A_PROMPT = 20
_FACTS_OF_A_REPLY = 6
_FACTS_OF_A_REPORT = 10
_LEAST_WORDS_OF_A_DEED = 2
_DEED_CHARACTERS = 160
_CORRECTIONS = (
    *(" sorry make ", " make that ", " i meant ", " sorry i meant ", " correction "),
    *(" actually make that ", " no make that ", " oops make that "),
)
_CORRECTED = (kinds.CONSTRAINT, kinds.DECISION, kinds.FACT)
_DIRECTIVES = {"decide": kinds.DECISION, "note": kinds.NOTE}
_MARKED = 5.0
_PASTED_ERROR, _PASTED = 3.5, 2.0
_PASTED_CHARACTERS, _PASTED_SPECIFICITY = 300, 0.7
_HINT = 0.5
_LIMITED = 1.2
# How well a rule, a choice or a task has to fit an item to be the end of that item.
_OF_A_STATEMENT = 0.8
# So few words beside what it ended do not make a sentence worth keeping.
_MERE_ENDING = 2


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
    meant = [hear(sentence, kinds.USER) for sentence in sentences(text)]
    if is_plan:
        goals.aim(ledger, text, meant, origin)
        return
    for heard in meant:
        _corrected(ledger, heard, origin)
    left = [heard for heard in meant if not _ended(ledger, heard, kinds.USER, origin)]
    used = goals.aim(ledger, text, left, origin)
    told = [heard for heard in left if heard not in used]
    for item in _note_all(ledger, told, kinds.USER, origin, _FACTS_OF_A_PROMPT):
        item.extra["prompt"] = text[:_PROMPT_HEAD]
    _pasted(ledger, left_out(text), origin)


def _corrected(ledger: Ledger, heard: Heard, origin: Origin) -> None:
    """End the last thing said with another figure: `Use port 80` by `sorry, make that port 81`."""
    if not heard.sentence.plain.startswith(_CORRECTIONS):
        return
    said = words.content(heard.sentence.text)
    named = {word for word in said if word.isalpha()}
    for item in reversed(list(ledger.of(*_CORRECTED, status=kinds.OPEN))):
        asked = words.content(item.text)
        if item.source == kinds.USER and named and named <= asked:
            if words.differ(said - asked, asked - said):
                closing.end(item, kinds.SUPERSEDED, origin.at)
                heard.means(kinds.DECISION, 1.0, is_sure=True)
            return


def _pasted(ledger: Ledger, text: str, origin: Origin) -> None:
    """Take in what is no sentence: the error that it names, or all of it where it is short."""
    error = failures.reported(text)
    if error:
        note(ledger, kinds.FACT, error, kinds.USER, origin, _PASTED_ERROR)
    text = "\n".join(line for line in text.splitlines() if line != error)
    if len(text) <= _PASTED_CHARACTERS and values.specificity(text) >= _PASTED_SPECIFICITY:
        note(ledger, kinds.FACT, " / ".join(text.splitlines()), kinds.USER, origin, _PASTED)


def by_assistant(ledger: Ledger, text: str, origin: Origin) -> None:
    """Take in what the assistant told the user."""
    meant = [hear(sentence, kinds.ASSISTANT) for sentence in sentences(text)]
    left = [heard for heard in meant if not _ended(ledger, heard, kinds.ASSISTANT, origin)]
    listed = {heard.text for heard in left if heard.kind == kinds.TASK and heard.is_listed}
    noted = _note_all(ledger, left, kinds.ASSISTANT, origin, _FACTS_OF_A_REPLY)
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
    meant = [hear(sentence, kinds.SUBAGENT) for sentence in sentences(report)]
    told = [heard for heard in meant if heard.kind]
    head = max(told, key=lambda heard: heard.weight).text if told else whole
    head = head[:_AGENT_CHARACTERS]
    note(ledger, kinds.AGENT, label + head, kinds.SUBAGENT, origin, 1.5, **extra)
    rest = [heard for heard in told if heard.text != head]
    _note_all(ledger, rest, kinds.SUBAGENT, origin, _FACTS_OF_A_REPORT)


def _note_all(
    ledger: Ledger, meant: list[Heard], source: str, origin: Origin, most_facts: int
) -> list[Item]:
    """Note what a text says, in its order; of its facts only the weightiest."""
    facts = [heard for heard in meant if heard.kind == kinds.FACT]
    worded = {}
    for heard in facts if source != kinds.USER else ():
        worded[heard] = refrains.wording(heard.sentence.plain)
        heard.weight *= refrains.share(ledger, worded[heard])
    dropped = sorted(facts, key=lambda heard: -heard.weight)[most_facts:]
    noted = []
    for heard in meant:
        if heard.kind and heard not in dropped:
            item = note(ledger, heard.kind, heard.text, source, origin, heard.weight)
            if heard in worded:
                item.extra["wording"] = worded[heard]
            noted.append(item)
    return noted


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
    if closing.close(ledger, [Ending(kinds.DONE, told, 1.0)], origin.at) is None:
        note(ledger, kinds.TASK, told, kinds.USER, origin).status = kinds.DONE


def _ended(ledger: Ledger, heard: Heard, source: str, origin: Origin) -> bool:
    """Whether a sentence put an end to something, and says no more than that."""
    own = heard.kind if heard.is_sure else None
    likely = [ending for ending in heard.endings if not _stands(own, ending, source)]
    least = _OF_A_STATEMENT if own else 0.0
    closed = closing.close(ledger, likely, origin.at, least=least) if likely else None
    if closed is not None and closed.ending.status == kinds.SUPERSEDED:
        return _lifted(ledger, heard, own, closed, origin)
    if closed is not None:
        return _says_no_more(heard, own, closed)
    if source != kinds.USER and any(_is_a_deed(heard, ending) for ending in likely):
        note(ledger, kinds.TASK, heard.sentence.text, source, origin).status = kinds.DONE
        return True
    return False


def _lifted(
    ledger: Ledger, heard: Heard, own: str | None, closed: closing.Closed, origin: Origin
) -> bool:
    """Keep a permission in its own words: as a rule where it is limited, else with what ended.

    Among what holds it would look like the rule that it lifted.
    """
    if closed.is_limited:
        note(ledger, kinds.CONSTRAINT, heard.sentence.text, kinds.USER, origin, _LIMITED)
        return True
    if not _says_no_more(heard, own, closed):
        return False
    if closed.was_open:
        told = f'Rule lifted by the user: "{heard.sentence.text}"'
        note(ledger, kinds.DECISION, told, kinds.USER, origin).status = kinds.DONE
    return True


def _says_no_more(heard: Heard, own: str | None, closed: closing.Closed) -> bool:
    """Whether all that a sentence says is what it ended."""
    if heard.sentence.is_checked:
        return True
    beyond = closed.ending.mention - words.content(closed.item.text)
    is_mere = len(beyond) <= _MERE_ENDING
    if not closed.was_open:
        return is_mere and own is None
    return is_mere or (own in (None, kinds.TASK) and closed.ending.strength == 1)


def _stands(own: str | None, ending: Ending, source: str) -> bool:
    """Whether a sentence is a rule, a choice or a task in itself rather than the end of one."""
    if ending.strength == 1:
        return False
    if ending.status == kinds.CANCELLED and source != kinds.USER:
        return True
    return own is not None and (own != kinds.DECISION or ending.strength <= _HINT)


def _is_a_deed(heard: Heard, ending: Ending) -> bool:
    """Whether a sentence tells of finished work that was never on a list."""
    if ending.strength < 1 or ending.status != kinds.DONE or heard.kind not in (None, kinds.FACT):
        return False
    sentence = heard.sentence
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
