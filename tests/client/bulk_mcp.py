"""A minimal MCP server for tests: tools that answer with much text, in each shape there is."""

from __future__ import annotations

import json
import sys
from typing import Any

ROWS = "\n".join(f"row {number:05d} of the table" for number in range(800))
LONG = "\n".join(f"row {number:05d} of the long table" for number in range(2_000))
TOOLS = ("blocks", "structured", "picture")
PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
    "+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def main() -> None:
    """Answer requests on stdin until it closes."""
    for line in sys.stdin:
        request = json.loads(line)
        if "id" in request:
            reply = {"jsonrpc": "2.0", "id": request["id"], "result": _result(request)}
            sys.stdout.write(json.dumps(reply) + "\n")
            sys.stdout.flush()


def _result(request: dict[str, Any]) -> dict[str, Any]:
    if request["method"] == "initialize":
        version = request["params"]["protocolVersion"]
        info = {"name": "bulk", "version": "1"}
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
    if request["method"] == "tools/list":
        schema = {"type": "object", "properties": {}}
        return {
            "tools": [
                {"name": n, "description": n, "inputSchema": schema} for n in (*TOOLS, "long")
            ]
        }
    if request["method"] == "tools/call":
        return _answers()[request["params"]["name"]]
    return {}


def _answers() -> dict[str, dict[str, Any]]:
    text = {"type": "text", "text": ROWS}
    picture = {"type": "image", "data": PIXEL, "mimeType": "image/png"}
    structured = {"rows": ROWS.split("\n")}
    return {
        "blocks": {"content": [text, {"type": "text", "text": "and a second block"}]},
        "structured": {"content": [text], "structuredContent": structured},
        "long": {"content": [{"type": "text", "text": LONG}]},
        "picture": {"content": [text, picture]},
    }


if __name__ == "__main__":
    main()
