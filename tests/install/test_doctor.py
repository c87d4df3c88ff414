"""`brimline doctor`: one finding per check, with why it matters and what fixes it."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest

from brimline.bulk import put
from brimline.fast import paths
from brimline.fast.paths import PACKAGE_DIR
from brimline.hooks import entry as hook_entry
from brimline.install import doctor
from brimline.settings import clientsettings, config
from brimline.testing import SessionBuilder

from . import fake_claude
from .conftest import Home, check_golden

TEXTS = tomllib.loads(Path(doctor.__file__).with_name("findings.toml").read_text(encoding="utf-8"))


@pytest.fixture
def installed(home: Home) -> Home:
    """A complete installation, without a client."""
    home.install()
    return home


def found(home: Home, check: str) -> tuple[str, str]:
    """The level and the text of the one finding of a check."""
    rows = home.run("doctor", "--json").report["findings"]
    (row,) = [row for row in rows if row["check"] == check]
    return row["level"], row["what"] + " | " + row["fix"]


def assert_found(home: Home, check: str, level: str, said: str) -> None:
    """Compare the one finding of a check."""
    told = found(home, check)
    assert (told[0], said in told[1]) == (level, True), told


def edit_launcher(home: Home, old: str, new: str) -> None:
    """Have the launcher start something else."""
    home.launcher.write_text(home.launcher.read_text().replace(old, new))


# --- all of it ---------------------------------------------------------------------------------


@pytest.mark.row("S4-11", "S3-31")
def test_a_good_installation_and_none_at_all(home: Home) -> None:
    """The whole text of both is on record, within 80 columns; the exit code tells them apart."""
    before = home.run("doctor")
    home.install()
    files = home.everything()
    after = home.run("doctor")
    document = home.run("doctor", "--json").report

    assert home.everything() == files, "looking changes nothing"
    assert (before.code, after.code, document["ok"]) == (1, 0, True)
    assert all(
        list(row) == ["check", "level", "what", "why", "fix"] for row in document["findings"]
    )
    text = before.out + "\n---\n" + after.out
    text = re.sub(r"\n {9}(?!fix)", " ", text)  # where lines break depends on the paths
    check_golden("doctor", re.sub(r"Python [\d.]+", "Python X", text), home)


def test_every_text_says_what_it_must_within_the_columns() -> None:
    """What is not in order says why it matters; no brace is left, and each is used somewhere."""
    files = list(Path(doctor.__file__).parent.glob("*.py"))
    files += Path(PACKAGE_DIR).glob("*/traces.py")
    sources = "".join(file.read_text() for file in files)
    for name, text in TEXTS.items():
        assert f'"{name}"' in sources, name
        assert text["level"] in ("ok", "note", "warning", "broken", "{level}")
        assert bool(text.get("why")) is (text["level"] != "ok"), name
        fields = dict.fromkeys(re.findall(r"{(\w+)}", " ".join(map(str, text.values()))), "x")
        finding = doctor.make_finding(name, text, fields)._replace(level="note")
        assert "{" not in "".join(finding)
        assert (
            max(map(len, doctor.findings_text({"findings": [finding._asdict()]}).splitlines()))
            <= 80
        ), name
    long = doctor.Finding("x", "broken", "word " * 40, "why " * 40, "fix " * 40)
    assert max(map(len, doctor.findings_text({"findings": [long._asdict()]}).splitlines())) <= 80


# --- the installation --------------------------------------------------------------------------


@pytest.mark.row("S4-11", "S3-31")
@pytest.mark.parametrize(
    ("fault", "check", "level", "said"),
    [
        ("no PreCompact", "entries", "broken", "PreCompact"),
        ("launcher gone", "launcher", "broken", "is gone"),
        ("launcher not executable", "launcher", "broken", "cannot be started"),
        ("package gone", "bytecode", "broken", "no working brimline in /gone"),
        ("another copy", "entries", "warning", "not what this version would write"),
        ("interpreter gone", "interpreter", "broken", "does not exist | brimline install"),
        ("shim", "interpreter", "broken", "shim"),
        ("not precompiled", "bytecode", "warning", "not precompiled"),
    ],
)
def test_what_hooks_start_is_checked(
    fault: str, check: str, level: str, said: str, home: Home, root: Path, tmp_path: Path
) -> None:
    """Hooks stay silent then, so nobody else would tell."""
    home.install()
    shim = tmp_path / "python3"
    shim.write_text(f'#!/bin/sh\nexec {shlex.quote(home.python)} "$@"\n')
    shim.chmod(0o755)
    if fault == "no PreCompact":
        home.edit(hooks={event: home.value["hooks"][event] for event in ("Stop", "PostCompact")})
    elif fault == "launcher gone":
        home.launcher.unlink()
    elif fault == "launcher not executable":
        home.launcher.chmod(0o600)
    elif fault == "not precompiled":
        shutil.rmtree(root / "brimline" / "__pycache__")
    else:
        changed = {
            "package gone": (str(root), "/gone"),
            "another copy": (str(root), str(shutil.copytree(root, tmp_path / "other"))),
            "interpreter gone": (home.python, "/gone/python3"),
            "shim": (home.python, str(shim)),
        }
        edit_launcher(home, *changed[fault])

    assert_found(home, check, level, said)
    home.install()
    assert found(home, check)[0] == "ok"


def test_settings_in_reach_that_switch_hooks_off_are_told(installed: Home) -> None:
    """Invalid ones, which the client ignores without a word; by its own switch."""
    file = Path(installed.project, ".claude", "settings.local.json")
    file.parent.mkdir()
    file.write_text('{"a": 1,}')
    level, text = found(installed, "settings-json")
    assert level == "broken"
    assert f"{file}: " in text
    assert "line 1, column" in text
    installed.edit(disableAllHooks=True)
    assert found(installed, "hooks-disabled")[0] == "broken"


def test_an_organisation_that_allows_no_other_hooks_is_told_of(installed: Home) -> None:
    """The client takes the switch from managed settings alone."""
    installed.edit(allowManagedHooksOnly=True)
    assert "hooks-disabled" not in installed.findings()
    managed = Path(clientsettings.path_by_scope(installed.project)["managed"])
    managed.parent.mkdir(parents=True, exist_ok=True)
    managed.write_text('{"allowManagedHooksOnly": true}')

    level, text = found(installed, "hooks-disabled")

    assert level == "broken"
    assert f'{managed} sets "allowManagedHooksOnly"' in text


def test_what_a_strangers_settings_name_is_not_started(installed: Home) -> None:
    """A repository may bring entries that look like ours: neither program nor package is run."""
    evil = Path(installed.project, "evil", "brimline")
    (evil / "bin").mkdir(parents=True)
    sprung = evil / "sprung"
    python = evil / "python3"
    python.write_text(f"#!/bin/sh\ntouch {shlex.quote(str(sprung))}\n")
    python.chmod(0o755)
    (evil / "__init__.py").write_text(f"open({str(sprung)!r}, 'w')\n")
    text = installed.launcher.read_text().replace(installed.python, str(python))
    (evil / "bin" / "hook").write_text(
        re.sub(r"insert\(0,'[^']*'", f"insert(0,{str(evil.parent)!r}", text)
    )
    project = Path(installed.project, ".claude", "settings.json")
    project.parent.mkdir()
    entries = installed.settings.read_text().replace(
        str(installed.launcher), str(evil / "bin/hook")
    )
    project.write_text(entries)

    rows = installed.run("doctor", "--json").report["findings"]
    levels = [row["level"] for row in rows if row["check"] == "interpreter"]
    assert sorted(levels) == ["ok", "warning"]
    assert not sprung.exists()


def test_another_data_folder_is_told(installed: Home, world: Path) -> None:
    """What is shown there is not what hooks do."""
    told = installed.findings(BRIMLINE_HOME=str(world / "else"))["data-home"]
    assert told["fix"] == f"export BRIMLINE_HOME={installed.data}"


def test_slash_commands_are_checked(installed: Home) -> None:
    """Missing ones are named; somebody else's are left."""
    folder = installed.config / "commands" / "brim"
    (folder / "card.md").unlink()
    assert found(installed, "slash-commands") == (
        "warning",
        "missing or out of date: card.md | brimline install",
    )
    (folder / "card.md").write_text("mine")
    assert found(installed, "slash-commands")[0] == "note"


def test_the_server_is_checked(client: Home) -> None:
    """Missing, ours, stale, somebody else's."""
    client.install()
    (client.config / ".claude.json").unlink()
    assert found(client, "mcp") == ("note", "the MCP server is not registered | brimline install")
    client.install()
    assert found(client, "mcp")[0] == "ok"
    state = client.config / ".claude.json"
    good = json.loads(state.read_bytes())
    changes: list[tuple[dict[str, Any], str]] = [
        ({"args": ["-P", "-m", "brimline", "mcp"]}, "warning"),
        ({"args": ["other"]}, "note"),
        ({"command": "/gone/python"}, "warning"),
    ]
    for change, level in changes:
        server = good["mcpServers"]["brimline"] | change
        state.write_text(json.dumps({"mcpServers": {"brimline": server}}))
        assert found(client, "mcp")[0] == level


# --- its use -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "document"),
    [
        (".mcp.json", {"mcpServers": {"brimline": {}}}),
        ("../.mcp.json", {"mcpServers": {"brimline": {}}}),
        (".claude/settings.json", {"extraKnownMarketplaces": {"brimline": {}}}),
        (".mcp.json", {"mcpServers": {"brimline": {}}, "long": "x" * (2 << 20)}),
        (".mcp.json", {"mcpServers": {"brimline": {}}, "other": "deep"}),
        (".claude/settings.json", {"extraKnownMarketplaces": {"brimline-plugin": {}}}),
        (".claude/settings.local.json", {"enabledPlugins": {"brimline@x": True}}),
        (".mcp.json", {"mcpServers": {"other": {}}}),
        (".claude/settings.json", {"enabledPlugins": {"brim@x": True, "a@brimline-plugin": True}}),
        (".mcp.json", []),
    ],
)
def test_who_takes_our_name_is_told(installed: Home, file: str, document: Any) -> None:
    """By `doctor`, and at the start of a session; and so are rules that go by the name."""
    path = Path(installed.project, file)
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(document).replace('"deep"', "[" * 5_000 + "]" * 5_000))
    is_namesake = "'brimline" in str(document)
    told = installed.run("doctor").out

    begun = {"session_id": "s", "cwd": installed.project, "source": "startup"}
    raw = json.dumps({"hook_event_name": "SessionStart"} | begun).encode()
    answer = hook_entry.respond("SessionStart", raw, installed.data).decode()
    assert ("something else named `brimline`" in " ".join(told.split())) is is_namesake
    assert ("something else named `brimline`" in answer) is is_namesake
    assert "a permission rule allows" not in told
    installed.edit(permissions={"allow": ["mcp__brimline__recall"]})
    assert "a permission rule allows" in installed.run("doctor").out


def test_a_data_folder_that_cannot_be_made_is_broken(
    installed: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not "not there yet": the first hook would fail to make it."""
    in_the_way = Path(installed.data).parent / "a-file"
    in_the_way.write_text("a file")
    monkeypatch.setenv("BRIMLINE_HOME", f"{in_the_way}/below/it")

    assert found(installed, "data-folder")[0] == "broken"


@pytest.mark.row("S0-15")
def test_a_setting_that_is_wrong_is_told(installed: Home) -> None:
    """Foreign words cannot steer a terminal."""
    Path(installed.data, "config.toml").write_text('[guard]\n"\\u001b[31mred" = 1\n')
    assert found(installed, "config")[0] == "warning"
    assert "\x1b" not in installed.run("doctor").out


def test_a_store_of_a_later_version_is_told(installed: Home) -> None:
    """It is left alone."""
    put.put(installed.data, b"x", {})
    Path(installed.data, "store", "format").write_text("99")
    assert found(installed, "store")[0] == "broken"


@pytest.mark.parametrize(
    ("told", "level", "said"),
    [
        ("2.1.138 (Claude Code)", "broken", "older than 2.1.139"),
        ("2.1.325 (Claude Code)", "ok", "Claude Code 2.1.325, "),
        ("10.0", "ok", "newer than 2.1.328, the last that brimline was tested with"),
        ("what?", "warning", "does not tell its version"),
    ],
)
def test_the_clients_version_is_checked(
    told: str, level: str, said: str, installed: Home, no_client: Path
) -> None:
    """A newer one is said and not alarmed about; its question must not touch the user's home."""
    fake_claude.script(no_client, f'#!/bin/sh\ntouch "$HOME/asked"\necho "{told}"\n')

    assert_found(installed, "client-version", level, said)
    assert not Path(os.environ["HOME"], "asked").exists()


@pytest.mark.parametrize(
    ("settings", "check", "level", "said"),
    [
        ({}, "compaction", "note", "depends on the model"),
        ({"autoCompactEnabled": False}, "compaction", "warning", "never compacts by itself"),
        ({"autoCompactWindow": 150_000}, "compaction", "ok", "117,000 of 200,000 tokens"),
        ({"autoCompactWindow": 50_000}, "compaction-window", "warning", "50,000 tokens is not"),
        ({"env": {"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "50"}}, "compaction-pct", "note", "no effect"),
    ],
)
def test_the_clients_settings_are_checked(
    settings: dict[str, Any], check: str, level: str, said: str, installed: Home
) -> None:
    """What moves the compaction point."""
    installed.edit(**settings)

    assert_found(installed, check, level, said)


def test_a_model_that_the_client_does_not_compact_is_told(installed: Home) -> None:
    """By the newest session of the project; with the command that makes it."""
    path = Path(paths.project_transcripts_dir(installed.project), "s1.jsonl")
    path.parent.mkdir(parents=True)
    SessionBuilder(str(path), model="claude-sonnet-4-5").reply(20_000)

    level, text = found(installed, "compaction")
    assert level == "note"
    assert "the API refuses at about 200,000" in text
    assert text.endswith("brimline config autocompact 200000")


@pytest.mark.row("S0-35", "S3-80")
@pytest.mark.parametrize(
    ("values", "level", "said"),
    [
        ({}, "ok", "ceiling 80,000, L1 107,000, L4 161,000, compaction 167,000"),
        ({"guard.preset": "off"}, "note", "switched off"),
        ({"compaction_tokens": "300000"}, "warning", "beyond the window of 200,000"),
        ({"guard.tier_unit": "tokens", "guard.tiers": "90000,170000"}, "warning", "not in this"),
        ({"guard.tier_unit": "tokens"}, "warning", "config explain guard.tiers"),
        ({"guard.tier_unit": "used", "guard.tiers": "30,60"}, "warning", "L1 60,000"),
        ({"guard.tier_unit": "remaining", "guard.tiers": "50,40"}, "ok", "L1 100,000"),
        ({"guard.ceiling_percent": "90"}, "warning", "ceiling 180,000, L1 107,000"),
        ({"guard.ceiling": "off"}, "ok", "L1 107,000"),
    ],
)
def test_what_brimline_says_comes_in_order(
    values: dict[str, str], level: str, said: str, installed: Home
) -> None:
    """Ceiling, tiers, compaction."""
    for key, value in values.items():
        config.write_setting(paths.user_config(installed.data), key, value)

    assert_found(installed, "ordering", level, said)


@pytest.mark.parametrize(
    ("levels", "text"),
    [
        (["ok"], "All is well."),
        ([], "All is well."),
        (["ok", "warning", "warning"], "It works; 2 to look at."),
        (["broken", "warning", "ok"], "1 broken, 1 to look at."),
        (["broken", "broken"], "2 broken, 0 to look at."),
    ],
)
def test_how_much_is_wrong_is_a_sentence(levels: list[str], text: str) -> None:
    """What is broken first."""
    assert doctor.summary_text({"findings": [{"level": level} for level in levels]}) == text


def test_a_finding_has_its_reason_and_its_remedy_below_it() -> None:
    """What is broken stands out; a command with a path stays on its line, however long."""
    long = "brimline install " + "/very/long" * 12
    rows = [
        {"level": "ok", "what": "Fine.", "why": "", "fix": ""},
        {"level": "broken", "what": "Gone.", "why": "It matters.", "fix": f"run\n{long}"},
    ]
    lines = doctor.findings_text({"findings": rows}).split("\n")

    assert [line.split()[0] for line in lines if line and line[0] != " "] == ["ok", "BROKEN", "1"]
    assert [line.strip() for line in lines[2:4]] == ["It matters.", f"fix: run {long}"]
    assert lines[-2:] == ["", "1 broken, 0 to look at."]
    assert lines[0].index("Fine.") == lines[1].index("Gone.") == lines[2].index("It")


@pytest.mark.row("S2-40")
def test_what_was_configured_where_nobody_reads_it_is_said(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A variable of another tool or of a preset that is not in force; a folder of rules.

    Until it is a setting here; what asks for nothing is not spoken of.
    """
    home.install()
    monkeypatch.setenv("DEV_TEAM_CONTEXT_STRICT", "on")
    monkeypatch.setenv("DEV_TEAM_CONTEXT_CEILING", "on")
    home.edit(env={"CCM_PRUNE_MAX_SIZE_MB": "9"})
    rules = Path(home.project) / "rules"
    rules.mkdir(parents=True)
    (rules / "style.md").write_text("- Use tabs.")

    findings = doctor.run_all_checks(home.data, home.project)

    assert [(one.what, one.fix) for one in findings if one.check == "no-effect"][:2] == [
        (
            "DEV_TEAM_CONTEXT_STRICT is set, and nobody reads it",
            "brimline config set guard.ceiling strict",
        ),
        (
            "CCM_PRUNE_MAX_SIZE_MB is set, and nobody reads it",
            "brimline config set store.max_mb VALUE",
        ),
    ]
    assert any(".claude/rules" in one.what for one in findings)
    Path(home.data, "config.toml").write_text(
        'guard.ceiling = "strict"\nstore.max_mb = 9', encoding="utf-8"
    )
    later = doctor.run_all_checks(home.data, home.project)
    assert [".claude/rules" in one.what for one in later if one.check == "no-effect"] == [True]
