"""Rows on their way into the conversation: what the mod puts in their place."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.hooks.processes import run_hook

from brimline.hooks import entry
from brimline.mod import append
from brimline.offload import hook, savings
from brimline.state.session import MOD_ALIVE, SessionState
from brimline.store import contents, stub

if TYPE_CHECKING:
    from pathlib import Path

LOG = "\n".join(f"2026-11-15 10:00:{n % 60:02d} INFO worker {n} finished" for n in range(1_500))
FAILING = (
    f"Exit code 1\n{LOG[:5_000]}\n\n... [20012 characters truncated] ...\n\n{LOG[5_000:10_000]}"
)


class Client:
    """Asks as the mod does, for one session that has just begun."""

    def __init__(self, home_dir: str, project_dir: str) -> None:
        self.home_dir, self.project_dir, self.count = home_dir, project_dir, 0
        SessionState(home_dir, "s1").add_line("SessionStart", {"source": "startup"})
        self.state = SessionState(home_dir, "s1")
        open(f"{self.state.folder}/{hook.PAST}", "w").close()

    def ask(self, tool: str, arguments: dict[str, Any], text: str, **fields: Any) -> str | None:
        """What stands in for a row; what else is told of it goes into the row or the request."""
        self.count += 1
        call: dict[str, Any] = {"id": f"toolu_{self.count}", "tool": tool, "input": arguments}
        row = call | {"text": text}
        row |= {
            name: fields.pop(name) for name in ("is_error", "response", "whole") if name in fields
        }
        asked = {"session": "s1", "cwd": self.project_dir, "rows": [row]}
        asked |= {"permission_mode": "bypassPermissions"} | fields
        texts: dict[str, str] = append.answer(asked, self.home_dir)["texts"]
        assert set(texts) <= {row["id"]}
        return texts.get(row["id"])

    def bash(self, command: str, text: str, **fields: Any) -> str | None:
        """The same for a command."""
        return self.ask("Bash", {"command": command}, text, **fields)

    def stored(self, shown: str | None) -> str:
        """The text behind a reference."""
        found = stub.parse(shown or "")
        assert found is not None
        return contents.get(self.home_dir, found.key).decode()


@pytest.fixture
def client(home_dir: str, project_dir: str) -> Client:
    """A session that has just begun."""
    return Client(home_dir, project_dir)


def test_bulk_is_previewed_and_comes_back_and_content_stays(client: Client) -> None:
    """By the hook's own judge: commands, MCP servers, subagents' reports."""
    shown = client.bash("docker logs web", LOG)
    assert shown is not None
    assert shown.startswith("[brimline stored ")
    assert client.stored(shown) == LOG
    report = "A finding that is worth a line of its own.\n" * 1_400
    for tool in ("mcp__db__query", "Agent"):
        assert client.stored(client.ask(tool, {"prompt": "x"}, report)) == report
    assert client.bash("cat a.py", "def a():\n    return 1\n" * 400) is None
    assert client.bash("git status", LOG) is None
    saved = savings.saved_by(client.home_dir, "s1")
    assert saved.references == 3
    assert saved.kept_out_tokens > 20_000


def test_a_result_is_never_answered_twice(client: Client) -> None:
    """What the hook replaced is a reference already; what was recalled was asked for."""
    shown = client.bash("docker logs web", LOG)
    assert shown is not None
    assert client.bash("docker logs web", shown + LOG) is None
    assert client.bash("brimline store get last", LOG) is None
    assert client.ask("mcp__brimline__recall", {"key": "last"}, LOG) is None


def test_what_the_hook_let_pass_is_not_judged_again(client: Client, home_dir: str) -> None:
    """The same call again is whole; the hook took the offer, and the mod must not preview it."""
    client.state.save(MOD_ALIVE, {"at": 0.0})
    assert client.bash("cat app.log", LOG) is not None
    response = {"stdout": LOG, "stderr": "", "interrupted": False, "isImage": False}
    event: dict[str, Any] = {"session_id": "s1", "cwd": client.project_dir}
    event |= {"tool_use_id": "toolu_2", "tool_name": "Bash"}
    event |= {"tool_input": {"command": "cat app.log"}}

    said = entry.respond(
        "PostToolUse", json.dumps(event | {"tool_response": response}).encode(), home_dir
    )

    assert b"updatedToolOutput" not in said
    assert client.bash("cat app.log", LOG) is None


def test_the_same_call_again_passes_once_among_the_next_ten(client: Client) -> None:
    """As many results as the mod counted by itself close the offer; so does an edit."""
    assert client.bash("cat app.log", LOG) is not None
    assert client.bash("cat app.log", LOG) is None
    assert client.bash("cat app.log", LOG) is not None
    assert client.bash("cat app.log", LOG, results=10) is not None
    assert client.ask("Grep", {"pattern": "x"}, "a.py:1:x\n" * 1_200) is not None
    again = client.ask("Grep", {"pattern": "x"}, "a.py:1:x\n" * 1_200, edited=["/p/a.py"])
    assert again is not None


def test_what_the_client_keeps_in_a_file_is_read_from_there(client: Client, tmp_path: Path) -> None:
    """The row holds its beginning only, the tool's own answer says where the rest is."""
    kept = tmp_path / "kept.txt"
    kept.write_text(LOG, encoding="utf-8")
    response = {"stdout": LOG[:100], "stderr": "", "interrupted": False, "isImage": False}
    response |= {"persistedOutputPath": str(kept), "persistedOutputSize": len(LOG)}
    beginning = f"<persisted-output>\nOutput too large. Full output saved to: {kept}\n{LOG[:2_000]}"

    shown = client.bash("make all", beginning, response=response)

    assert client.stored(shown) == LOG
    assert "same call again" not in (shown or "")


def test_a_file_is_stored_without_the_numbers_of_its_lines(client: Client) -> None:
    """By the tool's own answer; an overwrite of what was only previewed is refused then."""
    lines = LOG.count("\n") + 1
    file = {"filePath": "/p/a.log", "content": LOG, "numLines": lines}
    response = {"type": "text", "file": file | {"startLine": 1, "totalLines": lines}}
    numbered = "\n".join(f"{n:6}→{line}" for n, line in enumerate(LOG.split("\n"), 1))

    shown = client.ask("Read", {"file_path": "/p/a.log"}, numbered, response=response)

    assert client.stored(shown) == LOG
    names = SessionState(client.home_dir, "s1").names
    assert any(name.startswith(hook.PREVIEWED) for name in names)


@pytest.mark.parametrize(("sent_bytes", "is_previewed"), [(7_999, False), (8_000, True)])
def test_a_file_counts_with_the_numbers_of_its_lines(
    sent_bytes: int, is_previewed: bool, client: Client
) -> None:
    """As the hook counts them; without, this one has a quarter less."""
    lines = [f"job {n % 10} ok" for n in range(500)]
    sent = "\n".join(f"{n}\t{line}" for n, line in enumerate(lines, 1))
    ending = "." * (sent_bytes - len(sent))
    file = {"filePath": "/p/a.log", "content": "\n".join(lines) + ending, "numLines": 500}
    response = {"type": "text", "file": file | {"startLine": 1, "totalLines": 500}}

    shown = client.ask("Read", {"file_path": "/p/a.log"}, sent + ending, response=response)

    assert (shown is not None) is is_previewed


def test_a_failure_stays_and_says_where_its_end_is_lost(client: Client) -> None:
    """Where the client threw it away; where the mod has all of it, its end is in the preview."""
    assert client.bash("make test", FAILING, is_error=True) == (
        f"{FAILING}\n[brimline] The client cut this output at 10,000 characters; its end is "
        "missing. Run it again with `2>&1 | tail -60`."
    )
    with_its_end = FAILING.replace("20012", "3904")
    assert client.bash("make test", with_its_end, is_error=True) is None
    whole = f"Exit code 1\n{LOG}\nfatal: the real reason"

    shown = client.bash("make test", FAILING, is_error=True, whole=whole)

    assert "fatal: the real reason" in (shown or "")
    assert client.stored(shown) == whole


def test_words_of_the_user_and_rows_of_subagents_are_left_alone(client: Client) -> None:
    """However long a refusal or an answer is."""
    words = "the user said:\n" + "Never touch the production database. " * 900
    refusal = f"The user doesn't want to proceed with this tool use. {words}"

    assert client.bash("psql prod", refusal, is_error=True) is None
    assert client.ask("AskUserQuestion", {}, words) is None
    assert client.bash("docker logs web", LOG, agent="a1") is None


def test_a_session_that_was_silenced_is_left_alone(client: Client) -> None:
    """As by the hook."""
    client.state.switch(off=True)

    assert client.bash("docker logs web", LOG) is None


def test_the_launcher_answers_rows(world: Path, project_dir: str) -> None:
    """One process for all that come at once; a row of another shape is passed on."""
    row = {"id": "t1", "tool": "Bash", "input": {"command": "cat a.log"}, "text": LOG}
    asked = {"session": "s1", "cwd": project_dir, "rows": [row, row | {"id": "t2", "text": "ok"}]}

    done = run_hook(world, "mod", json.dumps(asked).encode(), "append")
    assert list(json.loads(done.stdout)["texts"]) == ["t1"]

    broken = run_hook(world, "mod", json.dumps(asked | {"rows": [{"id": "t1"}]}).encode(), "append")
    assert list(json.loads(broken.stdout)) == ["pass"]
