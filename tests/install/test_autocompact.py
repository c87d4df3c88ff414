"""`brimline config autocompact`: one key in the client's settings, and nothing else of theirs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from brimline import config
from brimline.errors import InstallError
from brimline.fast import paths, policy
from brimline.install import installer, settingsfile
from brimline.install.autocompact import autocompact

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

    from brimline.install import entries

    Run = Callable[..., subprocess.CompletedProcess[str]]

LAYOUTS = [
    b"{}",
    b"{}\n",
    b'{"model": "opus"}',
    b'{\n\t"model": "opus",\n\t"env": {"A": "1"}\n}',
    b'{\r\n    "model": "opus",\r\n    "hooks": {}\r\n}\r\n',
    b'\xef\xbb\xbf{\n  "a": [1, 2,\n 3], "b": "\\u00e9"\n}\n\n',
]


@pytest.mark.parametrize("original", LAYOUTS)
def test_off_gives_every_byte_back(original: bytes, user_settings: Path) -> None:
    """However the file is laid out, only the key comes, changes and goes."""
    user_settings.write_bytes(original)
    before = _settings(user_settings)

    assert _run("300000")["changed"]
    assert _settings(user_settings) == before | {"autoCompactWindow": 300_000}
    assert _run("250_000")["changed"]
    assert _settings(user_settings) == before | {"autoCompactWindow": 250_000}
    assert _run("off")["changed"]

    assert user_settings.read_bytes() == original


def test_a_value_that_was_there_is_changed_in_its_place(user_settings: Path) -> None:
    """Order, indentation and neighbours stay."""
    user_settings.write_bytes(b'{\n "a": 1,\n "autoCompactWindow" :  5 ,\n "z": {"x":[]}\n}\n')

    _run("200000")

    assert user_settings.read_bytes() == (
        b'{\n "a": 1,\n "autoCompactWindow" :  200000 ,\n "z": {"x":[]}\n}\n'
    )


def test_off_removes_exactly_the_key(user_settings: Path) -> None:
    """Also one that somebody else has set."""
    user_settings.write_bytes(b'{\n "a": 1,\n "autoCompactWindow": 5,\n "z": {"x": []}\n}\n')

    _run("off")

    assert user_settings.read_bytes() == b'{\n "a": 1,\n "z": {"x": []}\n}\n'


def test_an_installation_around_it_comes_off_cleanly(
    user_settings: Path, wired: entries.Wiring, home_dir: str, project_dir: str
) -> None:
    """Set and taken back between install and uninstall, the original bytes are restored."""
    original = b'{\r\n\t"model": "opus"\r\n}'
    user_settings.write_bytes(original)
    installer.install(str(user_settings), wired, home_dir, project_dir)

    _run("200000")
    _run("off")
    installer.uninstall(str(user_settings), home_dir)

    assert user_settings.read_bytes() == original


def test_without_a_settings_file_one_is_made(user_settings: Path) -> None:
    """With the key alone; off without a file makes none."""
    assert not _run("off")["changed"]
    assert not user_settings.exists()

    _run("200000")

    assert user_settings.read_bytes() == b'{\n  "autoCompactWindow": 200000\n}\n'


def test_the_same_value_again_changes_nothing(user_settings: Path, home_dir: str) -> None:
    """Not even a backup is made."""
    user_settings.write_bytes(b"{}")
    _run("200000")
    backups = list(Path(home_dir, "backups").iterdir())

    assert not _run("200000")["changed"]
    assert list(Path(home_dir, "backups").iterdir()) == backups
    assert [backup.read_bytes() for backup in backups] == [b"{}"]


@pytest.mark.parametrize("tokens", ["100000", "1000000", "200,000", "200_000"])
def test_values_that_the_client_honours_are_taken(tokens: str, user_settings: Path) -> None:
    """From 100,000 up to the window, with separators or without."""
    report = _run(tokens)

    wanted = int(tokens.replace(",", "").replace("_", ""))
    assert report["autoCompactWindow"] == wanted
    assert report["compaction_tokens"] == wanted - 33_000
    assert report["settings"] == str(user_settings)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["99999"], "does not honour values below 100,000"),
        (["0"], "does not honour values below 100,000"),
        (["1000001"], "1,000,001 is above the window of 1,000,000 tokens"),
        (["200001", "--window", "200000"], "200,001 is above the window of 200,000 tokens"),
        (["abc"], "takes a whole number or off, not 'abc'"),
        (["OFF"], "takes a whole number or off"),
        (["2e5"], "takes a whole number or off"),
        ([""], "takes a whole number or off"),
        (["٢٠٠٠٠٠"], "takes a whole number or off"),
    ],
)
def test_other_values_are_refused_and_nothing_is_written(
    arguments: list[str], sentence: str, user_settings: Path, home_dir: str
) -> None:
    """The window is never exceeded, and a value the client ignores is never written."""
    user_settings.write_bytes(b"{}")

    with pytest.raises(InstallError, match=sentence):
        _run(*arguments)

    assert user_settings.read_bytes() == b"{}"
    assert not Path(home_dir).exists()


def test_a_configured_window_is_the_limit(user_settings: Path, home_dir: str) -> None:
    """What the user said about the window holds here too; the option is stronger."""
    config.change(paths.user_config(home_dir), "context_window", "200000", project=False)

    with pytest.raises(InstallError, match="above the window of 200,000"):
        _run("200001")
    assert _run("400000", "--window", "500000")["changed"]


@pytest.mark.parametrize("content", [b"{bad", b'{"a": 1,}', b"[]", b'"text"', b"{} {}"])
def test_settings_that_cannot_be_edited_stay(content: bytes, user_settings: Path) -> None:
    """One sentence that names the file; nothing is changed."""
    user_settings.write_bytes(content)

    for word in ("200000", "off"):
        with pytest.raises(InstallError, match="nothing was changed") as raised:
            _run(word)
        assert str(user_settings) in str(raised.value)
    assert user_settings.read_bytes() == content


def test_a_write_of_another_program_leads_to_a_new_try(
    user_settings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its change and ours are both in the file afterwards."""
    user_settings.write_bytes(b"{}\n")
    real, calls = settingsfile.back_up, []

    def interrupted(file: settingsfile.SettingsFile, folder: str) -> str | None:
        calls.append(file.raw)
        if len(calls) == 1:
            user_settings.write_bytes(b'{"theirs": true}\n')
        return real(file, folder)

    monkeypatch.setattr(settingsfile, "back_up", interrupted)
    _run("200000")

    assert calls == [b"{}\n", b'{"theirs": true}\n']
    assert _settings(user_settings) == {"theirs": True, "autoCompactWindow": 200_000}


@pytest.mark.parametrize("window", [None, "1000000"])
def test_a_ceiling_above_the_new_point_is_warned_about(
    window: str | None, user_settings: Path
) -> None:
    """In a million the ceiling is 350,000: a client that compacts at 267,000 never gets there."""
    extra = ["--window", window] if window else []

    (warning,) = _run("300000", *extra)["warnings"]

    assert warning.startswith("in a window of 1,000,000 tokens")
    assert "ceiling 350,000" in warning
    assert "compaction 267,000" in warning
    assert "guard.ceiling_percent" in warning


@pytest.mark.parametrize(
    ("key", "value", "part"),
    [
        ("guard.tiers", "90,15,7,3", "the first tier"),
        ("guard.preset", "ccm-70-80-90", "the last tier does not come before compaction"),
        ("guard.ceiling_percent", "90", "ceiling 180,000"),
    ],
)
def test_a_setting_that_collides_is_warned_about(
    key: str, value: str, part: str, user_settings: Path, home_dir: str
) -> None:
    """Ceiling, tiers and compaction should come in that order; the value is written even so."""
    config.change(paths.user_config(home_dir), key, value, project=False)

    report = _run("200000", "--window", "200000")

    assert part in report["warnings"][0]
    assert _settings(user_settings) == {"autoCompactWindow": 200_000}


@pytest.mark.parametrize("preset", ["default", "haios-80", "guard-30-15-7-3", "adr11", "off"])
def test_what_fits_is_not_warned_about(preset: str, user_settings: Path, home_dir: str) -> None:
    """In a window of 200,000 the shipped settings leave room on both sides."""
    config.change(paths.user_config(home_dir), "guard.preset", preset, project=False)

    assert _run("200000", "--window", "200000")["warnings"] == []


def test_a_person_is_told_what_happens_and_from_when_on(user_settings: Path) -> None:
    """The point, the file, and that running sessions keep the old value."""
    user_settings.write_bytes(b"{}")

    set_, unset = _text("200000", "--window", "200000"), _text("off")

    assert set_ == (
        f"autoCompactWindow = 200,000 in {user_settings}: the client compacts at about 167,000 "
        "tokens.\nRunning sessions keep the value they started with.\n"
    )
    assert unset == (
        f"autoCompactWindow is not set in {user_settings}: the client's default holds.\n"
        "Running sessions keep the value they started with.\n"
    )
    assert "Running sessions" not in _text("off")


def test_warnings_are_told_to_a_person_too(user_settings: Path) -> None:
    """Below the rest, each on a line of its own."""
    last = _text("300000").splitlines()[-1]

    assert last.startswith("warning: in a window of 1,000,000 tokens")


def test_hooks_know_the_new_point_at_once(
    user_settings: Path, home_dir: str, project_dir: str
) -> None:
    """The settings are compiled anew with it."""
    _run("200000")

    stored = policy.stored(home_dir, project_dir)

    assert stored is not None
    assert stored.client["autocompact_window"] == 200_000


def test_a_wrong_value_is_one_sentence_and_a_code(user_settings: Path, run: Run) -> None:
    """As the shell sees it."""
    done = run("config", "autocompact", "50000")

    assert done.returncode == 1
    assert done.stderr == "brimline: the client does not honour values below 100,000\n"
    assert done.stdout == ""


def _run(*arguments: str) -> dict[str, Any]:
    """The report of one invocation; our errors are raised."""
    report: dict[str, Any] = json.loads(_text(*arguments, "--json"))
    return report


def _text(*arguments: str) -> str:
    result = CliRunner().invoke(autocompact, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def _settings(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_bytes().removeprefix(b"\xef\xbb\xbf"))
    return found


@pytest.mark.row("S3-79")
def test_a_percentage_goes_beside_whatever_else_is_there(user_settings: Path) -> None:
    """It can only lower the point; off takes both away and nothing else."""
    before = b'{"env": {"A": "1"}, "model": "opus"}'
    user_settings.write_bytes(before)

    done = CliRunner().invoke(autocompact, ["200000", "--percent", "50", "--json"])

    assert done.exit_code == 0, done.output
    assert json.loads(done.output)["compaction_tokens"] == 90_000
    written = json.loads(user_settings.read_bytes())
    assert written["env"] == {"A": "1", "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "50"}
    CliRunner().invoke(autocompact, ["off"])
    assert json.loads(user_settings.read_bytes()) == json.loads(before)


def test_a_percentage_without_settings_makes_them(user_settings: Path) -> None:
    """And above the usual point it changes nothing."""
    done = CliRunner().invoke(autocompact, ["200000", "--percent", "100", "--json"])

    assert json.loads(done.output)["compaction_tokens"] == 167_000
    assert json.loads(user_settings.read_bytes())["env"] == {
        "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "100"
    }


@pytest.mark.parametrize("arguments", [["off", "--percent", "50"], ["200000", "--percent", "0"]])
def test_a_percentage_that_means_nothing_is_refused(
    arguments: list[str], user_settings: Path
) -> None:
    """Nothing is written."""
    done = CliRunner().invoke(autocompact, arguments)

    assert done.exit_code == 2
    assert not user_settings.exists()
