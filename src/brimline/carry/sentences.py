"""A text cut into sentences and list items, as they were written, without code and logs. Pure."""

from __future__ import annotations

from brimline.carry import words
from brimline.carry.words import word_set

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

# A sentence longer than this is cut into its clauses: a card shows no more of a line.
LONGEST_CHARACTERS = 380
_LONGEST_TEXT = 60_000
_MOST_SENTENCES = 600
_SHORT_LINE = 60
_LEAST_LETTERS = 4
_LONGEST_MARK = 4
_RULERS = frozenset("-=_*#~ ")
_FENCES = ("```", "~~~")
_LIST_MARKS = ("- ", "* ", "• ", "+ ", "– ", "— ")
_BOXES = {"[ ]": False, "[x]": True, "[X]": True, "☐": False, "☑": True}
_ANSWERS = ("no", "nope", "never", "yes", "sure")
_ENDS = ".!?"
_CLOSERS = "\"'”’)]*_`"
_LAST_CHARACTERS = frozenset(_ENDS + _CLOSERS)
_ABBREVIATIONS = word_set(
    "e.g i.e etc vs approx ca cf nr fig mr mrs dr prof incl excl resp bzw z.b dept al"
)
# Lines that no person wrote as a sentence: tables, differences, traces, prompts of a shell, code.
_NOT_PROSE = (
    *(
        "⏺",
        "⎿",
        "●",
        "└",
        "|",
        "diff --git",
        "+++ ",
        "--- a/",
        "@@ ",
        "$ ",
        "❯",
        "% ",
        'File "',
        "Traceback (",
    ),
    *("//", "/*", "#!", "#include", "</", "<?", "<!", "{", "}", "];", "from __"),
)
# English as well as code: only with the signs of code in the line.
_MAY_BE_CODE = (
    *("import ", "def ", "func ", "class ", "return ", "const ", "let ", "var ", "public "),
    *("private ", "at ", "if ", "for ", "while ", "type ", "use ", "package "),
)
_CODE_SIGNS = ("(", " = ", "{", ";", "=>", "::")
_CODE_ENDS = ("{", "};", ");", "=>", "\\", "({", "[{", "(", ",)", "):", ";", "}", ",")
_NOT_PROSE_ENDS = ("{", "};", ");", "=>", "\\", "({", "[{")
_CLAUSE_BREAKS = ("; ", " — ", " – ", " - ", ", but ", ", and ", ", so ", ", ")
_LIST_LEADS = (
    *("todo", "todos", "to do", "still to do", "left to do", "tasks", "next steps", "open items"),
    *("remaining", "still open", "action items"),
)
_LEAST_LISTED = 3
# What begins so is a part of what was said before it.
_NO_ITEM = (
    *("with ", "without ", "when ", "if ", "before ", "after ", "once ", "because ", "so ", "but "),
    *("as ", "for ", "in ", "on ", "at ", "while ", "which ", "that ", "to ", "by ", "not "),
)


class Sentence:
    """One sentence or list item."""

    __slots__ = ("_marked", "_plain", "is_checked", "is_item", "lead", "text")

    def __init__(
        self, text: str, lead: str = "", *, is_item: bool = False, is_checked: bool | None = None
    ) -> None:
        self.text = text
        self.lead = lead
        """The line that introduces the list it stands in."""
        self.is_item = is_item
        self.is_checked = is_checked
        """Of an item with a box: whether it is ticked."""
        self._plain = self._marked = ""

    @property
    def plain(self) -> str:
        """Its plain words, a blank around each."""
        if not self._plain:
            self._plain = words.plain(self.text)
        return self._plain

    @property
    def marked(self) -> str:
        """Its plain words with a mark where a clause begins."""
        if not self._marked:
            self._marked = words.marked(self.text)
        return self._marked

    @property
    def asks(self) -> bool:
        """Whether it ends in a question mark."""
        return self.text.rstrip(" )\"'*_").endswith("?")


def sentences(text: str) -> list[Sentence]:
    """The sentences of a text in order; of a very long one its beginning and its end."""
    if len(text) > _LONGEST_TEXT:
        text = text[: _LONGEST_TEXT * 2 // 3] + "\n\n" + text[-_LONGEST_TEXT // 3 :]
    found: list[Sentence] = []
    for part in _parts(text):
        found += _cut(part)
    if len(found) > _MOST_SENTENCES:
        found[_MOST_SENTENCES * 2 // 3 : -_MOST_SENTENCES // 3] = []
    return found


def left_out(text: str) -> str:
    """The lines that `sentences` leaves out: code, logs, what a user pasted."""
    kept = [line.strip() for line, is_prose in _lines(text[:_LONGEST_TEXT]) if not is_prose]
    return "\n".join(line for line in kept if line)


class _Part:
    """A paragraph or a list item that is still being put together."""

    __slots__ = ("is_item", "lead", "lines")

    def __init__(self, lead: str = "", *, is_item: bool = False) -> None:
        self.lead = lead
        self.is_item = is_item
        self.lines: list[str] = []


def _parts(text: str) -> Iterator[_Part]:
    lead = ""
    part = _Part()
    for line in _prose_lines(text):
        mark, rest = _list_mark(line)
        title = _title(line)
        goes_on = bool(part.lines) and not mark and not title and _goes_on(part, line)
        if goes_on:
            part.lines.append(line.strip())
            continue
        if part.lines:
            yield part
            lead = _lead_after(part, lead)
        part = _Part(lead if mark else "", is_item=bool(mark))
        if title:
            lead = title
        elif line.strip():
            part.lines.append(rest)
    if part.lines:
        yield part


def _lead_after(part: _Part, lead: str) -> str:
    if part.is_item:
        return lead
    last = part.lines[-1].rstrip(" *_")
    return list(_split(last))[-1] if last.endswith(":") else ""


def _goes_on(part: _Part, line: str) -> bool:
    """Whether a line continues the one before it, where someone wrapped a sentence."""
    if not line.strip():
        return False
    last = part.lines[-1]
    if part.is_item and line[:1].isspace():
        return True
    wrapped = len(last) >= _SHORT_LINE and last[-1] not in _ENDS + ":;"
    return wrapped and (line.strip()[0].islower() or len(last) >= _SHORT_LINE + 10)


def _prose_lines(text: str) -> Iterator[str]:
    for line, is_prose in _lines(text):
        yield line if is_prose else ""


def _lines(text: str) -> Iterator[tuple[str, bool]]:
    """Every line that is no fence, with whether it is prose; an empty line is."""
    inside = ""
    for line in text.splitlines():
        stripped = line.strip()
        if stripped.startswith(_FENCES):
            yield "", True
            if inside and stripped.startswith(inside):
                inside = ""
                yield stripped.lstrip("`~. "), True  # people go on behind the fence
            else:
                inside = inside or stripped[:3]
        elif inside:
            yield line, False
        else:
            yield line, not stripped or _is_prose(stripped)


def _is_prose(line: str) -> bool:
    if not line or line.startswith(_NOT_PROSE) or line.endswith(_NOT_PROSE_ENDS):
        return False
    if line.startswith('"') and '":' in line:
        return False
    if line.startswith(">") or _RULERS.issuperset(line) or _is_code(line) or _is_logged(line):
        return False
    letters = sum(map(str.isalpha, line))
    has_words = letters >= _LEAST_LETTERS and " " in line
    return letters * 2 >= len(line) or (has_words and letters * 3 >= len(line))


def _is_code(line: str) -> bool:
    """Whether a line that may be English has the signs of code."""
    if line.startswith("at ") and line.endswith(")"):
        return True
    if not line.startswith(_MAY_BE_CODE) or not line.endswith(_CODE_ENDS):
        return False
    return any(sign in line for sign in _CODE_SIGNS)


def _is_logged(line: str) -> bool:
    """Whether a line is one of a log: it begins with a date or a time, or is made of settings."""
    if line.count("=") > 1 and sum("=" in word[1:-1] for word in line.split()) > 1:
        return True
    return any(_is_a_time(word) for word in line.split(None, 4)[:4])


def _is_a_time(word: str) -> bool:
    digits = sum(map(str.isdigit, word))
    if digits < len("hhmmss") or digits * 2 < len(word):
        return False
    return word.count(":") > 1 or ("T" in word and ":" in word)


def _list_mark(line: str) -> tuple[str, str]:
    """A list item's mark and what follows it; no mark and the line where it is none."""
    stripped = line.strip()
    for mark in _LIST_MARKS:
        if stripped.startswith(mark):
            return mark, stripped[len(mark) :].lstrip()
    mark, blank, rest = stripped.partition(" ")
    number = mark[:-1].strip("(")
    is_number = number.isdigit() or (number.isalpha() and len(number) == 1)
    if blank and is_number and mark[-1] in ".)" and len(mark) <= _LONGEST_MARK:
        return mark, rest.lstrip()
    if stripped[:1] in _BOXES:
        return stripped[:1], stripped
    return "", stripped


def _title(line: str) -> str:
    """The words of a heading, or of a line that is all bold; empty for other lines."""
    stripped = line.strip()
    if stripped.startswith("#") and stripped.lstrip("#")[:1] == " ":
        return stripped.strip("# ").strip() + ":"
    if stripped.startswith("**") and stripped.rstrip(":").endswith("**"):
        inner = stripped.rstrip(":")[2:-2]
        if inner and "**" not in inner and inner[-1] not in _ENDS:
            return inner.rstrip(":") + ":"
    return ""


def _cut(part: _Part) -> Iterator[Sentence]:
    text = " ".join(part.lines)
    checked, text = _box(text) if part.is_item else (None, text)
    for sentence in _answered(_split(text)):
        lead, listed = _listed(sentence) if not part.is_item else ("", [])
        for clause in listed or _clauses(sentence):
            is_item = part.is_item or bool(listed)
            yield Sentence(clause, lead or part.lead, is_item=is_item, is_checked=checked)


def _listed(sentence: str) -> tuple[str, list[str]]:
    """What `Todo: this one, that one and another` lists, with its lead; no items for the rest."""
    lead, colon, rest = sentence.partition(": ")
    if not colon or lead.lower() not in _LIST_LEADS:
        return "", []
    *first, last = rest.replace("; ", ", ").split(", ")
    head, _, tail = last.partition("and ") if last.startswith("and ") else last.partition(" and ")
    listed = [*first, *(part for part in (head, tail) if part)]
    is_clear = len(first) > 0 and len(listed) >= _LEAST_LISTED
    if not is_clear or any(" " not in part or part.startswith(_NO_ITEM) for part in listed):
        return "", []
    return lead + ":", listed


def _box(text: str) -> tuple[bool | None, str]:
    for box, is_checked in _BOXES.items():
        if text.startswith(box):
            return is_checked, text[len(box) :].strip()
    return None, text


def _split(text: str) -> Iterator[str]:
    words: list[str] = []
    for word in text.split(" "):
        words.append(word)
        if word and word[-1] in _LAST_CHARACTERS and _ends_sentence(word):
            yield " ".join(words).strip()
            words = []
    rest = " ".join(words).strip()
    if rest:
        yield rest


def _answered(spoken: Iterator[str]) -> Iterator[str]:
    """Short questions with the answer that their writer gives: `Redis? No.` is one sentence."""
    question = ""
    for sentence in spoken:
        answers = sentence.split(" ", 1)[0].rstrip(".,!:").lower() in _ANSWERS
        if question and not answers:
            yield question
        joined = f"{question} {sentence}" if question and answers else sentence
        question = joined if joined.endswith("?") and len(joined) < _SHORT_LINE else ""
        if not question:
            yield joined
    if question:
        yield question


def _ends_sentence(word: str) -> bool:
    bare = word.rstrip(_CLOSERS)
    if bare[-1:] != ".":
        return bare[-1:] in _ENDS and bool(bare)
    stem = bare[:-1].lstrip("(\"'").lower()
    return bool(stem) and stem not in _ABBREVIATIONS and (len(stem) > 1 or not stem.isalpha())


def _clauses(sentence: str) -> Iterator[str]:
    """The sentence, or its clauses where it is too long for a line."""
    while len(sentence) > LONGEST_CHARACTERS:
        cut = _break_before(sentence, LONGEST_CHARACTERS)
        yield sentence[:cut].strip()
        sentence = sentence[cut:].strip()
    if sentence:
        yield sentence


def _break_before(text: str, most: int) -> int:
    for mark in _CLAUSE_BREAKS:
        at = text.rfind(mark, most // 3, most)
        if at > 0:
            return at + len(mark.rstrip()) if mark[0] in ";," else at
    at = text.rfind(" ", most // 3, most)
    return at if at > 0 else most
