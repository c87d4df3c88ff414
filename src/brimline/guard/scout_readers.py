"""Commands that print what they read, and how to tell the paths among their arguments."""

from __future__ import annotations

from typing import NamedTuple


class Reader(NamedTuple):
    """One reading command. Options are named without their dashes."""

    values: frozenset[str]  # options followed by a value
    program_first: bool  # the first operand is a pattern or a program, not a path
    program: frozenset[str]  # options that stand in for that operand
    silent: frozenset[str]  # options after which nothing is printed
    globs: frozenset[str]  # options whose values are patterns of paths
    walks: bool  # without a path it takes the current folder
    walks_with: frozenset[str]  # ... but only with one of these options


def _reader(
    values: str = "",
    *,
    program: str | None = None,
    silent: str = "",
    globs: str = "",
    walks: bool = False,
    walks_with: str = "",
) -> Reader:
    return Reader(
        values=frozenset(values.split()),
        program_first=program is not None,
        program=frozenset((program or "").split()),
        silent=frozenset(silent.split()),
        globs=frozenset(globs.split()),
        walks=walks or bool(walks_with),
        walks_with=frozenset(walks_with.split()),
    )


_TABLE = {
    "cat tac rev less more zcat zless cmp comm": _reader(),
    "grep egrep fgrep zgrep": _reader(
        "e f m A B C d D regexp file max-count context after-context before-context exclude "
        "exclude-dir exclude-from include binary-files directories devices label",
        program="e f regexp file",
        silent="q quiet silent",
        walks_with="r R recursive dereference-recursive",
    ),
    "rg": _reader(
        "e f m A B C g t T j d M E r regexp file max-count context after-context before-context "
        "glob iglob type type-not max-depth ignore-file sort sortr replace encoding",
        program="e f regexp file files",
        silent="q quiet",
        globs="g glob iglob",
        walks=True,
    ),
    "ag ack": _reader(
        "A B C G m p ignore ignore-dir depth file-search-regex type ignore-file",
        program="",
        walks=True,
    ),
    "fd fdfind": _reader(
        "E e t d c S j exclude extension type max-depth min-depth color size changed-within",
        program="",
        walks=True,
    ),
    "ls dir vdir": _reader("I w T ignore hide width sort", walks=True),
    "exa eza lsd": _reader("I L s ignore-glob level sort", walks=True),
    "tree": _reader("I P L o H T filelimit", silent="o", walks=True),
    "du": _reader("d t X B exclude max-depth threshold exclude-from block-size", walks=True),
    "sed": _reader(
        "e f l expression file line-length", program="e f expression file", silent="i in-place"
    ),
    "awk gawk mawk nawk": _reader("F v f file assign", program="f file"),
    "jq yq": _reader("f L from-file indent", program="f from-file"),
    "bat batcat": _reader("l r H m language line-range theme style"),
    "head tail": _reader("n c s lines bytes pid"),
    "stat": _reader("c f t format printf"),
    "file": _reader("m f F"),
    "wc": _reader("files0-from"),
    "nl": _reader("b d f h i l n s v w"),
    "od": _reader("A t j N w S"),
    "xxd": _reader("l s c g o"),
    "hexdump": _reader("n s e f"),
    "strings": _reader("n t e"),
    "cut": _reader("d f c b delimiter fields characters bytes output-delimiter"),
    "sort": _reader("k t o S T key output", silent="o output"),
    "uniq": _reader("f s w"),
    "diff": _reader("x X U C I exclude exclude-from label"),
    "column": _reader("s t c"),
    "fold": _reader("w"),
    "paste": _reader("d"),
}
READERS = {name: reader for names, reader in _TABLE.items() for name in names.split()}
# `find` has a language of its own.
READING_COMMANDS = frozenset(READERS) | {"find"}
