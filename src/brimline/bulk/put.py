"""Takes content into the store, from a hook or from a command; the inside of a blob file.

Fast path: imports only `sys`, `zlib`, `fast.io`, `fast.json`, `fast.paths` and `store.layout`.

A blob file has a header: `BRB1`, one letter for the method (`n` none, `g` gzip), the content's
length in eight bytes. So it can be read with its sidecar lost, and without brimline:
`tail -c +14 FILE | gunzip`. Content is compressed once, when it is put.
"""

from __future__ import annotations

import sys
import zlib

from brimline.bulk import layout
from brimline.fast import io, json, paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias

    # Folder, digest, content, what is known about it, whether it was there, whether it is the last.
    Record: TypeAlias = tuple[str, str, bytes, dict[str, Any], bool, bool]

FORMAT = 1
MAGIC = b"BRB1"
HEADER_BYTES = 13
# Below this, compression saves less than a block of the disk.
_SMALL_BYTES = 1_024
# Content of this size is compressed only where a sample of it shrinks, and hashed by OpenSSL: six
# times as fast, which makes up for the three milliseconds that it takes to load.
_LARGE_BYTES = 1_500_000
_SAMPLE_BYTES = 1 << 15
_WORTH_RATIO = 0.9
_LEVEL = 1
NONE, GZIP = b"n", b"g"
_GZIP_CONTAINER = 31
_TEXT_LENGTH = 4_000
# What the client puts before each line of a file.
NUMBERING = " 0123456789\t→"
_FINGERPRINT_DIGITS = 24


def put(
    home_dir: str,
    data: bytes,
    meta: dict[str, Any],
    *,
    is_last: bool = True,
    is_synced: bool = True,
    is_next: bool = False,
    later: list[Record] | None = None,
) -> str:
    """Keep content; when this returns, the content is on the disk and can be had by the key.

    Content that is there already is compared, not stored again; a damaged copy is replaced.

    Args:
        home_dir: the data folder.
        data: the content.
        meta: what is known about it, plain JSON values: `tool`, `source` (command or path), `exit`,
            `session`, `cwd`; kept with the first put of the content.
        is_last: whether people mean this content when they ask for the last one.
        is_synced: whether it has to survive a power cut too.
        is_next: whether this process has just put something else, so that the store is known.
        later: gets what is known about it, for `write_record`, where that is not to be written now.

    Raises:
        StoreError: a newer brimline wrote the store, so what goes in could not be had back.
        OSError: it could not be stored (full disk, no permission); no part of it is visible.
    """
    if not is_next:
        layout.refuse_newer_format(home_dir)
    digest = sha256(data)
    blob, known = layout.stored_path(home_dir, digest), False
    if io.system.access(io.path_bytes(blob), 0):
        try:
            # Marked as used first: from then on nobody who found it unused will remove it.
            known = (
                layout.mark_as_used(home_dir, digest)
                and unpack_blob(layout.read_store_file(blob)) == data
            )
        except (OSError, ValueError):
            pass
    if not known:
        now_ns = layout.store_now_ns(home_dir)
        layout.write_atomically(home_dir, blob, pack_blob(data), stamp_ns=now_ns, sync=is_synced)
    if not is_next:
        try:
            client_folders_using_store(home_dir, noting=True)
        except OSError:
            pass  # as in `write_record`
    record = home_dir, digest, data, meta, known, is_last
    if later is None:
        write_record(record)
    else:
        later.append(record)
    return layout.PREFIX + digest


def sha256(data: bytes) -> str:
    """The digest of some content, by the cheapest way for its size."""
    name = "_sha2" if sys.version_info >= (3, 12) else "_sha256"
    if len(data) >= _LARGE_BYTES or "_hashlib" in sys.modules:  # in a command it is there already
        name = "hashlib"
    try:
        make: Any = __import__(name).sha256
    except ImportError:  # not every Python is built with all of them
        make = __import__("hashlib").sha256
    return str(make(data).hexdigest())


def fingerprint_of_lines(lines: list[str]) -> str:
    """Return what tells a preview from any other text, though the client may number its lines."""
    bare = "\n".join([line.lstrip(NUMBERING).rstrip() for line in lines])
    return sha256(bare.encode("utf-8", "replace"))[:_FINGERPRINT_DIGITS]


def count_lines(data: bytes) -> int:
    """Lines of some content; a last one without a line break counts."""
    return data.count(b"\n") + (not data.endswith(b"\n") if data else 0)


def pack_blob(data: bytes) -> bytes:
    """The file for some content; small content, and what does not shrink, stays as it is."""
    size = len(data).to_bytes(8, "big")
    middle = len(data) // 2
    sample = data[middle : middle + _SAMPLE_BYTES] if len(data) >= _LARGE_BYTES else b""
    is_worth_it = not sample or len(zlib.compress(sample, _LEVEL)) < len(sample) * _WORTH_RATIO
    if len(data) >= _SMALL_BYTES and is_worth_it:
        packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP_CONTAINER)
        payload = packer.compress(data) + packer.flush()
        if len(payload) < len(data):
            return MAGIC + GZIP + size + payload
    return MAGIC + NONE + size + data


def write_record(record: Record) -> None:
    """Say what is known of content that was put: a sidecar if it is new, the trail, the last key.

    The content is safe without it, and its file says all that is needed to read it.
    """
    home_dir, digest, data, meta, again, is_last = record
    key, size = layout.PREFIX + digest, len(data)
    sidecar = layout.stored_path(home_dir, digest, "json")
    try:
        moment_ns = layout.store_now_ns(home_dir)
        if not again or not io.system.access(io.path_bytes(sidecar), 0):
            fields = {n: v[:_TEXT_LENGTH] if isinstance(v, str) else v for n, v in meta.items()}
            fields |= {"v": FORMAT, "key": key, "bytes": size, "lines": count_lines(data)}
            fields["created"] = moment_ns // 1_000_000 / 1_000
            layout.write_atomically(home_dir, sidecar, json.dumps(fields).encode())
        event = {"bytes": size, "session": meta.get("session"), "tool": meta.get("tool")}
        # The sidecar names the folder of the first put, the trail those of later ones.
        event |= {"cwd": meta.get("cwd")} if again else {}
        layout.note_store_event(home_dir, "put", key, **event)
        if is_last:
            last = home_dir + layout.LAST_KEY
            layout.write_atomically(home_dir, last, f"{key}\n".encode(), stamp_ns=moment_ns)
    except OSError:
        pass


def client_folders_using_store(home_dir: str, *, noting: bool = False) -> list[str]:
    """The client's folders whose transcripts may mention keys: the present one, and all noted ones.

    Args:
        home_dir: the data folder.
        noting: whether the present one is to be noted where it is not.

    Raises:
        OSError: they cannot be read or noted.
    """
    present, file = paths.client_config_dir(), home_dir + layout.CLIENTS
    try:
        known = io.read_file(file).decode("utf-8", "surrogateescape").split("\n")
    except FileNotFoundError:
        known = []
    if noting and present not in known and "\n" not in present:
        io.append_line(file, present)
    return [present, *[client for client in known if client not in ("", present)]]


def unpack_blob(raw: bytes) -> bytes:
    """The content of a blob file.

    Raises:
        ValueError: it is damaged, or compressed in a way that is not known; one phrase says so.
    """
    method, size = read_blob_header(raw)
    data = raw[HEADER_BYTES:]
    if method not in (NONE, GZIP):
        raise ValueError("its compression is unknown to this brimline; a newer one may know it")
    if method == GZIP:
        unpacker = zlib.decompressobj(_GZIP_CONTAINER)
        try:
            # Never more than was promised: a damaged length must not fill the memory.
            data = unpacker.decompress(data, size + 1)
        except (zlib.error, OverflowError, MemoryError) as error:
            raise ValueError(f"it is damaged and cannot be decompressed ({error})") from None
        if not unpacker.eof or unpacker.unused_data:
            raise ValueError("it is damaged, its compressed data is cut off or too long")
    if len(data) != size:
        raise ValueError(f"it is damaged and holds {len(data)} bytes instead of {size}")
    return data


def read_blob_header(raw: bytes) -> tuple[bytes, int]:
    """The letter of the method, and the content's length.

    Raises:
        ValueError: it is no blob file.
    """
    if len(raw) < HEADER_BYTES or not raw.startswith(MAGIC):
        raise ValueError("it is damaged, its header is broken")
    return raw[4:5], int.from_bytes(raw[5:HEADER_BYTES], "big")
