"""Sessions to purge: built in the client's shapes, old enough not to count as in use."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from brimline.session import purge as purging
from brimline.session import restore as restoring
from brimline.session.purge import Options

from .machines import LONG_AGO

if TYPE_CHECKING:
    from pathlib import Path

    from brimline.session.purge import Plan
    from brimline.session.rewrite import Rewritten
    from brimline.testing import SessionBuilder

QUIET_S = 0.01


def output(label: str, size: int = 6_000) -> str:
    """A result of about that many bytes, in lines, that nothing else equals."""
    line = f"{label} says something in this line, naïvely\n"
    return line * (size // len(line) + 1)


def call(session: SessionBuilder, text: str, name: str = "Bash", **asked: Any) -> str:
    call_id = session.tool_call(50_000, name, **(asked or {"command": "make"}))
    session.tool_result(call_id, text)
    return call_id


def talk(session: SessionBuilder, requests: int = 12) -> None:
    """Requests that only say something, so that what came before is old."""
    for _ in range(requests):
        session.reply(60_000)


def prepare(session: SessionBuilder, home_dir: str, **options: Any) -> Plan:
    """A session looked at; given options differ from the usual ones."""
    os.utime(session.path, (LONG_AGO, LONG_AGO))
    return purging.prepare(session.path, Options(**options), home_dir)


def purge(session: SessionBuilder, home_dir: str, **options: Any) -> Rewritten:
    plan = prepare(session, home_dir, **options)
    return purging.purge(session.path, plan, home_dir, quiet_s=QUIET_S)


def restore(path: str | Path, home_dir: str) -> Rewritten:
    os.utime(path, (LONG_AGO, LONG_AGO))
    return restoring.restore(restoring.plan(str(path), home_dir), quiet_s=QUIET_S)


def data(session: SessionBuilder) -> bytes:
    with open(session.path, "rb") as file:
        return file.read()


def rows(session: SessionBuilder) -> list[dict[str, Any]]:
    return [json.loads(line) for line in data(session).splitlines()]


def results(session: SessionBuilder) -> dict[str, str]:
    found = {}
    for row in rows(session):
        content = row.get("message", {}).get("content")
        for block in content if isinstance(content, list) else []:
            if block.get("type") == "tool_result":
                inner = block["content"]
                if isinstance(inner, list):
                    inner = "\n".join(part.get("text", "") for part in inner)
                found[block["tool_use_id"]] = inner
    return found


def everything(folder: str) -> dict[str, bytes]:
    found = {}
    for place, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(place, name)
            with open(path, "rb") as file:
                found[path] = file.read()
    return found
