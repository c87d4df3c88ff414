"""What `doctor` finds, why it says so, and that its remedies help."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from brimline import clock, config
from brimline.fast import paths
from brimline.install import checkup, entries, installer, program
from brimline.install.finding import Finding
from brimline.install.pieces.slash_commands import SlashCommands
from brimline.state import logs
from brimline.testing import SessionBuilder

if TYPE_CHECKING:
    from collections.abc import Callable

    Examine = Callable[[], list[Finding]]
    Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def installed(user_settings: Path, wired: entries.Wiring, home_dir: str, project_dir: str) -> Path:
    """The settings file of a complete installation."""
    os.mkdir(home_dir, 0o700)
    installer.install(str(user_settings), wired, home_dir, project_dir)
    SlashCommands(home_dir, program.find(wired.home)).apply()
    config.compile_policy(home_dir, project_dir)
    return user_settings


@pytest.fixture
def examine(home_dir: str, project_dir: str) -> Examine:
    """Look at everything, here and now."""
    return lambda: checkup.examine(home_dir, project_dir)


@pytest.fixture
def last_session(project_dir: str) -> SessionBuilder:
    """The newest session of this project, which is being written right now."""
    folder = paths.project_transcripts(project_dir)
    os.makedirs(folder)
    return SessionBuilder(f"{folder}/s1.jsonl", cwd=project_dir, now=clock.now() - 60)


def only(findings: list[Finding], check: str) -> Finding:
    """The one finding of a check."""
    (found,) = [finding for finding in findings if finding.check == check]
    return found


def edit_launcher(wired: entries.Wiring, old: str, new: str) -> None:
    """Have the launcher start something else."""
    launcher = Path(wired.launcher or "")
    launcher.write_text(launcher.read_text().replace(old, new))


def change(file: Path, **values: Any) -> None:
    """Change keys of a settings file; None takes one out."""
    settings = json.loads(file.read_bytes()) if file.exists() else {}
    settings |= values
    file.parent.mkdir(exist_ok=True)
    file.write_text(
        json.dumps({key: value for key, value in settings.items() if value is not None})
    )


def test_a_good_installation_has_nothing_wrong(installed: Path, examine: Examine) -> None:
    """Nothing is broken and nothing is to be looked at."""
    found = examine()

    assert {finding.level for finding in found} <= {"ok", "note"}
    for check in ("entries", "interpreter", "bytecode", "data-folder", "hook-errors", "ordering"):
        assert only(found, check).level == "ok", check


def test_every_finding_that_is_not_ok_says_why(
    installed: Path, examine: Examine, home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also the worst ones, and those that are wrong have a remedy."""
    change(installed, disableAllHooks=True, cleanupPeriodDays=0, autoCompactEnabled=False)
    Path(home_dir).chmod(0o750)
    monkeypatch.setenv("BRIMLINE_GUARD_TIERS", "x")
    found = examine()

    assert len([finding for finding in found if finding.level in ("warning", "broken")]) >= 5
    for finding in found:
        assert finding.level == "ok" or finding.why, finding
        assert finding.level in ("ok", "note") or finding.fix, finding


# --- wiring ------------------------------------------------------------------------------------


@pytest.mark.row("S4-11", "S3-31")
def test_not_installed_is_broken(examine: Examine) -> None:
    """The remedy is to install."""
    found = only(examine(), "entries")

    assert (found.level, found.fix) == ("broken", "brimline install")


@pytest.mark.row("S4-11", "S3-31")
def test_a_missing_event_is_broken(installed: Path, examine: Examine) -> None:
    """Registered in part is not registered."""
    settings = json.loads(installed.read_bytes())
    del settings["hooks"]["PreCompact"]
    installed.write_text(json.dumps(settings))

    found = only(examine(), "entries")
    assert found.level == "broken"
    assert "PreCompact" in found.what
    assert found.fix == "brimline install --scope user"


def test_entries_of_another_version_are_to_be_renewed(
    installed: Path, examine: Examine, wired: entries.Wiring, tmp_path: Path
) -> None:
    """They work while the other copy is there, so it is no more than a warning."""
    other = tmp_path / "other"
    shutil.copytree(wired.root, other)
    edit_launcher(wired, wired.root, str(other))
    found = examine()

    assert only(found, "entries").level == "warning"
    assert {finding.level for finding in found} <= {"ok", "note", "warning"}


def test_a_package_that_is_gone_is_broken(
    installed: Path, examine: Examine, wired: entries.Wiring
) -> None:
    """Hooks stay silent then, so nobody else would tell."""
    edit_launcher(wired, wired.root, "/gone")
    found = only(examine(), "bytecode")

    assert found.level == "broken"
    assert "/gone" in found.what


def test_an_interpreter_that_is_gone_is_broken(
    installed: Path, examine: Examine, wired: entries.Wiring
) -> None:
    """The remedy chooses another one."""
    edit_launcher(wired, wired.interpreter, "/gone/python3")
    found = only(examine(), "interpreter")

    assert (found.level, found.fix) == ("broken", "brimline install")
    assert "does not exist" in found.what


def test_a_launcher_that_is_gone_is_broken(
    installed: Path, examine: Examine, wired: entries.Wiring
) -> None:
    """The client says little about it, and we cannot."""
    assert only(examine(), "launcher").level == "ok"
    os.unlink(wired.launcher or "")
    found = only(examine(), "launcher")

    assert (found.level, found.fix) == ("broken", "brimline install")


def test_a_shim_is_broken(
    installed: Path, examine: Examine, wired: entries.Wiring, python: str, tmp_path: Path
) -> None:
    """It would cost many times as much at every event."""
    shim = tmp_path / "python3"
    shim.write_text(f'#!/bin/sh\nexec {shlex.quote(python)} "$@"\n')
    shim.chmod(0o755)
    edit_launcher(wired, python, str(shim))

    found = only(examine(), "interpreter")
    assert found.level == "broken"
    assert "shim" in found.what


def test_a_stale_bundle_is_to_be_renewed(installed: Path, examine: Examine, root: Path) -> None:
    """Hooks work without it, only slower."""
    for bundle in (root / "brimline" / "__pycache__").glob("*.bin"):
        bundle.unlink()

    assert only(examine(), "bytecode").level == "warning"


@pytest.mark.parametrize("name", ["settings.json", "settings.local.json"])
def test_invalid_settings_in_reach_are_broken(
    name: str, installed: Path, examine: Examine, project_dir: str
) -> None:
    """The client ignores the file without a word; doctor names the place."""
    file = Path(project_dir, ".claude", name)
    file.parent.mkdir()
    file.write_text('{"a": 1,}')

    found = only(examine(), "settings-json")
    assert found.level == "broken"
    assert f"{file}: " in found.what
    assert "line 1, column 9" in found.what


def test_the_same_entries_in_two_scopes_are_fine(
    installed: Path, examine: Examine, wired: entries.Wiring, home_dir: str, project_dir: str
) -> None:
    """The client runs equal commands once."""
    local = installer.settings_path("local", project_dir)
    installer.install(local, wired, home_dir, project_dir)

    assert not [finding for finding in examine() if finding.check == "scopes"]


def test_different_entries_in_two_scopes_fire_twice(
    installed: Path, examine: Examine, wired: entries.Wiring, home_dir: str, project_dir: str
) -> None:
    """The remedy takes out the ones of the project."""
    local = installer.settings_path("local", project_dir)
    installer.install(local, wired._replace(launcher=None), home_dir, project_dir)

    found = only(examine(), "scopes")
    assert (found.level, found.fix) == ("warning", "brimline uninstall --scope local")


def test_what_a_strangers_settings_name_is_not_started(
    installed: Path, examine: Examine, wired: entries.Wiring, home_dir: str, project_dir: str
) -> None:
    """A repository may bring entries that look like ours: neither program nor package is run."""
    evil = Path(project_dir, "evil")
    (evil / "brimline").mkdir(parents=True)
    trap = f"open({str(evil / 'sprung')!r}, 'w')\n"
    (evil / "brimline" / "__init__.py").write_text(trap)
    python = evil / "python3"
    python.write_text(f"#!/bin/sh\ntouch {shlex.quote(str(evil / 'sprung'))}\n")
    python.chmod(0o755)
    project = installer.settings_path("project", project_dir)
    for stranger in (
        wired._replace(launcher=str(evil / "brimline/bin/hook"), interpreter=str(python)),
        wired._replace(launcher=None, root=str(evil)),
    ):
        installer.install(project, stranger, str(evil / "data"), project_dir)
        found = [finding for finding in examine() if finding.check == "interpreter"]
        assert sorted(finding.level for finding in found) == ["ok", "warning"]
        assert installer.installed_interpreter(project, home_dir, project_dir) == wired.interpreter
        installer.uninstall(project, str(evil / "data"))

    assert not (evil / "sprung").exists()


def test_disabled_hooks_are_broken(installed: Path, examine: Examine) -> None:
    """Nothing of brimline runs then."""
    change(installed, disableAllHooks=True)

    assert only(examine(), "hooks-disabled").level == "broken"


def test_a_projects_status_line_that_hides_ours_is_noted(
    installed: Path, examine: Examine, project_dir: str
) -> None:
    """Installing in that scope would show both."""
    line = {"type": "command", "command": "date"}
    change(Path(project_dir, ".claude", "settings.json"), statusLine=line)

    found = only(examine(), "status-line")
    assert (found.level, found.fix) == ("note", "brimline install --scope project")


def test_a_status_line_of_an_unknown_kind_is_noted(installed: Path, examine: Examine) -> None:
    """The installer leaves it alone, so ours is missing."""
    settings = json.loads(installed.read_bytes()) | {"statusLine": None}
    installed.write_text(json.dumps(settings))

    assert only(examine(), "status-line").level == "note"


def test_another_data_folder_of_the_hooks_is_told(installed: Path, home_dir: str) -> None:
    """Otherwise status and doctor would look at the wrong place."""
    found = only(checkup.examine(home_dir + "-other", os.getcwd()), "data-home")

    assert (found.level, found.fix) == ("warning", f"export BRIMLINE_HOME={home_dir}")


def test_started_in_the_home_folder_the_users_settings_count_once(
    installed: Path, home_dir: str
) -> None:
    """There the project's settings file is the user's."""
    found = checkup.examine(home_dir, str(installed.parent.parent))

    assert only(found, "entries").level == "ok"


# --- data --------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [0o755, 0o701, 0o770])
def test_a_data_folder_open_to_others_is_broken_and_the_remedy_helps(
    mode: int, installed: Path, examine: Examine, home_dir: str
) -> None:
    """The command named is run as it stands."""
    os.chmod(home_dir, mode)
    found = only(examine(), "data-folder")

    assert found.level == "broken"
    subprocess.run(found.fix, shell=True, check=True)  # noqa: S602 - as the user would
    assert only(examine(), "data-folder").level == "ok"


@pytest.mark.parametrize("count", [1, 9])
def test_data_files_open_to_others_are_told_and_the_remedy_helps(
    count: int, installed: Path, examine: Examine, home_dir: str
) -> None:
    """Behind a closed folder that is a warning; one file is named, many with their folder."""
    for number in range(count):
        Path(home_dir, "backups").mkdir(mode=0o700, exist_ok=True)
        file = Path(home_dir, "backups", f"settings.json.20260101_00000{number}")
        file.write_text("x")
        file.chmod(0o604)
    found = only(examine(), "data-folder")

    assert found.level == "warning"
    subprocess.run(found.fix, shell=True, check=True)  # noqa: S602 - as the user would
    assert only(examine(), "data-folder").level == "ok"


def test_a_folder_of_the_users_is_only_looked_at_where_it_is_ours(
    installed: Path, examine: Examine, home_dir: str
) -> None:
    """The mode of somebody's other files is not our matter."""
    Path(home_dir, "photo.jpg").write_text("x")
    os.chmod(f"{home_dir}/photo.jpg", 0o644)

    assert only(examine(), "data-folder").level == "ok"


def test_a_data_folder_that_is_no_folder_is_broken(examine: Examine, home_dir: str) -> None:
    """Nothing can be kept there."""
    Path(home_dir).write_text("x")

    assert only(examine(), "data-folder").level == "broken"


def test_a_missing_data_folder_is_only_noted(examine: Examine, home_dir: str) -> None:
    """Looking must not make it either."""
    assert only(examine(), "data-folder").level == "note"
    assert not os.path.exists(home_dir)


def test_recent_hook_errors_are_counted_and_the_last_is_told(
    installed: Path, examine: Examine, home_dir: str
) -> None:
    """Hooks fail in silence, so this is where it shows."""
    logs.record_failure(home_dir, "Stop", ValueError("the first"))
    logs.record_failure(home_dir, "PostToolUse", OSError("the last"))
    found = only(examine(), "hook-errors")

    assert found.level == "warning"
    assert "2 times" in found.what
    assert "PostToolUse: OSError: the last" in found.what


def test_old_hook_errors_do_not_count(
    installed: Path, examine: Examine, home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What happened the day before yesterday is over."""
    now = clock.now()
    monkeypatch.setattr(clock, "now", lambda: now - 2 * 86_400)
    logs.record_failure(home_dir, "Stop", ValueError("long ago"))
    monkeypatch.setattr(clock, "now", lambda: now)

    assert only(examine(), "hook-errors").level == "ok"


def test_failures_that_the_client_noted_are_told(
    installed: Path, examine: Examine, last_session: SessionBuilder, wired: entries.Wiring
) -> None:
    """An interpreter that cannot be started never reaches our own log."""
    last_session.prompt()
    assert only(examine(), "client-errors").level == "ok"

    command = " ".join(wired.command("Stop")).replace("\n", "\u2424")
    attachment = {"type": "hook_non_blocking_error", "hookName": "Stop", "hookEvent": "Stop",
                  "stderr": "ENOENT: no such file", "command": command}  # fmt: skip
    last_session.row("attachment", attachment=attachment)
    last_session.row("attachment", attachment=attachment | {"command": "theirs"})
    found = only(examine(), "client-errors")

    assert found.level == "warning"
    assert "once, last at Stop: ENOENT" in found.what


def test_failures_of_an_old_session_do_not_count(
    installed: Path, examine: Examine, last_session: SessionBuilder
) -> None:
    """Last week's trouble may be mended by now."""
    last_session.now -= 7 * 86_400
    attachment = {"type": "hook_error_during_execution", "content": "from brimline. import main"}
    last_session.row("attachment", attachment=attachment)

    assert only(examine(), "client-errors").level == "ok"


@pytest.mark.row("S0-15")
def test_a_wrong_setting_is_told(installed: Path, examine: Examine, home_dir: str) -> None:
    """It never takes effect, and nobody else would say so."""
    Path(home_dir, "config.toml").write_text("[guard]\ntires = [1, 2, 3, 4]\n")
    os.chmod(f"{home_dir}/config.toml", 0o600)
    found = only(examine(), "config")

    assert found.level == "warning"
    assert "guard.tiers" in found.what


def test_being_switched_off_is_noted(
    installed: Path, examine: Examine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the silence would be a riddle."""
    monkeypatch.setenv("BRIMLINE_OFF", "1")

    assert only(examine(), "switch").level == "note"


# --- client ------------------------------------------------------------------------------------


def client(folder: Path, script: str) -> None:
    """Put a client on PATH."""
    file = folder / "claude"
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)


@pytest.mark.parametrize(
    ("script", "level", "told"),
    [
        ("echo '2.1.325 (Claude Code)'", "ok", "2.1.325"),
        ("echo '2.1.139'", "ok", "2.1.139"),
        ("echo '2.2.0-beta.1 (Claude Code)'", "ok", "2.2.0-beta.1"),
        ("echo '2.1.138 (Claude Code)'", "broken", "older than 2.1.139"),
        ("echo '1.0.83 (Claude Code)'", "broken", "1.0.83"),
        ("echo 'hello'", "warning", "does not tell"),
        ("exit 3", "warning", "does not tell"),
        ("", "warning", "does not tell"),
    ],
)
def test_the_clients_version_is_asked(
    script: str, level: str, told: str, examine: Examine, no_client: Path
) -> None:
    """One that does not know hooks with arguments would run ours in vain."""
    client(no_client, script)
    found = only(examine(), "client-version")

    assert found.level == level
    assert told in found.what


def test_without_a_client_its_version_is_only_noted(examine: Examine) -> None:
    """It may be started in other ways than through PATH."""
    assert only(examine(), "client-version").level == "note"


def test_the_client_is_asked_away_from_the_users_home(
    examine: Examine, no_client: Path, world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It writes to its home at every start, and needs nothing of our environment."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "secret")
    client(no_client, 'touch "$HOME/a" "$CLAUDE_CONFIG_DIR/b" c; env > "${0%/*}/env"; echo 2.2.0')

    assert only(examine(), "client-version").level == "ok"
    environment = (no_client / "env").read_text()
    assert str(world / "home") not in environment
    assert "secret" not in environment
    assert not [path for path in world.rglob("*") if path.name in ("a", "b", "c")]


def test_a_model_that_does_not_compact_by_itself_is_noted(
    installed: Path, examine: Examine, last_session: SessionBuilder, run: Run
) -> None:
    """The remedy sets the window, and with it the client enforces the point."""
    last_session.model = "claude-sonnet-4-5"
    last_session.reply(20_000)
    found = only(examine(), "compaction")
    assert found.level == "note"
    assert "the API refuses at about 200,000" in found.what
    assert found.fix == "brimline config autocompact 200000"

    assert run(*found.fix.split()[1:]).returncode == 0
    found = only(examine(), "compaction")
    assert found.level == "ok"
    assert "167,000 of 200,000" in found.what
    assert "autoCompactWindow 200,000" in found.what


def test_without_a_session_the_model_is_unknown(installed: Path, examine: Examine) -> None:
    """Then it is said that it depends."""
    found = only(examine(), "compaction")

    assert found.level == "note"
    assert "depends on the model" in found.what


def test_switched_off_compaction_is_a_warning(installed: Path, examine: Examine) -> None:
    """The session would end at the wall."""
    change(installed, autoCompactEnabled=False)
    found = only(examine(), "compaction")

    assert found.level == "warning"
    assert "177,000" in found.why


def test_an_override_without_a_window_has_no_effect(
    installed: Path, examine: Examine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the settings or from the environment."""
    monkeypatch.setenv("CLAUDE_AUTOCOMPACT_PCT_OVERRIDE", "50")
    assert only(examine(), "compaction-pct").level == "note"

    change(installed, autoCompactWindow=200_000)
    assert not [finding for finding in examine() if finding.check == "compaction-pct"]
    assert "90,000" in only(examine(), "compaction").what


def test_a_window_that_the_client_does_not_honour_is_a_warning(
    installed: Path, examine: Examine
) -> None:
    """Our figures would be wrong by the difference."""
    change(installed, autoCompactWindow=50_000)

    assert only(examine(), "compaction-window").level == "warning"


@pytest.mark.parametrize(
    ("days", "level"), [(None, "note"), ("x", "note"), (0, "warning"), (3, "warning"), (90, "ok")]
)
def test_how_long_transcripts_are_kept(
    days: Any, level: str, installed: Path, examine: Examine
) -> None:
    """The client deletes them without a word."""
    change(installed, cleanupPeriodDays=days)

    assert only(examine(), "retention").level == level


def test_a_projects_retention_is_stronger_than_the_users(
    installed: Path, examine: Examine, project_dir: str
) -> None:
    """The strongest scope counts."""
    change(installed, cleanupPeriodDays=90)
    change(Path(project_dir, ".claude", "settings.json"), cleanupPeriodDays=1)

    assert only(examine(), "retention").level == "warning"


@pytest.mark.row("S0-35")
@pytest.mark.parametrize("window", [120_000, 130_000, 150_000])
def test_a_first_tier_below_the_ceiling_is_a_warning_and_the_remedy_helps(
    window: int, installed: Path, examine: Examine, home_dir: str
) -> None:
    """A small auto-compact window pulls the tiers down; smaller tiers fit again."""
    change(installed, autoCompactWindow=window)
    found = only(examine(), "ordering")
    assert found.level == "warning"

    *_, key, value = found.fix.split()
    config.change(paths.user_config(home_dir), key, value, project=False)
    assert only(examine(), "ordering").level == "ok"


@pytest.mark.row("S0-35")
@pytest.mark.parametrize("values", [{"autoCompactWindow": 100_000}, {"autoCompactWindow": 110_000}])
def test_a_compaction_before_the_ceiling_is_a_warning(
    values: dict[str, Any], installed: Path, examine: Examine
) -> None:
    """No tiers fit between them, so the window is what to change."""
    change(installed, **values)
    found = only(examine(), "ordering")

    assert found.level == "warning"
    assert "autoCompactWindow" in found.fix


def test_tiers_that_begin_before_the_session_are_a_warning(
    installed: Path, examine: Examine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every request would be warned about."""
    monkeypatch.setenv("BRIMLINE_GUARD_TIERS", "95,15,7,3")
    found = only(examine(), "ordering")

    assert found.level == "warning"
    assert "from the first request on" in found.why


def test_a_compaction_point_beyond_the_window_is_a_warning(
    installed: Path, examine: Examine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The window would be full first."""
    monkeypatch.setenv("BRIMLINE_COMPACTION_TOKENS", "300000")
    found = only(examine(), "ordering")

    assert found.level == "warning"
    assert found.fix == "brimline config set compaction_tokens 167000"


@pytest.mark.row("S0-35")
def test_a_large_window_is_in_order(
    installed: Path, examine: Examine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There the ceiling is an absolute figure."""
    monkeypatch.setenv("BRIMLINE_CONTEXT_WINDOW", "1000000")
    found = only(examine(), "ordering")

    assert found.level == "ok"
    assert (
        "ceiling 350,000, first tier 667,000, last tier 937,000, compaction 967,000" in found.what
    )


@pytest.mark.row("S3-80")
def test_a_tier_that_the_client_forestalls_is_a_warning(
    installed: Path, examine: Examine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """90 % of the window is never reached where the client compacts before that."""
    monkeypatch.setenv("BRIMLINE_GUARD_PRESET", "ccm-70-80-90")
    found = only(examine(), "ordering")

    assert found.level == "warning"
    assert "first tier 140,000, last tier 180,000, compaction 167,000" in found.what


@pytest.mark.parametrize(
    ("preset", "told"),
    [
        ("adr11", "ceiling 80,000, compaction 167,000 tokens"),
        ("haios-80", "first tier 160,000, compaction 167,000 tokens"),
        ("guard-30-15-7-3", "first tier"),
    ],
)
def test_every_preset_has_its_own_order(
    preset: str, told: str, installed: Path, examine: Examine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a preset does not use is not in it."""
    monkeypatch.setenv("BRIMLINE_GUARD_PRESET", preset)
    found = only(examine(), "ordering")

    assert found.level == "ok"
    assert found.what.startswith(told)


def test_switched_off_warnings_are_noted(
    installed: Path, examine: Examine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then there is no order to check."""
    monkeypatch.setenv("BRIMLINE_GUARD_PRESET", "off")

    assert only(examine(), "ordering").level == "note"


# --- looks -------------------------------------------------------------------------------------

FINDINGS = [
    Finding("a", "ok", "All good", "hidden", "hidden"),
    Finding("b", "note", "Noted", "Because."),
    Finding("c", "warning", "Careful", "Because.", "do this"),
    Finding("d", "broken", "Broken", "Because.", "do that"),
]


def test_each_finding_is_a_line_with_reason_and_remedy_below() -> None:
    """What is ok needs neither."""
    assert checkup.render(FINDINGS) == (
        "ok       All good\n"
        "note     Noted\n"
        "         Because.\n"
        "warning  Careful\n"
        "         Because.\n"
        "         fix: do this\n"
        "BROKEN   Broken\n"
        "         Because.\n"
        "         fix: do that\n"
        "\n"
        "1 broken, 1 to look at."
    )


@pytest.mark.parametrize(("count", "ending"), [(3, "It works; 1 to look at."), (2, "All is well.")])
def test_the_last_line_sums_up(count: int, ending: str) -> None:
    """The worst level decides."""
    assert checkup.render(FINDINGS[:count]).endswith(f"\n\n{ending}")


def test_foreign_words_cannot_steer_the_terminal() -> None:
    """Messages of errors are shown without control characters."""
    shown = checkup.render([Finding("a", "note", "x\x1b[2Jy\nz", "why")], colour=False)

    assert shown.startswith("note     x\ufffd[2Jy\ufffdz\n")


def test_colours_only_mark_the_level() -> None:
    """Without them the text is the same."""
    coloured = checkup.render(FINDINGS, colour=True)

    assert "\x1b[1;31mBROKEN \x1b[0m  Broken" in coloured
    assert coloured.count("\x1b[0m") == len(FINDINGS)
