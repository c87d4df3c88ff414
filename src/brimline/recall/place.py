"""Where the team's memory is: `memory.url`, read and checked without asking anybody."""

from __future__ import annotations

import re
import urllib.parse
from typing import NamedTuple

from brimline.errors import TeamError

KEY = "BRIMLINE_QDRANT_API_KEY"
_PORT, _LAST_PORT = 6_333, 65_535
_URL = re.compile(
    r"qdrant\+(https?)://(?:([^@/?]*)@)?([^@/?]+)/([\w-]{1,100})/?(?:\?authority=(/.+))?", re.ASCII
)
_HOST = re.compile(
    r"(\[[0-9a-f:.]+\]|[\w-]+(?:\.[\w-]+)*)(?::(\d{1,5}))?", re.ASCII | re.IGNORECASE
)


class Place(NamedTuple):
    """Where the memory is, and under which name one's own is kept there."""

    author: str
    host: str
    collection: str
    authority: str = ""
    """A file with the certificates to trust; empty: the system's."""

    @property
    def address(self) -> str:
        """All that decides where things go, in one spelling."""
        # As version 0.2.0 spelt it, which had a proxy before the authority.
        return f"{self.host} {self.collection}  {self.authority}"

    @property
    def name(self) -> str:
        """For people."""
        return f"{self.host.partition('://')[2]}/{self.collection}"


def parse_place(url: str) -> Place:
    """The parts of `memory.url`.

    Raises:
        TeamError: it has another form, or a key in it; it is not repeated.
    """
    match = _URL.fullmatch(url.strip())
    host = _host_port_or_empty(match[3]) if match else ""
    if not match or not host:
        raise TeamError("memory.url has another form than qdrant+https://author@host/collection")
    author = urllib.parse.unquote(match[2] or "")
    if ":" in author:
        raise TeamError(f"memory.url holds a key: set {KEY} in the environment instead")
    authority = urllib.parse.unquote(match[5] or "")
    return Place(author, f"{match[1]}://{host}", match[4], authority)


def _host_port_or_empty(text: str) -> str:
    """A host with its port; empty where it has no form of one."""
    match = _HOST.fullmatch(text)
    port = int(match[2] or _PORT) if match else 0
    return f"{match[1]}:{port}" if match and 0 < port <= _LAST_PORT else ""
