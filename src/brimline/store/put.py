"""Takes content into the store, from a hook or from a command.

Fast path: imports only `brimline.fastio`, `brimline.fastjson` and fast modules of the store.
"""

from __future__ import annotations

import sys

from brimline import fastio, fastjson
from brimline.store import blobfile, clients, files, layout

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
    compression: str = "auto",
    is_last: bool = True,
) -> str:
    """Keep content; when this returns, the content is on the disk and can be had by the key.

    Content that is there already is compared, not stored again; a damaged copy is replaced.

    Args:
        home_dir: the data folder.
        data: the content.
        meta: what is known about it, plain JSON values: `tool`, `source` (command or path), `exit`,
            `session`, `cwd`; kept with the first put of the content.
        compression: the setting `store.compression`; a hook never takes the time for zstd.
        is_last: whether people mean this content when they ask for the last one.

    Raises:
        OSError: it could not be stored (full disk, no permission); no part of it is visible.
    """
    digest = sha256(data)
    stored = _keep_existing(home_dir, digest, data)
    if not stored:
        method = blobfile.NONE if compression == "none" else blobfile.GZIP
        packed = blobfile.pack(data, method)
        files.place(
            home_dir,
            layout.blob(home_dir, digest),
            packed,
            stamp_ns=files.now_ns(home_dir),
            sync=True,
        )
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


def _sha256_for(size: int) -> Any:
    if "_hashlib" in sys.modules:  # in a command it is there already
        return sys.modules["_hashlib"].openssl_sha256
    if size >= _LARGE_BYTES:
        try:
            from _hashlib import openssl_sha256

            return openssl_sha256
        except ImportError:  # pragma: no cover - a Python without OpenSSL
            pass
    try:
        from _sha2 import sha256 as found  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        try:
            from _sha256 import sha256 as found  # type: ignore[import-not-found,unused-ignore]
        except ImportError:  # pragma: no cover - another Python implementation
            from hashlib import sha256 as found
    return found


def _keep_existing(home_dir: str, digest: str, data: bytes) -> bool:
    """Whether the store holds this very content, which is then marked as used just now.

    The mark comes first: from then on nobody who found the blob unused will remove it.
    """
    try:
        return (
            files.touch(home_dir, digest)
            and blobfile.unpack(fastio.read_file(layout.blob(home_dir, digest))) == data
        )
    except (OSError, ValueError, ImportError):
        return False


def _describe(
    home_dir: str, digest: str, data: bytes, meta: dict[str, Any], *, again: bool, is_last: bool
) -> None:
    """The sidecar of new content, a line in the audit trail, and the last key."""
    moment_ns = files.now_ns(home_dir)
    at = moment_ns // 1_000_000 / 1_000
    sidecar = layout.sidecar(home_dir, digest)
    if not again or not _exists(sidecar):
        document = {name: _shortened(value) for name, value in meta.items()} | {
            "v": FORMAT,
            "key": layout.PREFIX + digest,
            "bytes": len(data),
            "lines": count_lines(data),
            "created": at,
        }
        files.place(home_dir, sidecar, fastjson.dumps(document).encode())
    line = {
        "v": FORMAT,
        "at": at,
        "event": "put",
        "key": layout.PREFIX + digest,
        "bytes": len(data),
        "session": meta.get("session"),
        "tool": meta.get("tool"),
    }
    fastio.append_line(layout.index(home_dir), fastjson.dumps(line))
    if is_last:
        key = (layout.PREFIX + digest + "\n").encode()
        files.place(home_dir, layout.last_key(home_dir), key, stamp_ns=moment_ns)
    clients.remember(home_dir)


def count_lines(data: bytes) -> int:
    """Lines of some content; a last one without a line break counts."""
    return data.count(b"\n") + (not data.endswith(b"\n") if data else 0)


def _shortened(value: Any) -> Any:
    return value[:_TEXT_LENGTH] if isinstance(value, str) else value


def _exists(path: str) -> bool:
    try:
        fastio.system.stat(fastio.to_bytes(path))
    except OSError:
        return False
    return True
