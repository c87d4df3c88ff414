"""Makes text that others wrote fit to stand in what brimline says: on one line, or as a quotation.

A repository names its folders, branches and rule files, a tool its output, a teammate an entry.
None of it may begin a line of ours, move the cursor, turn the reading direction or hide letters, or
it could speak as brimline or as the user.

Fast path: imports nothing.
"""

from __future__ import annotations

NAME_CHARACTERS = 200
QUOTATION_CHARACTERS = 2_000
QUOTATION_MARK = "  > "
# The client puts what a hook says between such tags: what follows one that ends there is nobody's.
# However it is written, in between there is nothing but signs and blanks.
_REMINDER, _BROKEN_BRACKET, _TAG_CHARACTERS = "systemreminder", "‹", 80
# Invisible letters: controls, soft hyphens, marks of direction, what is wider than nothing by name
# only, tags, variants. The two joiners (200C, 200D) and the variants that draw a sign as
# emoji or as text (FE0F, FE0E) stay: words of some languages and emoji need them.
_INVISIBLE = dict.fromkeys(
    [
        *(0x00AD, 0x061C, 0x180E, 0x200B, 0x200E, 0x200F, 0xFEFF, 0xE0001),
        *[*range(9), *range(10, 32), *range(127, 160), *range(0x2028, 0x202F)],
        *[*range(0x2060, 0x2070), *range(0xFFF9, 0xFFFC), *range(0xE0020, 0xE0080)],
        *[*range(0xFE00, 0xFE0E), *range(0xE0100, 0xE01F0)],
    ]
)


def flatten(text: str, most: int = NAME_CHARACTERS, *, keep_end: bool = False) -> str:
    """Put a text on one line, without invisible letters, cut with an ellipsis.

    Args:
        text: what somebody else wrote.
        most: how many characters it may have then.
        keep_end: whether its end stays rather than its beginning: that of a path tells most.
    """
    plain = " ".join(text.split())
    plain = without_invisible(plain)
    if "<" in plain:
        plain = _without_reminder_tags(plain)
    if len(plain) <= most:
        return plain
    return "…" + plain[1 - most :] if keep_end else plain[: most - 1].rstrip() + "…"


def quote(text: str, most: int = QUOTATION_CHARACTERS) -> str:
    """Put a mark before every line of a text, so that each is seen to be quoted.

    Whatever a reader or a terminal may take for the end of a line ends one here.
    """
    shown = text if len(text) <= most else text[:most].rstrip() + "…"
    lines = [without_invisible(line.expandtabs()).rstrip() for line in shown.splitlines()]
    return _without_reminder_tags("\n".join([(QUOTATION_MARK + line).rstrip() for line in lines]))


def _without_reminder_tags(text: str) -> str:
    """A text in which no such tag begins or ends, in whatever letters."""
    first, *pieces = text.split("<")
    return first + "".join([_bracket_before(piece) + piece for piece in pieces])


def _bracket_before(piece: str) -> str:
    head = piece[:_TAG_CHARACTERS]
    if not head.isascii():
        import unicodedata

        head = unicodedata.normalize("NFKC", head)
    letters = "".join([letter for letter in head if letter.isalpha()])
    return _BROKEN_BRACKET if letters.lower().startswith(_REMINDER) else "<"


def without_invisible(line: str) -> str:
    """Drop what cannot be seen from one line of a text; tabs stay."""
    if line.isascii() and line.isprintable():
        return line
    # A half of a pair, as file names may hold, cannot be written as UTF-8.
    return line.translate(_INVISIBLE).encode("utf-8", "replace").decode()
