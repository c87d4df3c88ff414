"""`brimline cost` against the client's own figure, on scripted sessions."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from brimline.fast import clock

from .modded import answer_with, read_all, write_files
from .stub_api import agent, bash, text

if TYPE_CHECKING:
    from .brimline_home import Installed
    from .stub_api import StubApi

# Answers the mod as brimline does, but has it ask every second, and while `short` is there a cache
# lives for one second, which begins when it is first asked for; `answers` has what was answered.
_SHORT_LIVED = """
import json, pathlib, sys
sys.path.insert(0, {root!r})
from brimline.fast import clock
from brimline.figures import expiry
from brimline.mod import request
folder, last_cache = pathlib.Path({folder!r}), expiry.cache_of_last_request
def short_lived(transcript):
    cache = last_cache(transcript)
    if cache is None or not (folder / "short").exists():
        return cache
    mark = folder / str(cache.at)
    at = cache.at if mark.exists() else clock.now_s()
    mark.touch()
    return cache._replace(at=at, lifetime_s=1)
expiry.cache_of_last_request = short_lived
answer = request.respond(sys.argv[1], json.loads(sys.stdin.buffer.read()), {data!r})
with (folder / "answers").open("a") as file:
    file.write(sys.argv[1] + " " + json.dumps(answer) + "\\n")
if sys.argv[1] == "alive":
    answer["cold"]["after_s"] = 1
print(json.dumps(answer | {{"wait_s": 1}}))
"""
MODELS = ("claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-4-5")


def _usage(tokens: int, *, lifetime: str = "5m", output: int = 700) -> dict[str, Any]:
    """Most of a prompt from the cache, some written to it for so long."""
    written = tokens // 10
    split = dict.fromkeys(("ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens"), 0)
    split[f"ephemeral_{lifetime}_input_tokens"] = written
    return {
        "input_tokens": 13,
        "output_tokens": output,
        "cache_read_input_tokens": tokens - written - 13,
        "cache_creation_input_tokens": written,
        "cache_creation": split,
    }


@pytest.mark.parametrize(
    ("model", "lifetime"),
    [
        *[(model, "5m") for model in MODELS],
        ("claude-sonnet-5-5", "1h"),
        ("claude-haiku-4-5", "1h"),
    ],
)
def test_it_is_what_the_client_itself_counts(
    model: str, lifetime: str, installed: Installed, stub: StubApi
) -> None:
    """To the cent, with a subagent; the client's own helpers are not recorded, and named."""
    stub.script(
        bash("echo one", _usage(60_000, lifetime=lifetime)),
        agent("look around", _usage(80_000, lifetime=lifetime)),
        text("Done.", _usage(120_000, lifetime=lifetime, output=3_000)),
    )
    stub.script_subagents(
        bash("echo two", _usage(20_000, lifetime=lifetime)),
        text("Seen.", _usage(30_000, lifetime=lifetime)),
    )

    done = installed.client.run_print("Go.", model=model, args=["--dangerously-skip-permissions"])
    assert done.result is not None, done.stderr
    told = json.loads(installed.command("cost", "--json").stdout)

    by_client = done.result["modelUsage"]
    assert told["total"]["requests"] == 5
    assert told["total"]["dollars"] == pytest.approx(by_client[model]["costUSD"], abs=0.005)
    assert told["total"]["subagent_dollars"] > 0


@pytest.mark.parametrize(
    ("hours", "files", "is_told"), [(3, 40, True), (0, 40, False), (3, 0, False)]
)
def test_a_resumed_session_says_what_its_cold_cache_costs(
    hours: int, files: int, is_told: bool, installed: Installed, stub: StubApi
) -> None:
    """To the person alone, with the right prices, and once, before a prompt is sent.

    A warm one says nothing, nor does one of which a compaction would let go of nothing.
    """
    begun = read_all(write_files(installed.client, files)) if files else bash("true")
    stub.script(begun, text("Done.", _usage(212_000, lifetime="1h")))
    done = installed.client.run_print("Go.", model="claude-opus-5-5")
    assert done.transcript is not None
    past = clock.format_utc(clock.now_s() - hours * 3_600 - 3_650 * (hours > 0))
    rows = re.sub(r'"timestamp":"[^"]+"', f'"timestamp":"{past}"', done.transcript.read_text())
    done.transcript.write_text(rows)
    stub.script(*[text("GOING-ON", _usage(213_000, lifetime="1h"))] * 2)
    told = (
        r"expired 3 h ago: the next request writes 2[\d,]+ tokens again, about \$1\.[67]0\. "
        r"`/compact` first makes it about [\d,]+, "
    )

    with installed.client.interactive(
        model="claude-opus-5-5", args=["--resume", done.session_id]
    ) as session:
        screen = session.wait_for("expired") if is_told else session.ready()
        screen = " ".join(screen.split())
        session.say("go on", "GOING-ON")
    again = installed.client.run_print(
        "And?", model="claude-opus-5-5", args=["--resume", done.session_id]
    )

    assert bool(re.search(told, screen)) is is_told, screen
    assert ("expired" in screen) is is_told
    sent = json.dumps([request.body for request in stub.requests()])
    assert "expired" not in sent
    marks = list(Path(installed.data, "sessions", done.session_id).glob("cost-cold-*"))
    assert len(marks) == is_told
    assert again.rc == 0
    assert installed.errors() == ""


def test_a_running_session_says_when_its_cache_expires(
    installed: Installed, stub: StubApi, tmp_path: Path
) -> None:
    """Once, to the person alone; not of a small context, and not of a warm cache."""
    short = tmp_path / "short"
    short.touch()
    program = _SHORT_LIVED.format(
        root=str(installed.root), folder=str(tmp_path), data=str(installed.data)
    )
    answer_with(installed, sys.executable, "-c", program)
    sizes = {"SMALL": 60_000, "LARGE": 212_000, "WARM": 213_000}
    stub.script(read_all(write_files(installed.client, 40), _usage(60_000)))
    stub.script(*[text(name, _usage(tokens)) for name, tokens in sizes.items()])
    notice = "expired just now: the next request writes 212,700 tokens again, about $1.06."

    def answers(name: str) -> list[dict[str, Any]]:
        path = tmp_path / "answers"
        lines = path.read_text().splitlines() if path.exists() else []
        return [json.loads(line.split(" ", 1)[1]) for line in lines if line.startswith(name)]

    with installed.client.interactive(model="claude-opus-5-5") as session:
        session.say("first", "SMALL")
        session.wait_until(lambda: bool(answers("alive")))
        session.say("second", "LARGE")
        screen = session.wait_for("The cache of this session expired")
        session.wait_until(lambda: len(answers("pause")) > len(("waits", "tells", "is silent")))
        during = answers("pause")
        short.unlink()
        session.say("third", "WARM")
        session.wait_until(lambda: len(answers("pause")) > len(during) + 1)
        after = session.wait_until(lambda: "expired" not in session.text)

    assert notice in " ".join(screen.split())
    assert [list(answer) for answer in during if answer][:2] == [["wait_s"], ["text"]]
    assert sum("text" in answer for answer in answers("pause")) == 1
    assert answers("pause")[-1]["wait_s"] > 200
    assert "WARM" in after
    assert "expired" not in json.dumps([request.body for request in stub.requests()])
    assert installed.errors() == ""
