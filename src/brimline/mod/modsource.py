"""The module that the client loads: the files of the mod in one.

Clients before 2.1.306 let `$`, by which a mod does everything, into no function of another file.
"""

from __future__ import annotations

import re

from brimline.fast import io
from brimline.fast.paths import PACKAGE_DIR

_MOST_BYTES = 1 << 20
# The last of them: it registers what the others offer.
_ENTRY = "register.js"
# A mod of its own.
_SECOND = "idle.js"
_IMPORT = re.compile(r'^import .* from "\./.*"\n', re.MULTILINE)
_EXPORT = re.compile(r"^export ", re.MULTILINE)


def joined_mod_javascript_bytes() -> bytes:
    """Return the files behind each other, without what leads from one to the other.

    Raises:
        OSError: one cannot be read.
    """
    folder = f"{PACKAGE_DIR}/mod"
    others = sorted(
        name
        for name in io.list_names(folder)
        if name.endswith(".js") and name not in (_ENTRY, _SECOND)
    )
    shared = _EXPORT.sub("", "\n".join(_read_source(f"{folder}/{name}") for name in others))
    return _IMPORT.sub("", f"{shared}\n" + _read_source(f"{folder}/{_ENTRY}")).encode()


def second_mod_javascript_bytes() -> bytes:
    """Return the module of the second mod, which has the client compact an idle session."""
    return _read_source(f"{PACKAGE_DIR}/mod/{_SECOND}").encode()


def _read_source(path: str) -> str:
    return io.read_file(path, _MOST_BYTES).decode()
