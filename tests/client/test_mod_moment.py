"""The moment of a compaction: what the person sees of it, and when it is made of itself."""

from __future__ import annotations

import json
import re
import sys
import time
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from .modded import FULL, WINDOW, answer_with, check_history, lines_in, read_all, write_files
from .stub_api import bash, filled, text

if TYPE_CHECKING:
    from .brimline_home import Installed
    from .harness import Client, PrintResult
    from .stub_api import StubApi

SEAM = "compacted here, without a model: "
MODEL = "claude-opus-5-5"
LARGE = filled(212_000)
# Where the client asks for a summary ahead, and forgets neither flag.
AHEAD = {"tengu_sepia_moth": True, "tengu_amber_packet": True}
KEEPS_FLAGS = {"CLAUDE_CODE_GB_DISK_CACHE_WHEN_TELEMETRY_OFF": "1"}
# Answers the mod as brimline does, but for a compaction, of which it says that it is not worth it.
_THINKS_BETTER = """
import json, sys
sys.path.insert(0, {root!r})
from brimline.mod import request
question = json.loads(sys.stdin.buffer.read())
answer = request.respond(sys.argv[1], question, {data!r})
print(json.dumps({{"pass": "too little to let go of"}} if sys.argv[1] == "compact" else answer))
"""


@pytest.mark.parametrize(
    ("columns", "tui"),
    [
        (80, "default"),
        (140, "fullscreen"),
        pytest.param(140, "default", marks=pytest.mark.long),
        pytest.param(80, "fullscreen", marks=pytest.mark.long),
    ],
)
def test_a_compaction_is_one_line_on_the_screen_and_nothing_is_drawn_twice(
    columns: int, tui: str, client: Client, stub: StubApi, installed: Installed
) -> None:
    """After two of them, with a paste of 60 lines; the line is there in a resume, too.

    It stands where the work was when it happened, and no label of the client's stays behind.
    """
    client.write_settings(WINDOW | {"tui": tui})
    pasted = "\r".join(f"pasted line {number}" for number in range(60))
    first, second = (read_all(write_files(client, first=at), FULL) for at in (0, 100))
    stub.script(text("PASTE-SEEN", filled(30_000)))
    spoken = replace(first, blocks=({"type": "text", "text": "I READ ALL PARTS."}, *first.blocks))
    stub.script(spoken, bash("sleep 1; echo 1", filled(20_000)), text("FIRST-ENDS"))
    stub.script(second, bash("sleep 1; echo 2", filled(20_000)), text("SECOND-ENDS"))
    seen = [""]
    with client.interactive(columns=columns) as live:
        live.ready()
        live.send_keys(f"\x1b[200~{pasted}\x1b[201~")
        live.wait_for("59")
        live.send_keys("\r")
        live.wait_for("PASTE-SEEN")
        live.say("COUNT-THEM please", "FIRST-ENDS")
        live.say("COMPARE-THEM please")
        while "SECOND-ENDS" not in seen[-1]:
            seen.append(live.wait_for(lambda now: now != seen[-1]))
        screen = " ".join(seen[-1].split())
        (transcript,) = client.transcripts()
    with client.interactive(columns=columns, args=["--resume", transcript.stem]) as live:
        resumed = live.wait_for("compacted here")

    assert {request.kind for request in stub.requests()} == {"main"}
    places = [screen.rindex(words) for words in ("COMPARE-THEM", SEAM, "SECOND-ENDS")]
    assert places == sorted(places)
    assert [screen.count(words) for words in ("COMPARE-THEM", "SECOND-ENDS")] == [1, 1]
    assert screen.count("COUNT-THEM") <= 1
    assert screen.count("I READ ALL PARTS.") <= 1
    assert "pasted line 7" not in screen[places[0] :]
    assert not any("SessionStart hooks" in now for now in seen)
    assert re.search(rf"{SEAM}\d+k → \d+k tokens\. \d+ old results", screen)
    assert resumed.count("compacted here") == 1
    assert not any(SEAM in request.seen_text() for request in stub.requests())
    assert installed.errors() == ""


def test_a_typed_compact_leaves_nothing_on_the_screen_twice(
    client: Client, stub: StubApi, installed: Installed
) -> None:
    """Nor does it hide what is said again later."""
    client.write_settings({"tui": "fullscreen"})
    stub.script(read_all(write_files(client), filled(60_000)), *[text("THE-REPLY")] * 2)
    with client.interactive() as live:
        live.say("THE-PROMPT", "THE-REPLY")
        short = live.say("/compact", SEAM)
        live.say("THE-PROMPT")
        again = live.wait_for(lambda now: now.count("THE-REPLY") > 1)

    assert [short.count(words) for words in ("THE-PROMPT", "THE-REPLY")] == [1, 1]
    assert [again.count(words) for words in ("THE-PROMPT", "THE-REPLY")] == [2, 2]
    assert installed.errors() == ""


def cold_session(client: Client, stub: StubApi, files: int, hours: int = 3) -> PrintResult:
    """A large session whose last request was so long ago."""
    begun = [read_all(write_files(client, files), LARGE)] if files else []
    stub.script(*begun, text("BEGUN", LARGE))
    run = client.run_print("Look at the parts.", model=MODEL)
    assert run.transcript

    def earlier(found: re.Match[str]) -> str:
        at = datetime.fromisoformat(found[1]) - timedelta(hours=hours)
        return f'"timestamp":"{at.isoformat(timespec="milliseconds")[:-6]}Z"'

    rows = run.transcript.read_text(encoding="utf-8")
    run.transcript.write_text(re.sub(r'"timestamp":"([^"]+)"', earlier, rows), encoding="utf-8")
    stub.script(*[text("GOING-ON", filled(90_000))] * 2)
    return run


@pytest.mark.parametrize(
    ("wanted", "files", "hours", "is_made"),
    [("do", 40, 3, True), ("do", 0, 3, False), ("do", 40, 0, False), ("say", 40, 3, False)],
)
def test_a_printed_run_that_finds_its_cache_cold_is_compacted_first_if_set_so(
    wanted: str,
    files: int,
    hours: int,
    is_made: bool,
    client: Client,
    stub: StubApi,
    installed: Installed,
) -> None:
    """Before its first request, without a model; not where it is warm or nothing would be freed."""
    installed.command("config", "set", "compaction.when_cold", wanted)
    run = cold_session(client, stub, files, hours)

    again = client.run_print("Go on.", model=MODEL, args=["--resume", run.session_id])

    assert again.result is not None
    assert again.result["result"] == "GOING-ON"
    assert again.kinds == ["main"]
    assert bool(lines_in(again.main[0])) is is_made
    calls = [block["id"] for block in run.main[-1].blocks("tool_use")]
    check_history(again.main[0], calls, "Look at the parts.", "BEGUN", "Go on.")
    assert installed.errors() == ""


@pytest.mark.parametrize("tui", ["default", pytest.param("fullscreen", marks=pytest.mark.long)])
def test_a_prompt_typed_at_once_waits_for_it_and_its_saving_is_said(
    tui: str, client: Client, stub: StubApi, installed: Installed
) -> None:
    """On the screen; the prompt goes out with the short history."""
    installed.command("config", "set", "compaction.when_cold", "do")
    client.write_settings({"tui": tui})
    run = cold_session(client, stub, 40)

    with client.interactive(model=MODEL, args=["--resume", run.session_id]) as live:
        live.say("Typed at once.", "GOING-ON")
        shown = " ".join(live.wait_for("place of").split())

    (sent,) = [request for request in stub.requests() if "Typed at once." in request.seen_text()]
    assert lines_in(sent)
    assert stub.requests("compaction") == []
    assert re.search(r"cache had expired: the next request costs about \$0\.\d\d in", shown)
    assert shown.count("Look at the parts.") == 1
    assert installed.errors() == ""


def test_no_model_is_asked_where_python_thinks_better_of_it(
    client: Client, stub: StubApi, installed: Installed
) -> None:
    """The session goes on whole."""
    installed.command("config", "set", "compaction.when_cold", "do")
    run = cold_session(client, stub, 40)
    program = _THINKS_BETTER.format(root=str(installed.root), data=str(installed.data))
    answer_with(installed, sys.executable, "-c", program)

    again = client.run_print("Go on.", model=MODEL, args=["--resume", run.session_id])

    assert again.kinds == ["main"]
    assert lines_in(again.main[0]) == []
    assert "Go on." in again.main[0].seen_text()


@pytest.mark.parametrize("is_much", [True, False])
def test_a_summary_made_ahead_is_used_where_little_can_go_and_not_made_elsewhere(
    is_much: bool, client: Client, stub: StubApi, installed: Installed
) -> None:
    """The client asks for one from 87 % of the brim on, where a flag of the service says so."""
    path = client.config / ".claude.json"
    known = json.loads(path.read_bytes())
    for name in ("cachedGrowthBookFeatures", "cachedFeatureFlags"):
        known |= {name: AHEAD, f"{name}At": int(time.time() * 1_000)}
    path.write_text(json.dumps(known), encoding="utf-8")
    words = "" if is_much else "a reply of many words " * 2_000
    for number in range(2):
        reads = read_all(write_files(client, 20, first=100 * number), filled(50_000))
        stub.script(*[reads][:is_much], text(f"{words} REPLY-{number}", filled(60_000)))
    stub.script(text("REPLY-2", filled(147_000)), text("REPLY-3", filled(157_000)))
    stub.script(bash("sleep 1", filled(169_000)), text("REPLY-4", filled(30_000)))
    with client.interactive(model="claude-sonnet-4-6", env=KEEPS_FLAGS) as live:
        for number in range(5):
            live.say(f"prompt {number}", f"REPLY-{number}")
            if number == 2 and not is_much:
                live.wait_until(lambda: bool(stub.requests("compaction")))

    assert len(stub.requests("compaction")) == (0 if is_much else 1)
    assert bool(lines_in(stub.requests("main")[-1])) is is_much
    assert installed.errors() == ""
