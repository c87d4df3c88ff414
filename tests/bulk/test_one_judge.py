"""One judge: the hook and the gateway decide alike about the same result and settings."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from brimline.bulk import hook
from brimline.bulk.judge import Rules
from brimline.compaction import compactor
from brimline.compaction.compactor import Settings, State
from brimline.settings.values import default_values

from .conftest import LOG, SOURCE, cut, cut_as_sent, numbered
from .test_kinds import CSV, DIFF, HITS, PASSED, PATHS, PROSE, ROWS

if TYPE_CHECKING:
    from .conftest import Player

TEXTS = {"log": LOG, "source": SOURCE, "csv": CSV, "diff": DIFF, "hits": HITS, "passed": PASSED}
TEXTS |= {"paths": PATHS, "prose": PROSE, "rows": ROWS, "minified": "var a=1;" * 4_000}
TEXTS |= {"failed": f"{PASSED[:9_000]}\nFAILED tests/test_a.py::test_b\n3 failed, 90 passed\n"}
TEXTS |= {"few hits": "\n".join(f"src/module_{n}.py:{n}: a long hit {'x' * 80}" for n in range(90))}
TEXTS |= {"wide": "öäü日本" * 2_000, "short lines": "x.py:1:\n" * 1_100}
TEXTS |= {"narrow": "\n".join(f"job {n % 97} ok" for n in range(2_000))}
STAYS, PREVIEWED = False, True
# Command, text, how much of it, and what becomes of it.
COMMANDS = [
    ("docker logs web", "log", 8_000, STAYS),
    ("docker logs web", "log", 8_001, PREVIEWED),
    ("cd x && sudo -u me journalctl -u web | tail -900", "log", 20_000, PREVIEWED),
    ("some-service --once", "log", 9_000, PREVIEWED),
    ("cat build/app.log", "log", 9_000, PREVIEWED),
    ("cat notes.txt", "log", 24_000, STAYS),
    ("find . -type f", "paths", 9_000, PREVIEWED),
    ("find . -type f | xargs cat", "source", 20_000, STAYS),
    ("pytest -v", "passed", 9_000, PREVIEWED),
    ("uv run pytest -v", "passed", 9_000, PREVIEWED),
    ("pytest -v", "failed", 24_000, STAYS),
    ("pytest -v 2>&1 | cat", "failed", 24_000, STAYS),
    ("cat old-run.log", "failed", 24_000, PREVIEWED),
    ("psql -c 'table t'", "csv", 9_000, PREVIEWED),
    ("curl -s localhost/rows", "rows", 29_000, PREVIEWED),
    ("cat dist/app.min.js", "minified", 9_000, PREVIEWED),
    ("cat src/app.py src/other.py", "source", 24_000, STAYS),
    ("cat src/app.py src/other.py", "source", 29_000, PREVIEWED),
    ("sed -n '1,400p' src/app.py", "source", 29_000, PREVIEWED),
    ("git show HEAD:src/app.py", "source", 24_000, STAYS),
    ("gh pr view 12", "prose", 24_000, STAYS),
    ("gh pr view 12", "prose", 29_000, PREVIEWED),
    ("rg needle src", "few hits", 24_000, STAYS),
    ("rg needle src", "short lines", 9_000, PREVIEWED),
    ("git diff", "diff", 24_000, STAYS),
    ("git status", "log", 20_000, STAYS),
    ("echo x", "log", 20_000, STAYS),
    ("git status && docker logs x", "log", 20_000, PREVIEWED),
    ("cat package-lock.json", "rows", 20_000, STAYS),
    ("brimline store get 4bcfa5306820", "log", 20_000, STAYS),
    ("unknown-tool", "wide", 30_000, PREVIEWED),
]
# Tool, arguments, text, how much of it (as sent), and what becomes of it.
CALLS: list[tuple[str, dict[str, Any], str, int, bool]] = [
    ("Read", {"file_path": "/p/app.log"}, "log", 7_999, STAYS),
    ("Read", {"file_path": "/p/app.log"}, "log", 8_000, PREVIEWED),
    ("Read", {"file_path": "/p/app.log"}, "narrow", 7_999, STAYS),
    ("Read", {"file_path": "/p/app.log"}, "narrow", 8_000, PREVIEWED),
    ("Read", {"file_path": "/p/app.py"}, "source", 24_999, STAYS),
    ("Read", {"file_path": "/p/app.py"}, "source", 25_000, PREVIEWED),
    ("Read", {"file_path": "/p/app.py", "offset": 1}, "source", 29_000, STAYS),
    ("Read", {"file_path": "/p/app.py", "limit": 9_000}, "source", 29_000, STAYS),
    ("Read", {"file_path": "/p/settings.toml"}, "source", 29_000, STAYS),
    ("Read", {"file_path": "/p/CLAUDE.md"}, "prose", 29_000, STAYS),
    ("Read", {"file_path": "/p/guide.md"}, "prose", 29_000, PREVIEWED),
    ("Read", {"file_path": "/p/edited.py"}, "source", 29_000, STAYS),
    ("Bash", {"command": "cat edited.py"}, "source", 29_000, STAYS),
    ("Bash", {"command": "cat /p/edited.py"}, "source", 29_000, STAYS),
    ("Grep", {"pattern": "needle"}, "few hits", 9_000, STAYS),
    ("Grep", {"pattern": "needle"}, "short lines", 9_000, PREVIEWED),
    ("Glob", {"pattern": "**"}, "paths", 9_000, PREVIEWED),
    ("WebFetch", {"url": "https://a.test/", "prompt": "sum up"}, "prose", 24_000, STAYS),
    ("WebFetch", {"url": "https://a.test/", "prompt": "sum up"}, "prose", 30_000, PREVIEWED),
    ("Agent", {"description": "d", "prompt": "look"}, "prose", 24_000, STAYS),
    ("Agent", {"description": "d", "prompt": "look"}, "prose", 30_000, PREVIEWED),
    ("mcp__db__query", {"sql": "x"}, "rows", 40_000, PREVIEWED),
    ("mcp__db__query", {"sql": "x"}, "prose", 24_000, STAYS),
    ("mcp__brimline__recall", {"key": "4bcfa5306820"}, "log", 20_000, STAYS),
    ("TaskList", {}, "log", 20_000, STAYS),
]
# The user's settings, a command or a file, text, size, and what becomes of it.
WITH_SETTINGS: list[tuple[dict[str, Any], str, str, int, bool]] = [
    ({"never": ["git diff"]}, "cd src && git diff", "log", 20_000, STAYS),
    ({"never": ["git diff"]}, "git -C src --no-pager diff", "log", 20_000, STAYS),
    ({"never": ["docker logs"]}, "sudo docker logs web | tail -500", "log", 20_000, STAYS),
    ({"never": ["docker logs"]}, "kubectl logs web", "log", 20_000, PREVIEWED),
    ({"never": ["make *"], "always": ["make *"]}, "make all", "log", 20_000, STAYS),
    ({"never": ["uv run pytest"]}, "cd a && uv run pytest -q", "passed", 20_000, STAYS),
    ({"never": ["./gradlew test"]}, "cd a && ./gradlew test --info", "passed", 20_000, STAYS),
    ({"never": ["make"]}, "sudo /usr/bin/make -j4 all", "log", 20_000, STAYS),
    ({"never": ["", "docker ps"]}, "docker logs web", "log", 20_000, PREVIEWED),
    ({"never": ["*.csv"]}, "cat data.csv", "csv", 20_000, STAYS),
    ({"never": ["logs/*"]}, "/p/logs/a.log", "log", 20_000, STAYS),
    ({"never": ["Read"]}, "/p/a.log", "log", 20_000, STAYS),
    ({"always": ["git diff"]}, "git diff", "source", 24_000, PREVIEWED),
    ({"always": ["pytest"]}, "pytest -v", "failed", 9_050, PREVIEWED),
    ({"always": ["*/generated/*"]}, "/p/generated/a.py", "source", 20_000, PREVIEWED),
    ({"always": ["*.toml"]}, "/p/a.toml", "source", 29_000, PREVIEWED),
    ({"inline_bytes": 20_000}, "docker logs web", "log", 20_000, STAYS),
    ({"inline_bytes": 20_000}, "docker logs web", "log", 20_001, PREVIEWED),
    ({"inline_bytes": 5_000}, "docker logs web", "log", 6_500, PREVIEWED),
    ({"read_bytes": 12_000}, "/p/app.py", "source", 12_000, PREVIEWED),
    ({"read_bytes": 12_000}, "pytest -v", "failed", 9_050, STAYS),
    ({"read_bytes": 29_000}, "cat a.py", "source", 28_000, STAYS),
    ({"preset": "off"}, "docker logs web", "log", 20_000, STAYS),
]
CASES = [({}, "Bash", {"command": command}, *rest) for command, *rest in COMMANDS]
CASES += [({}, *row) for row in CALLS]
CASES += [
    (
        {f"offload.{name}": value for name, value in settings.items()},
        *(("Read", {"file_path": on}) if on.startswith("/") else ("Bash", {"command": on})),
        *rest,
    )
    for settings, on, *rest in WITH_SETTINGS
]


@pytest.mark.parametrize(("settings", "tool", "arguments", "name", "size", "expected"), CASES)
def test_the_hook_and_the_gateway_give_the_same_verdict(
    settings: dict[str, Any],
    tool: str,
    arguments: dict[str, Any],
    name: str,
    size: int,
    expected: bool,
    player: Player,
) -> None:
    """Real shapes of results, and the user's settings: sizes, `never` and `always`."""
    begin = cut_as_sent if tool == "Read" else cut
    text = TEXTS[name] if len(TEXTS[name]) <= size else begin(TEXTS[name], size)

    by_hook = _by_hook(player, settings, tool, arguments, text)
    by_gateway = _by_gateway(settings, tool, arguments, text)

    assert (by_hook is not None, by_gateway is not None) == (expected, expected)
    assert _preview_in(by_hook) == _preview_in(by_gateway)


def test_the_table_has_its_sixty_results() -> None:
    """Of each verdict at least twenty."""
    verdicts = [row[-1] for row in CASES]

    assert len(verdicts) >= 60
    assert min(verdicts.count(STAYS), verdicts.count(PREVIEWED)) >= 20


def _by_hook(
    player: Player, settings: dict[str, Any], tool: str, arguments: dict[str, Any], text: str
) -> str | None:
    """What the model gets instead, by the hook."""
    player.values = settings
    player.edit("/p/edited.py")
    turn = player.result(tool, arguments, _response(tool, arguments, text))
    turn.event.cwd = "/p"
    decision = hook.post_tool_use(turn)
    return json.dumps(decision.replacement) if decision else None


def _response(tool: str, arguments: dict[str, Any], text: str) -> Any:
    """A result in the shape that the client gives hooks."""
    count = text.count("\n") + 1
    if tool.startswith("mcp__"):
        return [{"type": "text", "text": text}]
    if tool == "Read":
        file = {"content": text, "numLines": count, "startLine": 1, "totalLines": count}
        return {"type": "text", "file": {"filePath": arguments["file_path"]} | file}
    return {
        "Bash": {"stdout": text, "stderr": "", "interrupted": False, "isImage": False},
        "Grep": {"mode": "content", "numFiles": 0, "filenames": [], "content": text},
        "Glob": {"filenames": text.split("\n"), "numFiles": count, "truncated": False},
        "WebFetch": {"bytes": 1, "code": 200, "result": text, "url": "https://a.test/"},
        "Agent": {"status": "completed", "content": [{"type": "text", "text": text}]},
    }.get(tool, {"tasks": text})


def _by_gateway(
    settings: dict[str, Any], tool: str, arguments: dict[str, Any], text: str
) -> str | None:
    """What the model gets instead, by the layers, in a request that holds the same result."""
    values = default_values() | settings
    has_previews = values["offload.preset"] != "off"
    rules = Rules(*[values[f"offload.{name}"] for name in Rules._fields])
    if tool == "Read":
        text = numbered(text)
    edit = {"type": "tool_use", "id": "t1", "name": "Edit", "input": {"file_path": "/p/edited.py"}}
    call = {"type": "tool_use", "id": "t2", "name": tool, "input": arguments}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": [{"type": "text", "text": "Look."}]},
        {"role": "assistant", "content": [edit, call]},
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "t1", "content": "ok"},
                {"type": "tool_result", "tool_use_id": "t2", "content": text},
            ],
        },
    ]
    body = {"model": "claude-sonnet-4-5", "tools": [{"name": "Read"}], "messages": messages}
    outcome = compactor.compact(
        body, State(), Settings(has_previews=has_previews, rules=rules, arriving_ratio=1.0)
    )
    shown = outcome.body["messages"][-1]["content"][-1]["content"]
    return None if shown == text else json.dumps(shown)


def _preview_in(instead: str | None) -> str:
    """The lines between what a reference says and the way back."""
    if instead is None:
        return ""
    text = instead[instead.index("Preview, not the whole:") :]
    return text[: text.index("For the rest call")]
