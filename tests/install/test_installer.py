"""Installing into real files, and getting back to where they were."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from brimline import config
from brimline.errors import InstallError
from brimline.fast import paths
from brimline.install import entries, installer, record, settingsfile, wiring

WIRED = entries.Wiring("/usr/bin/python3", "/opt/it's here/lib", "/data")
ORIGINALS = [
    b"{}",
    b"",
    b" \n",
    b'\xef\xbb\xbf{\r\n\t"a" : 1\r\n}\r\n',
    b'{"a":1,"hooks":{},"b":[1,2]}',
    b'{\n    "hooks": {\n        "PostToolUse": []\n    },\n    "statusLine": null\n}',
    b'{"statusLine":{"type":"command","command":"caf\\u00e9","padding":0}}\n',
    b'{"a":1,"a":2,"hooks":{"Elicitation":[]},"hooks":{"Elicitation":[{"matcher":"","hooks":[]}]}}',
]


class Case:
    """A settings file, a data folder and a project."""

    def __init__(self, folder: Path, original: bytes | None = None) -> None:
        self.home = str(folder / "data")
        self.project = str(folder / "project")
        self.file = folder / "config" / "settings.json"
        if original is not None:
            self.file.parent.mkdir(parents=True)
            self.file.write_bytes(original)

    def install(self, wired: entries.Wiring = WIRED) -> str | None:
        return installer.install(str(self.file), wired, self.home, self.project)

    def uninstall(self) -> bool:
        return installer.uninstall(str(self.file), self.home)

    def edit(self, **changes: object) -> None:
        settings_ = json.loads(self.file.read_bytes()) | changes
        self.file.write_text(json.dumps(settings_, indent=4))

    @property
    def raw(self) -> bytes:
        return self.file.read_bytes()

    @property
    def value(self) -> object:
        return json.loads(self.raw)


def test_without_a_settings_file_one_is_made_and_taken_away_again(tmp_path: Path) -> None:
    """The folder made for it goes too."""
    case = Case(tmp_path)

    assert case.install() is None
    assert case.file.exists()
    assert case.uninstall()
    assert not case.file.parent.exists()


@pytest.mark.parametrize("original", ORIGINALS)
def test_uninstalling_restores_every_byte(original: bytes, tmp_path: Path) -> None:
    """Also after a second install and after one from another place."""
    case = Case(tmp_path, original)
    case.install()
    case.install()
    case.install(WIRED._replace(root="/another/place", home="/other"))

    assert case.raw != original
    assert case.uninstall()
    assert case.raw == original
    assert not record.load_all(case.home)


@settings(
    max_examples=60, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow]
)
@given(
    st.dictionaries(
        st.sampled_from(["model", "env", "hooks", "statusLine", "é", ""]),
        st.one_of(
            st.just({}),
            st.just(
                {
                    "Elicitation": [{"hooks": [{"type": "command", "command": "x"}]}],
                    "PreCompact": [],
                }
            ),
            st.just({"type": "command", "command": "date"}),
        ),
    ),
    st.sampled_from([None, 0, 1, 2, 4, "\t"]),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from([b"", b"\xef\xbb\xbf"]),
)
def test_any_settings_survive_a_round_trip(
    value: dict[str, object], indent: int | str | None, newline: str, mark: bytes
) -> None:
    """Install is idempotent and uninstall gives back the bytes, however they were written."""
    text = json.dumps(value, indent=indent, ensure_ascii=False).replace("\n", newline)
    original = mark + text.encode()
    with tempfile.TemporaryDirectory() as folder:
        case = Case(Path(folder), original)
        case.install()
        installed = case.raw
        case.install()

        assert case.raw == installed
        assert case.uninstall()
        assert case.raw == original


def test_an_edited_file_loses_exactly_our_entries(tmp_path: Path) -> None:
    """What the user wrote since then stays, and so does what was there before."""
    before = {"hooks": {"Elicitation": []}, "statusLine": {"type": "command", "command": "date"}}
    case = Case(tmp_path, json.dumps(before).encode())
    case.install()
    case.edit(model="opus")

    assert case.uninstall()
    assert case.value == before | {"model": "opus"}


def test_an_upgrade_after_an_edit_keeps_the_edit(tmp_path: Path) -> None:
    """The bytes to put back are those of the edited file without our entries."""
    case = Case(tmp_path, b'{"hooks": {}}')
    case.install()
    case.edit(model="opus")
    case.install(WIRED._replace(root="/new"))

    assert case.uninstall()
    assert case.value == {"hooks": {}, "model": "opus"}


def test_a_backup_is_made_of_each_state_that_is_replaced(tmp_path: Path) -> None:
    """Installing and uninstalling both keep the bytes they found."""
    case = Case(tmp_path, b'{"a": 1}')
    backup = case.install()
    installed = case.raw
    case.uninstall()

    assert backup is not None
    assert Path(backup).read_bytes() == b'{"a": 1}'
    kept = {path.read_bytes() for path in Path(case.home, "backups").iterdir()}
    assert kept == {b'{"a": 1}', installed}


def test_uninstalling_twice_or_without_installing_does_nothing(tmp_path: Path) -> None:
    """The second time there is nothing of ours."""
    case = Case(tmp_path, b"{}")

    assert not case.uninstall()
    case.install()
    assert case.uninstall()
    assert not case.uninstall()
    assert case.raw == b"{}"


def test_the_data_folder_may_be_gone(tmp_path: Path) -> None:
    """Without any record the entries are still found and taken out."""
    case = Case(tmp_path, b'{\n  "a": 1\n}\n')
    case.install()
    shutil.rmtree(case.home)

    assert case.uninstall()
    assert case.raw == b'{\n  "a": 1\n}\n'


@pytest.mark.parametrize("damage", ["gone", "changed", "record"])
def test_a_damaged_record_is_not_trusted(damage: str, tmp_path: Path) -> None:
    """Where the kept original cannot be vouched for, our entries are taken out instead."""
    case = Case(tmp_path, b'{"a": 1}')
    case.install()
    (kept,) = Path(case.home, "install").glob("*.original")
    (note,) = Path(case.home, "install").glob("*.json")
    if damage == "gone":
        kept.unlink()
    elif damage == "changed":
        kept.write_bytes(b"evil")
    else:
        note.write_text('{"v": 1, "path": 7, "written": "x"}')

    assert case.uninstall()
    assert case.raw == b'{"a": 1}'


def test_the_record_is_found_where_the_users_entries_keep_their_data(
    user_settings: Path, home_dir: str, project_dir: str
) -> None:
    """Uninstalling without the variable that was set at install time restores every byte too."""
    user_settings.write_bytes(b"")
    installer.install(str(user_settings), WIRED._replace(home=home_dir), home_dir, project_dir)

    assert installer.uninstall(str(user_settings), home_dir + "-other")
    assert user_settings.read_bytes() == b""
    assert not record.load_all(home_dir)


def test_a_record_that_a_projects_entries_name_is_not_believed(
    home_dir: str, project_dir: str, tmp_path: Path
) -> None:
    """It may come from a stranger; the entries are taken out all the same."""
    project = Path(installer.settings_path("project", project_dir))
    project.parent.mkdir()
    project.write_text("{}")
    theirs = str(tmp_path / "theirs")
    installer.install(str(project), WIRED._replace(home=theirs), theirs, project_dir)

    assert installer.uninstall(str(project), home_dir)
    assert record.load_all(theirs)
    assert project.read_text() == "{}"


class Killed(BaseException):
    """Stands in for a kill: nothing that tidies up may run on it."""


def _killed_at_write(monkeypatch: pytest.MonkeyPatch) -> None:
    def die(*_: object) -> None:
        raise Killed

    monkeypatch.setattr(settingsfile, "replace", die)


@pytest.mark.parametrize("then", ["install", "uninstall"])
def test_killed_before_the_first_write_nothing_is_wrong_afterwards(
    then: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The record is ahead of the settings, and whatever is run next is right."""
    case = Case(tmp_path, b" ")
    with monkeypatch.context() as patch:
        _killed_at_write(patch)
        with pytest.raises(Killed):
            case.install()

    if then == "install":
        case.install()
        assert wiring.has_entries(case.raw.decode())
    case.uninstall()
    assert case.raw == b" "


@pytest.mark.parametrize("then", ["install", "uninstall"])
def test_killed_in_an_upgrade_the_first_original_is_still_restored(
    then: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The record names the old and the new content."""
    case = Case(tmp_path, b"")
    case.install()
    with monkeypatch.context() as patch:
        _killed_at_write(patch)
        with pytest.raises(Killed):
            case.install(WIRED._replace(root="/new"))

    if then == "install":
        case.install(WIRED._replace(root="/new"))
    assert case.uninstall()
    assert case.raw == b""


def test_a_write_of_another_program_leads_to_a_new_try(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both changes are in the file afterwards, and uninstalling keeps theirs."""
    case = Case(tmp_path, b'{"a": 1}')
    real, left = settingsfile.replace, [1, 1]

    def raced(file: settingsfile.SettingsFile, new: bytes) -> None:
        if left:
            case.edit(**{f"theirs{len(left)}": left.pop()})
        real(file, new)

    monkeypatch.setattr(settingsfile, "replace", raced)
    case.install()

    assert {"a", "hooks", "statusLine", "theirs1", "theirs2"} == set(json.loads(case.raw))
    case.uninstall()
    assert case.value == {"a": 1, "theirs1": 1, "theirs2": 1}


def test_a_file_that_never_rests_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After some tries the command gives up with a clear sentence."""
    case = Case(tmp_path, b"{}")
    real, counter = settingsfile.replace, itertools.count()

    def raced(file: settingsfile.SettingsFile, new: bytes) -> None:
        case.edit(count=next(counter))
        real(file, new)

    monkeypatch.setattr(settingsfile, "replace", raced)

    with pytest.raises(InstallError, match="another program"):
        case.install()
    assert "hooks" not in json.loads(case.raw)


def test_two_installs_at_once_end_in_one_that_can_be_undone(tmp_path: Path) -> None:
    """Whoever loses the race finds the work done and does not spoil the record."""
    case = Case(tmp_path, b" \n")
    code = (
        "import sys\nfrom brimline.install import entries, installer\n"
        "installer.install(sys.argv[1], entries.Wiring('/usr/bin/python3', '/r', '/d'),"
        " sys.argv[2], sys.argv[3])"
    )
    command = [sys.executable, "-c", code, str(case.file), case.home, case.project]
    running = [subprocess.Popen(command) for _ in range(6)]

    assert [process.wait() for process in running] == [0] * 6
    assert case.uninstall()
    assert case.raw == b" \n"


def test_a_disk_that_fills_up_at_any_point_changes_nothing(tmp_path: Path) -> None:
    """A limit on file sizes fails the backup, the record or the settings themselves."""
    original = json.dumps({"filler": "x" * 40}, indent=4).encode()
    code = (
        "import resource, sys\nfrom brimline.errors import InstallError\n"
        "from brimline.install import entries, installer\n"
        "limit = int(sys.argv[4])\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))\n"
        "try:\n installer.install(sys.argv[1], entries.Wiring('/usr/bin/python3', '/r', '/d'),"
        " sys.argv[2], sys.argv[3])\n"
        "except InstallError as error:\n sys.exit(str(error))\n"
    )
    told = []
    for limit in (30, 200, 2000):
        case = Case(tmp_path / str(limit), original)
        arguments = [str(case.file), case.home, case.project, str(limit)]
        done = subprocess.run(
            [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False
        )
        assert done.returncode == 1
        assert case.raw == original
        assert os.listdir(case.file.parent) == ["settings.json"]
        told.append(done.stderr)
        assert not case.uninstall()

    assert "cannot write the backup" in told[0]
    assert "cannot write to" in told[1]
    assert f"cannot write {case.file}" in told[2]
    assert "None" not in "".join(told)


def test_a_symlinked_settings_file_is_written_through(tmp_path: Path) -> None:
    """The link stays, the file behind it gets the entries and loses them again."""
    case = Case(tmp_path, b"{}")
    behind = tmp_path / "dotfiles.json"
    case.file.rename(behind)
    case.file.symlink_to(behind)
    case.install()

    assert case.file.is_symlink()
    assert wiring.has_entries(behind.read_text())
    case.uninstall()
    assert behind.read_bytes() == b"{}"


@pytest.mark.parametrize("raw", [b"{bad", b"[]", b'{"a": "\xff"}', b'{"hooks": null}'])
def test_settings_that_cannot_be_edited_stay_and_the_reason_names_them(
    raw: bytes, tmp_path: Path
) -> None:
    """Nothing is written, not even a backup or a record."""
    case = Case(tmp_path, raw)

    with pytest.raises(InstallError) as caught:
        case.install()
    assert str(caught.value).count(str(case.file)) == 1
    assert "nothing was changed" in str(caught.value)
    assert case.raw == raw
    assert not os.path.exists(case.home)


def test_broken_settings_without_us_do_not_disturb_uninstalling(tmp_path: Path) -> None:
    """What holds nothing of ours is not even parsed; what does is an error that names it."""
    case = Case(tmp_path, b"{bad")
    assert not case.uninstall()

    case.file.write_bytes(b"{}")
    case.install()
    case.file.write_bytes(case.raw + b"}")
    with pytest.raises(InstallError, match="not valid JSON"):
        case.uninstall()


def test_entries_pasted_by_hand_are_recorded_without_them(tmp_path: Path) -> None:
    """A file that already held our entries, from another machine say, is put back without them."""
    pasted, _ = wiring.wire('{"a": 1}', WIRED._replace(root="/other/machine"))
    case = Case(tmp_path, pasted.encode())
    case.install()

    assert "/other/machine" not in case.raw.decode()
    assert case.uninstall()
    assert case.value == {"a": 1}


def test_a_fresh_start_forgets_the_containers_of_the_last_time(tmp_path: Path) -> None:
    """Once the user removed everything by hand, an empty `hooks` of theirs is theirs."""
    case = Case(tmp_path, b"{}")
    case.install()
    case.file.write_bytes(b'{"hooks": {}}')
    case.install()
    case.edit(b=1)
    case.uninstall()

    assert case.value == {"hooks": {}, "b": 1}


def test_a_status_line_that_would_be_hidden_is_carried_along(
    user_settings: Path, project_dir: str, home_dir: str, wired: entries.Wiring
) -> None:
    """The user's own line is shown in a project with ours, and the project's over the user's."""
    user_settings.write_text('{"statusLine": {"type": "command", "command": "mine"}}')
    project = Path(installer.settings_path("project", project_dir))
    project.parent.mkdir()
    project.write_text("{}")
    local = installer.settings_path("local", project_dir)

    assert installer.hidden_statusline(str(user_settings), project_dir) is None
    assert installer.hidden_statusline(str(project), project_dir) == "mine"
    installer.install(str(project), wired, home_dir, project_dir)
    assert installer.hidden_statusline(local, project_dir) == "mine"
    plan = installer.plan_install(str(project), wired, home_dir, project_dir)
    assert not plan.changes
    installer.uninstall(str(project), home_dir)
    assert project.read_text() == "{}"


def test_only_an_unusual_data_folder_is_written_into_the_entries(
    world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client's own environment leads hooks to the usual one."""
    usual = os.environ["CLAUDE_CONFIG_DIR"] + "/brimline"

    assert installer.home_to_bake(usual) is None
    assert installer.home_to_bake("/else/where") == "/else/where"


def test_the_scouts_tools_are_watched_once_it_is_on(home_dir: str, wired: entries.Wiring) -> None:
    """Only the user's own file decides, and an install brings the entries up to date."""
    config.change(paths.user_config(home_dir), "scout.mode", "advise", project=False)
    watching = installer.wiring_for(wired.interpreter, home_dir)

    assert (wired.scout, watching.scout) == (False, True)
    groups, wider = entries.hook_groups(wired), entries.hook_groups(watching)
    assert "Read" not in groups["PreToolUse"]["matcher"]
    assert "Read" in wider["PreToolUse"]["matcher"]


def test_a_path_that_is_not_utf8_is_refused(home_dir: str) -> None:
    """Settings are JSON, which cannot name it."""
    with pytest.raises(InstallError, match="UTF-8"):
        installer.wiring_for("/usr/bin/pyth\udcffon", home_dir)
