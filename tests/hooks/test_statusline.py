"""The status line: real payloads, any field missing, and the line that was there before."""

from __future__ import annotations

import copy
import json
import os
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from brimline.fast import paths
from brimline.hooks.entry import respond
from brimline.state import logs
from brimline.state.session import SessionState
from brimline.testing import SessionBuilder, statusline_event

from .processes import errors, inventory, run_hook

# As client 2.1.325 sends them, on a model with a small and on one with a large window.
SMALL: dict[str, Any] = {
    "session_id": "bff49248-287c-46e0-a1c5-ecc0a9c75746",
    "transcript_path": "/nowhere/bff49248-287c-46e0-a1c5-ecc0a9c75746.jsonl",
    "cwd": "/home/dev/project",
    "prompt_id": "8a68eaf8-304d-4199-bb11-3658b7fc875e",
    "model": {"id": "claude-sonnet-4-5", "display_name": "Sonnet 4.5"},
    "workspace": {
        "current_dir": "/home/dev/project",
        "project_dir": "/home/dev/project",
        "added_dirs": [],
    },
    "version": "2.1.325",
    "output_style": {"name": "default"},
    "cost": {"total_cost_usd": 0.127908, "total_duration_ms": 32315, "total_lines_added": 0},
    "context_window": {
        "total_input_tokens": 170_000,
        "total_output_tokens": 50,
        "context_window_size": 200_000,
        "current_usage": {
            "input_tokens": 10,
            "output_tokens": 50,
            "cache_creation_input_tokens": 1_000,
            "cache_read_input_tokens": 158_990,
        },
        "used_percentage": 80,
        "remaining_percentage": 20,
    },
    "exceeds_200k_tokens": False,
    "prompt_cache": {"warm": True, "ttl": "5m", "last_miss_at": None, "miss_causes": {}},
    "fast_mode": False,
    "thinking": {"enabled": True},
}
LARGE: dict[str, Any] = SMALL | {
    "session_id": "0383aaa3-a6f7-452e-b019-8d6649f5f27d",
    "effort": {"level": "high"},
    "model": {"id": "claude-opus-5", "display_name": "Opus 5"},
    "context_window": {
        "total_input_tokens": 250_000,
        "total_output_tokens": 50,
        "context_window_size": 1_000_000,
        "current_usage": {
            "input_tokens": 10,
            "output_tokens": 50,
            "cache_creation_input_tokens": 1_000,
            "cache_read_input_tokens": 248_990,
        },
        "used_percentage": 25,
        "remaining_percentage": 75,
    },
    "exceeds_200k_tokens": True,
}
# Before the first reply and after /clear; right after /compact.
FRESH: dict[str, Any] = SMALL | {
    "context_window": SMALL["context_window"]
    | {"current_usage": None, "used_percentage": None, "total_input_tokens": 0}
}
COMPACTED: dict[str, Any] = SMALL | {
    "context_window": SMALL["context_window"]
    | {
        "current_usage": {
            "input_tokens": 0,
            "output_tokens": 0,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
        }
    }
}


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without colours, unless a test turns them on."""
    monkeypatch.setenv("NO_COLOR", "1")


@pytest.mark.parametrize(
    ("payload", "line"),
    [
        (SMALL, "ctx 80% of 200k · 6.95k to compaction · L3 Yellow Alert\n"),
        (LARGE, "ctx 25% of 1M · 717k to compaction\n"),
        (FRESH, "ctx –% of 200k\n"),
        (COMPACTED, "ctx –% of 200k\n"),
        ({}, "ctx –% of 200k\n"),
    ],
    ids=["200k", "1M", "fresh", "compacted", "empty"],
)
def test_real_payloads_become_one_line(payload: dict[str, Any], line: str, home_dir: str) -> None:
    """How full, how far, which tier; a dash where nobody knows."""
    assert _shown(payload, home_dir) == line


def test_the_process_prints_the_same(world: Path) -> None:
    """Exact bytes and exit code of the installed command."""
    done = run_hook(world, "statusline", LARGE, extra={"NO_COLOR": "1"})

    assert done.returncode == 0
    assert done.stderr == b""
    assert done.stdout.decode() == "ctx 25% of 1M · 717k to compaction\n"
    assert errors(world) == []


def test_tiers_have_colours_unless_unwanted(home_dir: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """`NO_COLOR` with any content turns them off; an unknown tier has none."""
    monkeypatch.delenv("NO_COLOR")
    assert _shown(LARGE, home_dir).startswith("\x1b[32mctx 25%")
    assert _shown(SMALL, home_dir).startswith("\x1b[35mctx 80%")
    assert _shown(LARGE, home_dir).endswith("\x1b[0m\n")
    assert "\x1b" not in _shown(FRESH, home_dir)

    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in _shown(SMALL, home_dir)


@pytest.mark.row("S4-37")
def test_a_session_with_some_history_shows_a_forecast(
    session: SessionBuilder, home_dir: str
) -> None:
    """Operations left with an interval, from the transcript."""
    session.now = 1_000_000_000.0
    for tokens in range(80_000, 120_000, 2_000):
        session.reply(tokens)

    line = _shown(statusline_event(session, 200_000, 118_000), home_dir)

    assert line.startswith("ctx 59% of 200k · 48.9k to compaction · ~")
    assert " requests (" in line
    assert line.endswith("L1 Warning\n")


def test_the_window_is_remembered_for_hooks(home_dir: str) -> None:
    """Size, occupancy and model are kept for the session that told them."""
    _shown(LARGE, home_dir)

    snapshot = SessionState(home_dir, LARGE["session_id"]).snapshot()

    assert snapshot is not None
    assert (snapshot.window_tokens, snapshot.occupancy_tokens) == (1_000_000, 250_000)
    assert (snapshot.output_tokens, snapshot.model) == (50, "claude-opus-5")
    assert snapshot.at > 0


@pytest.mark.parametrize("payload", [FRESH, COMPACTED], ids=["fresh", "compacted"])
def test_zero_and_null_are_unknown_but_the_window_is_known(
    payload: dict[str, Any], home_dir: str
) -> None:
    """The size is right from the first draw on."""
    _shown(payload, home_dir)

    snapshot = SessionState(home_dir, SMALL["session_id"]).snapshot()

    assert snapshot is not None
    assert (snapshot.window_tokens, snapshot.occupancy_tokens) == (200_000, None)


def test_a_payload_without_a_session_leaves_nothing(home_dir: str) -> None:
    """There is no session to remember it for."""
    _shown({key: value for key, value in SMALL.items() if key != "session_id"}, home_dir)

    assert not Path(home_dir).exists()


def _keys(value: Any, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """The path of every key in a nested table."""
    if not isinstance(value, dict):
        return []
    return [found for key in value for found in ((*path, key), *_keys(value[key], (*path, key)))]


@given(
    removed=st.sets(st.sampled_from(_keys(SMALL))),
    replaced=st.dictionaries(
        st.sampled_from(_keys(SMALL)),
        st.sampled_from([None, 0, -1, 1.5, "text", [], {}, True, 10**30, float("inf")]),
        max_size=4,
    ),
)
@example(removed=set(_keys(SMALL)), replaced={})
@example(removed=set(), replaced={("session_id",): "../../up"})
@settings(
    max_examples=300,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_any_field_may_be_missing_or_foreign(
    removed: set[tuple[str, ...]], replaced: dict[tuple[str, ...], Any], home_dir: str
) -> None:
    """Whatever is left of the payload, one line is printed and nothing is logged."""
    payload = copy.deepcopy(SMALL)
    for path in sorted(removed, key=len, reverse=True):
        _table(payload, path).pop(path[-1], None)
    for path, value in replaced.items():
        table = _table(payload, path)
        if table:
            table[path[-1]] = value

    line = _shown(payload, home_dir)

    assert line.startswith("ctx ")
    assert line.count("\n") == 1
    assert logs.recent_failures(home_dir, 0) == []


@pytest.mark.parametrize("keys", [[], ["context_window"], ["session_id", "workspace", "model"]])
def test_the_process_survives_missing_fields(keys: list[str], world: Path) -> None:
    """One line and exit code 0, as a process."""
    payload = {key: value for key, value in SMALL.items() if key not in keys}

    done = run_hook(world, "statusline", payload)

    assert done.returncode == 0
    assert done.stdout.count(b"\n") == 1


@pytest.mark.parametrize("raw", [b"", b"nonsense", b"[1]", b"\xff", b"[" * 100_000, b'{"a":'])
def test_garbage_is_shown_as_unknown(raw: bytes, world: Path) -> None:
    """The line stays, with a dash."""
    done = run_hook(world, "statusline", raw)

    assert done.returncode == 0
    assert done.stdout.decode() == "ctx –% of 200k\n"


def test_the_line_from_before_gets_the_same_input_and_its_place(world: Path) -> None:
    """It reads exactly the client's bytes, and is printed after ours."""
    raw = json.dumps(SMALL, indent=1).encode() + b"\n"

    done = run_hook(
        world, "statusline", raw, "", f"cat > {world}/input; echo THEIRS", extra={"NO_COLOR": "1"}
    )

    ours = "ctx 80% of 200k · 6.95k to compaction · L3 Yellow Alert"
    assert done.stdout.decode().replace(ours, "OURS") == "OURS\nTHEIRS\n"
    assert (world / "input").read_bytes() == raw
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("command", "theirs"),
    [
        ("exit 2", ""),
        ("echo partly; exit 3", "partly\n"),
        ("/no/such/program", ""),
        ("kill -9 $$", ""),
        ("true", ""),
        ("echo 'unfinished", ""),
    ],
)
def test_a_failing_line_from_before_costs_ours_nothing(
    command: str, theirs: str, world: Path
) -> None:
    """What it printed is shown, its failure is its own."""
    done = run_hook(world, "statusline", FRESH, "", command)

    assert done.returncode == 0
    assert done.stdout.decode() == "ctx –% of 200k\n" + theirs


@pytest.mark.parametrize("home", ["file/home", "link/home"])
def test_a_home_that_cannot_be_written_costs_neither_line(home: str, world: Path) -> None:
    """Both lines are shown where nothing can be remembered or logged."""
    (world / "file").write_text("")
    (world / "link").symlink_to(world / "nowhere")

    done = run_hook(
        world, "statusline", FRESH, "", "echo THEIRS", extra={"BRIMLINE_HOME": f"{world}/{home}"}
    )

    assert done.stdout.decode() == "ctx –% of 200k\nTHEIRS\n"


def test_switched_off_leaves_the_line_from_before(world: Path) -> None:
    """Ours is gone, theirs is as if we had never been there."""
    command = f"{shlex.quote(sys.executable)} -c \"print('THEIRS')\""

    done = run_hook(world, "statusline", SMALL, "", command, extra={"BRIMLINE_OFF": "1"})

    assert done.stdout == b"THEIRS\n"
    assert not (world / "brimline").exists()


def test_recent_hook_errors_are_shown(home_dir: str) -> None:
    """Failures that nobody sees would be failures that nobody reports."""
    assert "error" not in _shown(FRESH, home_dir)

    logs.record_failure(home_dir, "PostToolUse", ValueError("one"))
    logs.record_failure(home_dir, "PostToolUse", ValueError("two"))

    assert _shown(FRESH, home_dir) == "ctx –% of 200k · 2 hook error(s): brimline doctor\n"


def test_old_hook_errors_are_not_shown(home_dir: str) -> None:
    """What happened long ago is for the doctor."""
    path = Path(paths.error_log(home_dir))
    path.parent.mkdir()
    path.write_text('{"v":1,"at":1000000000.5,"event":"PostToolUse","error":"ValueError"}\n')

    assert _shown(FRESH, home_dir) == "ctx –% of 200k\n"


@pytest.mark.parametrize("kind", ["folder", "pipe"])
def test_an_unreadable_transcript_leaves_the_clients_own_figures(
    kind: str, world: Path, home_dir: str
) -> None:
    """They are on the payload; the failure is shown beside them."""
    path = world / kind
    path.mkdir() if kind == "folder" else os.mkfifo(path)

    line = _shown(LARGE | {"transcript_path": str(path)}, home_dir)

    assert line == "ctx 25% of 1M · 717k to compaction · 1 hook error(s): brimline doctor\n"


def test_nothing_outside_the_data_folder_changes(world: Path) -> None:
    """Not by a good payload, not by a bad one."""
    before = inventory(world)

    for payload in (SMALL, {}, {"session_id": "../../../up", "cwd": "../.."}):
        run_hook(world, "statusline", payload)

    assert inventory(world, without=world / "brimline") == before


def _table(payload: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    """The table that holds the last key of a path; an empty one where it is gone."""
    table: Any = payload
    for key in path[:-1]:
        table = table.get(key) if isinstance(table, dict) else None
    return table if isinstance(table, dict) else {}


def _shown(payload: dict[str, Any], home_dir: str) -> str:
    return respond("statusline", json.dumps(payload).encode(), home_dir).decode()
