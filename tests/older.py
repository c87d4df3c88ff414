"""A session as versions before copies left it: rewritten in place, with a backup and a note."""

from __future__ import annotations

import json
import os
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def rewrite(path: Path, home_dir: str, content: bytes, keys: Sequence[str] = ()) -> None:
    """Put other content in a session's place, as they did."""
    before, status = path.read_bytes(), path.stat()
    notes = Path(home_dir) / "backups" / "purges" / path.stem
    notes.mkdir(parents=True, exist_ok=True)
    number = len(list(notes.iterdir())) + 1
    backup = path.with_name(f"{path.name}.backup.20260101_00000{number}")
    backup.write_bytes(before)
    note = {"v": 2, "session": path.stem, "path": str(path), "at": 1.0, "keys": list(keys)}
    sizes = [(len(data), sha256(data).hexdigest()) for data in (before, content)]
    note |= {"before": sizes[0], "after": sizes[1], "lost_thoughts": 0}
    (notes / f"{number:06d}.jsonl").write_text(json.dumps(note) + "\n")
    path.write_bytes(content)
    os.utime(path, (status.st_mtime, status.st_mtime))
