"""What a sentence affirms and what it rules out, clause by clause. Pure.

`never deploy` and `deploy` share every word that counts, so words alone do not tell whether a
summary kept a rule. A sentence is cut into clauses, and the words of a clause take its direction.
"""

from __future__ import annotations

import re

from brimline.carry import lexicon

FOR, AGAINST, ON_CONDITION = "+", "-", "?"

_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"')\]”»*_`]*\s+(?=[\"'(\[“„«*_`A-Z0-9#-])|\n+")
_BULLET = re.compile(r"^\s*(?:[-*+•▪◦‣]|\(?\d{1,3}[.)]|[a-z][.)])\s+(?:\[[ xX✓✔]\]\s*)?")
_HEADING = re.compile(r"^\s*(?:#{1,6}\s+.*|.{1,80}:\s*|\*\*[^*]{1,80}\*\*:?\s*)$")
_BEGINS_ANEW = re.compile(r"^\s*(?:[-*+•▪◦‣#|>]|\(?\d{1,3}[.)]\s)")
_CUTS = re.compile(r"[;:—–()]|\s-\s|[,.!?]\s")
_LISTED = re.compile(r"\b(?:or|nor)\b", re.IGNORECASE)
_LONGEST_SENTENCE = 800
_NO_TEXT = " #*-_=|`"


def sentences(text: str) -> list[tuple[str, str]]:
    """The sentences and bullets of a text, each with the heading it stands under."""
    found: list[tuple[str, str]] = []
    heading = ""
    for line in _unwrapped(text):
        if _HEADING.match(line):
            heading = line.strip(" #*:")
        for part in _SENTENCE_END.split(_BULLET.sub("", line).strip()):
            if part and part.strip(_NO_TEXT):
                found += [(piece, heading) for piece in _cut(part.strip())]
    return found


def clauses(text: str, *, against: bool = False) -> list[tuple[list[str], str]]:
    """The words of each clause of a sentence, and whether it is for them, against or in between.

    Args:
        text: a sentence.
        against: whether all of it is ruled out anyway, as what stands under "Rejected" is.
    """
    return [
        (clause, AGAINST if against and direction == FOR else direction)
        for part in _parts(text)
        for clause, direction in _directed(_pieces(_phrased(part).split()))
    ]


def limits(text: str) -> set[str]:
    """Whether a sentence says `only` or `at most`, in whatever words."""
    told = set(_phrased(text).split())
    spelled = {"only": lexicon.ONLY, "atmost": lexicon.AT_MOST}
    return {name for name, known in spelled.items() if told & known}


def is_negative(text: str) -> bool:
    """Whether anything in a sentence is ruled out."""
    return any(direction != FOR for _, direction in clauses(text))


def _cut(sentence: str) -> list[str]:
    """A sentence as it is; one without an end, such as a dump of data, in pieces."""
    if len(sentence) <= _LONGEST_SENTENCE:
        return [sentence]
    pieces = [""]
    for word in sentence.split():
        if len(pieces[-1]) + len(word) > _LONGEST_SENTENCE:
            pieces.append("")
        pieces[-1] += f" {word[:_LONGEST_SENTENCE]}"
    return [piece.strip() for piece in pieces if piece]


def _unwrapped(text: str) -> list[str]:
    """Lines, with those put together that were only wrapped."""
    lines: list[str] = []
    for raw in text.replace("\r\n", "\n").split("\n"):
        line = raw.rstrip()
        if lines and _goes_on(lines[-1], line):
            lines[-1] += " " + line.strip()
        else:
            lines.append(line)
    return lines


def _goes_on(before: str, line: str) -> bool:
    if not before or not line.strip() or _BEGINS_ANEW.match(line) or _HEADING.match(before):
        return False
    return before[-1] not in ".!?:…" and line.strip()[0].islower()


def _phrased(text: str) -> str:
    plain = lexicon.plain(text)
    for pattern, replacement in lexicon.PHRASES:
        plain = pattern.sub(replacement, plain)
    return plain


def _parts(text: str) -> list[str]:
    """A sentence cut at its punctuation; a list after a negation stays with it."""
    joined: list[str] = []
    for part in _CUTS.split(f"{text} "):
        if joined and _is_list(joined[-1], part):
            joined[-1] += f" {part}"
        elif part.strip():
            joined.append(part)
    return joined


def _is_list(before: str, part: str) -> bool:
    """Whether `push or tag` goes on with `never deploy`."""
    if not _LISTED.search(part):
        return False
    return _negates(_phrased(before).split()) and not _negates(_phrased(part).split())


def _negates(piece: list[str]) -> bool:
    return any(word in lexicon.NEGATORS for word in piece)


def _pieces(tokens: list[str]) -> list[list[str]]:
    """Words cut where another clause begins."""
    begun = 0
    found: list[list[str]] = []
    for at in range(1, len(tokens)):
        if at > begun and _opens_clause(tokens, begun, at):
            found.append(tokens[begun:at])
            begun = at
    return [piece for piece in (*found, tokens[begun:]) if piece]


def _opens_clause(tokens: list[str], begun: int, at: int) -> bool:
    word, before = tokens[at], tokens[at - 1]
    if word in lexicon.PREPOSITIONS and tokens[begun] in lexicon.CONTRASTED:
        return True  # `postgres over sqlite | for the queue`
    if word in lexicon.CONTRASTS or word in lexicon.SUBORDINATES:
        return before not in ("as", "so")
    if word in ("not", "no"):
        return before not in lexicon.AUXILIARIES
    if word == "over":
        return any(earlier in lexicon.PREFERS for earlier in tokens[:at])
    # `do not cache pages use the index`, without a comma
    apart = before not in lexicon.AUXILIARIES and before not in lexicon.NEGATORS
    return word == "use" and apart and "not" in tokens[:at]


def _directed(pieces: list[list[str]]) -> list[tuple[list[str], str]]:
    found: list[tuple[list[str], str]] = []
    main_is_negative = False
    for at, piece in enumerate(pieces):
        negative = sum(word in lexicon.NEGATORS for word in piece) % 2 == 1 or piece[0] == "over"
        following = pieces[at + 1][0] if at + 1 < len(pieces) else ""
        if piece[0] == "without" and main_is_negative:
            negative = not negative  # `never without a review` asks for one
        if piece[0] not in lexicon.SUBORDINATES:
            main_is_negative = negative
        found.append((piece, _direction(piece, following, negative=negative)))
    return found


def _direction(piece: list[str], following: str, *, negative: bool) -> str:
    """`not until green` and `only once green` are the same: on a condition."""
    if negative:
        return ON_CONDITION if following in lexicon.HOLDS_BACK else AGAINST
    limited = following in lexicon.LETS_GO and any(word in lexicon.ONLY for word in piece)
    return ON_CONDITION if limited else FOR
