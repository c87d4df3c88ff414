"""The inside of a blob file: a header that says how to read the rest, then the content.

Fast path: imports only `zlib`.

Header: `BRB1`, one letter for the method (`n` none, `g` gzip, `z` zstd), the content's length in
eight bytes. So a blob can be read with its sidecar lost, and without brimline:
`tail -c +14 FILE | gunzip`. Content is compressed once, when it is put; zstd is only read, because
another interpreter may have none.
"""

from __future__ import annotations

import zlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MAGIC = b"BRB1"
HEADER_BYTES = 13
# Below this, compression saves less than a block of the disk.
SMALL_BYTES = 1_024
_LEVEL = 1
_LARGE_BYTES = 1 << 20
_SAMPLE_BYTES = 1 << 14
_WORTH_RATIO = 0.9
_METHODS = {b"n": "none", b"g": "gzip", b"z": "zstd"}
_GZIP_CONTAINER = 31


def pack(data: bytes) -> bytes:
    """The file for some content; small content, and what does not shrink, stays as it is."""
    size = len(data).to_bytes(8, "big")
    if len(data) >= SMALL_BYTES and _may_shrink(data):
        packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP_CONTAINER)
        payload = packer.compress(data) + packer.flush()
        if len(payload) < len(data):
            return MAGIC + b"g" + size + payload
    return MAGIC + b"n" + size + data


def unpack(raw: bytes) -> bytes:
    """The content of a file.

    Raises:
        ValueError: it is damaged; one phrase says how.
        ImportError: it needs zstd, which this interpreter does not have.
    """
    method, size = read_header(raw)
    payload = raw[HEADER_BYTES:]
    if method == "none":
        data = payload
    else:
        try:
            data = _gunzip(payload, size) if method == "gzip" else _unpack_zstd(payload, size)
        except (zlib.error, OverflowError, MemoryError) as error:
            raise ValueError(f"it cannot be decompressed ({error})") from None
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
    return len(zlib.compress(sample, _LEVEL)) < len(sample) * _WORTH_RATIO


def _gunzip(payload: bytes, size: int) -> bytes:
    """Never more than was promised: a damaged length must not fill the memory."""
    unpacker = zlib.decompressobj(_GZIP_CONTAINER)
    return _whole(unpacker, unpacker.decompress(payload, size + 1))


def _unpack_zstd(payload: bytes, size: int) -> bytes:
    """By Python's own zstd (3.14), or by the library `zstandard`."""
    try:
        from compression import zstd  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        import zstandard as zstd
    module: Any = zstd
    try:
        if not hasattr(module, "frame_content_size"):
            unpacker = module.ZstdDecompressor()
            return _whole(unpacker, unpacker.decompress(payload, size + 1))
        # The library has no limit of its own; what was written says how long it will be.
        if module.frame_content_size(payload) != size:
            raise ValueError("its length is contradicted")
        unpacker = module.ZstdDecompressor().decompressobj()
        return _whole(unpacker, unpacker.decompress(payload))
    except module.ZstdError as error:
        raise ValueError(f"it cannot be decompressed ({error})") from None


def _whole(unpacker: Any, data: bytes) -> bytes:
    if not unpacker.eof or unpacker.unused_data:
        raise ValueError("its compressed data is cut off or too long")
    return data
