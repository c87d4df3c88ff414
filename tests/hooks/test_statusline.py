"""The status line: real payloads, any field missing, any width, and the line from before."""

from __future__ import annotations

import contextlib
import copy
import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.guard.dialogue import set_by_user

from brimline.fast import clock, paths, policy
from brimline.gauge.reading import measure_session
from brimline.hooks import statusline
from brimline.hooks.statusline import _ERROR_WINDOW_S, _LONGEST_NAME
from brimline.settings import config
from brimline.state import logs
from brimline.state.session import SessionState
from brimline.testing import statusline_event

from .processes import errors, run_hook

if TYPE_CHECKING:
    from tests.guard.dialogue import Talk

# As client 2.1.325 sends them, on a model with a small and on one with a large window.
SAMPLES = json.loads((Path(__file__).parent / "golden" / "statusline.json").read_text("utf-8"))
SMALL: dict[str, Any] = SAMPLES["SMALL"]
LARGE: dict[str, Any] = SAMPLES["LARGE"]
USAGE = SMALL["context_window"]["current_usage"]
# A model that the client does not compact by itself.
REFUSED = SMALL | {"model": {"id": "claude-sonnet-4-5", "display_name": "Sonnet 4.5"}}
# Before the first reply and after /clear; right after /compact.
FRESH = SMALL | {"context_window": SMALL["context_window"] | {"current_usage": None}}
COMPACTED = SMALL | {
    "context_window": SMALL["context_window"] | {"current_usage": dict.fromkeys(USAGE, 0)}
}
UNKNOWN = "200k window, not measured yet\n"


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without colours, unless a test turns them on."""
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.mark.parametrize(
    ("payload", "line"),
    [
        (SMALL, "6.95k to compaction · L3 · 80% of 200k window\n"),
        (LARGE, "717k to compaction · 25% of 1M window\n"),
        (REFUSED, "40k to refusal · L1 · 80% of 200k window\n"),
        (FRESH, UNKNOWN),
        (COMPACTED, UNKNOWN),
        ({}, UNKNOWN),
    ],
    ids=["200k", "1M", "refused", "fresh", "compacted", "empty"],
)
def test_payloads_become_a_line(
    payload: dict[str, Any], line: str, home_dir: str, world: Path
) -> None:
    """How far, which tier, how full of what; as a process the same."""
    assert _shown(payload, home_dir) == line
    done = run_hook(world, "statusline", payload, extra={"NO_COLOR": "1"})
    assert (done.returncode, done.stderr, done.stdout.decode()) == (0, b"", line)
    assert errors(world) == []


def test_tiers_have_colours_unless_unwanted(home_dir: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """`NO_COLOR` with any content turns them off; an unknown tier has none."""
    monkeypatch.delenv("NO_COLOR")

    assert _shown(LARGE, home_dir).startswith("\x1b[32m717k")
    assert _shown(SMALL, home_dir).startswith("\x1b[35m6.95k")
    assert _shown(LARGE, home_dir).endswith("\x1b[0m\n")
    assert "\x1b" not in _shown(FRESH, home_dir)


@pytest.mark.row("S4-37")
@pytest.mark.parametrize(
    ("columns", "fields"),
    [("", 4), ("200", 4), ("80", 4), ("60", 3), ("41", 2), ("40", 2), ("9", 1), ("x", 4)],
)
@pytest.mark.parametrize("window", [200_000, 1_000_000])
def test_the_line_is_whole_at_any_width(columns: str, fields: int, window: int, talk: Talk) -> None:
    """Fields are never cut; distance comes first (B10), then the tier, then the others in turn."""
    talk.session.now = 1_000_000_000.0
    talk.session.model = "claude-sonnet-4-6" if window == 200_000 else "claude-opus-5"
    scale = window // 200_000
    for tokens in range(90_000 * scale, 150_000 * scale, 2_000 * scale):
        talk.session.reply(tokens + tokens % 7_000)
    talk.patch.setenv("COLUMNS", columns)

    line = _shown(statusline_event(talk.session, window, 148_000 * scale), talk.home_dir)

    parts = line.rstrip("\n").split(" · ")
    assert len(parts) == fields
    distance = "18.9k to compaction" if window == 200_000 else "227k to compaction"
    forecast = r"~\d+ req\. \(\d+–\d+\)"
    shapes = [distance, forecast, "L2|L1", "74% of (200k|1M) window"]
    if fields == 2:
        del shapes[1]
    for part, shape in zip(parts, shapes, strict=False):
        assert re.fullmatch(shape, part)
    if columns.isdigit() and fields > 1:
        assert len(line.rstrip("\n")) <= int(columns) - 4


def test_the_fields_are_the_users_choice(talk: Talk, project_dir: str) -> None:
    """In their order, as the client delivers them; what it does not is left out."""
    Path(project_dir, ".git").mkdir()
    Path(project_dir, ".git/HEAD").write_text("ref: refs/heads/fix/the-brim\x1b[2J\n")
    payload = SMALL | {"workspace": {"project_dir": project_dir}}
    talk.use(statusline__format="used,branch,limits,cost,model,tier")

    assert _shown(payload, talk.home_dir) == (
        "6.95k to compaction · 80% of 200k window · fix/the-brim[2J · 5h 42% 7d 7% · $0.13 · "
        "Sonnet 4.6 · L3\n"
    )
    bare = {key: payload[key] for key in ("session_id", "context_window")}
    assert _shown(bare, talk.home_dir) == "6.95k to compaction · 80% of 200k window · L3\n"


@pytest.mark.row("S0-28")
@pytest.mark.parametrize("payload", [LARGE, FRESH, COMPACTED], ids=["1M", "fresh", "compacted"])
def test_what_it_is_told_is_remembered_for_hooks(payload: dict[str, Any], home_dir: str) -> None:
    """Of the session that told it; zero and null are unknown, the window is right at once."""
    _shown(payload, home_dir)

    snapshot = SessionState(home_dir, payload["session_id"]).snapshot()

    assert snapshot is not None
    large = payload is LARGE
    assert snapshot.window_tokens == (1_000_000 if large else 200_000)
    assert snapshot.occupancy_tokens == (250_000 if large else None)
    assert snapshot.model == payload["model"]["id"]
    assert snapshot.at > 0
    other = str(Path(home_dir, "other"))
    _shown({key: value for key, value in payload.items() if key != "session_id"}, other)
    assert not Path(other).exists()


LATE = statusline._LAG_S


@pytest.mark.parametrize(
    ("late_s", "tokens"), [(0.0, 94_000), (LATE - 0.1, 94_000), (LATE + 0.1, 63_000)]
)
def test_a_figure_that_was_on_its_way_does_not_hide_a_newer_request(
    late_s: float, tokens: int, talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client holds redraws back, so the line may be drawn from before the last row."""
    session = talk.session
    session.reply(94_000)
    row_at = session.now
    monkeypatch.setattr(clock, "now_s", lambda: row_at + late_s)
    _shown(statusline_event(session, 200_000, 63_000), talk.home_dir)

    state = SessionState(talk.home_dir, session.session_id)
    rules = policy.load(talk.home_dir, session.cwd)

    assert measure_session(session.path, state, rules).occupancy_tokens == tokens


def _keys(value: Any, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """The path of every key in a nested table."""
    if not isinstance(value, dict):
        return []
    return [found for key in value for found in ((*path, key), *_keys(value[key], (*path, key)))]


# What no file can be called: half of a pair, a zero.
UNNAMED = ("/a/\ud83d", "/a/\0")


@given(
    removed=st.sets(st.sampled_from(_keys(SMALL))),
    replaced=st.dictionaries(
        st.sampled_from(_keys(SMALL)),
        st.sampled_from([None, 0, -1, 1.5, "text", [], {}, True, 10**30, float("inf"), *UNNAMED]),
        max_size=4,
    ),
)
@example(removed=set(_keys(SMALL)), replaced={})
@example(removed=set(), replaced={("session_id",): "../../up"})
@example(removed=set(), replaced=dict.fromkeys(_keys(SMALL), UNNAMED[0]))
@example(removed=set(), replaced={("transcript_path",): UNNAMED[0]})
@example(removed=set(), replaced={("transcript_path",): UNNAMED[1]})
@example(removed=set(), replaced={("workspace", "project_dir"): UNNAMED[0]})
@example(removed=set(), replaced={("workspace", "project_dir"): UNNAMED[1]})
@settings(max_examples=100)
def test_any_field_may_be_missing_or_foreign(
    removed: set[tuple[str, ...]], replaced: dict[tuple[str, ...], Any], talk: Talk
) -> None:
    """Whatever is left of the payload, one line is printed and nothing is logged."""
    talk.use(statusline__format="forecast,tier,used,model,cost,branch,limits")
    payload = copy.deepcopy(SMALL)
    for path in sorted(removed, key=len, reverse=True):
        _table(payload, path).pop(path[-1], None)
    for path, value in replaced.items():
        table = _table(payload, path)
        if table:
            table[path[-1]] = value

    line = _shown(payload, talk.home_dir)

    assert any(words in line for words in (" of ", " to ", "not measured yet"))
    assert line.count("\n") == 1
    assert logs.recent_failures(talk.home_dir, 0) == []


@pytest.mark.parametrize("raw", [b"", b"nonsense", b"[1]", b"\xff", b"[" * 100_000, b'{"a":'])
def test_garbage_is_shown_as_unknown(raw: bytes, world: Path) -> None:
    """The line stays, with a dash."""
    done = run_hook(world, "statusline", raw)

    assert (done.returncode, done.stdout.decode()) == (0, UNKNOWN)


@pytest.mark.parametrize(
    ("command", "theirs"),
    [
        ("cat > input; echo THEIRS", "THEIRS\n"),
        ("exit 2", ""),
        ("echo partly; exit 3", "partly\n"),
        ("/no/such/program", ""),
        ("kill -9 $$", ""),
        ("echo 'unfinished", ""),
    ],
)
def test_the_line_from_before_gets_the_same_input(command: str, theirs: str, world: Path) -> None:
    """After ours; what it printed is shown, its failure is its own."""
    raw = json.dumps(FRESH, indent=1).encode() + b"\n"

    done = run_hook(world, "statusline", raw, "", command)

    assert (done.returncode, done.stdout.decode()) == (0, UNKNOWN + theirs)
    if "input" in command:
        assert (world / "project" / "input").read_bytes() == raw


def test_the_line_from_before_reads_no_startup_file(world: Path) -> None:
    """No variable that a project can set makes a shell run something first."""
    planted = world / "planted.sh"
    planted.write_text(f"touch {world}/was-run\n")
    extra = dict.fromkeys(("ENV", "BASH_ENV"), str(planted))

    done = run_hook(world, "statusline", FRESH, "", "echo THEIRS", extra=extra)

    assert done.stdout.decode() == UNKNOWN + "THEIRS\n"
    assert not (world / "was-run").exists()


@pytest.mark.parametrize("home", ["file/home", "link/home"])
def test_an_unwritable_home_leaves_the_line_from_before(home: str, world: Path) -> None:
    """Both lines are shown where nothing can be remembered or logged."""
    (world / "file").write_text("")
    (world / "link").symlink_to(world / "nowhere")
    extra = {"BRIMLINE_HOME": f"{world}/{home}"}

    done = run_hook(world, "statusline", FRESH, "", "echo THEIRS", extra=extra)

    assert done.stdout.decode() == UNKNOWN + "THEIRS\n"
    assert not (world / "brimline").exists()


def test_recent_hook_errors_are_shown_and_old_ones_are_for_the_doctor(home_dir: str) -> None:
    """Failures that nobody sees would be failures that nobody reports."""
    path = Path(paths.error_log(home_dir))
    path.parent.mkdir()
    path.write_text('{"v":1,"at":1000000000.5,"event":"PostToolUse","error":"ValueError"}\n')
    assert _shown(FRESH, home_dir) == UNKNOWN
    for told in ("1 hook error: doctor", "2 hook errors: doctor"):
        logs.record_failure(home_dir, "PostToolUse", ValueError("one"))
        assert _shown(FRESH, home_dir) == f"200k window, not measured yet · {told}\n"


@pytest.mark.parametrize(("columns", "shown"), [("80", True), ("60", False)])
def test_a_hook_error_does_not_push_the_tier_out(columns: str, shown: bool, talk: Talk) -> None:
    """It comes behind the tier, and goes before it where there is no room."""
    for tokens in range(90_000, 150_000, 2_000):
        talk.session.reply(tokens)
    logs.record_failure(talk.home_dir, "PostToolUse", ValueError("one"))
    talk.patch.setenv("COLUMNS", columns)

    line = _shown(statusline_event(talk.session, 200_000, 148_000), talk.home_dir)

    assert line.rstrip("\n").split(" · ")[2] in ("L1", "L2")
    assert ("1 hook error: doctor" in line) is shown


@pytest.mark.parametrize("kind", ["folder", "pipe"])
def test_without_a_transcript_the_clients_stand(kind: str, world: Path, home_dir: str) -> None:
    """They are on the payload; the failure is shown beside them."""
    path = world / kind
    path.mkdir() if kind == "folder" else os.mkfifo(path)

    line = _shown(LARGE | {"transcript_path": str(path)}, home_dir)

    assert line.split(" · ") == [
        *("717k to compaction", "1 hook error: doctor", "25% of 1M window\n")
    ]


def _table(payload: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    """The table that holds the last key of a path; an empty one where it is gone."""
    table: Any = payload
    for key in path[:-1]:
        table = table.get(key) if isinstance(table, dict) else None
    return table if isinstance(table, dict) else {}


def _shown(payload: dict[str, Any], home_dir: str) -> str:
    if os.path.exists(paths.user_config(home_dir)):
        named = [payload.get("workspace"), {"project_dir": payload.get("cwd")}]
        folders = [one.get("project_dir") for one in named if isinstance(one, dict)]
        for folder in ("/", *[one for one in folders if isinstance(one, str)]):
            with contextlib.suppress(ValueError):  # no name of a folder
                config.compile_policy(home_dir, folder)
    return statusline.respond(json.dumps(payload).encode(), home_dir).decode()


@pytest.mark.parametrize(
    ("value", "count"),
    [
        (0, 0),
        (5, 5),
        (5.0, 5),
        (5.5, None),
        (-1, None),
        (True, None),
        ("5", None),
        (statusline._LARGEST_COUNT, statusline._LARGEST_COUNT),
        (statusline._LARGEST_COUNT + 1, None),
    ],
)
def test_a_count_is_whole_and_plausible(value: Any, count: int | None) -> None:
    """Of a window or a prompt; 0 is unknown there."""
    payload = {"context_window": {"context_window_size": value}}

    assert statusline.snapshot_of_payload(payload, 1.0).window_tokens == (count or None)


def test_a_snapshot_has_what_the_client_told() -> None:
    """A prompt of which a part is unknown is unknown."""
    usage = dict.fromkeys(
        ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"), 7
    )
    payload = {
        "context_window": {"current_usage": usage | {"output_tokens": 3}},
        "model": {"id": "m"},
        "cost": {"total_cost_usd": 0.5},
        "rate_limits": {"five_hour": {"used_percentage": 5}},
    }
    found = statusline.snapshot_of_payload(payload, 1.5)
    assert (found.at, found.occupancy_tokens, found.output_tokens) == (1.5, 21, 3)
    assert (found.model, found.cost_usd, found.source) == ("m", 0.5, "statusline")
    assert found.rate_limits == {"five_hour": {"used_percentage": 5}}
    del usage["input_tokens"]
    partial = payload | {"context_window": {"current_usage": usage}}
    assert statusline.snapshot_of_payload(partial, 1.5).occupancy_tokens is None
    assert statusline.snapshot_of_payload({}, 1.5).rate_limits is None


def test_a_gateway_s_saving_and_the_switch_are_told(home_dir: str) -> None:
    """Where the last request was the one that it is about."""
    state = SessionState(home_dir, SMALL["session_id"])
    state.switch_off_or_on(off=True)
    assert " · off: /brim:on · " in _shown(SMALL, home_dir)
    state.switch_off_or_on(off=False)
    used = statusline.snapshot_of_payload(SMALL, 1.0).occupancy_tokens
    (Path(state.folder) / "gateway-saved").write_text(f"7000 {used}", encoding="utf-8")
    assert " · gateway −7k · " in _shown(SMALL, home_dir)
    (Path(state.folder) / "gateway-saved").write_text("7000 5", encoding="utf-8")
    assert "gateway" not in _shown(SMALL, home_dir)


def test_names_are_cut_and_the_branch_is_the_projects(home_dir: str, project_dir: str) -> None:
    """Printable; what the client does not tell is left out."""
    set_by_user(home_dir, project_dir, "statusline.format", "model,branch,cost,limits")
    git = Path(project_dir) / ".git"
    git.mkdir()
    (git / "HEAD").write_text("ref: refs/heads/a/b\n", encoding="utf-8")
    payload = LARGE | {
        "workspace": {"project_dir": project_dir},
        "model": {"id": LARGE["model"]["id"], "display_name": "x" * (_LONGEST_NAME - 1) + "\x07yz"},
        "cost": {"total_cost_usd": 1.239},
        "rate_limits": {
            "five_hour": {"used_percentage": 4.6},
            "seven_day": {"used_percentage": "9"},
        },
    }

    shown = _shown(payload, home_dir).strip().split(" · ")[1:]

    assert shown == ["x" * (_LONGEST_NAME - 1), "a/b", "$1.24", "5h 5%"]
    (git / "HEAD").write_text("0123abcd\n", encoding="utf-8")
    bare = {"workspace": {"project_dir": project_dir}, "model": {"id": "m" * 999}}
    assert _shown(bare, home_dir).strip().split(" · ")[1:] == ["m" * _LONGEST_NAME]


@pytest.mark.parametrize(
    ("line", "columns"),
    [
        ("6.95k to compaction · L3 · 80% of 200k window", 45),
        ("6.95k to compaction · L3", 44),
        ("6.95k to compaction · L3", 24),
        ("6.95k to compaction", 23),
        ("6.95k to compaction", 1),
    ],
)
def test_a_part_is_shown_where_it_just_fits(
    line: str, columns: int, home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside the columns that the client keeps for itself."""
    monkeypatch.setenv("COLUMNS", str(columns + statusline._CLIENT_COLUMNS))

    assert _shown(SMALL, home_dir) == f"{line}\n"


NAME = "x" * _LONGEST_NAME


@pytest.mark.parametrize(
    ("name", "shown"), [(NAME, NAME), (NAME + "x", NAME), ("a\x1bb", "ab"), (5, "")]
)
def test_a_models_name_has_some_printable_characters(name: object, shown: str, talk: Talk) -> None:
    """One that is not a text is left out."""
    talk.use(statusline__format="model")
    payload = SMALL | {"model": SMALL["model"] | {"display_name": name}}

    line = _shown(payload, talk.home_dir).rstrip("\n")

    assert line == " · ".join(filter(None, ["6.95k to compaction", shown]))


def test_all_parts_of_a_prompt_must_be_known(home_dir: str) -> None:
    """Else how full it is, is not; the cost is what the client says."""
    usage = {"input_tokens": 1, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 300}
    told = []
    for parts in (usage, usage | {"input_tokens": None}, {"input_tokens": 1}, usage | {"x": 9}):
        payload = {"context_window": {"current_usage": parts | {"output_tokens": 7}}}
        snapshot = statusline.snapshot_of_payload(payload | {"cost": {"total_cost_usd": 0}}, 1.0)
        assert (snapshot.output_tokens, snapshot.cost_usd) == (7, 0)
        told.append(snapshot.occupancy_tokens)

    assert told == [321, None, None, 321]
    assert statusline.snapshot_of_payload({"cost": {"total_cost_usd": "1"}}, 1.0).cost_usd is None


@pytest.mark.parametrize(
    ("after_s", "is_shown"), [(0, True), (_ERROR_WINDOW_S - 1, True), (_ERROR_WINDOW_S + 1, False)]
)
def test_a_hook_error_is_shown_for_an_hour(
    after_s: float, is_shown: bool, home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then it is for the doctor."""
    path = Path(paths.error_log(home_dir))
    path.parent.mkdir()
    path.write_text('{"v":1,"at":1000000000,"event":"PostToolUse","error":"ValueError"}\n')
    monkeypatch.setattr(clock, "now_s", lambda: 1_000_000_000.0 + after_s)

    assert ("1 hook error: doctor" in _shown(FRESH, home_dir)) is is_shown


@pytest.mark.parametrize(
    ("chosen", "line"),
    [
        ("used,cost", "6.95k to compaction · 1 hook error: doctor · 80% of 200k window · $0.13"),
        ("used,tier,cost", "6.95k to compaction · 80% of 200k window · L3 · {} · $0.13"),
        ("tier", "6.95k to compaction · L3 · {}"),
    ],
)
def test_a_hook_error_stands_behind_tier_or_distance(chosen: str, line: str, talk: Talk) -> None:
    """The distance is first."""
    talk.use(statusline__format=chosen)
    logs.record_failure(talk.home_dir, "PostToolUse", ValueError("one"))

    assert _shown(SMALL, talk.home_dir) == line.format("1 hook error: doctor") + "\n"


@pytest.mark.parametrize("folder", [None, "", 5, [], {}])
def test_without_a_folder_a_session_has_no_branch(folder: object, talk: Talk) -> None:
    """What the client tells otherwise is shown."""
    talk.use(statusline__format="branch,cost")
    payload = SMALL | {"workspace": {"project_dir": folder}, "cwd": folder}

    assert _shown(payload, talk.home_dir) == "6.95k to compaction · $0.13\n"


def test_the_branch_is_the_folders_where_no_project_is_told(talk: Talk, project_dir: str) -> None:
    """The project comes first where it is."""
    for name in ("one", "two"):
        git = Path(project_dir, name, ".git")
        git.mkdir(parents=True)
        (git / "HEAD").write_text(f"ref: refs/heads/{name}\n")
    talk.use(statusline__format="branch")
    told = {"cwd": f"{project_dir}/two", "workspace": {"project_dir": f"{project_dir}/one"}}

    assert _shown(SMALL | told, talk.home_dir).endswith(" · one\n")
    assert _shown(SMALL | told | {"workspace": {}}, talk.home_dir).endswith(" · two\n")
