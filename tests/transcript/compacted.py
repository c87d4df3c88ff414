"""Sessions that were compacted without a model, as the client writes them, in both forms."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from brimline.testing import SessionBuilder

LINE = "[brimline: Bash make: 6,800 bytes, recall sha256:0123456789ab]"


def compact_inside(session: SessionBuilder, *, is_rebuilt: bool = True) -> None:
    """Write the boundary, and all rows of the conversation again: long results as a line.

    Rebuilt, replies have no model, no usage and no thinking, as our mod makes them. By handle they
    keep what they were, but for the usage, and their results hang on the rows before the boundary.
    """
    rows = [json.loads(line) for line in Path(session.path).read_text().splitlines()]
    last = max(n for n, r in enumerate([{}, *rows]) if not n or r.get("subtype"))
    told = {"trigger": "auto", "preTokens": 100_000, "postTokens": 9_000, "durationMs": 12}
    before, session.parent = session.parent, None
    names = {"logicalParentUuid": before, "subtype": "compact_boundary"}
    session.row("system", **names, compactMetadata=told)
    now = session.now
    for old in rows[last:]:
        if old["type"] not in ("user", "assistant"):
            continue
        new = copy.deepcopy(old)
        _shorten(new["message"])
        if old["type"] == "assistant":
            if is_rebuilt and any(b["type"] == "thinking" for b in new["message"]["content"]):
                continue
            new["message"]["usage"] = dict.fromkeys(new["message"]["usage"], 0)
            if is_rebuilt:
                new["message"] |= {"model": "<synthetic>", "id": f"rebuilt-{old['uuid']}"}
                new |= {"isApiErrorMessage": False, "madeBy": "other"}
        parent = session.parent
        if not is_rebuilt and old.get("sourceToolAssistantUUID"):
            parent = old["parentUuid"]
        fields = {k: v for k, v in new.items() if k not in ("type", "uuid", "parentUuid")}
        session.row(old["type"], **fields | {"parentUuid": parent})
    session.now = now


def _shorten(message: dict[str, Any]) -> None:
    content = message["content"]
    for block in content if isinstance(content, list) else []:
        if block["type"] == "tool_result" and len(str(block["content"])) >= 1_500:
            block["content"] = LINE
