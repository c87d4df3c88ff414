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
def user(world: Path, project_dir: str, home_dir: str) -> User:
    """A session where the client keeps them."""
    return User(world, project_dir, home_dir, "11111111-2222-4333-8444-555555555555")


class User:
    """Somebody with a session of a model that the client compacts."""

    def __init__(self, world: Path, project_dir: str, home: str, session_id: str) -> None:
        folder = world / "home" / ".claude" / "projects" / re.sub(r"[^a-zA-Z0-9]", "-", project_dir)
        folder.mkdir(parents=True, exist_ok=True)
        path = str(folder / f"{session_id}.jsonl")
        self.session = SessionBuilder(path, session_id, project_dir, "claude-sonnet-4-6")
        self.home = home

    def event(self, prompt: str, name: str = "UserPromptSubmit") -> bytes:
        """What the client tells the hook."""
        payload = {
            "hook_event_name": name,
            "session_id": self.session.session_id,
            "transcript_path": self.session.path,
            "cwd": self.session.cwd,
            "prompt": prompt,
        }
        return json.dumps(payload).encode()

    def ask(self, prompt: str, name: str = "UserPromptSubmit") -> Any:
        """The hook's answer; None for silence."""
        raw = entry.respond(name, self.event(prompt, name), self.home)
        return json.loads(raw) if raw else None

    def told(self, prompt: str) -> str:
        """The text that the person sees in place of a reply."""
        document = self.ask(prompt)
        assert set(document) == {"decision", "reason"}
        assert document["decision"] == "block"
        return str(document["reason"])


@pytest.mark.parametrize("prefix", ["/", "/some-plugin:"])
def test_status_is_about_this_session(prefix: str, user: User) -> None:
    """What `brimline status --session` says, without colours, and nothing for the model."""
    user.session.prompt("go")
    user.session.reply(43_210)

    text = user.told(f"{prefix}brim:status")

    assert "43,210" in text
    assert "\x1b" not in text


@pytest.mark.parametrize(
    "prompt",
    [
        *("/brim:off", "/brim:off \t", "/brim:recall sha256:0123456789ab"),
        *(f"/brim:recall {sign * 300}x" for sign in " -é漢"),
    ],
)
def test_what_a_schedule_sends_is_not_obeyed(prompt: str, user: User) -> None:
    """The client asks nobody when a model makes one (`samples`: 2.1.325)."""
    user.session.prompt("go")
    shown = prompt.strip()[:100] if "漢" in prompt else prompt.strip()[:200]
    row = {"type": "system", "subtype": "scheduled_task_fire", "prompt": shown, "uuid": "u1"}
    with open(user.session.path, "a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")

    told = user.ask(prompt)

    assert told is None or "a schedule of this session" in told["reason"]
    assert "off" not in io.list_names(paths.session_dir(user.home, user.session.session_id))
    assert "a schedule" not in user.told("/brim:status")


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
def test_other_prompts_go_on(prompt: str, user: User) -> None:
    """Words about a command, the one that is for the model, and everybody else's."""
    assert user.ask(prompt) is None


def test_a_tier_is_not_spent_on_a_command(user: User) -> None:
    """The model never sees a blocked prompt, so that a warning there would be lost."""
    user.session.prompt("go")
    user.session.reply(164_000)

    user.told("/brim:on")

    assert "additionalContext" in json.dumps(user.ask("go on"))


def test_off_and_on_hold_for_this_session(user: User, world: Path) -> None:
    """All rooms fall silent, commands are answered all the same; another session is not meant."""
    user.session.prompt("go")
    user.session.reply(164_000)

    assert "silent" in user.told("/brim:off")
    assert user.ask("go on") is None
    assert user.ask("", "PreCompact") is None
    assert "164,000" in user.told("/brim:status")
    other = User(world, user.session.cwd, user.home, "other")
    other.session.prompt("go")
    other.session.reply(164_000)
    assert other.ask("go on") is not None

    user.told("/brim:on")
    assert user.ask("go on") is not None


@pytest.mark.row("S3-58", "S3-61", "S3-75")
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
def test_pin_and_unpin_the_last(arguments: str, level: str, reason: str | None, user: User) -> None:
    """With the level and the reason that were typed; and let go again."""
    user.session.prompt("go")
    user.session.tool_result(user.session.tool_call(30_000, command="make"), LARGE)
    digest = put.sha256(LARGE.encode())

    assert "pinned" in user.told(f"/brim:pin {arguments}".rstrip())
    found = pins.read_pin(user.home, digest)
    assert found is not None
    assert (found.level, found.reason) == (level, reason)

    user.told("/brim:unpin")
    assert pins.read_pin(user.home, digest) is None


def test_a_typo_pins_nothing_and_no_pin_is_lowered(user: User) -> None:
    """A reason needs a known word before it; a hard pin stays one until it is let go."""
    user.session.prompt("go")
    user.session.tool_result(user.session.tool_call(30_000, command="make"), LARGE)
    digest = put.sha256(LARGE.encode())

    assert "Usage: /brim:pin [last] [soft|hard] [reason]" in user.told("/brim:pin lst hard")
    assert pins.all_pins(user.home) == {}
    user.told("/brim:pin hard")
    assert "stays pinned (hard)" in user.told("/brim:pin last")
    assert pins.pin_level_of(user.home, digest) == "hard"
    assert "no longer pinned" in user.told(f"/brim:unpin sha256:{digest}")
    assert pins.all_pins(user.home) == {}


def test_recall_shows_a_key_and_finds_words(user: User) -> None:
    """A key is fetched, anything else is looked for; options are words too."""
    key = put.put(user.home, LARGE.encode(), {"session": user.session.session_id})

    assert LARGE[:200] in user.told(f"/brim:recall {key}")
    assert f"in a shell: brimline store get -- {key}" in user.told(f"/brim:recall {key}")
    assert "--all zebra" in user.told("/brim:recall --all zebra")
    put.put(user.home, b"a walrus", {"cwd": user.session.cwd, "session": user.session.session_id})
    told = user.told("/brim:recall walrus")
    assert ("a walrus" in told, "Nothing was found" in told) == (True, False)
    assert "KEY" in user.told("/brim:recall")
    hits.open_or_make_memory(user.home).add(
        [{"id": "a", "text": "The otter plan.", "project": user.session.cwd}]
    )
    assert "  > The otter plan." in user.told("/brim:recall m1")
    assert "there is no entry m2 any more" in user.told("/brim:recall m2")


def test_checkpoint_and_history(user: User) -> None:
    """The same words as in a shell."""
    user.session.prompt("never push to main")
    user.session.reply(50_000)

    assert "checkpoint" in user.told("/brim:checkpoint").lower()
    assert user.told("/brim:history")


def test_a_purge_is_only_shown(user: User) -> None:
    """Once that nothing was changed, one command; options are for a shell."""
    user.session.prompt("go")
    assert user.told("/brim:purge").endswith("Nothing to purge.")
    user.session.tool_result(user.session.tool_call(30_000, command="make"), LARGE * 9)
    for number in range(20):
        user.session.tool_result(user.session.tool_call(50_000 + number, command="true"), "ok")
    before = Path(user.session.path).read_bytes()

    text = user.told("/brim:purge")

    assert Path(user.session.path).read_bytes() == before
    assert text.count("Nothing was changed") == 1
    line = f"brimline session purge {user.session.path}"
    assert re.findall("brimline session purge.*", text) == [line]
    assert "takes no words" in user.told("/brim:purge --yes")
    assert Path(user.session.path).read_bytes() == before


@pytest.mark.parametrize("prompt", ["/brim:status", "/brim:purge"])
def test_it_answers_in_time(prompt: str, user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    """A session that takes too long to read is for a shell, and the answer names what to type."""
    user.session.prompt("go")
    user.session.reply(20_000)
    monkeypatch.setattr(answer, "TIMEOUT_S", 0.0)

    text = user.told(prompt)

    assert "longer than 0 s" in text
    assert text.endswith(f"--session {user.session.session_id}")


def test_history_shows_what_there_was_time_for(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many sessions that nobody has read yet do not keep it from answering."""
    user.session.prompt("go")
    user.session.reply(20_000)
    monkeypatch.setattr(answer, "TIMEOUT_S", 0.0)
    assert "run it again" in user.told("/brim:history")

    monkeypatch.setattr(answer, "TIMEOUT_S", 60.0)
    assert "run it again" not in user.told("/brim:history")


def test_history_tells_what_a_summary_lost(world: Path, user: User) -> None:
    """With the way back, as in a shell."""
    folder = world / "home" / ".claude" / "projects" / "-p"
    folder.mkdir(parents=True)
    user.session.path = str(folder / f"{user.session.session_id}.jsonl")
    user.session.prompt("Never deploy on Fridays.")
    user.session.compact(155_301, summary="Nothing of it.")

    text = user.told("/brim:history --compactions")

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
def test_the_hook_answers_itself(prompt: str, told: str, user: User) -> None:
    """In its own process, which has no installed package and starts no other."""
    user.session.prompt("go")
    user.session.reply(20_000)
    put.put(user.home, b"a walrus", {"cwd": user.session.cwd, "session": user.session.session_id})
    user.ask("go")
    code = """
import sys
sys.path.insert(0, sys.argv[1])
def refuse(name, arguments):
    assert name not in ("subprocess.Popen", "os.fork", "os.posix_spawn"), name
sys.addaudithook(refuse)
from brimline.hooks import entry
print(entry.respond("UserPromptSubmit", sys.argv[3].encode(), sys.argv[2]).decode())
"""
    words = [str(Path(brimline.__file__).parents[1]), user.home, user.event(prompt).decode()]

    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, *words], capture_output=True, text=True, check=True
    )

    assert told in json.loads(done.stdout)["reason"]


@pytest.mark.parametrize("words", ["history --all", "history nonsense", "status now"])
def test_words_that_mean_nothing_are_refused_in_a_sentence(words: str, user: User) -> None:
    """Rather than overlooked."""
    text = user.told(f"/brim:{words}")

    assert "Usage: /brim:history" in text or "takes no words" in text
    assert "\n" not in text


def test_the_files() -> None:
    """What the client lists, and what the model gets where the hook is silent."""
    made = slashcommands.markdown_files(lambda *words: " ".join(["/opt/py/bin/python3", *words]))
    told = "".join(f"== {name}\n{text.decode()}" for name, text in sorted(made.items()))

    assert told == (GOLDEN / "files.txt").read_text()
    assert "card.md" not in slashcommands.markdown_files(lambda *_: None)


def test_status_and_status_line_say_that_it_is_off(user: User) -> None:
    """Who forgot it finds out."""
    user.session.prompt("go")
    user.session.reply(20_000)
    raw = json.dumps(statusline_event(user.session, 200_000, None)).encode()

    user.told("/brim:off")
    assert b"off: /brim:on" in statusline.respond(raw, user.home)
    assert "off in this session" in user.told("/brim:status")
    user.told("/brim:on")
    assert "off in this session" not in user.told("/brim:status")
    assert b"off:" not in statusline.respond(raw, user.home)


@pytest.mark.parametrize(
    ("prompt", "line"),
    [
        ("/brim:status now", "brimline status --session ID"),
        ("/brim:checkpoint 'a b'", "brimline carry checkpoint --session ID"),
        ("/brim:purge --analyze", "brimline session purge --dry-run --session ID"),
    ],
)
def test_a_command_without_words_names_one_with_them(prompt: str, line: str, user: User) -> None:
    """For a shell, without the words that it may not know either."""
    name = prompt.partition(" ")[0]
    shell = line.replace("ID", user.session.session_id)
    whole = f"brimline: {name} takes no words: type it alone, or in a shell: {shell}"

    assert user.told(prompt) == whole


def test_recall_tells_a_few_of_each_and_where_the_team_was_not_asked(user: User) -> None:
    """Five entries and ten outputs; why the server's are missing stands first."""
    memory = hits.open_or_make_memory(user.home)
    memory.add(
        [
            {"id": str(number), "text": f"Otter {number}.", "project": user.session.cwd}
            for number in range(answer._MEMORY_HITS + 1)
        ]
    )
    for number in range(answer._OUTPUT_HITS + 1):
        put.put(user.home, f"otter {number}\n".encode(), {"cwd": user.session.cwd})

    here = user.told("/brim:recall otter")
    io.replace_file(paths.user_config(user.home), b'[memory]\nurl = "qdrant+http://"\n')
    alone = user.told("/brim:recall otter")

    assert len(re.findall(r"^m\d+  ", here, re.MULTILINE)) == answer._MEMORY_HITS
    assert len(re.findall(r"^[0-9a-f]{12}  ", here, re.MULTILINE)) == answer._OUTPUT_HITS
    assert "machine alone" not in here
    assert alone.startswith("note: from this machine alone: ")
    assert alone.endswith(here)


def test_a_store_that_a_newer_brimline_wrote_is_left_alone(user: User) -> None:
    """Nothing of it is shown or unpinned."""
    key = put.put(user.home, LARGE.encode(), {})
    pins.pin(user.home, key)
    io.replace_file(user.home + layout.FORMAT_FILE, str(layout.FORMAT + 1).encode())

    told = [user.told(f"/brim:{name} {key}") for name in ("recall", "unpin")]

    refusal = (
        f"brimline: {layout.store_folder(user.home)} was written by a newer brimline: upgrade this"
    )
    assert told == [refusal] * 2
    assert len(pins.all_pins(user.home)) == 1


@pytest.mark.parametrize(("last", "is_whole"), [(99, True), (100, False)])
def test_the_beginning_of_it_is_shown(last: int, is_whole: bool, user: User) -> None:
    """Cut behind a whole line, with the command that shows the rest."""
    text = ("x" * 99 + "\n").rjust(answer._SHOWN_CHARACTERS - 100, "z") + "y" * (last + 1)
    key = put.put(user.home, text.encode(), {"session": user.session.session_id})

    told = user.told(f"/brim:recall {key}")

    if is_whole:
        assert told == text
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
def test_a_key_has_six_to_sixty_four_digits(word: str, is_key: bool, user: User) -> None:
    """Anything else is looked for."""
    told = user.told(f"/brim:recall {word}")

    assert ("No matches." in told) is not is_key


@pytest.mark.parametrize(("length", "is_answered"), [(57, True), (58, False)])
def test_any_plugin_may_bring_the_commands(length: int, is_answered: bool, user: User) -> None:
    """As long as ours is named within 64 characters: longer prompts are not looked through."""
    found = user.ask(f"/{'p' * length}:brim:on")

    assert (found is not None) is is_answered


def test_a_command_that_fails_says_so_and_leaves_the_reason_for_the_doctor(
    user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The prompt does not go to the model."""
    monkeypatch.setitem(answer._ANSWERS, "status", lambda *_: str(1 // 0))

    assert user.told("/brim:status") == (
        "brimline: /brim:status failed; `brimline doctor` shows why."
    )
    (line,) = Path(paths.error_log(user.home)).read_text(encoding="utf-8").splitlines()
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
def test_a_short_answer_is_a_sentence(prompt: str, text: str, user: User) -> None:
    """Word by word."""
    assert user.told(prompt) == text


def test_texts_are_made_for_few_columns(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    """However wide the terminal is; afterwards it is as wide as before."""
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(answer, "_COLUMNS", 70)
    user.session.prompt("go")
    user.session.reply(150_000)
    user.session.reply(160_000)

    rows = user.told("/brim:status").split("\n")

    assert answer._COLUMNS - 10 < max(map(len, rows)) <= answer._COLUMNS
    assert os.environ["COLUMNS"] == "200"


def test_what_was_unpinned_is_named_by_its_key(user: User) -> None:
    """By its first twelve digits."""
    key = put.put(user.home, LARGE.encode(), {})
    pins.pin(user.home, key)

    told = user.told(f"/brim:unpin {key[:20]}")

    assert told == f"brimline: {layout.shorten_key(key)} is no longer pinned."
    assert pins.all_pins(user.home) == {}
