"""A Qdrant server over REST: every question ends in an answer or in one sentence, within a time.

What comes back is a stranger's: its size is bounded, redirects are not followed, and the key, which
is in the environment alone, is in no message.
"""

from __future__ import annotations

import json
import re
import ssl
import time
import urllib.parse
from collections import deque
from typing import Any, NamedTuple

from brimline.carry.clean import clean
from brimline.errors import TeamError
from brimline.fast import io

try:
    import httpx2
except ImportError as error:
    raise TeamError("a team's memory needs httpx2: `pip install '.[team]'` in the clone") from error

KEY = "BRIMLINE_QDRANT_API_KEY"
# A write waits for its copies, one of which may have died a moment ago.
TIMEOUT_S = 20.0
# As long as a person may think between two questions.
_KEEP_S = 600.0
_PORT = 6_333
_LARGEST_ANSWER_BYTES = 8 << 20
_TOLD_CHARACTERS = 200
_HOST = r"(?:\[[0-9a-fA-F:.]+\]|[\w.-]+)(?::\d{1,5})?"
_URL = re.compile(
    rf"qdrant\+(https?)://(?:([^@/?]*)@)?({_HOST}(?:,{_HOST})*)/([\w-]{{1,100}})/?"
    r"(?:\?replication=([1-9]))?"
)
_REDIRECT, _REFUSED, NOT_FOUND, _FAULT = 300, 400, 404, 500
_NO_ACCESS = (401, 403)


class Place(NamedTuple):
    """Where the memory is, and under which name one's own is kept there."""

    author: str
    hosts: tuple[str, ...]
    collection: str
    replicas: int

    @property
    def name(self) -> str:
        """For people."""
        return f"{self.hosts[0].partition('://')[2]}/{self.collection}"


def parse(url: str) -> Place:
    """The parts of `memory.url`.

    Raises:
        TeamError: it has another form, or a key in it.
    """
    match = _URL.fullmatch(url.strip())
    if not match:
        raise TeamError("memory.url has another form than qdrant+https://author@host/collection")
    scheme, author, hosts, collection, replicas = match.groups()
    if ":" in (author or ""):
        raise TeamError(f"memory.url holds a key: set {KEY} in the environment instead")
    named = [host if re.search(r":\d+$", host) else f"{host}:{_PORT}" for host in hosts.split(",")]
    nodes = tuple(f"{scheme}://{host}" for host in named)
    return Place(urllib.parse.unquote(author or ""), nodes, collection, int(replicas or 1))


class RefusedError(TeamError):
    """The server answers that it will not, or cannot, do what it was asked."""

    status = 0


class _NodeError(RefusedError):
    """One node does not answer, or is not well; another one may be."""


class Server:
    """The nodes of one server; one that does not answer is asked last from then on."""

    def __init__(self, place: Place, timeout_s: float = TIMEOUT_S) -> None:
        self.place, self._timeout_s = place, timeout_s
        self._key, self._hosts = io.env(KEY) or "", deque(place.hosts)
        self._client = httpx2.Client(
            headers={"accept-encoding": "identity"} | ({"api-key": self._key} if self._key else {}),
            verify=ssl.create_default_context() if place.hosts[0][:6] == "https:" else False,
            timeout=httpx2.Timeout(timeout_s, connect=timeout_s / len(place.hosts)),
            limits=httpx2.Limits(keepalive_expiry=_KEEP_S),
            trust_env=False,  # no proxy sees the key
            follow_redirects=False,
        )

    def close(self) -> None:
        """End all connections."""
        self._client.close()

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """What the server answers: `result` of its JSON, or all of it where it has none.

        Raises:
            RefusedError: it says no, or no node can be reached.
            TeamError: it is not trusted, or is no Qdrant.
        """
        until = time.monotonic() + self._timeout_s
        for _ in self.place.hosts:
            try:
                return self._asked(self._hosts[0], method, path, body, until)
            except _NodeError as error:
                self._hosts.rotate(-1)
                problem = error
        raise problem

    def of_collection(self, method: str, path: str = "", body: Any = None) -> Any:
        """The same for what belongs to the collection."""
        return self.ask(method, f"/collections/{self.place.collection}{path}", body)

    def change(self, method: str, path: str, body: Any) -> None:
        """A change of points, done when this returns.

        Raises:
            TeamError: it is not certain to be done.
        """
        # Several writers never disagree about a point, so that the order of writes is free.
        done = self.of_collection(method, f"{path}?wait=true", body)
        if not isinstance(done, dict) or done.get("status") != "completed":
            raise TeamError(f"{self.place.name} did not confirm a change: it is sent again")

    def _asked(self, host: str, method: str, path: str, body: Any, until: float) -> Any:
        where, raw = host.partition("://")[2], b""
        try:
            with self._client.stream(method, host + path, json=body) as response:
                for chunk in response.iter_bytes():
                    raw += chunk
                    if len(raw) > _LARGEST_ANSWER_BYTES:
                        raise TeamError(f"{where} answers with too much to be a Qdrant server")
                    if time.monotonic() > until:
                        raise _NodeError(f"{where} did not answer in time")
        except httpx2.RequestError as error:
            raise _NodeError(_why(where, error)) from error
        if _REDIRECT <= response.status_code < _REFUSED:
            raise TeamError(f"{where} leads elsewhere, where the key is not sent: correct the url")
        if response.status_code >= _REFUSED:
            raise self._refusal(where, response.status_code, raw)
        try:
            told = json.loads(raw)
            return told.get("result", told)
        except (ValueError, RecursionError, AttributeError) as error:
            problem = f"{where} does not answer as a Qdrant server: is memory.url right?"
            raise TeamError(problem) from error

    def _refusal(self, where: str, status: int, raw: bytes) -> RefusedError:
        said = re.search(r'"error":"([^"]*)', raw.decode("utf-8", "replace"))
        told = clean(said[1])[:_TOLD_CHARACTERS] if said else "no reason"
        if status in _NO_ACCESS:
            told = f"it refuses the key: is {KEY} right?"
        text = f"{where} says {status}: {told}".replace(self._key or "\0", "…")
        error = _NodeError(text) if status >= _FAULT else RefusedError(text)
        error.status = status
        return error


def _why(where: str, error: Exception) -> str:
    """Why a node cannot be reached."""
    if isinstance(error, httpx2.TimeoutException):
        return f"{where} did not answer in time"
    if "CERTIFICATE" in str(error):
        return f"the certificate of {where} is not trusted: does SSL_CERT_FILE name its issuer's?"
    if "SSL" in str(error):
        return f"{where} does not speak TLS: is it qdrant+http?"
    return f"{where} cannot be reached ({type(error).__name__})"
