"""`brimline report`: one file, with figures alone or with the texts."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from click.testing import CliRunner
from tests.dashboard.played import NAME

from brimline.cli.surface import program
from brimline.dashboard import pages, story
from brimline.dashboard.report import _TEXTS
from brimline.fast.io import append_line
from brimline.figures import spending
from brimline.hooks import statusline
from brimline.hooks.entry import open_turn
from brimline.state.session import SessionState
from brimline.testing import SessionBuilder, event, statusline_event, text_block

if TYPE_CHECKING:
    from tests.dashboard.played import Played


def report(session: str, *words: str) -> str:
    """The file that a report becomes."""
    done = CliRunner().invoke(program, ["report", session, "-o", "report.html", *words])
    assert done.exit_code == 0, done.output
    return Path("report.html").read_text(encoding="utf-8")


def own_page(path: str, home_dir: str) -> str:
    """What the user's own page of a session says."""
    told = story.read_story(path, home_dir)
    spendings = spending.read_spendings(home_dir, spending.files_of_session(path))
    values = pages.session_page_values(told, [], spendings)
    return pages.render_page("session_body.html", **values)


def test_a_report_is_one_file_with_figures_and_without_texts(played: Played) -> None:
    """Nothing is loaded from elsewhere; no message, no output, no path of the user's."""
    made = report(NAME[:8])

    assert "43,000 of 200,000 tokens in use" in made
    assert "[brimline card]" not in made
    assert " announced" in made
    assert not re.search(r"(src|href)=\"(?!#)", made)
    for private in ("the import drops rows", "of the import", "INFO batch", played.session.cwd):
        assert private not in made
    assert "cat" in made
    assert "logs/import.log" not in made
    assert len(made) < 2_000_000


def test_what_a_report_shows_cannot_be_a_secret(session: SessionBuilder) -> None:
    """Names of tools, endings of files, common programs, events: whatever else they come with."""
    session.cwd = "/home/alice"
    calls: list[tuple[str, dict[str, Any]]] = [
        ("Read", {"file_path": "/home/alice/Merger ACME/secret plan.txt"}),
        ("Grep", {"pattern": "/x/foo/BAR"}),
        ("WebFetch", {"url": "https://corp.example/ACME"}),
        ("Bash", {"command": "'PASS:w0rd'|base64"}),
        ("Bash", {"command": "alice@corp.example"}),
        ("Bash", {"command": "hunter2"}),
        ("Bash", {"command": "TOKEN=hunter2 /opt/ACME/bin/make BAR"}),
        ("to ACME", {"file_path": "BAR.txt"}),
        ("mcp__acmecrm__search", {"query": "x"}),
        ("AcmeDeploy", {"path": "x"}),
        ("Read", {"file_path": "/home/x/plan.acme7"}),
    ]
    for at, (tool, given) in enumerate(calls):
        call = session.tool_call(30_000 + 2_000 * at, tool, **given)
        session.tool_result(call, "x " * 1_000)
    hook = {"type": "hook_additional_context", "hookName": "SessionStart:/ACME/x --key hunter2"}
    session.row("attachment", attachment=hook | {"content": ["y " * 900]})
    session.row("attachment", attachment=hook | {"hookName": "/ACME/x", "content": ["z " * 900]})
    session.reply(50_000, model="arn:aws:bedrock:1234:ACME")
    session.compact(60_000, trigger="ACME")
    session.reply(30_000, model="arn:aws:bedrock:1234:ACME")

    made = report(session.path)

    private = (
        "ACME",
        "acme",
        "Acme",
        "Merger",
        "secret",
        "BAR",
        "alice",
        "w0rd",
        "corp",
        "hunter2",
        "bedrock",
    )
    for one in private:
        assert one not in made, one
    for shown in ("Read .txt<", "Grep<", "WebFetch<", "Bash<", "Bash make<", ">SessionStart<"):
        assert shown in made, shown
    assert ">another event<" in made
    assert "a tool of an MCP server<" in made
    assert "another tool<" in made


def test_the_brim_is_what_status_says_it_is(session: SessionBuilder) -> None:
    """Where the client does not compact by itself, the page does not expect it to."""
    session.model = "claude-sonnet-4-5[1m]"
    session.reply(300_000)
    told = json.loads(
        CliRunner().invoke(program, ["status", "--session", session.path, "--json"]).stdout
    )

    made = report(session.path)

    assert told["ending"] == "refusal"
    assert "the API refuses at about 1,000,000" in made
    assert "refusal is expected there" in made
    assert "compaction is expected" not in made


def test_a_full_report_has_the_texts_and_says_so(played: Played) -> None:
    """Whoever shares it is told what it contains; it leads nowhere, and foreign marks are text."""
    made = report(played.session.path, "--full")

    assert "look through it before you share it" in made
    for private in ("# of the import", "cat logs/import.log", "[brimline card]"):
        assert private in made
    assert not re.search(r"(src|href)=\"(?!#)|data-address", made)
    assert "<script>alert(" not in made


def test_a_full_report_has_the_texts_of_the_largest_items(session: SessionBuilder) -> None:
    """That of the very first row, too, which begins where the file begins; a long one is cut."""
    session.prompt("FIRST" + "x" * 19_995 + "CUT")
    for number in range(_TEXTS + 1):
        call = session.tool_call(20_000 + 900 * number, "Grep", pattern="p")
        session.tool_result(call, f"result-{number:02} " + "word " * 20 * (number + 1))
    session.reply(90_000)

    made = report(session.path, "--full")

    shown = [number for number in range(_TEXTS + 1) if f"result-{number:02} " in made]
    assert len(shown) < _TEXTS
    assert shown == list(range(_TEXTS + 1 - len(shown), _TEXTS + 1))
    assert "FIRST" + "x" * 19_995 + "<" in made
    assert "3 more characters are not in this report." in made


def test_where_thinking_was_lost_is_on_the_users_page_only(
    session: SessionBuilder, home_dir: str
) -> None:
    """The reason is the client's word for it, which may be anything."""
    dropped = {"newlyDropped": {"blockCount": 3, "reason": "ACME"}}
    session.reply(20_000)
    session.row("attachment", attachment={"type": "thinking_drop"} | dropped)
    session.reply(21_000)

    told = "not sent again, after request 1: 3, by the service (ACME; changed: unknown)"
    assert told in own_page(session.path, home_dir)
    assert "ACME" not in report(session.path)


def test_what_a_summary_lost_is_on_the_users_page_only(played: Played, home_dir: str) -> None:
    """With the way back."""
    told = "not in the summary (brimline carry show --session"
    assert told in own_page(played.session.path, home_dir)
    assert told not in report(NAME)


def test_a_compaction_has_its_price_and_how_long_it_took(played: Played) -> None:
    """In every report; how long it took is unknown here."""
    table = report(NAME).partition("<h2>Compactions</h2>")[2].partition("</table>")[0]
    cells = re.findall(r"<td[^>]*>([^<]*)</td>", table)

    assert cells[-1].startswith("$")
    assert cells[-2] == "–"


def test_a_compaction_from_before_the_installation_has_its_price(world: Path) -> None:
    """No hook told its model, but the client's file does: in a report and in the history."""
    path = world / "home/.claude/projects/-project" / f"{NAME}.jsonl"
    session = SessionBuilder(str(path), NAME, "/project", model="claude-opus-4-6")
    session.reply(160_000)
    session.compact(165_000, summary="The summary. " * 200)
    session.reply(30_000)

    table = report(session.path).partition("<h2>Compactions</h2>")[2].partition("</table>")[0]
    told = CliRunner().invoke(program, ["history", "--compactions", "--json"]).stdout

    assert re.findall(r"<td[^>]*>([^<]*)</td>", table)[-1].startswith("$")
    assert json.loads(told)["compactions"][0]["dollars"] > 0


def test_a_compaction_that_was_undone_is_marked(world: Path, home_dir: str) -> None:
    """Its row is no longer in the file, and the tile above counts none."""
    path = world / "home/.claude/projects/-project" / f"{NAME}.jsonl"
    session = SessionBuilder(str(path), NAME, "/project")
    session.reply(160_000)
    before = path.read_bytes()
    session.row("system", subtype="compact_boundary", compactMetadata={"preTokens": 160_000})
    spool = SessionState(home_dir, NAME).folder + "/spool.jsonl"
    moved = {"event": "MovedOut", "results": 15, "freed_tokens": 9, "seconds": 0.4}
    for line in (moved, {"event": "SessionStart", "source": "compact"}):
        append_line(spool, json.dumps({"v": 1, "at": session.now} | line))
    assert "15 results moved out" in (told := report(session.path))
    assert "undone since" not in told

    path.write_bytes(before)

    assert "undone since" in report(session.path)


def test_a_report_has_the_cost_and_the_subagents(world: Path, home_dir: str) -> None:
    """Not the names of those; where replies were cut off, it cost at least that."""
    folder = world / "home/.claude/projects/-project"
    session = SessionBuilder(str(folder / f"{NAME}.jsonl"), NAME, model="claude-opus-4-6")
    session.reply(50_000)
    inner = SessionBuilder(str(folder / NAME / "subagents/agent-acme.jsonl"), NAME)
    inner.reply(33_000, message_id="inner", model="acme-9")
    (folder / "agent-that-is-a-folder.jsonl").mkdir()

    full, shared = own_page(session.path, home_dir), report(NAME)

    for made in (full, shared):
        assert re.search(r"<dt>cost</dt><dd>at least \$\d", made)
        assert "<h2>Subagents</h2>" in made
        assert ">33,000 <" in made
    assert ">acme <" in full
    assert "acme" not in shared


def test_failures_of_hooks_and_the_cost_that_the_client_counts_are_told(played: Played) -> None:
    """Those of this session alone; what an error says is not for others."""
    payload = json.dumps(event("Stop", played.session)).encode()
    other = payload.replace(NAME.encode(), b"another")
    for raw, text in ((payload, "mine"), (other, "not mine")):
        turn = open_turn("Stop", raw, played.home_dir)
        assert turn is not None
        turn.attempt("carry", int, text)
    told = statusline_event(played.session, window_tokens=200_000, occupancy_tokens=43_000)
    told |= {"cost": {"total_cost_usd": 1.234}}
    statusline.respond(json.dumps(told).encode(), played.home_dir)

    full, shared = own_page(played.session.path, played.home_dir), report(NAME)

    assert "1 failure;" in full
    assert "&#39;mine&#39;" in full
    assert "1 failure;" in shared
    assert "mine" not in shared
    assert "$1.23" in shared


def test_a_session_without_a_request_is_a_page_too(session: SessionBuilder) -> None:
    """It says that there is nothing to draw."""
    session.prompt("hello")

    assert "there is nothing to draw" in report(session.path)
    assert ">unknown<" not in report(session.path)


def test_hostile_names_and_control_characters_are_shown_as_text(
    session: SessionBuilder, home_dir: str
) -> None:
    """Whatever a session holds, in a file for others it is only ever text."""
    nasty = "</title><img src=x onerror=alert(1)>\x1b[31m\u202e\ud800.py"
    call = session.tool_call(30_000, "Read", file_path=f"/tmp/{nasty}")
    session.tool_result(call, nasty)
    session.reply(40_000, text_block(nasty))
    session.reply(41_000, model=nasty)

    for made in (report(session.path), own_page(session.path, home_dir)):
        assert "<img" not in made
        assert not re.search("[\x00-\x08\x0b-\x1f\u202e]", made)


def test_what_cannot_be_reported_is_said_in_a_sentence(played: Played) -> None:
    """No such session, and a file that cannot be written."""
    Path("taken").touch()
    missing = CliRunner().invoke(program, ["report", "ffff", "-o", "report.html"])
    unwritable = CliRunner().invoke(program, ["report", NAME, "-o", "taken/report.html"])
    other = CliRunner().invoke(program, ["report", NAME, "-o", played.session.path])
    lost = CliRunner().invoke(program, ["report", NAME, "-o", "no/such/report.html"])
    nowhere = CliRunner().invoke(program, ["report", NAME, "-o", "-"])
    Path("site.html").write_text("<!doctype html><title>Mine</title>")
    foreign = CliRunner().invoke(program, ["report", NAME, "-o", "site.html"])

    assert "no session 'ffff' is known" in str(missing.exception)
    assert "taken/report.html cannot be written" in str(unwritable.exception)
    assert "no page of ours" in str(other.exception)
    assert "no page of ours" in str(foreign.exception)
    assert Path("site.html").read_text() == "<!doctype html><title>Mine</title>"
    assert "no/such/report.html cannot be written" in str(lost.exception)
    assert not Path("no").exists()
    assert "-o takes the name of a file" in str(nowhere.exception)
    assert report(NAME) == report(NAME)
