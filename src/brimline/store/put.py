"""Takes content into the store, from a hook or from a command.

Fast path: imports only `sys`, `fast.io`, `fast.json`, `fast.paths` and fast modules
of the store.
"""

from __future__ import annotations

import sys

from brimline.fast import io, json, paths
from brimline.store import blob, layout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FORMAT = 1
# From here on OpenSSL's SHA-256, six times as fast, makes up for the three milliseconds it takes
# to load.
_LARGE_BYTES = 1_500_000
_TEXT_LENGTH = 4_000


def put(
    home_dir: str,
    data: bytes,
    meta: dict[str, Any],
    *,
    is_last: bool = True,
) -> str:
    """Keep content; when this returns, the content is on the disk and can be had by the key.

    Content that is there already is compared, not stored again; a damaged copy is replaced.

    Args:
        home_dir: the data folder.
        data: the content.
        meta: what is known about it, plain JSON values: `tool`, `source` (command or path), `exit`,
            `session`, `cwd`; kept with the first put of the content.
        is_last: whether people mean this content when they ask for the last one.

    Raises:
        StoreError: a newer brimline wrote the store, so what goes in could not be had back.
        OSError: it could not be stored (full disk, no permission); no part of it is visible.
    """
    layout.check_format(home_dir)
    digest = sha256(data)
    stored = _keep_existing(home_dir, digest, data)
    if not stored:
        packed = blob.pack(data)
        target, now_ns = layout.blob(home_dir, digest), layout.now_ns(home_dir)
        layout.place(home_dir, target, packed, stamp_ns=now_ns, sync=True)
    try:
        _describe(home_dir, digest, data, meta, again=stored, is_last=is_last)
    except OSError:
        # The content is safe, and its file says all that is needed to read it.
        pass
    return layout.PREFIX + digest


def sha256(data: bytes) -> str:
    """The digest of some content, by the cheapest way for its size."""
    digest: str = _sha256_for(len(data))(data).hexdigest()
    return digest


def count_lines(data: bytes) -> int:
    """Lines of some content; a last one without a line break counts."""
    return data.count(b"\n") + (not data.endswith(b"\n") if data else 0)


def _sha256_for(size: int) -> Any:
    names = ["_sha2", "_sha256", "hashlib"]  # of Python 3.12 and later, of 3.11, of any other
    if size >= _LARGE_BYTES or "_hashlib" in sys.modules:  # in a command it is there already
        names.insert(0, "_hashlib")
    for name in names:
        try:
            module = __import__(name)
        except ImportError:
            continue
        return module.openssl_sha256 if name == "_hashlib" else module.sha256
    raise ImportError("this Python has no SHA-256")


def _keep_existing(home_dir: str, digest: str, data: bytes) -> bool:
    """Whether the store holds this very content, which is then marked as used just now.

    The mark comes first: from then on nobody who found the blob unused will remove it.
    """
    try:
        return (
            layout.touch(home_dir, digest)
            and blob.unpack(layout.read_file(layout.blob(home_dir, digest))) == data
        )
    except (OSError, ValueError, ImportError):
        return False


def _describe(
    home_dir: str, digest: str, data: bytes, meta: dict[str, Any], *, again: bool, is_last: bool
) -> None:
    """The sidecar of new content, a line in the trail, the last key, and who uses the store."""
    key, size = layout.PREFIX + digest, len(data)
    moment_ns = layout.now_ns(home_dir)
    at = moment_ns // 1_000_000 / 1_000
    sidecar = layout.sidecar(home_dir, digest)
    if not again or not io.system.access(io.to_bytes(sidecar), 0):
        known = {n: v[:_TEXT_LENGTH] if isinstance(v, str) else v for n, v in meta.items()}
        known |= {"v": FORMAT, "key": key, "bytes": size, "lines": count_lines(data), "created": at}
        layout.place(home_dir, sidecar, json.dumps(known).encode())
    line = {"v": FORMAT, "at": at, "event": "put", "key": key, "bytes": size}
    line |= {"session": meta.get("session"), "tool": meta.get("tool")}
    io.append_line(layout.index(home_dir), json.dumps(line))
    if is_last:
        layout.place(home_dir, layout.last_key(home_dir), f"{key}\n".encode(), stamp_ns=moment_ns)
    remember_client(home_dir)


def remember_client(home_dir: str) -> None:
    """Note the client's folder: its transcripts may mention keys of this store.

    Raises:
        OSError: it cannot be noted.
    """
    client = paths.client_config_dir()
    if client not in known_clients(home_dir) and "\n" not in client:
        io.append_line(layout.clients(home_dir), client)


def known_clients(home_dir: str) -> list[str]:
    """The configuration folders of every client that ever used this store.

    Raises:
        OSError: they cannot be read.
    """
    try:
        raw = io.read_file(layout.clients(home_dir))
    except FileNotFoundError:
        return []
    return [line for line in raw.decode("utf-8", "surrogateescape").split("\n") if line]
