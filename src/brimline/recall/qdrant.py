"""A Qdrant server over REST: every question ends in an answer or in one sentence, within a time.

What comes back is a stranger's: its size is bounded, redirects are not followed, and the key, which
is in the environment alone, is in no message.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import ssl
import threading
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from brimline.errors import TeamError
from brimline.fast import io
from brimline.foreign import flatten
from brimline.masking import mask
from brimline.recall.place import KEY
from brimline.settings import extras

if TYPE_CHECKING:
    from collections.abc import Iterator

    from brimline.recall.place import Place

try:
    import httpx2
except ImportError as error:
    raise TeamError(extras.text_with_install_hint("a team's memory needs httpx2")) from error

TIMEOUT_S = 20.0
# As long as a person may think between two questions.
_KEEP_S = 600.0
_LARGEST_ANSWER_BYTES = 8 << 20
_TOLD_CHARACTERS = 200
_REDIRECT, _REFUSED, NOT_FOUND = 300, 400, 404
_NO_ACCESS = (401, 403)
# With these, which a project can set, a name leads elsewhere, or others are trusted.
_REROUTING = ("SSL", "RES_", "RESOLV_", "LOCALDOMAIN", "HOSTALIASES")


class RefusedError(TeamError):
    """The server will not, or cannot, do what it was asked, or does not answer."""

    status = 0


@contextlib.contextmanager
def refuse_strange_answers() -> Iterator[None]:
    """For whoever takes an answer apart.

    Raises:
        TeamError: it has another shape than an answer to our question.
    """
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise TeamError("the team's server answers something else than was asked") from error


class Server:
    """The server at an address.

    Args:
        place: where it is.
        timeout_s: how long a question may take.
    """

    def __init__(self, place: Place, timeout_s: float = TIMEOUT_S) -> None:
        self.place, self._timeout_s = place, timeout_s
        self._key = io.env(KEY) or ""
        if not (self._key.isascii() and self._key.isprintable()):
            raise TeamError(f"{KEY} holds characters that no key has")
        for name in [name for name in os.environ if name.startswith(_REROUTING)]:
            del os.environ[name]
        self._client = self._make_http_client()

    def _make_http_client(self) -> httpx2.Client:
        authority, is_tls = self.place.authority, self.place.host.startswith("https:")
        try:
            trusted = ssl.create_default_context(cafile=authority or None) if is_tls else False
        except OSError as error:
            raise TeamError(f"{authority} holds no certificates: {error}") from error
        return httpx2.Client(
            headers={"accept-encoding": "identity"} | ({"api-key": self._key} if self._key else {}),
            verify=trusted,
            timeout=self._timeout_s,
            limits=httpx2.Limits(keepalive_expiry=_KEEP_S),
            trust_env=False,  # no proxy of a project's sees the key
            follow_redirects=False,
        )

    def close(self) -> None:
        """End all connections."""
        self._client.close()

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """Return what the server answers: `result` of its JSON, or all of it where it has none.

        Raises:
            RefusedError: it says no, or cannot be reached.
            TeamError: it is not trusted, or is no Qdrant.
        """
        answers: SimpleQueue[Any] = SimpleQueue()
        # A thread of its own, as a server that drips its answer never times out.
        request = (answers, method, path, body)
        threading.Thread(target=self._ask_and_queue_answer, args=request, daemon=True).start()
        try:
            told = answers.get(timeout=self._timeout_s)
        except Empty:
            # Whatever it still sends, nobody reads it.
            self._client.close()
            self._client = self._make_http_client()
            raise RefusedError(f"{self._where} did not answer in time") from None
        if isinstance(told, Exception):
            raise told
        return told

    @property
    def _where(self) -> str:
        return self.place.host.partition("://")[2]

    def _ask_and_queue_answer(self, answers: SimpleQueue[Any], *request: Any) -> None:
        try:
            outcome = self._fetch_result(*request)
        except TeamError as error:
            outcome = error
        except Exception as error:  # noqa: BLE001 - the top of this thread
            outcome = RefusedError(_why_unreachable(self._where, error))
        answers.put(outcome)

    def ask_collection(self, method: str, path: str = "", body: Any = None) -> Any:
        """The same for what belongs to the collection."""
        return self.ask(method, f"/collections/{self.place.collection}{path}", body)

    def change_points(self, method: str, path: str, body: Any) -> None:
        """A change of points, done when this returns.

        Raises:
            TeamError: it is not certain to be done.
        """
        # Several writers never disagree about a point, so that the order of writes is free.
        done = self.ask_collection(method, f"{path}?wait=true", body)
        if not isinstance(done, dict) or done.get("status") != "completed":
            raise TeamError(f"{self.place.name} did not confirm a change: it is sent again")

    def _fetch_result(self, method: str, path: str, body: Any) -> Any:
        where, raw = self._where, b""
        with self._client.stream(method, self.place.host + path, json=body) as response:
            for chunk in response.iter_bytes():
                raw += chunk
                if len(raw) > _LARGEST_ANSWER_BYTES:
                    raise TeamError(f"{where} answers with too much to be a Qdrant server")
        if _REDIRECT <= response.status_code < _REFUSED:
            raise TeamError(f"{where} leads elsewhere, where the key is not sent: correct the url")
        if response.status_code >= _REFUSED:
            raise self._refusal_error(where, response.status_code, raw)
        try:
            answer = json.loads(raw)
            return answer.get("result", answer)
        except (ValueError, RecursionError, AttributeError) as error:
            problem = f"{where} does not answer as a Qdrant server: is memory.url right?"
            raise TeamError(problem) from error

    def _refusal_error(self, where: str, status: int, raw: bytes) -> RefusedError:
        answer = raw.decode("utf-8", "replace").replace(self._key or "\0", "…")
        said = re.search(r'"error":"([^"]{0,1000})', answer)
        told = flatten(mask(said[1]), len(answer))[:_TOLD_CHARACTERS] if said else "no reason"
        if status in _NO_ACCESS:
            told = f"it refuses the key: is {KEY} right?"
        error = RefusedError(f"{where} says {status}: {told}")
        error.status = status
        return error


def _why_unreachable(where: str, error: Exception) -> str:
    """Return why the server cannot be reached."""
    if isinstance(error, httpx2.TimeoutException):
        return f"{where} did not answer in time"
    if "CERTIFICATE" in str(error):
        return f"the certificate of {where} is not trusted: add ?authority=/file of its issuer"
    if "SSL" in str(error):
        return f"{where} does not speak TLS: is it qdrant+http?"
    return f"{where} cannot be reached ({type(error).__name__})"
