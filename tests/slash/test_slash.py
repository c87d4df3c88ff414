"""Slash commands through the hook entry: answered there, and nothing else speaks."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import brimline
from brimline.bulk import layout, pins, put
from brimline.fast import io, paths
from brimline.hooks import entry, slashcommands, statusline
from brimline.recall import hits
from brimline.slash import answer
from brimline.testing import SessionBuilder, statusline_event

GOLDEN = Path(__file__).parent / "golden"
LARGE = "a line of a large result\n" * 400


@pytest.fixture
def session(world: Path, project_dir: str) -> SessionBuilder:
    """A session where the client keeps them."""
    return begin(world, project_dir, "11111111-2222-4333-8444-555555555555")


def begin(world: Path, project_dir: str, session_id: str) -> SessionBuilder:
    """An empty session of the project, of a model that the client compacts."""
    folder = world / "home" / ".claude" / "projects" / re.sub(r"[^a-zA-Z0-9]", "-", project_dir)
    folder.mkdir(parents=True, exist_ok=True)
    path = str(folder / f"{session_id}.jsonl")
    return SessionBuilder(path, session_id, project_dir, "claude-sonnet-4-6")


def ask(
    prompt: str, home_dir: str, session: SessionBuilder, event: str = "UserPromptSubmit"
) -> Any:
    """The hook's answer; None for silence."""
    payload = {
        "hook_event_name": event,
        "session_id": session.session_id,
        "transcript_path": session.path,
        "cwd": session.cwd,
        "prompt": prompt,
    }
    raw = entry.respond(event, json.dumps(payload).encode(), home_dir)
    return json.loads(raw) if raw else None


def said(prompt: str, home_dir: str, session: SessionBuilder) -> str:
    """The text that the person sees in place of a reply."""
    document = ask(prompt, home_dir, session)
    assert set(document) == {"decision", "reason"}
    assert document["decision"] == "block"
    return str(document["reason"])


@pytest.mark.parametrize("prefix", ["/", "/some-plugin:"])
def test_status_is_about_this_session(prefix: str, home_dir: str, session: SessionBuilder) -> None:
    """What `brimline status --session` says, without colours, and nothing for the model."""
    session.prompt("go")
    session.reply(43_210)

    text = said(f"{prefix}brim:status", home_dir, session)

    assert "43,210" in text
    assert "\x1b" not in text


@pytest.mark.parametrize(
    "prompt",
    [
        *("/brim:off", "/brim:off \t", "/brim:recall sha256:0123456789ab", "brim:pin next"),
        *(f"brim:pin next{sign * 300}x" for sign in " -é漢"),
    ],
)
def test_what_a_schedule_sends_is_not_obeyed(
    prompt: str, home_dir: str, session: SessionBuilder
) -> None:
    """The client asks nobody when a model makes one (`samples`: 2.1.325)."""
    session.prompt("go")
    shown = prompt.strip()[:100] if "漢" in prompt else prompt.strip()[:200]
    row = {"type": "system", "subtype": "scheduled_task_fire", "prompt": shown, "uuid": "u1"}
    with open(session.path, "a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")

    told = ask(prompt, home_dir, session)

    assert told is None or "a schedule of this session" in told["reason"]
    assert not {"off", "pin-next"} & {
        *io.list_names(paths.session_dir(home_dir, session.session_id))
    }
    assert "a schedule" not in said("/brim:status", home_dir, session)


@pytest.mark.parametrize(
    "prompt",
    [
        "what does /brim:status do?",
        "/brim:card",
        "/brim:nothing",
        "/status",
        "brim:status",
        "/brim:",
    ],
)
def test_other_prompts_go_on(prompt: str, home_dir: str, session: SessionBuilder) -> None:
    """Words about a command, the one that is for the model, and everybody else's."""
    assert ask(prompt, home_dir, session) is None


def test_a_tier_is_not_spent_on_a_command(home_dir: str, session: SessionBuilder) -> None:
    """The model never sees a blocked prompt, so that a warning there would be lost."""
    session.prompt("go")
    session.reply(164_000)

    said("/brim:on", home_dir, session)

    assert "additionalContext" in json.dumps(ask("go on", home_dir, session))


def test_off_and_on_hold_for_this_session(
    home_dir: str, session: SessionBuilder, world: Path
) -> None:
    """All rooms fall silent, commands are answered all the same; another session is not meant."""
    session.prompt("go")
    session.reply(164_000)

    assert "silent" in said("/brim:off", home_dir, session)
    assert ask("go on", home_dir, session) is None
    assert ask("", home_dir, session, "PreCompact") is None
    assert "164,000" in said("/brim:status", home_dir, session)
    other = begin(world, session.cwd, "other")
    other.prompt("go")
    other.reply(164_000)
    assert ask("go on", home_dir, other) is not None

    said("/brim:on", home_dir, session)
    assert ask("go on", home_dir, session) is not None


@pytest.mark.row("S3-65", "S3-58")
@pytest.mark.parametrize(
    ("arguments", "level", "reason"),
    [
        ("", "soft", None),
        ("last", "soft", None),
        ("hard", "hard", None),
        ("last hard the build log", "hard", "the build log"),
        ("soft because it matters", "soft", "because it matters"),
    ],
)
def test_pin_and_unpin_the_last_result(
    arguments: str, level: str, reason: str | None, home_dir: str, session: SessionBuilder
) -> None:
    """With the level and the reason that were typed; and let go again."""
    session.prompt("go")
    session.tool_result(session.tool_call(30_000, command="make"), LARGE)
    digest = put.sha256(LARGE.encode())

    assert "pinned" in said(f"/brim:pin {arguments}".rstrip(), home_dir, session)
    found = pins.read_pin(home_dir, digest)
    assert found is not None
    assert (found.level, found.reason) == (level, reason)

    said("/brim:unpin", home_dir, session)
    assert pins.read_pin(home_dir, digest) is None


def test_a_typo_pins_nothing_and_no_pin_is_lowered(home_dir: str, session: SessionBuilder) -> None:
    """A reason needs a known word before it; a hard pin stays one until it is let go."""
    session.prompt("go")
    session.tool_result(session.tool_call(30_000, command="make"), LARGE)
    digest = put.sha256(LARGE.encode())

    assert "Usage: /brim:pin [last|next|start|end] [soft|hard] [reason]" in said(
        "/brim:pin lst hard", home_dir, session
    )
    assert pins.all_pins(home_dir) == {}
    said("/brim:pin hard", home_dir, session)
    assert "stays pinned (hard)" in said("/brim:pin last", home_dir, session)
    assert pins.pin_level_of(home_dir, digest) == "hard"


def test_pin_what_is_to_come(home_dir: str, session: SessionBuilder) -> None:
    """Next and ranges are noted; a key can be let go of by name."""
    assert "next large result" in said("/brim:pin next hard", home_dir, session)
    assert "brim:pin end" in said("/brim:pin start", home_dir, session)
    assert "pinned 0" in said("/brim:pin end", home_dir, session)
    assert "no large result" in said("/brim:pin", home_dir, session)
    assert "no large result" in said("/brim:unpin last", home_dir, session)
    key = put.put(home_dir, LARGE.encode(), {})
    pins.pin(home_dir, key)
    said(f"/brim:unpin {key}", home_dir, session)
    assert pins.all_pins(home_dir) == {}


def test_recall_shows_a_key_and_finds_words(home_dir: str, session: SessionBuilder) -> None:
    """A key is fetched, anything else is looked for; options are words too."""
    key = put.put(home_dir, LARGE.encode(), {"session": session.session_id})

    assert LARGE[:200] in said(f"/brim:recall {key}", home_dir, session)
    assert f"in a shell: brimline store get -- {key}" in said(
        f"/brim:recall {key}", home_dir, session
    )
    assert "--all zebra" in said("/brim:recall --all zebra", home_dir, session)
    put.put(home_dir, b"a walrus", {"cwd": session.cwd, "session": session.session_id})
    told = said("/brim:recall walrus", home_dir, session)
    assert ("a walrus" in told, "Nothing was found" in told) == (True, False)
    assert "KEY" in said("/brim:recall", home_dir, session)
    hits.open_or_make_memory(home_dir).add(
        [{"id": "a", "text": "The otter plan.", "project": session.cwd}]
    )
    assert "  > The otter plan." in said("/brim:recall m1", home_dir, session)
    assert "there is no entry m2 any more" in said("/brim:recall m2", home_dir, session)


def test_checkpoint_and_history(home_dir: str, session: SessionBuilder) -> None:
    """The same words as in a shell."""
    session.prompt("never push to main")
    session.reply(50_000)

    assert "checkpoint" in said("/brim:checkpoint", home_dir, session).lower()
    assert said("/brim:history", home_dir, session)


def test_a_purge_is_only_shown(home_dir: str, session: SessionBuilder) -> None:
    """Once that nothing was changed, one command; options are for a shell."""
    session.prompt("go")
    assert said("/brim:purge", home_dir, session).endswith("Nothing to purge.")
    session.tool_result(session.tool_call(30_000, command="make"), LARGE * 9)
    for number in range(20):
        session.tool_result(session.tool_call(50_000 + number, command="true"), "ok")
    before = Path(session.path).read_bytes()

    text = said("/brim:purge", home_dir, session)

    assert Path(session.path).read_bytes() == before
    assert text.count("Nothing was changed") == 1
    line = f"brimline session purge {session.path}"
    assert re.findall("brimline session purge.*", text) == [line]
    assert "takes no words" in said("/brim:purge --yes", home_dir, session)
    assert Path(session.path).read_bytes() == before


@pytest.mark.parametrize("prompt", ["/brim:status", "/brim:purge"])
def test_it_answers_in_time(
    prompt: str, home_dir: str, session: SessionBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A session that takes too long to read is for a shell, and the answer names what to type."""
    session.prompt("go")
    session.reply(20_000)
    monkeypatch.setattr(answer, "TIMEOUT_S", 0.0)

    text = said(prompt, home_dir, session)

    assert "longer than 0 s" in text
    assert text.endswith(f"--session {session.session_id}")


def test_history_shows_what_there_was_time_for(
    home_dir: str, session: SessionBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many sessions that nobody has read yet do not keep it from answering."""
    session.prompt("go")
    session.reply(20_000)
    monkeypatch.setattr(answer, "TIMEOUT_S", 0.0)
    assert "run it again" in said("/brim:history", home_dir, session)

    monkeypatch.setattr(answer, "TIMEOUT_S", 60.0)
    assert "run it again" not in said("/brim:history", home_dir, session)


def test_history_tells_what_a_summary_lost(
    world: Path, home_dir: str, session: SessionBuilder
) -> None:
    """With the way back, as in a shell."""
    folder = world / "home" / ".claude" / "projects" / "-p"
    folder.mkdir(parents=True)
    session.path = str(folder / f"{session.session_id}.jsonl")
    session.prompt("Never deploy on Fridays.")
    session.compact(155_301, summary="Nothing of it.")

    text = said("/brim:history --compactions", home_dir, session)

    assert "1 message not in the summary" in text
    assert "carry show" in text


@pytest.mark.parametrize(
    ("prompt", "told"),
    [
        ("/brim:status", "20,000 of 200,000 tokens"),
        ("/brim:history", "Sessions, newest first"),
        ("/brim:recall walrus", "a walrus"),
        ("/brim:purge", "Nothing to purge."),
    ],
)
def test_the_hook_answers_itself(
    prompt: str, told: str, home_dir: str, session: SessionBuilder
) -> None:
    """In its own process, which has no installed package and starts no other."""
    session.prompt("go")
    session.reply(20_000)
    put.put(home_dir, b"a walrus", {"cwd": session.cwd, "session": session.session_id})
    ask("go", home_dir, session)
    event = {
        "hook_event_name": "UserPromptSubmit",
        "session_id": session.session_id,
        "transcript_path": session.path,
        "cwd": session.cwd,
        "prompt": prompt,
    }
    code = """
import sys
sys.path.insert(0, sys.argv[1])
def refuse(name, arguments):
    assert name not in ("subprocess.Popen", "os.fork", "os.posix_spawn"), name
sys.addaudithook(refuse)
from brimline.hooks import entry
print(entry.respond("UserPromptSubmit", sys.argv[3].encode(), sys.argv[2]).decode())
"""
    words = [str(Path(brimline.__file__).parents[1]), home_dir, json.dumps(event)]

    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, *words], capture_output=True, text=True, check=True
    )

    assert told in json.loads(done.stdout)["reason"]


@pytest.mark.parametrize("words", ["history --all", "history nonsense", "status now"])
def test_words_that_mean_nothing_are_refused_in_a_sentence(
    words: str, home_dir: str, session: SessionBuilder
) -> None:
    """Rather than overlooked."""
    text = said(f"/brim:{words}", home_dir, session)

    assert "Usage: /brim:history" in text or "takes no words" in text
    assert "\n" not in text


def test_the_files() -> None:
    """What the client lists, and what the model gets where the hook is silent."""
    made = slashcommands.markdown_files(lambda *words: " ".join(["/opt/py/bin/python3", *words]))
    told = "".join(f"== {name}\n{text.decode()}" for name, text in sorted(made.items()))

    assert told == (GOLDEN / "files.txt").read_text()
    assert "card.md" not in slashcommands.markdown_files(lambda *_: None)


def test_status_and_status_line_say_that_it_is_off(home_dir: str, session: SessionBuilder) -> None:
    """Who forgot it finds out."""
    session.prompt("go")
    session.reply(20_000)
    raw = json.dumps(statusline_event(session, 200_000, None)).encode()

    said("/brim:off", home_dir, session)
    assert b"off: /brim:on" in statusline.respond(raw, home_dir)
    assert "off in this session until /brim:on" in said("/brim:status", home_dir, session)
    said("/brim:on", home_dir, session)
    assert "/brim:on" not in said("/brim:status", home_dir, session)
    assert b"off:" not in statusline.respond(raw, home_dir)


@pytest.mark.parametrize(
    ("prompt", "line"),
    [
        ("/brim:status now", "brimline status --session ID"),
        ("/brim:checkpoint 'a b'", "brimline carry checkpoint --session ID"),
        ("/brim:purge --analyze", "brimline session purge --dry-run --session ID"),
    ],
)
def test_a_command_that_takes_no_words_names_the_one_that_does(
    prompt: str, line: str, home_dir: str, session: SessionBuilder
) -> None:
    """For a shell, without the words that it may not know either."""
    name = prompt.partition(" ")[0]
    whole = f"brimline: {name} takes no words; in a shell: {line.replace('ID', session.session_id)}"

    assert said(prompt, home_dir, session) == whole


def test_recall_tells_a_few_of_each_and_where_the_team_was_not_asked(
    home_dir: str, session: SessionBuilder
) -> None:
    """Five entries and ten outputs; why the server's are missing stands first."""
    memory = hits.open_or_make_memory(home_dir)
    memory.add(
        [
            {"id": str(number), "text": f"Otter {number}.", "project": session.cwd}
            for number in range(6)
        ]
    )
    for number in range(11):
        put.put(home_dir, f"otter {number}\n".encode(), {"cwd": session.cwd})

    here = said("/brim:recall otter", home_dir, session)
    io.replace_file(paths.user_config(home_dir), b'[memory]\nurl = "qdrant+http://"\n')
    alone = said("/brim:recall otter", home_dir, session)

    assert len(re.findall(r"^m\d+  ", here, re.MULTILINE)) == 5
    assert len(re.findall(r"^[0-9a-f]{12}  ", here, re.MULTILINE)) == 10
    assert "machine alone" not in here
    assert alone.startswith("note: from this machine alone: ")
    assert alone.endswith(here)


def test_a_store_that_a_newer_brimline_wrote_is_left_alone(
    home_dir: str, session: SessionBuilder
) -> None:
    """Nothing of it is shown or unpinned."""
    key = put.put(home_dir, LARGE.encode(), {})
    pins.pin(home_dir, key)
    io.replace_file(home_dir + layout.FORMAT_FILE, str(layout.FORMAT + 1).encode())

    told = [said(f"/brim:{name} {key}", home_dir, session) for name in ("recall", "unpin")]

    refusal = (
        f"brimline: {layout.store_folder(home_dir)} was written by a newer brimline: upgrade this"
    )
    assert told == [refusal] * 2
    assert len(pins.all_pins(home_dir)) == 1


@pytest.mark.parametrize(("last", "is_whole"), [(99, True), (100, False)])
def test_six_thousand_characters_of_an_answer_are_shown(
    last: int, is_whole: bool, home_dir: str, session: SessionBuilder
) -> None:
    """Cut behind a whole line, with the command that shows the rest."""
    text = ("x" * 99 + "\n") * 59 + "y" * (last + 1)
    key = put.put(home_dir, text.encode(), {"session": session.session_id})

    told = said(f"/brim:recall {key}", home_dir, session)

    if is_whole:
        assert told == text
        assert len(told) == 6_000
    else:
        shown, _, end = told.rpartition("\n")
        assert shown == text.rpartition("\n")[0]
        assert end == f"… the rest in a shell: brimline store get -- {key}"


@pytest.mark.parametrize(
    ("word", "is_key"),
    [
        ("abcdef", True),
        ("abcde", False),
        ("sha256:abcdef", True),
        ("a" * 64, True),
        ("a" * 65, False),
        ("ABCDEF", False),
        ("abcdefg", False),
    ],
)
def test_a_key_has_six_to_sixty_four_digits(
    word: str, is_key: bool, home_dir: str, session: SessionBuilder
) -> None:
    """Anything else is looked for."""
    told = said(f"/brim:recall {word}", home_dir, session)

    assert ("No matches." in told) is not is_key


@pytest.mark.parametrize(("length", "is_answered"), [(57, True), (58, False)])
def test_a_plugin_of_any_name_may_bring_the_commands(
    length: int, is_answered: bool, home_dir: str, session: SessionBuilder
) -> None:
    """As long as ours is named within 64 characters: longer prompts are not looked through."""
    found = ask(f"/{'p' * length}:brim:on", home_dir, session)

    assert (found is not None) is is_answered


def test_a_command_that_fails_says_so_and_leaves_the_reason_for_the_doctor(
    home_dir: str, session: SessionBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The prompt does not go to the model."""
    monkeypatch.setitem(answer._ANSWERS, "status", lambda *_: str(1 // 0))

    assert said("/brim:status", home_dir, session) == (
        "brimline: /brim:status failed; `brimline doctor` shows why."
    )
    (line,) = Path(paths.error_log(home_dir)).read_text(encoding="utf-8").splitlines()
    assert "/brim:status" in line
    assert "ZeroDivisionError" in line


@pytest.mark.parametrize(
    ("prompt", "text"),
    [
        (
            "/brim:recall",
            "brimline: /brim:recall KEY shows a stored output, /brim:recall TEXT searches.",
        ),
        ("/brim:pin", "brimline: there is no large result to pin yet."),
        ("/brim:unpin", "brimline: there is no large result yet."),
        (
            "/brim:off",
            "brimline: silent in this session until /brim:on; nothing is measured or kept out.",
        ),
        ("/brim:on", "brimline: at work in this session."),
        ("/brim:history x", "Usage: /brim:history [--compactions]"),
    ],
)
def test_a_short_answer_is_a_sentence(
    prompt: str, text: str, home_dir: str, session: SessionBuilder
) -> None:
    """Word by word."""
    assert said(prompt, home_dir, session) == text


def test_texts_are_made_for_seventy_columns(
    home_dir: str, session: SessionBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However wide the terminal is; afterwards it is as wide as before."""
    monkeypatch.setenv("COLUMNS", "200")
    session.prompt("go")
    session.reply(150_000)
    session.reply(160_000)

    rows = said("/brim:status", home_dir, session).split("\n")

    assert 60 < max(map(len, rows)) <= 70
    assert os.environ["COLUMNS"] == "200"


def test_what_was_unpinned_is_named_by_its_key(home_dir: str, session: SessionBuilder) -> None:
    """By its first twelve digits."""
    key = put.put(home_dir, LARGE.encode(), {})
    pins.pin(home_dir, key)

    told = said(f"/brim:unpin {key[:20]}", home_dir, session)

    assert told == f"brimline: {layout.shorten_key(key)} is no longer pinned."
    assert pins.all_pins(home_dir) == {}
