"""What a sentence is: a rule, a choice, work to do, the end of something, a fact, or nothing. Pure.

The surest cue wins. What carries no cue is a fact of more or less weight: users count for more than
models, exact values for more than prose, and what was asked for the moment for little.
"""

from __future__ import annotations

from brimline.carry import cues, values, words
from brimline.carry import items as kinds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from brimline.carry.sentences import Sentence

# At the same strength the first of these wins.
_OF_USER = (
    (kinds.CONSTRAINT, cues.CONSTRAINT),
    (kinds.REJECTED, cues.REJECTED),
    (kinds.DECISION, cues.DECISION),
    (kinds.TASK, cues.TASK),
)
_OF_MODEL = ((kinds.REJECTED, cues.REJECTED), (kinds.DECISION, cues.DECISION))
_SURE_ENOUGH = 0.8
# A list's introduction is a little less sure than what the item itself says.
_LEAD_SHARE = 0.9
_LEAD_CHARACTERS = 100
_LEAST_WORDS = 3
_PROSE_CHARACTERS = 250
# Facts below this weight are only there to fill a card that has room left.
FILLING = 1.0


class Meaning:
    """What a sentence was taken for."""

    __slots__ = ("kind", "text", "weight")

    def __init__(self, kind: str, text: str, weight: float) -> None:
        self.kind = kind
        self.text = text
        self.weight = weight


class Ending:
    """That something is done, cancelled or lifted, and the words by which to find it."""

    __slots__ = ("is_sure", "mention", "status")

    def __init__(self, status: str, text: str, *, is_sure: bool) -> None:
        self.status = status
        self.is_sure = is_sure
        """Whether it says so in so many words; else it only tells of something done."""
        without = cues.LIFTING_WORDS if status == kinds.SUPERSEDED else cues.CLOSING_WORDS
        self.mention = words.content_of(text, without)


def meaning(sentence: Sentence, source: str) -> Meaning | None:
    """What a sentence means from the mouth of a user, of the assistant or of a subagent."""
    exact = values.specificity(sentence.text)
    if not exact and cues.ACKNOWLEDGEMENTS.issuperset(sentence.plain.split()):
        return None
    if source == kinds.USER:
        return _of_user(sentence, exact)
    return _of_model(sentence, exact, source)


def endings(sentence: Sentence, source: str) -> list[Ending]:
    """What a sentence may put an end to, the likeliest reading first."""
    plain, text = sentence.plain, sentence.text
    if sentence.asks:
        return []
    found = []
    if sentence.is_checked:
        found.append(Ending(kinds.DONE, text, is_sure=True))
    if source == kinds.USER and cues.strongest(plain, cues.LIFTED):
        found.append(Ending(kinds.SUPERSEDED, text, is_sure=True))
    cancelled = cues.strongest(plain, cues.CANCELLED)
    if cancelled and (source == kinds.USER or cancelled == 1):
        found.append(Ending(kinds.CANCELLED, text, is_sure=cancelled == 1))
    done = cues.strongest(plain, cues.DONE)
    if not done and sentence.is_item:
        done = cues.strongest(words.plain(sentence.lead), cues.DONE)
    if done and not cues.UNFINISHED.intersection(plain.split()):
        found.append(Ending(kinds.DONE, text, is_sure=done == 1))
    return found


def _of_user(sentence: Sentence, exact: float) -> Meaning | None:
    kind, strength = _surest(sentence, _OF_USER)
    if not kind and _opens_like_a_rule(sentence.plain):
        kind, strength = kinds.CONSTRAINT, _SURE_ENOUGH
    if not kind and sentence.plain.startswith(cues.TASK_OPENINGS):
        kind, strength = kinds.TASK, _SURE_ENOUGH
    if sentence.asks and not _is_a_polite_rule(sentence, kind, strength):
        kind = kinds.TASK if kind == kinds.TASK and strength == 1 else ""
    if sentence.is_checked is False:
        kind, strength = kinds.TASK, 1.0
    if kind:
        return Meaning(kind, _with_lead(sentence), strength + exact / 5)
    asks = sentence.asks or sentence.plain.startswith(cues.ASKING)
    if not exact and len(words.content(sentence.text)) < _LEAST_WORDS:
        return None
    # What was asked was for the moment; what was stated holds on.
    weight = 1.2 if asks else 2.4
    weight += min(exact, 3) / 2 + cues.strongest(sentence.plain, cues.TELLING) / 2
    return Meaning(kinds.FACT, _with_lead(sentence), weight)


def _of_model(sentence: Sentence, exact: float, source: str) -> Meaning | None:
    if sentence.asks or sentence.text.rstrip().endswith(":"):
        return None
    narrates = sentence.plain.startswith(cues.NARRATION)
    kind, strength = _surest(sentence, _OF_MODEL)
    if kind and not (narrates and strength < 1):
        return Meaning(kind, _with_lead(sentence), strength + exact / 5)
    if _is_left_to_do(sentence):
        return Meaning(kinds.TASK, _with_lead(sentence), _SURE_ENOUGH + exact / 5)
    telling = cues.strongest(sentence.plain, cues.TELLING)
    if narrates and not telling:
        return None
    weight = _model_weight(sentence, exact, telling, source)
    return Meaning(kinds.FACT, _with_lead(sentence), weight) if weight else None


def _model_weight(sentence: Sentence, exact: float, telling: float, source: str) -> float:
    is_report = source == kinds.SUBAGENT
    if exact >= (0.5 if is_report else 0.8) or (telling and exact):
        return 1 + is_report + min(exact, 3) / 2 + telling / 2
    if len(sentence.text) > _PROSE_CHARACTERS or len(words.content(sentence.text)) < _LEAST_WORDS:
        return 0.0
    reasons = any(reason in sentence.plain for reason in cues.REASONS)
    return (0.2 + exact / 2 + 0.3 * reasons + 0.3 * telling) * (1 + is_report) * FILLING


def _surest(
    sentence: Sentence, tables: tuple[tuple[str, cues.Table], ...]
) -> tuple[str, float]:
    best, surest = "", 0.0
    lead = words.plain(sentence.lead) if sentence.is_item and sentence.lead else ""
    for kind, table in tables:
        strength = cues.strongest(sentence.plain, table)
        if lead:
            strength = max(strength, _LEAD_SHARE * cues.strongest(lead, table))
        if strength >= _SURE_ENOUGH and strength > surest:
            best, surest = kind, strength
    return best, surest


def _opens_like_a_rule(plain: str) -> bool:
    return plain.startswith(cues.RULE_OPENINGS) and not plain.startswith(cues.NO_RULE_OPENINGS)


def _is_a_polite_rule(sentence: Sentence, kind: str, strength: float) -> bool:
    """Whether a question asks for a rule to be kept."""
    polite = any(words in sentence.plain for words in cues.REQUESTS)
    # "…, ok?" asks for nothing.
    confirmed = sentence.plain.endswith((" okay ", " right ", " please ", " understood "))
    return kind == kinds.CONSTRAINT and strength == 1 and (polite or confirmed)


def _is_left_to_do(sentence: Sentence) -> bool:
    if sentence.is_checked is False:
        return True
    told = words.plain(sentence.lead) if sentence.is_item else sentence.plain
    return not sentence.lead.rstrip(": ").endswith("?") and any(cue in told for cue in cues.LEFT_TO_DO)


def _with_lead(sentence: Sentence) -> str:
    """An item with the words that introduce its list: alone it may mean the opposite."""
    lead = sentence.lead.strip()
    if not sentence.is_item or not lead or len(lead) > _LEAD_CHARACTERS:
        return sentence.text
    return f"{lead} {sentence.text}"
