"""Sessions to purge: built in the client's shapes, old enough not to count as in use."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from brimline.session import purge as purging
from brimline.session import restore as restoring
from brimline.session.purge import Options
from brimline.store import stub
from brimline.testing import SessionBuilder

from .machines import LONG_AGO

if TYPE_CHECKING:
    from brimline.session.purge import Plan
    from brimline.session.rewrite import Rewritten

QUIET_S = 0.01


def output(label: str, size: int = 6_000) -> str:
    """A result of about that many bytes, in lines, that nothing else equals."""
    line = f"{label} says something in this line, naïvely\n"
    return line * (size // len(line) + 1)


@dataclass(slots=True)
class Recorded(SessionBuilder):
    """A session and the data folder that its purges use."""

    home_dir: str = ""

    def call(self, text: str, name: str = "Bash", **asked: Any) -> str:
        """A tool call with its result; returns its id."""
        call_id = self.tool_call(50_000, name, **(asked or {"command": "make"}))
        self.tool_result(call_id, text)
        return call_id

    def talk(self, requests: int = 12) -> None:
        """Requests that only say something, so that what came before is old."""
        for _ in range(requests):
            self.reply(60_000)

    def plan(self, chosen: Options | None = None, **options: Any) -> Plan:
        """What a purge would do; without options the results of the last ten requests stay."""
        os.utime(self.path, (LONG_AGO, LONG_AGO))
        chosen = chosen or Options(**{"keep_requests": 10} | options)
        return purging.plan_purge(self.path, chosen, self.home_dir)

    def purge(self, plan: Plan | None = None, **options: Any) -> Rewritten:
        """Carry a plan out, or the one that is made now."""
        chosen = plan or self.plan(**options)
        return purging.purge(self.path, chosen, self.home_dir, quiet_s=QUIET_S)

    def restore(self, path: str | None = None) -> Rewritten:
        """Undo all purges, here or where the session was moved to."""
        path = path or self.path
        os.utime(path, (LONG_AGO, LONG_AGO))
        return restoring.restore(restoring.plan_full_restore(path, self.home_dir), quiet_s=QUIET_S)

    @property
    def data(self) -> bytes:
        """The file."""
        with open(self.path, "rb") as file:
            return file.read()

    @data.setter
    def data(self, content: bytes) -> None:
        """Put other bytes there, long ago."""
        with open(self.path, "wb") as file:
            file.write(content)
        os.utime(self.path, (LONG_AGO, LONG_AGO))

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows that can be read."""
        return [json.loads(line) for line in self.data.splitlines()]

    @property
    def results(self) -> dict[str, str]:
        """The text of every tool result, by the id of its call."""
        found = {}
        for row in self.rows:
            content = row.get("message", {}).get("content")
            for block in content if isinstance(content, list) else []:
                if block.get("type") == "tool_result":
                    inner = block["content"]
                    if isinstance(inner, list):
                        inner = "\n".join(part.get("text", "") for part in inner)
                    found[block["tool_use_id"]] = inner
        return found

    def is_gone(self, call_id: str) -> bool:
        """Whether a result became a reference."""
        return stub.bytes_line_stands_for(self.results[call_id]) is not None


def everything(folder: str) -> dict[str, bytes]:
    """Every file below a folder."""
    found = {}
    for place, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(place, name)
            with open(path, "rb") as file:
                found[path] = file.read()
    return found
