"""Sessions to purge: built in the client's shapes, old enough not to count as in use."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from brimline.bulk import stub
from brimline.session import purge as purging
from brimline.session.purge import Options
from brimline.testing import SessionBuilder

if TYPE_CHECKING:
    from brimline.session.copying import Copied
    from brimline.session.purge import Plan

LONG_AGO = 1_700_000_000.0


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

    def purge(self, plan: Plan | None = None, **options: Any) -> Copied:
        """Carry a plan out, or the one that is made now, and go on with the copy."""
        chosen, original = plan or self.plan(**options), self.data
        done = purging.purge(self.path, chosen, self.home_dir)
        assert self.data == original
        self.path = done.path
        return done

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
        """The rows, without what a copy adds to them."""
        added = ("forkedFrom", "sessionId")
        rows = [json.loads(line) for line in self.data.splitlines()]
        said = [row for row in rows if row["type"] != "custom-title"]
        return [{name: row[name] for name in row if name not in added} for row in said]

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
        return stub.bytes_and_key_of_line(self.results[call_id]) is not None


def plain(data: bytes, session_id: str = "11111111-2222-4333-8444-555555555555") -> bytes:
    """What a copy holds, without what being one adds to it."""
    names = rb'\{"sessionId":"[^"]*","messageUuid":"[^"]*"\}'
    data = re.sub(rb',"forkedFrom":' + names + rb"(?=\})", b"", data)
    data = re.sub(rb'\n?\{"type":"custom-title".*\n\Z', b"", data)
    return re.sub(rb'("sessionId"\s*:\s*)"[\w-]*"', rb'\1"%s"' % session_id.encode(), data)


def everything(folder: str) -> dict[str, bytes]:
    """Every file below a folder."""
    found = {}
    for place, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(place, name)
            with open(path, "rb") as file:
                found[path] = file.read()
    return found
