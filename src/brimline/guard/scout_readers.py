"""Commands that print what they read, and how to tell the paths among their arguments."""

from __future__ import annotations

from typing import NamedTuple


class Reader(NamedTuple):
    """How a reading command's arguments are told apart. Options are named without dashes."""

    values: frozenset[str] = frozenset()  # options followed by a value
    program_first: bool = False  # the first operand is a pattern or a program
    program: frozenset[str] = frozenset()  # options that stand in for that operand
    silent: frozenset[str] = frozenset()  # options after which nothing is printed
    globs: frozenset[str] = frozenset()  # options whose values are patterns of paths
    walks: bool = False  # without a path it takes the current folder
    walks_with: frozenset[str] = frozenset()  # ... but only with one of these options


def _reader(
    values: str = "", program: str | None = None, silent: str = "", **more: str | bool
) -> Reader:
    return Reader(
        values=frozenset(values.split()),
        program_first=program is not None,
        program=frozenset((program or "").split()),
        silent=frozenset(silent.split()),
        globs=frozenset(str(more.get("globs", "")).split()),
        walks=bool(more.get("walks")),
        walks_with=frozenset(str(more.get("walks_with", "")).split()),
    )


_GREP = _reader(
    "e f m A B C d D regexp file max-count context after-context before-context exclude "
    "exclude-dir exclude-from include binary-files directories devices label",
    program="e f regexp file",
    silent="q quiet silent",
    walks=True,
    walks_with="r R recursive dereference-recursive",
)
_RG = _reader(
    "e f m A B C g t T j d M E r regexp file max-count context after-context before-context glob "
    "iglob type type-not max-depth ignore-file sort sortr replace encoding",
    program="e f regexp file files",
    silent="q quiet",
    globs="g glob iglob",
    walks=True,
)
_AG = _reader(
    "A B C G m p ignore ignore-dir depth file-search-regex type ignore-file", program="", walks=True
)
_LS = _reader("I w T L s ignore hide width sort level ignore-glob", walks=True)
_PLAIN = _reader()
READERS = {
    **dict.fromkeys("cat tac rev less more zcat zless cmp comm".split(), _PLAIN),
    **dict.fromkeys("grep egrep fgrep zgrep".split(), _GREP),
    **dict.fromkeys("ls dir vdir exa eza lsd".split(), _LS),
    **dict.fromkeys("ag ack".split(), _AG),
    **dict.fromkeys("bat batcat".split(), _reader("l r H m language line-range theme style")),
    **dict.fromkeys("head tail".split(), _reader("n c s lines bytes pid")),
    **dict.fromkeys("awk gawk mawk nawk".split(), _reader("F v f file assign", program="f file")),
    **dict.fromkeys("jq yq".split(), _reader("f L from-file indent", program="f from-file")),
    **dict.fromkeys(
        "fd fdfind".split(),
        _reader(
            "E e t d c S j exclude extension type max-depth min-depth color size changed-within",
            program="",
            walks=True,
        ),
    ),
    "rg": _RG,
    "sed": _reader(
        "e f l expression file line-length", program="e f expression file", silent="i in-place"
    ),
    "tree": _reader("I P L o H T filelimit", silent="o", walks=True),
    "du": _reader("d t X B exclude max-depth threshold exclude-from block-size", walks=True),
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
READING_COMMANDS = frozenset(READERS) | {"find"}
