"""zstd where there is one: Python 3.14's own, or the `zstandard` library."""

from __future__ import annotations

import functools
import importlib
from typing import Any

# A pass over the store is bounded in time, so one large blob must not take seconds.
_LEVEL, _LARGE_LEVEL, _LARGE_BYTES = 9, 3, 4 << 20


def available() -> bool:
    """Whether this interpreter can read and write zstd."""
    return _standard() is not None or _library() is not None


def compress(data: bytes) -> bytes:
    """Compress at a level that suits housekeeping.

    Raises:
        ImportError: there is no zstd here.
    """
    level = _LEVEL if len(data) < _LARGE_BYTES else _LARGE_LEVEL
    standard = _standard()
    packed: bytes
    if standard is not None:
        packed = standard.compress(data, level)
    else:
        packed = _required_library().ZstdCompressor(level=level).compress(data)
    return packed


def decompress(payload: bytes, size: int) -> bytes:
    """The content, of which `size` bytes are expected.

    Raises:
        ValueError: the data is damaged.
        ImportError: there is no zstd here.
    """
    module = _standard() or _required_library()
    try:
        data, unpacker = _unpack(module, payload, size)
    except (module.ZstdError, OverflowError, MemoryError) as error:
        raise ValueError(f"it cannot be decompressed ({error})") from None
    if not unpacker.eof or unpacker.unused_data:
        raise ValueError("its compressed data is cut off or too long")
    return data


def _unpack(module: Any, payload: bytes, size: int) -> tuple[bytes, Any]:
    if module is _standard():
        unpacker = module.ZstdDecompressor()
        return unpacker.decompress(payload, size + 1), unpacker
    # The library has no limit of its own; what we write always says how long it will be.
    if module.frame_content_size(payload) != size:
        raise ValueError("its length is contradicted")
    unpacker = module.ZstdDecompressor().decompressobj()
    return unpacker.decompress(payload), unpacker


def _required_library() -> Any:
    library = _library()
    if library is None:
        raise ImportError("zstd is not installed: pip install zstandard")
    return library


def _standard() -> Any:
    return _optional("compression.zstd")


def _library() -> Any:
    return _optional("zstandard")


@functools.cache
def _optional(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None
