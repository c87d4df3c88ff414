"""Where the installer's and the doctor's limits lie, asked of the functions themselves."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from brimline.bulk import contents, put, retention
from brimline.fast import clock, paths
from brimline.fast import json as fast_json
from brimline.install import checks_mod, checks_use, client, doctor, entries
from brimline.settings import clientsettings, config
from brimline.state import logs
from brimline.testing import SessionBuilder

from . import fake_claude


def settings(project_dir: str, **values: Any) -> None:
    """Write the user's settings of the client."""
    path = Path(clientsettings.path_by_scope(project_dir)["user"])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(values))


FEW = checks_use._FEW_CLEANUP_DAYS
LEAST = checks_use.LEAST_WINDOW_TOKENS


@pytest.mark.parametrize(
    ("days", "name"),
    [(FEW - 1, "retention-short"), (FEW, "retention"), (None, "retention-default")],
)
def test_transcripts_that_go_soon_are_told(
    days: int | None, name: str, home_dir: str, project_dir: str
) -> None:
    """So many days are enough."""
    settings(project_dir, **({} if days is None else {"cleanupPeriodDays": days}))

    (said,) = checks_use._check_client_cleanup(home_dir, project_dir)

    assert said[0] == name
    assert said[1].get("days") == days


@pytest.mark.parametrize(
    ("told", "name", "version"),
    [
        ("2.1.138 (Claude Code)", "client-old", "2.1.138"),
        ("2.1.139 (Claude Code)", "client-version", "2.1.139"),
        ("2.1.325", "client-version", "2.1.325"),
        ("2.1.329 (Claude Code)", "client-new", "2.1.329"),
        ("2.1.200-beta.1 (Claude Code)", "client-version", "2.1.200"),
        ("2.1.138-beta.999 (Claude Code)", "client-old", "2.1.138"),
        ("", "client-mute", ""),
        ("2.1.325; exit 1", "client-mute", ""),
        (None, "no-client", ""),
    ],
)
def test_the_clients_version_is_judged_by_its_numbers(
    told: str | None, name: str, version: str, no_client: Path
) -> None:
    """One that fails, says nothing or is not there has none."""
    if told is not None:
        text, _, end = told.partition("; ")
        fake_claude.script(no_client, f"#!/bin/sh\necho '{text}'\n{end}\n")

    (said,) = checks_use._check_client_version("", "")

    assert (said[0], said[1]["version"]) == (name, version)
    assert (said[1]["oldest"], said[1]["tested"]) == ("2.1.139", "2.1.328")


@pytest.mark.parametrize(("tokens", "is_told"), [(LEAST - 1, True), (LEAST, False)])
def test_a_window_that_the_client_does_not_honour_is_told(
    tokens: int, is_told: bool, home_dir: str, project_dir: str
) -> None:
    """A percentage without a window is told of too."""
    settings(project_dir, autoCompactWindow=tokens)
    names = [name for name, _ in checks_use._check_where_client_compacts(home_dir, project_dir)]
    assert ("compaction-window" in names) is is_told
    assert "compaction-pct" not in names

    settings(project_dir, env={"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "50"})
    said = dict(checks_use._check_where_client_compacts(home_dir, project_dir))
    assert said["compaction-pct"] == {"percent": 50, "window": 200_000}


def test_the_last_failure_is_told_in_few_characters(home_dir: str) -> None:
    """And how many there were."""
    assert checks_use._check_own_errors(home_dir, "") == [("no-hook-errors", {})]
    logs.record_failure(home_dir, "Stop", ValueError("x" * 999))

    ((name, said),) = checks_use._check_own_errors(home_dir, "")

    assert (name, said["count"]) == ("hook-errors", "1 failure")
    assert len(said["told"]) == checks_use._MESSAGE_LENGTH
    assert said["told"].startswith("Stop: ValueError: xxx")
    logs.record_failure(home_dir, "Stop", ValueError("y"))
    assert checks_use._check_own_errors(home_dir, "")[0][1]["count"] == "2 failures"


def test_the_reason_of_a_client_is_its_last_line_cut_where_it_is_long(no_client: Path) -> None:
    """Blank lines aside."""
    fake_claude.script(no_client, f"#!/bin/sh\necho first\necho ' {'x' * 999} '\necho\nexit 3\n")

    assert client.run_client_or_problem(["mcp"]) == "x" * client._REASON_LENGTH
    fake_claude.script(no_client, "#!/bin/sh\necho fine\n")
    assert client.run_client_or_problem(["mcp"]) is None


@pytest.mark.parametrize(
    ("hooks", "commands"),
    [
        ({"PreCompact": [{"hooks": [{"command": "theirs"}]}]}, ["theirs"]),
        ({"PreCompact": [{"hooks": [{"command": "a"}, {"command": "b"}]}, {}]}, ["a", "b"]),
        ({"Stop": [{"hooks": [{"command": "theirs"}]}]}, []),
        ({"PreCompact": 5}, []),
        ({"PreCompact": {"hooks": []}}, []),
        ({"PreCompact": [5, {"hooks": 5}, {"hooks": [5]}]}, []),
        ([], []),
    ],
)
def test_foreign_commands_before_a_compaction_are_found_in_chosenof_any_shape(
    hooks: Any, commands: list[str]
) -> None:
    """Ours are not foreign; what the client does not understand says nothing."""
    ours = entries.hook_group_by_event(entries.Wiring("/p", "/r", "/h"))["PreCompact"]
    own = {"hooks": {"PreCompact": [ours]}}

    assert checks_mod._foreign_precompact_commands([{"hooks": hooks}, {}, own]) == commands


def test_the_same_finding_is_told_once(
    home_dir: str, project_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Several settings files may start the same program; without one of them all is broken."""
    said: list[tuple[str, dict[str, str]]] = [("config", {}), ("config", {}), ("not-installed", {})]
    monkeypatch.setattr(checks_use, "CHECKS", (lambda *_: said,))

    found = doctor.run_all_checks(home_dir, project_dir)

    assert [finding.check for finding in found].count("config") == 1
    assert [finding.check for finding in found].count("entries") == 1
    assert doctor.run_checks_as_document(home_dir, project_dir)["ok"] is False


def test_the_data_folder_is_new_private_loose_or_in_the_way(home_dir: str) -> None:
    """What hooks can write is left as it was; behind a closed folder a loose file is no danger."""
    folder = Path(home_dir)

    def name() -> str:
        ((found, said),) = checks_use._check_data_folder(home_dir, "")
        assert said["home"] == home_dir
        return f"{found} {said.get('level', '')}".strip()

    assert name() == "no-data-folder"
    assert not folder.exists()
    folder.mkdir(mode=0o700)
    assert name() == "data-folder"
    (folder / "config.toml").touch(0o640)
    assert name() == "data-readable warning"
    folder.chmod(0o710)
    assert name() == "data-readable broken"
    (folder / "config.toml").unlink()
    assert [*folder.iterdir()] == []
    folder.rmdir()
    folder.write_text("a file")
    assert name() == "data-unwritable"


def test_what_is_gone_or_points_nowhere_is_open_to_nobody(home_dir: str) -> None:
    """A link of our name without a file behind it is not a finding."""
    folder = Path(home_dir)
    folder.mkdir(mode=0o700)
    (folder / "config.toml").symlink_to("nowhere")

    ((name, _),) = checks_use._check_data_folder(home_dir, "")

    assert name == "data-folder"


@pytest.mark.parametrize(
    ("age_s", "name"),
    [(checks_use._RECENT_S - 20, "hook-errors"), (checks_use._RECENT_S + 1, "no-hook-errors")],
)
def test_a_recent_failure_is_told(age_s: int, name: str, home_dir: str) -> None:
    """Older ones are in the log only."""
    line = {"at": clock.now_s() - age_s, "event": "Stop", "error": "ValueError"}
    fast_json.append_line(paths.error_log(home_dir), line)

    ((found, said),) = checks_use._check_own_errors(home_dir, "")

    assert found == name
    assert said.get("told") == ("Stop: ValueError: None (None)" if said else None)


@pytest.mark.parametrize(("more_bytes", "name"), [(0, "store"), (-1, "store-full")])
def test_a_store_is_full_beyond_its_limit(
    more_bytes: int, name: str, home_dir: str, project_dir: str
) -> None:
    """Not at it; what compactions moved out is told with it."""
    assert checks_use._check_store(home_dir, project_dir) == []
    put.put(home_dir, os.urandom(1_200_000), {"moved_out": True})
    used_bytes = sum(blob.disk_bytes for blob in contents.list_blobs(home_dir))
    limit = repr((used_bytes + more_bytes) / retention.MEGABYTE)
    config.write_setting(paths.user_config(home_dir), "store.max_mb", limit)

    ((found, said),) = checks_use._check_store(home_dir, project_dir)

    assert found == name
    assert (said["used"], said["outputs"]) == ("1.2", "1 output")
    assert said.get("moved") == (None if name == "store" else "1.2")
    put.put(home_dir, b"another", {})
    ((_, said),) = checks_use._check_store(home_dir, project_dir)
    assert said["outputs"] == "2 outputs"


@pytest.mark.parametrize(
    ("version", "tokens", "is_told"),
    [("2.1.325", 200_000, False), ("2.1.325", 200_001, True), ("2.1.298", 300_000, False)],
)
def test_a_client_that_compacts_sooner_while_nobody_is_there_is_told(
    version: str, tokens: int, is_told: bool, home_dir: str, project_dir: str
) -> None:
    """From 200,000 tokens on, where the context would not have ended by then."""
    session = Path(paths.project_transcripts_dir(project_dir), "s1.jsonl")
    session.parent.mkdir(parents=True)
    SessionBuilder(str(session), version=version).reply(1_000)
    for key, value in (("context_window", 1_000_000), ("compaction_tokens", tokens)):
        config.write_setting(paths.user_config(home_dir), key, str(value))

    said = dict(checks_use._check_where_client_compacts(home_dir, project_dir))

    assert said.get("compaction-idle") == ({"tokens": "200,000"} if is_told else None)


@pytest.mark.parametrize(
    ("chosen", "name", "chain", "usual"),
    [
        ({"guard.tiers": "80000,160000"}, "out-of-order", "ceiling 80,000, L1 80,000", "167000"),
        ({"guard.tiers": "80001,160000"}, "ordering", "ceiling 80,000, L1 80,001", "167000"),
        ({"guard.tiers": "90000,167000"}, "out-of-order", "L2 167,000, compaction 167,000", ""),
        ({"guard.tiers": "90000,166999"}, "ordering", "L2 166,999, compaction 167,000", ""),
        ({"guard.tiers": "90000"}, "ordering", "ceiling 80,000, L1 90,000, compaction", ""),
        ({"guard.tiers": "9,6,3", "guard.ceiling": "off"}, "ordering", "L1 3, L3 9, comp", ""),
        ({"guard.tiers": "1", "guard.ceiling": "off"}, "ordering", "L1 1, compaction", ""),
        ({"guard.tiers": "0", "guard.ceiling": "off"}, "out-of-order", "L1 0, compaction", ""),
        ({"compaction_tokens": "200000"}, "ordering", "compaction 200,000", "167000"),
        ({"compaction_tokens": "200001"}, "point-beyond-window", "", "167000"),
        ({"context_window": "33002", "compaction_tokens": "40000"}, "point-beyond-window", "", "2"),
        ({"context_window": "33000", "compaction_tokens": "40000"}, "point-beyond-window", "", "1"),
        (
            {"guard.preset": "off", "guard.ceiling": "warn"},
            "ordering",
            "g 80,000, compaction 167,",
            "",
        ),
        ({"guard.preset": "off", "guard.ceiling": "off"}, "warnings-off", "compaction", ""),
    ],
)
def test_ceiling_tiers_and_compaction_are_in_order_where_each_comes_after_the_one_before(
    chosen: dict[str, str], name: str, chain: str, usual: str, home_dir: str, project_dir: str
) -> None:
    """Not where two fall together; the first and the last tier stand for all of them."""
    values = {"guard.tier_unit": "tokens", "guard.tiers": "90000,160000"} | chosen
    for key, value in values.items():
        config.write_setting(paths.user_config(home_dir), key, value)

    *_, (found, said) = checks_use._check_where_client_compacts(home_dir, project_dir)

    assert (found, chain in said["chain"]) == (name, True), (found, said)
    assert usual in said["usual"]


@pytest.mark.parametrize("tokens", [LEAST // 2, LEAST - 1])
def test_a_small_window_is_answered_with_the_least_that_is_honoured(
    tokens: int, home_dir: str, project_dir: str
) -> None:
    """A model with a small window too."""
    config.write_setting(paths.user_config(home_dir), "context_window", str(tokens))
    (_, said), *_ = checks_use._check_where_client_compacts(home_dir, project_dir)

    assert said["window"] == LEAST
