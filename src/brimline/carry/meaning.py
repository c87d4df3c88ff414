"""What a sentence is: a rule, a choice, work to do, the end of something, a fact, or nothing. Pure.

The surest cue wins. What carries no cue is a fact of more or less weight: users count for more than
models, exact values for more than prose, and what was asked for the moment for little.
"""

from __future__ import annotations

from brimline.carry import items as kinds
from brimline.carry import phrases, values, words
from brimline.carry.cues import index, strengths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from brimline.carry.sentences import Sentence

_LIFTED, _CANCELLED, _DONE, _TELLING = "lifted", "cancelled", "done", "telling"
_ENDS = {
    _CANCELLED: phrases.CANCELLED,
    _DONE: phrases.DONE,
    _TELLING: phrases.TELLING,
}
_OF_USER = index(
    {
        kinds.CONSTRAINT: phrases.CONSTRAINT,
        kinds.REJECTED: phrases.REJECTED,
        kinds.DECISION: phrases.DECISION,
        kinds.TASK: phrases.TASK,
        _LIFTED: phrases.LIFTED,
    }
    | _ENDS
)
_OF_MODEL = index(
    {
        kinds.REJECTED: phrases.REJECTED_BY_MODEL,
        kinds.DECISION: phrases.DECISION_BY_MODEL,
        kinds.TASK: phrases.LEFT_TO_DO,
    }
    | _ENDS
)
# At the same strength the first of these wins.
_KINDS = (kinds.CONSTRAINT, kinds.REJECTED, kinds.DECISION, kinds.TASK)
_SURE_ENOUGH, _SURE = 0.8, 0.9
# A list's introduction is a little less sure than what the item itself says.
_LEAD_SHARE = 0.9
_LEAD_CHARACTERS = 100
_LEAST_WORDS, _LEAST_WORDS_OF_USER = 3, 2
_PROSE_CHARACTERS = 250
# A permission with one of these is for a time or a part; with `for` it is for what follows.
_LIMITS = (
    *(" once ", " this time ", " one time ", " only ", " just for ", " just this ", " just the "),
    *(" just to ", " read only ", " until ", " till ", " unless ", " except ", " apart from "),
    *(" as long as ", " if ", " provided ", " while ", " but not ", " for now ", " temporarily "),
    *(" after ", " before ", " today ", " tonight "),
)
_NO_LIMITS = (
    " if you want ",
    " if you like ",
    " at once ",
    " once again ",
    " once more ",
    " after all ",
)
_NO = (" no ", " nope ", " never ")


class Heard:
    """A sentence, what it was taken for, and what it may put an end to."""

    __slots__ = ("endings", "is_listed", "is_sure", "kind", "sentence", "text", "weight")

    def __init__(self, sentence: Sentence) -> None:
        self.sentence = sentence
        self.kind: str | None = None
        """None where it says nothing worth keeping."""
        self.text = sentence.text
        self.weight = 0.0
        self.is_sure = False
        """Whether it says what it is in so many words."""
        self.is_listed = False
        """Whether the words that introduce its list make it what it is."""
        self.endings: list[Ending] = []

    def means(self, kind: str, weight: float, *, is_sure: bool = False) -> None:
        """Take it for something; a list item then includes the words that introduce its list."""
        self.kind = kind
        self.weight = weight
        self.is_sure = is_sure
        self.text = _with_lead(self.sentence)


class Ending:
    """That something is done, cancelled or lifted, and the words by which to find it."""

    __slots__ = ("limit", "mention", "status", "strength")

    def __init__(self, status: str, text: str, strength: float) -> None:
        self.status = status
        self.strength = strength
        """1 where it says so in so many words; less where what it is about has to make it clear."""
        without = phrases.LIFTING_WORDS if status == kinds.SUPERSEDED else phrases.CLOSING_WORDS
        self.mention = words.content_of(text, without)
        self.limit = _limit(words.plain(text)) if status == kinds.SUPERSEDED else None
        """The words that limit a permission; None where nothing does."""

    def limits(self, rule: frozenset[str]) -> bool:
        """Whether it lifts a rule, of these content words, in part only."""
        return self.limit is not None and (not self.limit or bool(self.limit - rule))


def _limit(plain: str) -> frozenset[str] | None:
    """What a permission is limited to: no words where it says so itself, as in `this once`."""
    for free in _NO_LIMITS:
        plain = plain.replace(free, " ")
    if any(limit in plain for limit in _LIMITS):
        return frozenset()
    _, found, rest = plain.partition(" for ")
    return words.content(rest) or None if found else None


def hear(sentence: Sentence, source: str) -> Heard:
    """What a sentence means from the mouth of a user, of the assistant or of a subagent."""
    heard = Heard(sentence)
    exact = values.specificity(sentence.text)
    if not exact and phrases.ACKNOWLEDGEMENTS.issuperset(sentence.plain.split()):
        return heard
    is_users = source == kinds.USER
    cues = _OF_USER if is_users else _OF_MODEL
    found = strengths(sentence.plain, cues, sentence.marked if is_users else "")
    lead = sentence.lead if sentence.is_item else ""
    led = strengths(words.plain(lead), cues) if lead else {}
    if is_users:
        _of_user(heard, exact, found, led)
    else:
        _of_model(heard, exact, found, led, is_report=source == kinds.SUBAGENT)
    if source != kinds.SUBAGENT:
        heard.endings = _endings(sentence, found, led)
    if found.get(_LIFTED) == 1 and heard.kind == kinds.FACT and not sentence.asks:
        _limited(heard)
    return heard


def _limited(heard: Heard) -> None:
    """Take a permission that names its own end for a rule."""
    if phrases.UNTIL.intersection(heard.sentence.plain.split()):
        heard.means(kinds.CONSTRAINT, 1.0, is_sure=True)


def is_narration(plain: str) -> bool:
    """Whether the assistant only announces what it does next."""
    while (first := plain.split(" ", 2)[1]) in phrases.INTERJECTIONS:
        plain = plain[len(first) + 1 :]
    return plain.startswith(phrases.NARRATION)


def _endings(sentence: Sentence, found: dict[str, float], led: dict[str, float]) -> list[Ending]:
    """What a sentence may put an end to, the likeliest reading first."""
    if sentence.asks:
        return []
    if sentence.is_checked:
        return [Ending(kinds.DONE, sentence.text, 1.0)]
    lifted, cancelled = found.get(_LIFTED, 0.0), found.get(_CANCELLED, 0.0)
    done = found.get(_DONE) or led.get(_DONE, 0.0)
    if lifted or done:
        spoken = sentence.plain.split()
        if phrases.STANDING.intersection(spoken):
            lifted = (
                lifted if lifted == 1 and not any(word in spoken for word in phrases.UNTIL) else 0.0
            )
        if phrases.UNFINISHED.intersection(spoken):
            done = 0.0
    readings = (
        (lifted, kinds.SUPERSEDED),
        (cancelled, kinds.CANCELLED),
        (done, kinds.DONE),
    )
    likely = [Ending(status, sentence.text, strength) for strength, status in readings if strength]
    return sorted(likely, key=lambda ending: -ending.strength)


def _of_user(heard: Heard, exact: float, found: dict[str, float], led: dict[str, float]) -> None:
    sentence = heard.sentence
    plain_words = sentence.plain.split()
    kind, strength = _surest(found, led)
    if kind == kinds.CONSTRAINT and strength < 1 and phrases.TELLS.intersection(plain_words):
        kind = ""
    if sentence.asks and not _is_a_polite_rule(sentence, kind, strength):
        kind = kind if kind == kinds.TASK and strength == 1 else ""
    if "? " in sentence.text and sentence.plain.endswith(_NO):
        kind, strength = kinds.REJECTED, _SURE_ENOUGH
    if not kind and sentence.plain.endswith(phrases.PUT_OFF):
        kind, strength = kinds.TASK, _SURE_ENOUGH
    if sentence.is_checked is False:
        kind, strength = kinds.TASK, 1.0
    if sentence.text.endswith(":") and kind in ("", kinds.TASK) and exact < 1:
        return  # it introduces what follows
    if kind:
        heard.means(kind, strength + exact / 5, is_sure=strength >= _SURE)
    else:
        _told_by_user(heard, exact, found.get(_TELLING, 0.0))


def _told_by_user(heard: Heard, exact: float, telling: float) -> None:
    sentence = heard.sentence
    said = len(words.content(sentence.text))
    if not exact and said < _LEAST_WORDS_OF_USER:
        return
    # What was asked was for the moment; what was stated holds on.
    asks = sentence.asks or sentence.plain.startswith(phrases.ASKING)
    weight = 1.2 if asks or said < _LEAST_WORDS else 2.4
    heard.means(kinds.FACT, weight + min(exact, 3) / 2 + telling / 2)


def _of_model(
    heard: Heard,
    exact: float,
    found: dict[str, float],
    led: dict[str, float],
    *,
    is_report: bool,
) -> None:
    sentence = heard.sentence
    if sentence.asks or sentence.text.endswith(":"):
        return
    kind, strength = _surest(found, led)
    heard.is_listed = kind in led and kind not in found
    if sentence.is_checked is False:
        kind, strength = kinds.TASK, 1.0
    narrates = is_narration(sentence.plain)
    if kind and (strength == 1 or not narrates):
        heard.means(kind, strength + exact / 5, is_sure=strength >= _SURE)
    elif not narrates or _TELLING in found:
        weight = _model_weight(sentence, exact, found.get(_TELLING, 0.0), is_report=is_report)
        if weight:
            heard.means(kinds.FACT, weight)


def _model_weight(sentence: Sentence, exact: float, telling: float, *, is_report: bool) -> float:
    """How much a model's sentence is worth; below 1 it is there to fill a card with room left."""
    if exact >= (0.5 if is_report else 0.8) or (telling and exact):
        return 1 + is_report + min(exact, 3) / 2 + telling / 2
    if len(sentence.text) > _PROSE_CHARACTERS or len(words.content(sentence.text)) < _LEAST_WORDS:
        return 0.0
    reasons = any(reason in sentence.plain for reason in phrases.REASONS)
    return (0.2 + exact / 2 + 0.3 * reasons + 0.3 * telling) * (1 + is_report)


def _surest(found: dict[str, float], led: dict[str, float]) -> tuple[str, float]:
    best, surest = "", 0.0
    for kind in _KINDS:
        strength = max(found.get(kind, 0.0), _LEAD_SHARE * led.get(kind, 0.0))
        if strength >= _SURE_ENOUGH and strength > surest:
            best, surest = kind, strength
    return best, surest


def _is_a_polite_rule(sentence: Sentence, kind: str, strength: float) -> bool:
    """Whether a question asks for a rule to be kept."""
    polite = any(request in sentence.plain for request in phrases.REQUESTS)
    # "…, ok?" asks for nothing.
    confirmed = sentence.plain.endswith((" okay ", " right ", " please ", " understood "))
    return kind == kinds.CONSTRAINT and strength == 1 and (polite or confirmed)


def _with_lead(sentence: Sentence) -> str:
    """An item with the words that introduce its list: alone it may mean the opposite."""
    lead = sentence.lead.strip()
    if not sentence.is_item or not lead or len(lead) > _LEAD_CHARACTERS:
        return sentence.text
    return f"{lead} {sentence.text}"
