"""The process that the mod starts: what it answers, leaves behind, and when it passes."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.hooks.processes import command, environment, run_hook

from brimline.budget import items
from brimline.bulk import cold, contents, layout, listing, put, retention
from brimline.carry import notes
from brimline.fast import paths
from brimline.figures import history, spool, store
from brimline.hooks import entry
from brimline.mod import request
from brimline.rooms import values_in_all_traces
from brimline.state import learned, logs
from brimline.state.session import MOVED_OUT, SessionState
from brimline.testing import SessionBuilder, event

from .conversation import Conversation

BULK = "a line of output\n" * 400


@pytest.fixture
def full() -> Conversation:
    """A conversation of which most can go."""
    talk = Conversation()
    talk.say("user", "Make the tests pass.")
    for number in range(40):
        talk.run(f"make {number}", f"{number}\n{BULK}")
    return talk


def ask(world: Path, payload: Any, **options: Any) -> dict[str, Any]:
    """What a process of its own answers."""
    raw = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    done = run_hook(world, "mod", raw, "compact", **options)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert isinstance(answer, dict)
    return answer


def errors(home_dir: str) -> str:
    """What the error log says."""
    path = Path(paths.error_log(home_dir))
    return path.read_text() if path.exists() else ""


@pytest.mark.parametrize(
    ("model", "has_thoughts"),
    [
        ("claude-opus-5-5", True),
        ("claude-sonnet-5-5[1m]", True),
        ("claude-opus-4-6", False),
        (None, False),
    ],
)
def test_only_words_that_a_model_says_in_thinking_are_put_back(
    full: Conversation, home_dir: str, model: str | None, has_thoughts: bool
) -> None:
    """The mod is told for which model; reasoning of older ones is not sent again."""
    assert (
        request.respond("compact", full.request(model=model), home_dir)["thoughts"] is has_thoughts
    )


def test_the_launcher_answers_the_mod(world: Path, full: Conversation, home_dir: str) -> None:
    """Fifteen results are moved out, and each is in the store when the answer comes."""
    answer = ask(world, full.request())
    assert len(answer["results"]) == 15
    for key in answer["keys"].values():
        assert contents.read_content(home_dir, key).decode().endswith(BULK)
    assert errors(home_dir) == ""


def test_a_question_ahead_is_answered_and_nothing_is_moved(
    full: Conversation, home_dir: str
) -> None:
    """It passes where the compaction itself would: then a summary made ahead is of use."""
    ahead = request.respond("compact", full.request(trigger="precompute"), home_dir)
    del full.messages[30:]
    too_little = request.respond("compact", full.request(trigger="precompute"), home_dir)

    assert ahead == {"is_enough": True}
    assert list(too_little) == ["pass"]
    assert listing.document(home_dir, 0)["outputs"] == []


@pytest.mark.parametrize(
    "payload",
    [
        *(b"", b"garbage", b"[]", b"{}", b'{"messages": 5, "trigger": "auto", "cwd": "/"}'),
        b'{"session": "a", "cwd": "/", "trigger": "auto", "messages": [{"role": "user"}]}',
        b'{"session": "a", "cwd": "/", "trigger": "auto", "messages": [5]}',
        b'{"session": "a", "cwd": "/", "trigger": "auto", "messages": [{"text": 5}]}',
        b'{"session": "a", "cwd": 7, "trigger": "auto", "messages": []}',
        b"[" * 100_000,
    ],
)
def test_what_is_no_request_is_passed_on(world: Path, payload: bytes, home_dir: str) -> None:
    """With the reason, exit code 0, and one line in the error log."""
    assert list(ask(world, payload)) == ["pass"]
    assert len(errors(home_dir).splitlines()) == 1


def test_an_unknown_question_is_passed_on(world: Path) -> None:
    """A newer mod may ask an older Python."""
    done = run_hook(world, "mod", b"{}", "paint")
    assert "paint" in json.loads(done.stdout)["pass"]


def test_where_nothing_can_be_stored_nothing_is_replaced(world: Path, full: Conversation) -> None:
    """The data folder cannot be made: a file is in its place."""
    (world / "brimline").write_text("")
    assert list(ask(world, full.request())) == ["pass"]


def test_on_a_full_disk_nothing_is_replaced(world: Path, full: Conversation, home_dir: str) -> None:
    """No file can grow, so no original can be kept; no part of one stays behind either."""
    answer = ask(world, full.request(), preexec=_no_room)
    assert "the originals could not be stored" in answer["pass"]
    assert contents.list_blobs(home_dir) == []


def test_what_could_not_be_stored_stays(
    full: Conversation, home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One blob fails: its result is not among those that are replaced, all others are."""
    place = layout.write_atomically

    def fail(home: str, target: str, data: bytes, **options: Any) -> None:
        if data.startswith(b"BRB1") and failing in _unpacked(data):
            raise OSError(28, "No space left on device")
        place(home, target, data, **options)

    failing = b"7\n" + BULK.encode()
    monkeypatch.setattr(layout, "write_atomically", fail)
    answer = request.respond("compact", full.request(), home_dir)
    assert len(answer["results"]) == 14
    assert "toolu_8" not in answer["results"]


def test_an_answer_that_comes_too_late_is_not_noted(full: Conversation, home_dir: str) -> None:
    """No hook is told of a compaction."""
    payload = full.request()

    begun = time.monotonic() - request._LONGEST_S - 0.5
    answer = request.respond("compact", payload, home_dir, begun)

    assert answer == {"pass": "it took too long"}
    events = [line["event"] for line in spool.read_spooled_events(home_dir, payload["session"])]
    assert MOVED_OUT not in events


def ask_and_wait(world: Path, payload: Any) -> dict[str, Any]:
    """What the process answers; it leaves a child behind, whose end is waited for."""
    seen, held = os.pipe()
    done = subprocess.run(
        command("mod", "compact"),
        input=json.dumps(payload).encode(),
        env=environment(world),
        capture_output=True,
        check=True,
        pass_fds=[held],
    )
    os.close(held)
    with open(seen, "rb") as until_all_have_ended:
        assert until_all_have_ended.read() == b""
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def test_a_checkpoint_that_cannot_be_saved_is_logged_and_stops_nothing(
    world: Path, full: Conversation, home_dir: str
) -> None:
    """A folder stands in its place: results are moved out all the same."""
    payload = full.request()
    folder = Path(paths.carry_session_dir(home_dir, payload["session"]))
    for name in ("checkpoint.md", "checkpoint.json"):
        (folder / name).mkdir(parents=True)

    answer = ask_and_wait(world, payload)

    assert len(answer["results"]) == 15
    assert [line["event"] for line in logs.recent_failures(home_dir, 0)] == ["mod"]


def test_killed_in_the_middle_the_next_one_does_all_of_it(
    world: Path, full: Conversation, home_dir: str
) -> None:
    """It is stopped while it reads, then asked again."""
    payload = json.dumps(full.request()).encode()
    child = subprocess.Popen(
        command("mod", "compact"),
        env=environment(world),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert child.stdin is not None
    child.stdin.write(payload[: len(payload) // 2])
    child.stdin.flush()
    child.send_signal(signal.SIGKILL)
    assert child.communicate()[0] == b""
    assert len(ask(world, full.request())["results"]) == 15
    assert errors(home_dir) == ""


def test_two_at_once_both_answer(world: Path, full: Conversation, home_dir: str) -> None:
    """Two clients on one project store the same originals at the same time."""
    with ThreadPoolExecutor() as pool:
        first, second = pool.map(lambda _: ask(world, full.request()), "ab")
    assert first == second
    assert len(contents.list_blobs(home_dir)) == 15


def test_five_thousand_messages_are_answered(world: Path) -> None:
    """However many there are, each call is judged."""
    talk = Conversation()
    talk.fill(2_500, "x" * 2_000)
    answer = ask(world, talk.request())
    assert len(answer["results"]) == 2_500 - cold._OLD_CALLS


def test_the_checkpoint_is_written_behind_the_answer(
    world: Path, full: Conversation, session: SessionBuilder, home_dir: str
) -> None:
    """The client calls no PreCompact hook then."""
    session.prompt("Never touch the billing tables.")
    ask_and_wait(world, full.request(session=session.session_id, transcript=session.path))
    folder = paths.carry_session_dir(home_dir, session.session_id)
    assert "billing tables" in Path(folder, "checkpoint.md").read_text()


def test_the_card_has_three_lines(
    full: Conversation, session: SessionBuilder, home_dir: str
) -> None:
    """What was moved out, what the client forgot, and notes that stand nowhere else."""
    session.prompt("Make it fast. brim:keep the words of the user")
    compact(full, session, home_dir)
    moved, reading = start_again(session, home_dir)
    assert "15 old results" in moved
    assert "`recall`" in moved
    assert reading.startswith("Read a file again before you edit it")
    notes.append_note(home_dir, session.session_id, "keep", "Never touch the billing tables.")
    pinned = {"compartment": items.SAFETY, "text": "No deploys.", "priority": 1, "pinned": True}
    items.add_item(home_dir, session.session_id, pinned)
    assert start_again(session, home_dir)[2:] == [
        "Still in force:",
        "- No deploys.",
        "- keep: Never touch the billing tables.",
    ]


def test_where_the_client_summarised_after_all_the_usual_card_comes(
    full: Conversation, session: SessionBuilder, home_dir: str
) -> None:
    """It announces its own compactions, also one after an answer that it could not use."""
    session.prompt("Never touch the billing tables.")
    compact(full, session, home_dir)
    answer_hook(session, home_dir, "PreCompact", trigger="auto")
    assert any("billing tables" in line for line in start_again(session, home_dir))


def test_the_point_is_not_learned_and_tiers_speak_again(
    full: Conversation, session: SessionBuilder, home_dir: str
) -> None:
    """A summary of a minute ago is not a sample of this compaction; the next climb is news."""
    session.reply(160_000)
    answer_hook(session, home_dir, "PreCompact", trigger="auto")
    compact(full, session, home_dir)
    SessionState(home_dir, session.session_id).claim_level(2, 0)
    answer_hook(session, home_dir, "PostCompact", trigger="auto", compact_summary="")
    assert learned.read_samples(home_dir) == []
    assert SessionState(home_dir, session.session_id).offsets_of_spoken_levels() == {}
    session.reply(160_000)
    answer_hook(session, home_dir, "PreCompact", trigger="auto")
    answer_hook(session, home_dir, "PostCompact", trigger="auto", compact_summary="s")
    assert len(learned.read_samples(home_dir)) == 1


def test_the_history_says_what_it_was(
    full: Conversation, session: SessionBuilder, home_dir: str
) -> None:
    """Without a model, how many results went, what that freed, how long it took."""
    session.now = time.time() - 60
    session.prompt("Make it fast.")
    session.reply(160_000)
    answer_hook(session, home_dir, "UserPromptSubmit", prompt="go on")
    compact(full, session, home_dir)
    start_again(session, home_dir)
    answer_hook(session, home_dir, "PostCompact", trigger="auto", compact_summary="")
    with store.opened(home_dir) as found:
        figures = history.read_session(found, session.session_id, [session.path]).figures
    (compaction,) = figures.compactions
    assert compaction.trigger == "auto"
    assert compaction.summary_characters is None
    account = r"without a model, 15 results moved out, 3\d,\d{3} tokens freed"
    assert re.fullmatch(account, compaction.moved_out_phrase or "")


def test_originals_stay_while_the_sessions_file_mentions_them(
    full: Conversation, session: SessionBuilder, home_dir: str, world: Path
) -> None:
    """However old they are and however little the store may hold; after that they go."""
    folder = world / "home" / ".claude" / "projects" / "-p"
    folder.mkdir(parents=True)
    path = folder / f"{session.session_id}.jsonl"
    session.path = str(path)
    session.prompt("Make it fast.")
    answer = compact(full, session, home_dir)
    kept = list(answer["results"].values())[:5]
    session.prompt(" ".join(kept))
    limits = retention.Limits(max_age_s=1, max_bytes=1)
    done = retention.prune(
        home_dir, limits, retention.Pass(values_in_all_traces), now=time.time() + 99
    )
    assert len(done.keys) == 10
    assert done.shortfall_bytes
    path.write_text("")
    done = retention.prune(
        home_dir, limits, retention.Pass(values_in_all_traces), now=time.time() + 99
    )
    assert len(done.keys) == 5


def test_the_store_lists_what_the_last_session_moved_out(
    full: Conversation, session: SessionBuilder, home_dir: str
) -> None:
    """With tool and command; what other sessions stored is not among it."""
    folder = Path(paths.project_transcripts_dir(session.cwd))
    folder.mkdir(parents=True)
    session.path = str(folder / f"{session.session_id}.jsonl")
    session.prompt("Make it fast.")
    put.put(home_dir, b"of another", {"session": "other"})
    compact(full, session, home_dir)
    listed = listing.document(home_dir, 0, "last")["outputs"]
    assert len(listed) == 15
    assert {output["tool"] for output in listed} == {"Bash"}
    assert "make 3" in {output["source"] for output in listed}


def compact(full: Conversation, session: SessionBuilder, home_dir: str) -> dict[str, Any]:
    """A compaction of a session, in this process."""
    about = {"session": session.session_id, "cwd": session.cwd, "transcript": session.path}
    answer = request.respond("compact", full.request(**about), home_dir)
    assert "pass" not in answer
    return answer


def answer_hook(session: SessionBuilder, home_dir: str, name: str, **fields: Any) -> bytes:
    """What a hook answers."""
    return entry.respond(name, json.dumps(event(name, session, **fields)).encode(), home_dir)


def start_again(session: SessionBuilder, home_dir: str) -> list[str]:
    """The lines that the model gets after a compaction."""
    raw = answer_hook(session, home_dir, "SessionStart", source="compact")
    text = json.loads(raw)["hookSpecificOutput"]["additionalContext"]
    assert isinstance(text, str)
    return text.splitlines()


def _no_room() -> None:
    import resource

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def _unpacked(data: bytes) -> bytes:
    from brimline.bulk import put

    return put.unpack_blob(data)
