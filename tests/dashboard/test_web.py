"""`brimline dashboard` over HTTP: who gets in, what is refused, what may be done."""

from __future__ import annotations

import asyncio
import contextlib
import html
import os
import random
import re
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
from click.testing import CliRunner
from starlette.exceptions import HTTPException
from starlette.requests import Request
from tests.dashboard.conftest import PATIENCE_S
from tests.dashboard.played import NAME

from brimline.bulk import contents, layout, pins
from brimline.bulk.put import put
from brimline.cli.surface import program
from brimline.dashboard import index, story, web
from brimline.dashboard.pages import MOST_CHARACTERS
from brimline.dashboard.web import _HITS, _PAGE_SIZE
from brimline.errors import SessionError
from brimline.figures import store
from brimline.install import doctor
from brimline.recall import deep, hits, hot
from brimline.recall.record import Record
from brimline.settings import clientsettings
from brimline.testing import SessionBuilder

if TYPE_CHECKING:
    from tests.dashboard.conftest import Served
    from tests.dashboard.played import Played

PAGES = (
    *("/", f"/session/{NAME}", f"/session/{NAME}/request/3", "/overall"),
    *("/stored", "/memory", "/rules", "/health"),
)


def test_only_the_secret_its_own_host_and_its_own_pages_get_in(served: Served) -> None:
    """All others are refused before anything is read."""
    port = served.host.partition(":")[2]

    assert served.get("/").status == 200
    assert served.get("/", Cookie="").status == 403
    assert served.get("/", Cookie=f"brimline_{port}=wrong").status == 403
    assert served.get("/enter?key=wrong", Cookie="").status == 403
    assert served.get("/", Host=f"evil.example:{port}").status == 421
    assert served.get("/", Host="").status in (400, 421)
    assert served.get("/", Origin="http://evil.example").status == 403
    assert served.ask("POST", "/", "").status == 403
    assert served.get("/static/page.js", Cookie="").status == 403
    socket = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
    socket |= {"Sec_WebSocket_Key": "x" * 16}
    assert served.get("/", Cookie="", **socket).status == 403
    for answer in (served.get("/"), served.get("/", **socket)):
        assert answer.status < 500
        assert "script-src 'self'" in answer.headers["content-security-policy"]
        assert "unsafe" not in answer.headers["content-security-policy"]
    served.complaints.seek(0)
    assert served.complaints.read() == b""


def test_a_key_enters_once_and_none_is_in_the_arguments_of_a_browser(served: Served) -> None:
    """The browser is given a file that nobody else can read, which posts a key of its own."""
    text = Path(served.file).read_text()
    (key,) = re.findall(r'name="key" value="([\w-]{32})"', text)
    (form,) = re.findall(r'action="([^"]+)"', text)
    assert form == f"http://{served.host}/enter"
    assert os.stat(served.file).st_mode & 0o777 == 0o600
    assert key not in served.url

    used = f"/enter?{served.url.partition('?')[2]}"
    assert served.get(used, Cookie="").status == 403
    assert served.get(used).status == 200  # the browser that has entered, loading it again
    first = served.ask("POST", "/enter", f"key={key}", Cookie="", Origin="null")
    assert (first.status, "set-cookie" in first.headers) == (200, True)
    again = served.ask("POST", "/enter", f"key={key}", Cookie="", Origin="null")
    assert (again.status, "set-cookie" in again.headers) == (403, False)
    long = served.ask("POST", "/enter", f"key={key}" + "x" * 20_000, Cookie="")
    assert long.status == 403


def test_a_long_form_is_not_read_however_its_length_is_written(served: Served) -> None:
    """Zeros before a number make it no smaller; nobody has shown a key yet."""
    host, port = served.host.split(":")
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        head = (
            f"POST /enter HTTP/1.1\r\nHost: {served.host}\r\nContent-Length: 0000000100000\r\n\r\n"
        )
        connection.sendall(head.encode())  # and nothing of the form itself

        assert connection.recv(4_096).startswith(b"HTTP/1.1 403 ")


@pytest.mark.row("S2-48")
def test_every_page_answers_and_shows_foreign_marks_as_text(served: Served) -> None:
    """Also the prompt that holds a script."""
    for page in PAGES:
        found = served.get(page)
        assert found.status == 200, (page, found.text)
        assert "<script>alert(" not in found.text
        assert not re.search(r"\son\w+=|\sstyle=", found.text), page
    assert "&lt;script&gt;alert(" in served.get(f"/session/{NAME}/request/1").text


def test_memory_opens_hits_and_topics(served: Served, home_dir: str, project_dir: str) -> None:
    """An entry with what came before and after it, and its session; a topic with its text."""
    deep.index_sources(home_dir, project_dir, [])
    folder = clientsettings.memory_folder(os.getcwd())
    hot.add_topic(folder, "deploys", "project", "How", "By tag, from main.")

    page = html.unescape(served.get("/memory?q=weekly").text)
    number = re.findall(r'href="/memory/(m\d+)"', page)[0]

    assert f'href="/session/{NAME}"' in page
    assert "By tag, from main." in page
    entry = served.get(f"/memory/{number}").text
    assert "Now the weekly one." in entry
    assert f'href="/session/{NAME}"' in entry
    assert served.get("/memory/m999999").status == 404


def test_nothing_can_be_changed_there(served: Served, home_dir: str) -> None:
    """Whoever may look may not pin or delete; the page names the commands."""
    (blob,) = contents.list_blobs(home_dir)
    for action in ("pin", "unpin", "forget"):
        path, origin = f"/stored/{blob.digest}/{action}", f"http://{served.host}"
        assert served.ask("POST", path, "sure=yes", Origin=origin).status == 404
    assert "brimline store pin" in served.get(f"/stored/{blob.digest}").text


def test_no_parameter_leads_out_of_the_sessions(served: Served, world: Path) -> None:
    """Neither a path nor a piece of one."""
    secret = world / "secret.jsonl"
    secret.write_text('{"type":"user","message":{"content":"top secret"}}\n', encoding="utf-8")
    (world / "CLAUDE.md").write_text("top secret", encoding="utf-8")
    for nasty in ("../secret", "..%2fsecret", f"{secret}", quote(str(secret), safe=""), "%00", "*"):
        for page in ("/session/{}", "/session/{}/request/1", "/stored/{}", "/static/{}"):
            found = served.get(page.format(nasty))
            assert found.status in (400, 404, 405), (page, nasty)
            assert "top secret" not in found.text
        assert "top secret" not in served.get(f"/rules?project={quote(nasty, safe='')}").text


@pytest.mark.parametrize("number", ["0", "9" * 5_000, "one", "-1", "1.5", "²"])
def test_a_request_that_is_none_is_told_by_how_many_there_are(served: Served, number: str) -> None:
    """Whatever stands where its number is expected."""
    found = served.get(f"/session/{NAME}/request/{quote(number)}")

    assert found.status == 404
    assert re.search(r"the session has \d+ requests", found.text)


def test_a_session_is_told_by_its_title_and_what_is_none_is_left_out(
    served: Served, played: Played, home_dir: str
) -> None:
    """How it began, until the client names it; files that `status` refuses are no sessions."""
    folder = Path(played.session.path).parent
    (folder / "passwd.jsonl").symlink_to("/etc/passwd")
    (folder / "dangling.jsonl").symlink_to(folder / "nowhere")
    (folder / "bytes.jsonl").write_bytes(random.Random(1).randbytes(9_000))
    assert "the import drops rows." in served.get("/").text
    played.session.row("ai-title", aiTitle="Rows of the import")

    index.Index(home_dir).refresh()
    page = served.get("/").text

    assert "Rows of the import" in page
    assert page.count('href="/session/') == 1
    assert "Rows of the import" in served.get(f"/session/{NAME}").text
    for name in ("passwd", "dangling", "bytes"):
        assert served.get(f"/session/{name}").status == 404
    assert ">importer</option>" in page


def test_random_requests_never_break_it(served: Served) -> None:
    """A thousand of them: any answer but a failure of ours."""
    source = random.Random(16)
    words = [
        "session",
        NAME,
        NAME[:8],
        "request",
        "1",
        "99999",
        "-1",
        "stored",
        "static",
        "overall",
    ]
    words += [
        "..",
        "%2e%2e",
        "%00",
        "%ff",
        "é",
        "page.css",
        "last",
        "ab" * 32,
        "?",
        "<b>",
        "'",
        "*",
    ]
    names = ["project", "model", "days", "sort", "page", "q", "key", "x"]
    methods = ["GET"] * 8 + ["HEAD", "POST", "PUT", "DELETE"]
    for number in range(1_000):
        path = "/" + "/".join(quote(w, safe="%") for w in source.choices(words, k=number % 5))
        given = [f"{source.choice(names)}={quote(source.choice([*words, '9' * 30]))}" for _ in "ab"]
        query = "?" + "&".join(given) if number % 2 else ""
        method = source.choice(methods)
        body = "token=x&sure=yes" if method != "GET" else None
        status = served.ask(method, path + query, body, Origin=f"http://{served.host}").status
        assert status < 500, (method, path, query)


def test_looking_at_a_project_runs_nothing_of_it(served: Served, played: Played) -> None:
    """A module of ours may have a namesake in its folder."""
    for name in ("click", "json", "secrets"):
        Path(f"{name}.py").write_text(f"open('{name}.ran', 'w')")

    told = {page: served.get(page) for page in ("/", "/memory", "/rules", "/health")}
    done = CliRunner().invoke(program, ["session", "inspect", played.session.path, "--json"])

    assert [page for page, answer in told.items() if "Not here" in answer.text] == []
    assert done.exit_code == 0, done.output
    assert sorted(Path().glob("*.ran")) == []


@pytest.mark.parametrize("sound_bytes", [0, 4096])
def test_a_damaged_index_is_made_anew(served: Served, home_dir: str, sound_bytes: int) -> None:
    """Where all of it is garbage, and where only its inner pages are."""
    path = Path(home_dir, store.FILE)
    raw = path.read_bytes()
    path.write_bytes(raw[:sound_bytes] + b"\x5a" * (len(raw) - sound_bytes))

    served.get("/")

    assert f"/session/{NAME}" in served.settled().get("/").text


def test_an_index_that_cannot_be_is_named_the_rest_shown(served: Served, home_dir: str) -> None:
    """A folder in its place is as good as one that is read-only, for root too."""
    path = Path(home_dir, store.FILE)
    path.unlink()
    path.mkdir()

    assert "cannot be" in served.get("/").text
    assert "Not here" not in served.get("/health").text


def test_pages_that_are_asked_for_at_once_share_a_new_index(home_dir: str) -> None:
    """None of them takes the half-made file of another for a damaged one."""
    for number in range(20):
        found = index.Index(f"{home_dir}/{number}")
        with ThreadPoolExecutor(4) as pool:
            asked = [pool.submit(found.page_of_sessions, index.Filter(), 50, {}) for _ in range(4)]
        assert [one.result(PATIENCE_S) for one in asked] == [([], 0)] * 4


def test_hostile_sessions_are_text_and_a_line_of_10_mb_is_passed_over(
    served: Served, played: Played, home_dir: str
) -> None:
    """In names of files, tools, models and folders, in output, in what a hook said."""
    nasty = "</title><script>alert(1)</script>\x1b[2J\x00\u202e\ud800"
    name = "2f0c2d3e-aaaa-4bbb-8ccc-000000000002"
    path = played.session.path.replace(NAME, name)
    session = SessionBuilder(path, session_id=name, cwd=f"/tmp/{nasty}", model=nasty)
    call = session.tool_call(30_000, nasty, file_path=f"/tmp/{nasty}")
    session.tool_result(call, nasty * 50)
    attached = {"type": "hook_additional_context", "hookName": nasty, "content": [nasty]}
    session.row("attachment", attachment=attached)
    session.raw('{"type":"user","message":{"content":"' + "x" * 10_000_000 + '"}}\n')
    session.raw(b"\xff\xfe torn {\n")
    session.reply(41_000)
    # No text at all, in the name of a file.
    Path(path.replace(name, "3f0c2d3e-\udcff")).write_bytes(Path(path).read_bytes())
    index.Index(home_dir).refresh()
    assert served.get("/").text.count('href="/session/') == 3

    for page in (f"/session/{name}", f"/session/{name}/request/2", "/", "/overall"):
        found = served.get(page)
        assert found.status == 200, page
        assert "<script>alert(" not in found.text
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202e]", found.text), page
    assert "41,000 of" in served.get(f"/session/{name}").text


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("", {}),
        ("project=%2Fa&model=m&sort=cost", {"project": "/a", "model": "m", "sort": "cost"}),
        ("day=today&page=3", {"day": "today", "page": 3}),
        ("page=0", {}),
        ("page=%D9%A3", {}),
        ("page=1234567", {"page": 123_456}),
        ("q=+two++words+", {"words": "two  words"}),
        (f"q={'x' * 201}", {"words": "x" * 200}),
    ],
)
def test_what_is_asked_of_the_list_is_read_with_care(query: str, wanted: dict[str, Any]) -> None:
    """What is not a number is none, a page is the first at least, and no text is endless."""
    scope = {"type": "http", "query_string": query.encode(), "headers": []}

    assert web._parse_filter_query(Request(scope)) == index.Filter(**{"sort": ""} | wanted)


@pytest.mark.parametrize(("length", "key"), [("10000", "k"), ("10001", ""), (None, ""), ("x", "k")])
def test_a_form_that_is_longer_than_ours_is_not_read(length: str | None, key: str) -> None:
    """Nor one that does not say how long it is."""
    headers = [(b"content-length", length.encode())] if length else []
    scope = {"type": "http", "method": "POST", "query_string": b"key=other", "headers": headers}
    parts = iter([{"type": "http.request", "body": b"key=k", "more_body": False}])

    async def receive() -> Any:
        return next(parts)

    assert asyncio.run(web._key_in_login_request(Request(scope, receive))) == key
    asked = Request(scope | {"method": "GET"}, receive)
    assert asyncio.run(web._key_in_login_request(asked)) == "other"


def asked(query: str = "", stamp: str = "", **parameters: Any) -> Request:
    """A request as a page gets it."""
    headers = [(b"x-stamp", stamp.encode())]
    scope = {"type": "http", "query_string": query.encode(), "path_params": parameters}
    return Request(scope | {"headers": headers})


def placed(world: Path, name: str = NAME, project: Path = Path("/home/dev")) -> SessionBuilder:
    """A session where the client keeps those of a project."""
    folder = world / "home" / ".claude" / "projects" / project.name
    return SessionBuilder(str(folder / f"{name}.jsonl"), name, str(project))


def text_of(answer: Any) -> str:
    """What a page says."""
    assert answer.status_code == 200
    return html.unescape(bytes(answer.body).decode())


@pytest.mark.parametrize(
    ("size", "is_cut"), [(MOST_CHARACTERS, False), (MOST_CHARACTERS + 1, True)]
)
def test_a_stored_output_is_shown_by_its_short_key(home_dir: str, size: int, is_cut: bool) -> None:
    """Whole up to a size, and whether it is pinned."""
    key = put(home_dir, b"y" * size, {"tool": "Bash", "source": "make"})
    name = key.removeprefix("sha256:")
    page = web.Dashboard(home_dir).output_page

    shown = text_of(page(asked(digest=name)))

    assert f"<title>Output {name[:8]} ·" in shown
    assert shown.count("y" * MOST_CHARACTERS) == 1
    assert ("This is its beginning" in shown) is is_cut
    assert ", pinned" not in shown
    pins.pin(home_dir, key)
    assert ", pinned" in text_of(page(asked(digest=name)))


def test_rules_and_health_are_of_a_project_that_had_a_session_else_of_where_it_runs(
    world: Path, home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No other folder is looked into; what is found there is what the commands find."""
    here, other, strange = (world / name for name in ("here", "other", "strange"))
    for folder in (here, other, strange):
        folder.mkdir()
        (folder / "CLAUDE.md").write_text("- Never push.\n", encoding="utf-8")
    placed(world, "s1", other).reply(5_000)
    placed(world, "s2", world / "gone").reply(5_000)
    monkeypatch.chdir(here)
    pages = web.Dashboard(home_dir)
    pages.index.refresh()

    for asked_for, shown in ((other, other), (strange, here), (world / "gone", here)):
        query = f"project={quote(str(asked_for))}"
        page = text_of(pages.rules_page(asked(query)))
        assert f">{shown}/CLAUDE.md<" in page
        assert re.findall('option value="([^"]*)"', page) == [str(here), str(other)]
        findings = doctor.run_checks_as_document(home_dir, str(shown))["findings"]
        page = text_of(pages.health_page(asked(query)))
        assert f"<h1>Health <small>{shown.name}<" in page
        assert page.count('<span class="badge') == len(findings) > 1


@pytest.mark.parametrize(("query", "days"), [("", 30), ("days=90", 90), ("days=91", 30)])
def test_the_overall_page_is_of_the_chosen_days(home_dir: str, query: str, days: int) -> None:
    """Of thirty where it is none of those that can be."""
    assert f'<option value="{days}" selected>' in text_of(
        web.Dashboard(home_dir).overall_page(asked(query))
    )


def test_a_page_of_requests_begins_at_one_and_ends_at_the_last(world: Path, home_dir: str) -> None:
    """The others are told how many there are; both ways lead on where there is one."""
    session = placed(world)
    for tokens in (5_000, 6_000, 7_000):
        session.reply(tokens)
    pages = web.Dashboard(home_dir)
    shown = {}
    for number in range(5):
        wanted = asked(name=NAME, number=str(number))
        with contextlib.suppress(HTTPException):
            shown[number] = text_of(pages.request_page(wanted))

    ways = [("the one before" in text, "the next one" in text) for text in shown.values()]
    assert list(shown) == [1, 2, 3]
    assert re.search(r"<p>Request 1, [-\d]{10} \d\d:\d\d: 5,000 tokens, 2% of the window", shown[1])
    assert ways == [(False, True), (True, True), (True, False)]


def test_a_list_leads_to_its_last_page_and_waits_when_empty(world: Path, home_dir: str) -> None:
    """What else was asked for is kept; an empty list is sent once."""
    pages = web.Dashboard(home_dir)
    first = text_of(pages.sessions_page(asked()))
    assert "Claude Code has no session on this machine yet" in first
    assert pages.sessions_page(asked(stamp="empty")).status_code == 204
    assert pages.sessions_page(asked("q=x", stamp="empty")).status_code == 200
    placed(world).reply(5_000)
    pages.index.refresh()

    beyond = pages.sessions_page(asked("page=7&model=&q=s"))

    assert beyond.headers["location"] == "/?q=s&page=1"
    assert pages.sessions_page(asked(stamp="empty")).status_code == 200


def test_a_sessions_page_has_its_id_as_title_and_is_sent_once(world: Path, home_dir: str) -> None:
    """Until something changes; of a session that nobody knows it says so."""
    session = placed(world)
    session.reply(5_000)
    pages = web.Dashboard(home_dir)
    stamp = index.change_stamp_of_session(home_dir, session.path)

    shown = text_of(pages.session_page(asked(name=NAME)))
    assert f"<title>Session {NAME[:8]} ·" in shown
    assert f'data-address="/session/{NAME}/request/"' in shown
    assert "claude-sonnet-4-6: 1 request<" in shown
    assert re.search(r"last active</dt><dd>[-\d]{10} \d\d:\d\d<", shown)
    assert pages.session_page(asked(name=NAME, stamp=stamp)).status_code == 204
    session.reply(6_000)
    assert pages.session_page(asked(name=NAME, stamp=stamp)).status_code == 200
    with pytest.raises(SessionError):
        pages.session_page(asked(name="99999999"))


async def _inside(_scope: Any, _receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"inside"})


def knock(
    gate: web.Gate, path: str = "/", method: str = "GET", **headers: str
) -> tuple[int, str, dict[str, str]]:
    """What the gate answers: status, text and headers."""
    sent: list[dict[str, Any]] = []
    named = {"host": "127.0.0.1:8000"} | headers
    scope: dict[str, Any] = {"type": "http", "method": method, "path": path.partition("?")[0]}
    scope |= {"query_string": path.partition("?")[2].encode()}
    scope |= {"headers": [(name.encode(), value.encode()) for name, value in named.items()]}

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b""}

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(gate(scope, receive, send))
    text = b"".join(message.get("body", b"") for message in sent).decode()
    told = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], text, told


@pytest.mark.parametrize(
    ("method", "headers", "status", "said"),
    [
        ("GET", {}, 200, "inside"),
        ("HEAD", {"host": "localhost:8000"}, 200, "inside"),
        ("GET", {"origin": "http://127.0.0.1:8000"}, 200, "inside"),
        ("POST", {"origin": "http://127.0.0.1:8000"}, 200, "inside"),
        ("POST", {}, 403, "This came from no page of ours, and was refused."),
        ("GET", {"origin": "http://evil.example"}, 403, "This came from another page"),
        ("GET", {"origin": "null"}, 403, "This came from another page, and was refused."),
        ("GET", {"host": "127.0.0.1:8001"}, 421, "This page answers to its own address only."),
        ("GET", {"host": "evil.example"}, 421, "This page answers to its own address only."),
        ("GET", {"cookie": ""}, 403, "Open the address that `brimline dashboard` printed"),
        ("GET", {"cookie": "brimline_8000=guess"}, 403, "Open the address that"),
    ],
)
def test_the_gate_lets_in_who_has_entered_from_our_own_pages(
    method: str, headers: dict[str, str], status: int, said: str
) -> None:
    """Every answer says that nothing else may use or keep it."""
    gate = web.Gate(_inside, 8_000, ["k"])
    own = {"cookie": f"brimline_8000={gate.secret}"}

    got, text, told = knock(gate, "/", method, **(own | headers))

    assert got == status
    assert text.startswith(said)
    assert told["cache-control"] == "no-store"
    assert told["x-content-type-options"] == "nosniff"
    assert "frame-ancestors 'none'" in told["content-security-policy"]


def test_each_key_enters_once_and_who_is_in_stays_in() -> None:
    """By a cookie that no script and no other page can use."""
    gate = web.Gate(_inside, 8_000, ["one", "two"])

    refused = knock(gate, "/enter?key=three")
    first = knock(gate, "/enter?key=one")
    again = knock(gate, "/enter?key=one")
    second = knock(gate, "/enter?key=two")
    inside = knock(gate, "/enter?key=one", cookie=f"brimline_8000={gate.secret}")

    assert [refused[0], first[0], again[0], second[0], inside[0]] == [403, 200, 403, 200, 200]
    assert again[1].startswith("This key was used, or is of an earlier start: start")
    assert "set-cookie" not in refused[2] | again[2] | inside[2]
    cookie = first[2]["set-cookie"].lower()
    assert f"brimline_8000={gate.secret}".lower() in cookie
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert gate.keys == []


def test_a_page_that_is_asked_for_has_the_index_looked_at(world: Path, home_dir: str) -> None:
    """Also where nothing is sent because nothing is there; what fails is a page, too."""
    pages = web.Dashboard(home_dir)
    was = pages.wanted.is_set()
    pages.sessions_page(asked(stamp="empty"))
    looked = pages.wanted.is_set()
    pages.wanted.clear()
    missing = pages._error_page(asked(), SessionError("no such session"))
    teapot = pages._error_page(asked(), HTTPException(418, "short and stout"))

    assert (was, looked, pages.wanted.is_set()) == (False, True, True)
    assert (missing.status_code, teapot.status_code) == (404, 418)
    assert "no such session" in bytes(missing.body).decode()
    assert "short and stout" in bytes(teapot.body).decode()
    assert "<title>Not here ·" in bytes(missing.body).decode()


@pytest.mark.parametrize(
    ("text", "number"),
    [
        *(("", 0), ("0", 0), ("007", 7), ("1234567", 123_456), ("000001234567", 123_456)),
        *(("-1", 0), ("1.5", 0), ("²", 0), ("٣", 0), (" 7", 0)),
    ],
)
def test_what_is_no_number_is_none(text: str, number: int) -> None:
    """And none is longer than six digits."""
    assert web._number_or_zero(text) == number


@pytest.mark.parametrize(("count", "pages"), [(_PAGE_SIZE, 1), (_PAGE_SIZE + 1, 2)])
def test_a_page_of_the_list_has_fifty_sessions(
    world: Path, home_dir: str, count: int, pages: int
) -> None:
    """What is left is on the next one, which leads back."""
    for number in range(count):
        placed(world, f"{number:08}-s").reply(5_000)
    dashboard = web.Dashboard(home_dir)
    dashboard.index.refresh()

    first = text_of(dashboard.sessions_page(asked("page=1")))
    assert first.count('<a href="/session/') == _PAGE_SIZE
    assert ("more →" in first, f"page 1 of {pages}" in first) == (pages > 1, pages > 1)
    beyond = dashboard.sessions_page(asked("page=3&q="))
    assert beyond.headers["location"] == f"/?page={pages}"
    if pages > 1:
        last = text_of(dashboard.sessions_page(asked("page=2")))
        assert last.count('<a href="/session/') == 1
        assert ("← newer" in last, "more →" in last) == (True, False)


STORED = web._STORED_ROWS


@pytest.mark.parametrize(("count", "shown"), [(STORED, STORED), (STORED + 1, STORED)])
def test_so_many_stored_outputs_are_listed(home_dir: str, count: int, shown: int) -> None:
    """All of them are counted."""
    for number in range(count):
        put(home_dir, f"output {number}".encode(), {}, is_synced=False)

    page = text_of(web.Dashboard(home_dir).stored_outputs_page(asked()))

    assert page.count('<a href="/stored/') == shown
    assert f"{count} outputs" in page


def test_memory_shows_twenty_hits_of_whatever_project(home_dir: str) -> None:
    """The first of them open; none of them leads to a session that is not there."""
    entries = [Record(f"{at}", f"## The **otter** {at}", project="/p") for at in range(_HITS + 1)]
    hits.open_or_make_memory(home_dir).put_entries(entries)
    pages = web.Dashboard(home_dir)

    page = text_of(pages.memory_page(asked("q=+otter+")))

    assert page.count("<pre tabindex") == _HITS
    assert page.count("<details open>") == 1
    assert "Found for “otter”" in page
    assert " · The otter 1" in page
    assert 'href="/session/' not in page
    assert "Found for" not in text_of(pages.memory_page(asked("q=++")))
    assert "No matches." in text_of(pages.memory_page(asked("q=walrus")))


def test_looking_at_an_output_does_not_use_it(home_dir: str) -> None:
    """What was used longest ago is dropped first; a look is no use."""
    key = put(home_dir, b"otter", {})
    (before,) = contents.list_blobs(home_dir)
    path = layout.stored_path(home_dir, layout.digest_of_key(key))
    os.utime(path, ns=(before.used_ns - 10**12,) * 2)
    (early,) = contents.list_blobs(home_dir)

    web.Dashboard(home_dir).output_page(asked(digest=key))

    assert contents.list_blobs(home_dir) == [early]
    assert early.used_ns < before.used_ns


def test_the_last_two_sessions_that_were_looked_at_are_not_read_again(
    world: Path, home_dir: str
) -> None:
    """A third one takes the place of the first; one that has grown is read again."""
    builders = [placed(world, f"{number:08}-s") for number in range(3)]
    for one in builders:
        one.reply(5_000)
    pages = web.Dashboard(home_dir)

    def told(number: int) -> story.Story:
        path = builders[number].path
        return pages._cached_story(path, index.change_stamp_of_session(home_dir, path))

    first, second = told(0), told(1)
    assert (told(0) is first, told(1) is second) == (True, True)
    told(2)
    assert (told(1) is second, told(0) is first) == (True, False)
    builders[1].reply(6_000)
    assert len(told(1).moments) == 2


def test_the_gates_secret_cannot_be_guessed() -> None:
    """24 random bytes, others for every start; each host by its name and number."""
    gates = [web.Gate(_inside, 8_000, []) for _ in range(2)]

    assert [len(gate.secret) for gate in gates] == [32, 32]
    assert gates[0].secret != gates[1].secret
    assert gates[0].hosts == {"127.0.0.1:8000", "localhost:8000"}
    assert gates[0].cookie == "brimline_8000"


def test_a_page_knows_where_it_is_and_if_the_index_is_read(world: Path, home_dir: str) -> None:
    """Of what is not a page of its own, none of the ways is marked."""
    pages = web.Dashboard(home_dir)
    placed(world).reply(5_000)

    list_page, one = (
        text_of(pages.sessions_page(asked())),
        text_of(pages.session_page(asked(name=NAME))),
    )

    marked = re.compile(r'<a href="([^"]+)" aria-current="page"')
    assert marked.findall(list_page) == ["/"]
    assert marked.findall(one) == []
    assert "data-busy" not in list_page
    pages.index.busy = (1, 4)
    assert "data-busy" in text_of(pages.sessions_page(asked()))
