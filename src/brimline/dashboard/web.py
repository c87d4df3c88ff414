"""The pages of `brimline dashboard`: who may ask, and what is shown. Nothing is changed there.

What a page shows is a document that a room makes, the same that the command of that name shows.
"""

from __future__ import annotations

import contextlib
import hmac
import os
import secrets
import sqlite3
import threading
import time
from datetime import date
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode

from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from brimline.bulk import contents, layout, listing
from brimline.dashboard import overall, pages, story
from brimline.dashboard.index import SORTS, Filter, Index, change_stamp_of_session
from brimline.errors import BrimlineError
from brimline.figures import bill, day, reader, spending, store
from brimline.gauge import composition
from brimline.install import doctor
from brimline.recall import hits, hot, overview, together
from brimline.rules import loading
from brimline.settings import clientsettings, config

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from brimline.figures.spending import Spending

NAVIGATION = (
    *(("/", "Sessions"), ("/day", "Day"), ("/overall", "Overall"), ("/stored", "Kept out")),
    *(("/memory", "Memory"), ("/rules", "Rules"), ("/health", "Health")),
)
_PAGE_SIZE = 50
_KEPT_STORIES = 2
_REFRESH_S, _FIRST_LOOK_S = 15.0, 5.0
_LARGEST_FORM_BYTES = 10_000
_STORED_ROWS = 200
_HITS = 20
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Gate:
    """Lets in whoever brings a key, from this machine and from our own pages only."""

    def __init__(self, app: ASGIApp, port: int, keys: list[str]) -> None:
        self.app, self.keys = app, keys
        self.secret = secrets.token_urlsafe(24)
        self.hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self.cookie = f"brimline_{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer it."""

        async def send_with_security_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        connection = HTTPConnection(scope)
        answer: ASGIApp
        if connection.headers.get("host", "") not in self.hosts:
            answer = _error_reply("This page answers to its own address only.", 421)
        elif scope["path"] == "/enter":
            answer = self._log_in(connection, await _key_in_login_request(Request(scope, receive)))
        else:
            answer = self._refusal_if_stranger(connection) or self.app
        await answer(scope, receive, send_with_security_headers)

    def _refusal_if_stranger(self, connection: HTTPConnection) -> Response | None:
        origin = connection.headers.get("origin")
        if origin is not None and origin != f"http://{connection.headers['host']}":
            return _error_reply("This came from another page, and was refused.")
        if origin is None and connection.scope["method"] not in ("GET", "HEAD"):
            return _error_reply("This came from no page of ours, and was refused.")
        if not self._has_valid_cookie(connection):
            return _error_reply(
                "Open the address that `brimline dashboard` printed: it has the key."
            )
        return None

    def _log_in(self, connection: HTTPConnection, key: str) -> Response:
        """Turn a key into a cookie; it was in an address or a file, so that it enters once."""
        valid = [one for one in self.keys if _equals_secret(key, one)]
        if not valid and not self._has_valid_cookie(connection):
            told = "This key was used, or is of an earlier start: start `brimline dashboard` again."
            return _error_reply(told)
        # A page that leads on, not a redirect: those keep a strict cookie back after a click.
        answer = HTMLResponse(pages.render_page("enter.html"))
        if valid:
            self.keys.remove(valid[0])
            answer.set_cookie(self.cookie, self.secret, httponly=True, samesite="strict")
        return answer

    def _has_valid_cookie(self, connection: HTTPConnection) -> bool:
        return _equals_secret(connection.cookies.get(self.cookie, ""), self.secret)


async def _key_in_login_request(request: Request) -> str:
    """The key in an address, or in the form of the file that opens the browser.

    The body of a form that is longer than ours is not read.
    """
    if request.method != "POST":
        return request.query_params.get("key", "")
    length = request.headers.get("content-length")
    if length is None or _number_or_zero(length) > _LARGEST_FORM_BYTES:
        return ""
    form = parse_qsl((await request.body()).decode("utf-8", "replace"))
    return dict(form).get("key", "")


def _error_reply(text: str, status: int = 403) -> Response:
    return Response(text + "\n", status, media_type="text/plain")


def _equals_secret(given: str, secret: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), secret.encode())


class Dashboard:
    """The answers to all addresses."""

    def __init__(self, home_dir: str) -> None:
        self.home_dir, self.index = home_dir, Index(home_dir)
        self.wanted = threading.Event()
        self.spendings: list[Spending] = []
        """What the requests of every session used."""
        self.bills: dict[str, dict[str, Any]] = {}
        self._tell = lru_cache(_KEPT_STORIES)(lambda path, _stamp: story.read_story(path, home_dir))
        self._lock = threading.Lock()

    def make_asgi_app(self, port: int, keys: list[str]) -> ASGIApp:
        """All of it behind the gate, which takes each key once."""
        routes = [
            Route("/", self.sessions_page),
            Route("/session/{name}", self.session_page),
            Route("/session/{name}/request/{number}", self.request_page),
            Route("/day", self.day_page),
            Route("/overall", self.overall_page),
            Route("/stored", self.stored_outputs_page),
            Route("/stored/{digest}", self.output_page),
            Route("/memory", self.memory_page),
            Route("/memory/{key}", self.memory_entry_page),
            Route("/rules", self.rules_page),
            Route("/health", self.health_page),
            Mount("/static", StaticFiles(packages=[("brimline.dashboard", "static")])),
        ]
        known = (HTTPException, BrimlineError, OSError, sqlite3.Error)
        failures: dict[Any, Any] = dict.fromkeys(known, self._error_page)
        return Gate(Starlette(routes=routes, exception_handlers=failures), port, keys)

    def refresh_forever(self) -> None:
        """Keep the index up to date, as long as somebody looks; what is there is shown at once."""
        while True:
            with contextlib.suppress(BrimlineError, OSError, sqlite3.Error):  # pages tell of it
                if not self.index.is_current and self.index.page_of_sessions(Filter(), 1, {})[1]:
                    self.wanted.wait(_FIRST_LOOK_S)
                self.refresh()
            time.sleep(_REFRESH_S)
            self.wanted.wait()

    def refresh(self) -> None:
        """Bring the index and what requests cost up to date."""
        self.wanted.clear()
        own = config.user_model_rows(self.home_dir)
        self.index.refresh()
        self.spendings = spending.read_spendings(self.home_dir, reader.all_transcripts(), own)
        rows = bill.bill_rows_by_group(self.spendings, ("session",), own)
        self.bills = {row["session"]: row | {"tokens": bill.tokens_of_row(row)} for row in rows}

    def sessions_page(self, request: Request) -> Response:
        """The list, filtered."""
        wanted = _parse_filter_query(request)
        rows, count = self.index.page_of_sessions(
            wanted, _PAGE_SIZE, self.bills, self._sessions_of_day(wanted.day)
        )
        last = -(-count // _PAGE_SIZE)
        asked = request.query_params.items()
        more = {name: value for name, value in asked if name != "page" and value}
        if count and not rows:
            return RedirectResponse(f"/?{urlencode(more | {'page': last})}")
        live = "" if count or more else "empty"
        if live and request.headers.get("x-stamp") == live:
            self.wanted.set()
            return Response(status_code=204)
        values: dict[str, Any] = {"rows": rows, "count": count, "wanted": wanted, "pages": last}
        values |= {f"{name}s": self.index.values_of_column(name) for name in ("project", "model")}
        values |= {"live": live, "query": urlencode(more), "sorts": SORTS, "bills": self.bills}
        return self._render("sessions.html", "Sessions", **values)

    def _sessions_of_day(self, text: str) -> set[str] | None:
        """Those that asked for something on a day; None where no day is meant."""
        wanted = day.parse_day(text, date.today())  # noqa: DTZ011 - days are those of this machine
        if wanted is None:
            return None
        return {each.session_id for each in day.sessions_of_day(self.spendings, wanted)}

    def session_page(self, request: Request) -> Response:
        """One session; nothing where it is as the browser has it."""
        path = self.index.transcript_path_of_session(request.path_params["name"])
        now = change_stamp_of_session(self.home_dir, path)
        if request.headers.get("x-stamp") == now:
            return Response(status_code=204)
        found = self._cached_story(path, now)
        own = config.user_model_rows(self.home_dir)
        files = spending.files_of_session(path)
        spendings = spending.read_spendings(self.home_dir, files, own)
        values = pages.session_page_values(found, own, spendings)
        return self._render("session.html", f"Session {found.session_id[:8]}", live=now, **values)

    def request_page(self, request: Request) -> Response:
        """Return what came in with one request, word for word."""
        path = self.index.transcript_path_of_session(request.path_params["name"])
        record = self._cached_story(path, change_stamp_of_session(self.home_dir, path))
        number = _number_or_zero(request.path_params["number"])
        if not 1 <= number <= len(record.moments):
            raise HTTPException(404, f"the session has {len(record.moments):,} requests")
        moment = record.moments[number - 1]
        return self._render(
            "request.html",
            f"Request {number}",
            story=record,
            moment=moment,
            label=pages.summary_line_of_request(moment),
            rows=pages.new_items_and_text_by_row(record, moment),
        )

    def day_page(self, request: Request) -> Response:
        """What was done on a day."""
        asked, own = request.query_params, config.user_model_rows(self.home_dir)
        wanted = day.parse_day(asked.get("day", ""), date.today())  # noqa: DTZ011 - of this machine
        with store.opened(self.home_dir) as found:
            document = day.document(found, wanted, self.spendings, own)
        return self._render("day.html", "Day", **document)

    def overall_page(self, request: Request) -> Response:
        """Return how it went lately, over all sessions."""
        asked = _number_or_zero(request.query_params.get("days", ""))
        span = asked if asked in overall.SPANS else overall.SPANS[0]
        rows, own = self.index.rows_of_all_sessions(), config.user_model_rows(self.home_dir)
        values = overall.overall_page_values(self.spendings, rows, own, span)
        return self._render("overall.html", "Overall", **values)

    def stored_outputs_page(self, _request: Request) -> Response:
        """Return what was kept out of windows."""
        document = listing.document(self.home_dir, _STORED_ROWS)
        return self._render("stored.html", "Kept out", **document)

    def output_page(self, request: Request) -> Response:
        """One stored output."""
        key = contents.resolve_key(self.home_dir, request.path_params["digest"])
        data = contents.read_content(self.home_dir, key, touch=False)
        values: dict[str, Any] = {"key": key, "size": len(data)}
        values["text"] = data[: pages.MOST_CHARACTERS].decode("utf-8", "replace")
        values["about"] = contents.read_sidecar(self.home_dir, key)
        pin = layout.stored_path(self.home_dir, layout.digest_of_key(key), "pin")
        values["is_pinned"] = os.path.exists(pin)
        return self._render("output.html", f"Output {key[7:15]}", **values)

    def memory_page(self, request: Request) -> Response:
        """Topics of a project, and the search over all that was said."""
        query = request.query_params.get("q", "").strip()[:200]
        place = self._chosen_and_all_projects(request)
        folder = clientsettings.memory_folder(place["project"])
        values = overview.topics_document(folder) | place
        values["texts"] = {topic.path: topic.text for topic in hot.read_topics(folder)}
        found: dict[str, Any] = {"hits": [], "problem": ""}
        if query:
            found = together.document(self.home_dir, place["project"], query, _HITS, None)
        for hit in found["hits"]:
            hit["session"] = self._session_id_if_present(hit["group"])
        unread = hits.reading_progress_if_unfinished(self.home_dir)
        values |= found | {"query": query, "reading": unread and hits.progress_text(unread)}
        return self._render("memory.html", "Memory", **values)

    def memory_entry_page(self, request: Request) -> Response:
        """One entry of memory, with what came before and after it."""
        document = hits.entry_with_neighbours(self.home_dir, request.path_params["key"])
        own = next(hit for hit in document["entries"] if hit["key"] == document["key"])
        session = self._session_id_if_present(own["group"])
        return self._render("entry.html", "Said before", own=own, session=session, **document)

    def _session_id_if_present(self, group: str) -> str:
        """The id of the session that an entry is from, where that is still there."""
        name = group.partition("/")[0]
        try:
            return name if name and self.index.transcript_path_of_session(name) else ""
        except BrimlineError:
            return ""

    def rules_page(self, request: Request) -> Response:
        """The instruction files of a project."""
        place = self._chosen_and_all_projects(request)
        document = loading.project_document(place["project"], composition.characters_to_tokens)
        return self._render("rules.html", "Rules", found=document, **place)

    def health_page(self, request: Request) -> Response:
        """Whether all is well in a project."""
        place = self._chosen_and_all_projects(request)
        document = doctor.run_checks_as_document(self.home_dir, place["project"])
        summary = doctor.summary_text(document)
        return self._render("health.html", "Health", found=document, summary=summary, **place)

    def _chosen_and_all_projects(self, request: Request) -> dict[str, Any]:
        """The folder that is asked for, where there was a session in it, else where this runs."""
        projects = []
        with contextlib.suppress(BrimlineError):  # what is asked for needs no index
            projects = list(filter(os.path.isdir, self.index.values_of_column("project")))
        asked, here = request.query_params.get("project", ""), os.getcwd()
        return {
            "projects": sorted({*projects, here}),
            "project": asked if asked in projects else here,
        }

    def _render(self, template: str, title: str, **values: Any) -> HTMLResponse:
        here = next((path for path, name in NAVIGATION if name == title), "")
        values |= {"navigation": NAVIGATION, "here": here, "busy": self.index.busy, "title": title}
        page = HTMLResponse(pages.render_page(template, **values))
        self.wanted.set()  # what is there is sent before anything is read
        return page

    def _error_page(self, _request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 404
        told = error.detail if isinstance(error, HTTPException) else str(error)
        page = self._render("message.html", "Not here", told=told)
        return HTMLResponse(page.body, status)

    def _cached_story(self, path: str, now: str) -> story.Story:
        """A session as it is now; the last ones stay, for whoever clicks through them."""
        with self._lock:
            return self._tell(path, now)


def _parse_filter_query(request: Request) -> Filter:
    asked = request.query_params
    return Filter(
        project=asked.get("project", ""),
        model=asked.get("model", ""),
        sort=asked.get("sort", ""),
        day=asked.get("day", ""),
        page=max(1, _number_or_zero(asked.get("page", ""))),
        words=asked.get("q", "").strip()[:200],
    )


def _number_or_zero(text: str) -> int:
    return int(text.lstrip("0")[:6] or 0) if text.isascii() and text.isdigit() else 0
