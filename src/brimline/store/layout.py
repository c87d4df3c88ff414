"""Where things lie in the store, and the shape of a key.

Fast path: imports only `time`, `brimline.fastio` and `brimline.store.errors`.

    store/format                 the version of this layout
    store/blobs/ab/<62 hex>      content with a header that names its compression (`blobfile`);
                                 the time of its last use is the file's modification time
    store/meta/ab/<62 hex>.json  what is known about it: size, lines, tool, command, session, …
    store/meta/ab/<62 hex>.pin   its pin: level and reason
    store/index.jsonl            what happened to blobs, one line each, only ever appended to
    store/last_key               the key that was stored last
    store/search.sqlite3         full-text index over the contents, made when it is asked for
    store/tmp/                   files that are being written, and blobs that are being removed
"""

from __future__ import annotations

import time

from brimline import fastio
from brimline.store.errors import StoreError

FORMAT = 1
PREFIX = "sha256:"
DIGEST_LENGTH = 64
_HEX = frozenset("0123456789abcdef")


def root(home_dir: str) -> str:
    """The store's folder."""
    return home_dir + "/store"


def blobs_dir(home_dir: str) -> str:
    """The folder with one folder of blobs per first two digits."""
    return root(home_dir) + "/blobs"


def meta_dir(home_dir: str) -> str:
    """The folder with one folder of sidecars per first two digits."""
    return root(home_dir) + "/meta"


def tmp_dir(home_dir: str) -> str:
    """The folder for what is not in its place yet, or no longer."""
    return root(home_dir) + "/tmp"  # noqa: S108 - inside our own folder


def blob(home_dir: str, digest: str) -> str:
    """The file with the content."""
    return f"{blobs_dir(home_dir)}/{digest[:2]}/{digest[2:]}"


def sidecar(home_dir: str, digest: str) -> str:
    """The file with what is known about the content."""
    return f"{meta_dir(home_dir)}/{digest[:2]}/{digest[2:]}.json"


def pin(home_dir: str, digest: str) -> str:
    """The file that promises not to prune it."""
    return f"{meta_dir(home_dir)}/{digest[:2]}/{digest[2:]}.pin"


def index(home_dir: str) -> str:
    """The audit trail."""
    return root(home_dir) + "/index.jsonl"


def last_key(home_dir: str) -> str:
    """The file with the key that was stored last."""
    return root(home_dir) + "/last_key"


def format_file(home_dir: str) -> str:
    """The file with the layout's version."""
    return root(home_dir) + "/format"


def fresh_name(home_dir: str, ending: str) -> str:
    """A name in the folder for temporary files that no other process uses."""
    return f"{tmp_dir(home_dir)}/{fastio.system.getpid()}.{time.monotonic_ns()}.{ending}"


def is_digest(text: str) -> bool:
    """Whether a text is 64 lower-case hexadecimal digits."""
    return len(text) == DIGEST_LENGTH and _HEX.issuperset(text)


def is_hex(text: str) -> bool:
    """Whether a text holds lower-case hexadecimal digits only."""
    return _HEX.issuperset(text)


def digest_of(key: str) -> str:
    """The digits of a complete key; foreign text never becomes part of a path.

    Raises:
        StoreError: it is no key.
    """
    digest = key.removeprefix(PREFIX)
    if key == digest or not is_digest(digest):
        raise StoreError(f"{key!r} is no key: it takes sha256: and 64 hexadecimal digits")
    return digest
