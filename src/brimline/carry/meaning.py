"""What a sentence is: a rule, a choice, work to do, the end of something, a fact, or nothing. Pure.

The surest cue wins. What carries no cue is a fact of more or less weight: users count for more than
models, exact values for more than prose, and what was asked for the moment for little.
"""

from __future__ import annotations

from brimline.carry import items as kinds
from brimline.carry import phrases, values, words
from brimline.carry.cues import strongest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from brimline.carry.cues import Table
    from brimline.carry.sentences import Sentence

# At the same strength the first of these wins.
_OF_USER = (
    (kinds.CONSTRAINT, phrases.CONSTRAINT),
    (kinds.REJECTED, phrases.REJECTED),
    (kinds.DECISION, phrases.DECISION),
    (kinds.TASK, phrases.TASK),
)
_OF_MODEL = (
    (kinds.REJECTED, phrases.REJECTED_BY_MODEL),
    (kinds.DECISION, phrases.DECISION_BY_MODEL),
    (kinds.TASK, phrases.LEFT_TO_DO),
)
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

    __slots__ = ("mention", "status", "strength")

    def __init__(self, status: str, text: str, strength: float) -> None:
        self.status = status
        self.strength = strength
        """1 where it says so in so many words; less where what it is about has to make it clear."""
        without = phrases.LIFTING_WORDS if status == kinds.SUPERSEDED else phrases.CLOSING_WORDS
        self.mention = words.content_of(text, without)


def meaning(sentence: Sentence, source: str) -> Meaning | None:
    """What a sentence means from the mouth of a user, of the assistant or of a subagent."""
    exact = values.specificity(sentence.text)
    if not exact and phrases.ACKNOWLEDGEMENTS.issuperset(sentence.plain.split()):
        return None
    if source == kinds.USER:
        return _of_user(sentence, exact)
    return _of_model(sentence, exact, source)


def endings(sentence: Sentence, source: str) -> list[Ending]:
    """What a sentence may put an end to, the likeliest reading first."""
    if sentence.asks:
        return []
    if sentence.is_checked:
        return [Ending(kinds.DONE, sentence.text, 1.0)]
    plain, marked = sentence.plain, sentence.marked if source == kinds.USER else ""
    spoken = plain.split()
    lifted = strongest(plain, phrases.LIFTED, marked) if source == kinds.USER else 0.0
    if lifted < 1 and phrases.STANDING.intersection(spoken):
        lifted = 0.0
    cancelled = strongest(plain, phrases.CANCELLED, marked)
    done = strongest(plain, phrases.DONE, marked)
    if not done and sentence.is_item:
        done = strongest(words.plain(sentence.lead), phrases.DONE)
    if phrases.UNFINISHED.intersection(spoken):
        done = 0.0
    found = (
        (lifted, kinds.SUPERSEDED),
        (cancelled if source == kinds.USER or cancelled == 1 else 0.0, kinds.CANCELLED),
        (done, kinds.DONE),
    )
    readings = [Ending(status, sentence.text, strength) for strength, status in found if strength]
    return sorted(readings, key=lambda ending: -ending.strength)


def is_narration(plain: str) -> bool:
    """Whether the assistant only announces what it does next."""
    while (first := plain.split(" ", 2)[1]) in phrases.INTERJECTIONS:
        plain = plain[len(first) + 1 :]
    return plain.startswith(phrases.NARRATION)


def _of_user(sentence: Sentence, exact: float) -> Meaning | None:
    kind, strength = _surest(sentence, _OF_USER, sentence.marked)
    if sentence.asks and not _is_a_polite_rule(sentence, kind, strength):
        kind = kinds.TASK if kind == kinds.TASK and strength == 1 else ""
    if sentence.is_checked is False:
        kind, strength = kinds.TASK, 1.0
    introduces = sentence.text.endswith(":") and kind in ("", kinds.TASK)
    if introduces:
        return None
    if kind:
        return Meaning(kind, _with_lead(sentence), strength + exact / 5)
    asks = sentence.asks or sentence.plain.startswith(phrases.ASKING)
    if not exact and len(words.content(sentence.text)) < _LEAST_WORDS:
        return None
    # What was asked was for the moment; what was stated holds on.
    weight = 1.2 if asks else 2.4
    weight += min(exact, 3) / 2 + strongest(sentence.plain, phrases.TELLING) / 2
    return Meaning(kinds.FACT, _with_lead(sentence), weight)


def _of_model(sentence: Sentence, exact: float, source: str) -> Meaning | None:
    if sentence.asks or sentence.text.rstrip().endswith(":"):
        return None
    narrates = is_narration(sentence.plain)
    kind, strength = _surest(sentence, _OF_MODEL)
    if sentence.is_checked is False:
        kind, strength = kinds.TASK, 1.0
    if kind and not (narrates and strength < 1):
        return Meaning(kind, _with_lead(sentence), strength + exact / 5)
    telling = strongest(sentence.plain, phrases.TELLING)
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
    reasons = any(reason in sentence.plain for reason in phrases.REASONS)
    return (0.2 + exact / 2 + 0.3 * reasons + 0.3 * telling) * (1 + is_report) * FILLING


def _surest(
    sentence: Sentence, tables: tuple[tuple[str, Table], ...], marked: str = ""
) -> tuple[str, float]:
    best, surest = "", 0.0
    lead = words.plain(sentence.lead) if sentence.is_item and sentence.lead else ""
    for kind, table in tables:
        strength = strongest(sentence.plain, table, marked)
        if lead:
            strength = max(strength, _LEAD_SHARE * strongest(lead, table))
        if strength >= _SURE_ENOUGH and strength > surest:
            best, surest = kind, strength
    return best, surest


def _is_a_polite_rule(sentence: Sentence, kind: str, strength: float) -> bool:
    """Whether a question asks for a rule to be kept."""
    polite = any(words in sentence.plain for words in phrases.REQUESTS)
    # "…, ok?" asks for nothing.
    confirmed = sentence.plain.endswith((" okay ", " right ", " please ", " understood "))
    return kind == kinds.CONSTRAINT and strength == 1 and (polite or confirmed)


def _with_lead(sentence: Sentence) -> str:
    """An item with the words that introduce its list: alone it may mean the opposite."""
    lead = sentence.lead.strip()
    if not sentence.is_item or not lead or len(lead) > _LEAD_CHARACTERS:
        return sentence.text
    return f"{lead} {sentence.text}"
