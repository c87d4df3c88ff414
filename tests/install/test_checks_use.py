"""Where the installer's and the doctor's limits lie, asked of the functions themselves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from brimline.install import checks_mod, checks_use, client, command, doctor, entries, jsontext
from brimline.install.parts import Plan
from brimline.install.records import Change
from brimline.settings import clientsettings
from brimline.state import logs

from . import fake_claude


def settings(project_dir: str, **values: Any) -> None:
    """Write the user's settings of the client."""
    path = Path(clientsettings.settings_files(project_dir)["user"])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(values))


@pytest.mark.parametrize(
    ("days", "name"), [(6, "retention-short"), (7, "retention"), (None, "retention-default")]
)
def test_transcripts_that_go_within_a_week_are_told(
    days: int | None, name: str, home_dir: str, project_dir: str
) -> None:
    """A week is enough."""
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
        ("2.1.326 (Claude Code)", "client-new", "2.1.326"),
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
    assert (said[1]["oldest"], said[1]["tested"]) == ("2.1.139", "2.1.325")


@pytest.mark.parametrize(("tokens", "is_told"), [(99_999, True), (100_000, False)])
def test_a_window_that_the_client_does_not_honour_is_told(
    tokens: int, is_told: bool, home_dir: str, project_dir: str
) -> None:
    """Below 100,000 tokens; a percentage without a window is told of too."""
    settings(project_dir, autoCompactWindow=tokens)
    names = [name for name, _ in checks_use._check_where_client_compacts(home_dir, project_dir)]
    assert ("compaction-window" in names) is is_told
    assert "compaction-pct" not in names

    settings(project_dir, env={"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "50"})
    said = dict(checks_use._check_where_client_compacts(home_dir, project_dir))
    assert said["compaction-pct"] == {"percent": 50, "window": 200_000}


def test_the_last_failure_is_told_in_200_characters(home_dir: str) -> None:
    """And how many there were."""
    assert checks_use._check_own_errors(home_dir, "") == [("no-hook-errors", {})]
    logs.record_failure(home_dir, "Stop", ValueError("x" * 300))

    ((name, said),) = checks_use._check_own_errors(home_dir, "")

    assert (name, said["count"], len(said["told"])) == ("hook-errors", "1 failure", 200)
    assert said["told"].startswith("Stop: ValueError: xxx")
    logs.record_failure(home_dir, "Stop", ValueError("y"))
    assert checks_use._check_own_errors(home_dir, "")[0][1]["count"] == "2 failures"


def test_the_reason_of_a_client_is_its_last_line_up_to_200_characters(no_client: Path) -> None:
    """Blank lines aside."""
    fake_claude.script(no_client, f"#!/bin/sh\necho first\necho ' {'x' * 201} '\necho\nexit 3\n")

    assert client.run_client_or_problem(["mcp"]) == "x" * 200
    fake_claude.script(no_client, "#!/bin/sh\necho fine\n")
    assert client.run_client_or_problem(["mcp"]) is None


@pytest.mark.parametrize(("size", "is_shown"), [(8_000, True), (8_001, False)])
def test_a_new_file_is_shown_in_a_patch_up_to_8000_bytes(size: int, is_shown: bool) -> None:
    """A file that was there is shown whatever its size."""
    data = b"x" * (size - 1) + b"\n"

    new = command._diff_of_plan(Plan([Change("/f", None, data)]), in_full=False)
    changed = command._diff_of_plan(Plan([Change("/f", b"y\n", data)]), in_full=False)

    assert new.startswith("--- /dev/null\n" if is_shown else "+++ /f: new, 8.0 kB; ")
    assert changed.startswith("--- /f\n+++ /f\n")


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
def test_foreign_commands_before_a_compaction_are_found_in_settings_of_any_shape(
    hooks: Any, commands: list[str]
) -> None:
    """Ours are not foreign; what the client does not understand says nothing."""
    ours = entries.hook_groups(entries.Wiring("/p", "/r", "/h"))["PreCompact"]
    own = {"hooks": {"PreCompact": [ours]}}

    assert checks_mod._foreign_precompact_commands([{"hooks": hooks}, {}, own]) == commands


def test_a_member_is_added_with_the_objects_that_are_missing_on_the_way() -> None:
    """Laid out as the text is, and taken out again without a trace but the empty object."""
    for text in ("{}", '{"a": 1}', '{\n  "a": 1\n}\n', '{"b": {}}'):
        added = jsontext.insert_member(text, ("b", "c"), "d", [1])

        assert json.loads(added) == json.loads(text) | {"b": {"c": {"d": [1]}}}
        emptied = jsontext.remove(added, ("b",))
        assert json.loads(emptied) == {k: v for k, v in json.loads(text).items() if k != "b"}
    assert jsontext.insert_member('{\n  "a": 1\n}', ("b",), "c", 2) == (
        '{\n  "a": 1,\n  "b": {\n    "c": 2\n  }\n}'
    )


def test_the_same_finding_is_told_once(
    home_dir: str, project_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Several settings files may start the same program; without one of them all is broken."""
    said: list[tuple[str, dict[str, str]]] = [("config", {}), ("config", {}), ("not-installed", {})]
    monkeypatch.setattr(checks_use, "CHECKS", (lambda *_: said,))

    found = doctor.examine(home_dir, project_dir)

    assert [finding.check for finding in found].count("config") == 1
    assert [finding.check for finding in found].count("entries") == 1
    assert doctor.findings_document(home_dir, project_dir)["ok"] is False


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
