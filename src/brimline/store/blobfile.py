"""The inside of a blob file: a header that says how to read the rest, then the content.

Fast path: imports only `zlib`.

Header: `BRB1`, one letter for the method (`n` none, `g` gzip, `z` zstd), the content's length in
eight bytes. So a blob can be read with its sidecar lost, and without brimline:
`tail -c +14 FILE | gunzip`.
"""

from __future__ import annotations

import zlib

MAGIC = b"BRB1"
HEADER_BYTES = 13
NONE, GZIP, ZSTD = "none", "gzip", "zstd"
# Below this, compression saves less than a block of the disk.
SMALL_BYTES = 1_024
HOOK_LEVEL = 1
_LARGE_BYTES = 1 << 20
_SAMPLE_BYTES = 1 << 14
_WORTH_RATIO = 0.9
_LETTERS = {NONE: b"n", GZIP: b"g", ZSTD: b"z"}
_METHODS = {letter: method for method, letter in _LETTERS.items()}
_GZIP_CONTAINER = 31


def pack(data: bytes, method: str = GZIP, level: int = HOOK_LEVEL) -> bytes:
    """The file for some content; small content, and what does not shrink, stays as it is."""
    if method != NONE and len(data) >= SMALL_BYTES and _may_shrink(data):
        payload = _compress(data, method, level)
        if len(payload) < len(data):
            return _header(method, data) + payload
    return _header(NONE, data) + data


def unpack(raw: bytes) -> bytes:
    """The content of a file.

    Raises:
        ValueError: it is damaged; one phrase says how.
        ImportError: it needs zstd, which this interpreter does not have.
    """
    method, size = read_header(raw)
    payload = raw[HEADER_BYTES:]
    if method == NONE:
        data = payload
    elif method == GZIP:
        data = _gunzip(payload, size)
    else:
        from brimline.store import zstd

        data = zstd.decompress(payload, size)
    if len(data) != size:
        raise ValueError(f"it holds {len(data)} bytes instead of {size}")
    return data


def read_header(raw: bytes) -> tuple[str, int]:
    """Method and content length.

    Raises:
        ValueError: it is no blob file.
    """
    method = _METHODS.get(raw[len(MAGIC) : len(MAGIC) + 1])
    if len(raw) < HEADER_BYTES or not raw.startswith(MAGIC) or method is None:
        raise ValueError("its header is broken")
    return method, int.from_bytes(raw[len(MAGIC) + 1 : HEADER_BYTES], "big")


def _may_shrink(data: bytes) -> bool:
    """Whether a large content is worth the time: one whose samples stay as they are is not."""
    if len(data) < _LARGE_BYTES:
        return True
    middle = len(data) // 2
    sample = data[:_SAMPLE_BYTES] + data[middle : middle + _SAMPLE_BYTES] + data[-_SAMPLE_BYTES:]
    return len(zlib.compress(sample, HOOK_LEVEL)) < len(sample) * _WORTH_RATIO


def _header(method: str, data: bytes) -> bytes:
    return MAGIC + _LETTERS[method] + len(data).to_bytes(8, "big")


def _compress(data: bytes, method: str, level: int) -> bytes:
    if method == ZSTD:
        from brimline.store import zstd

        return zstd.compress(data)
    packer = zlib.compressobj(level, zlib.DEFLATED, _GZIP_CONTAINER)
    return packer.compress(data) + packer.flush()


def _gunzip(payload: bytes, size: int) -> bytes:
    """Never more than was promised: a damaged length must not fill the memory."""
    unpacker = zlib.decompressobj(_GZIP_CONTAINER)
    try:
        data = unpacker.decompress(payload, size + 1)
    except (zlib.error, OverflowError, MemoryError) as error:
        raise ValueError(f"it cannot be decompressed ({error})") from None
    if not unpacker.eof or unpacker.unused_data:
        raise ValueError("its compressed data is cut off or too long")
    return data
