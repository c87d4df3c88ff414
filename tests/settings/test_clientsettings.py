"""What the client's settings files say about compaction."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from brimline.fast import paths
from brimline.settings import clientsettings
from brimline.settings.clientsettings import _MOST_BYTES


def test_nothing_is_known_without_files(project_dir: str) -> None:
    """Absent facts are None, not zero."""
    facts = clientsettings.settings_moving_compaction(project_dir)

    assert facts.pop("autocompact_window_by_model") == {}
    assert set(facts.values()) == {None}


def test_stronger_scopes_win_key_by_key(project_dir: str) -> None:
    """User, project, local, managed: each fact comes from the strongest file that names it."""
    _write(project_dir, "user", {"autoCompactWindow": 1, "model": "opus", "cleanupPeriodDays": 9})
    _write(project_dir, "project", {"autoCompactWindow": 2, "autoCompactEnabled": True})
    _write(project_dir, "local", {"autoCompactWindow": 3, "autoCompactEnabled": False})
    assert clientsettings.settings_moving_compaction(project_dir)["autocompact_window"] == 3

    _write(project_dir, "managed", {"autoCompactWindow": 4})
    facts = clientsettings.settings_moving_compaction(project_dir)

    assert facts["autocompact_window"] == 4
    assert facts["autocompact_enabled"] is False
    assert facts["model"] == "opus"
    assert facts["cleanup_days"] == 9


def test_variables_that_bound_the_window_or_switch_compaction_off_are_read(
    project_dir: str,
) -> None:
    """As texts and as numbers; the client's own names."""
    env = {
        "CLAUDE_CODE_DISABLE_1M_CONTEXT": "1",
        "CLAUDE_CODE_MAX_CONTEXT_TOKENS": "64000",
        "CLAUDE_CODE_IDLE_COMPACT_MIN_TOKENS": 300_000,
        "DISABLE_COMPACT": "true",
    }
    _write(project_dir, "user", {"idleCompaction": False, "env": env})

    facts = clientsettings.settings_moving_compaction(project_dir)

    assert (facts["large_window_off"], facts["most_tokens"]) == (True, 64_000)
    assert (facts["idle_enabled"], facts["idle_least_tokens"]) == (False, 300_000)
    assert facts["autocompact_enabled"] is False


@pytest.mark.parametrize("value", ["auto", 0, -1, True, 1.5, None, [], {}, "9" * 5_000, "²"])
def test_a_window_that_is_no_number_is_unset(value: Any, project_dir: str) -> None:
    """`auto` and nonsense mean the client's own default."""
    _write(project_dir, "user", {"autoCompactWindow": value, "env": value, "modelSettings": value})

    assert clientsettings.settings_moving_compaction(project_dir)["autocompact_window"] is None


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"\xff\xfe\xff", b"[" * 5_000, b"5", "pipe", "/dev/zero"]
)
def test_a_broken_file_says_nothing(content: bytes | str, project_dir: str) -> None:
    """The other scopes still speak; a stranger's repository cannot make us wait for ever."""
    _write(project_dir, "user", {"autoCompactWindow": 5})
    path = Path(clientsettings.path_by_scope(project_dir)["project"])
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif content == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(content)

    assert clientsettings.settings_moving_compaction(project_dir)["autocompact_window"] == 5
    assert clientsettings.read_settings(str(path)) == {}


def test_settings_per_model_are_kept_by_model(project_dir: str) -> None:
    """Entries without a usable window are left out; a byte order mark is no damage."""
    models = {"a": {"autoCompactWindow": 5}, "b": {"autoCompactWindow": "auto"}, "c": 7, "d": {}}
    _write(project_dir, "user", {"modelSettings": models})
    path = Path(clientsettings.path_by_scope(project_dir)["user"])
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())

    facts = clientsettings.settings_moving_compaction(project_dir)

    assert facts["autocompact_window_by_model"] == {"a": 5}
    assert facts["autocompact_window"] is None


@pytest.mark.parametrize(
    ("projects", "trusted"),
    [
        ({"{project}": {"hasTrustDialogAccepted": True}}, True),
        ({"{parent}": {"hasTrustDialogAccepted": True}}, True),
        ({"{project}/sub": {"hasTrustDialogAccepted": True}}, False),
        ({"{project}": {"hasTrustDialogAccepted": 1}}, False),
        ({"{project}": {"hasTrustDialogAccepted": False}}, False),
        ({"{project}": True}, False),
        ({}, False),
        ([], False),
    ],
)
def test_a_folder_is_trusted_where_the_client_was_told_so_of_it_or_one_above(
    project_dir: str, projects: Any, *, trusted: bool
) -> None:
    """By the client's own notes, in its configuration folder if a variable names that."""
    parent = os.path.dirname(project_dir)
    text = json.dumps({"projects": projects})
    text = text.replace("{project}", project_dir).replace("{parent}", parent)
    notes = Path(os.environ["CLAUDE_CONFIG_DIR"], ".claude.json")
    notes.parent.mkdir(parents=True, exist_ok=True)
    notes.write_text(text, encoding="utf-8")

    assert clientsettings.is_trusted_folder(project_dir) is trusted


def test_the_clients_notes_lie_beside_its_folder_where_no_variable_names_that(
    project_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the home folder itself."""
    monkeypatch.delenv("CLAUDE_CONFIG_DIR")
    told = {"projects": {project_dir: {"hasTrustDialogAccepted": True}}}
    Path(os.environ["HOME"], ".claude.json").write_text(json.dumps(told), encoding="utf-8")

    assert clientsettings.is_trusted_folder(project_dir) is True


@pytest.mark.parametrize(
    ("scopes", "folder"),
    [
        ({"user": "/mine"}, "/mine"),
        ({"user": "/mine", "local": "/here"}, "/here"),
        ({"user": "/mine", "local": "relative"}, "/mine"),
        ({"local": "/here", "managed": "/theirs"}, "/theirs"),
        ({"user": "~/mine"}, "{home}/mine"),
        ({"project": "/strangers"}, None),
        ({"user": 5}, None),
    ],
)
def test_the_memory_lies_where_the_user_says_and_not_where_a_repository_says(
    project_dir: str, scopes: dict[str, Any], folder: str | None
) -> None:
    """A path that is not absolute does not count."""
    for scope, chosen in scopes.items():
        _write(project_dir, scope, {"autoMemoryDirectory": chosen})
    _trust(project_dir)
    usual = f"{paths.project_transcripts_dir(project_dir)}/memory"

    wanted = folder.replace("{home}", os.environ["HOME"]) if folder else usual
    assert clientsettings.memory_folder(project_dir) == wanted


def test_the_memory_lies_where_an_archive_says_once_the_user_trusts_it(project_dir: str) -> None:
    """It may hold the file that is meant for the user's own settings there."""
    _write(project_dir, "local", {"autoMemoryDirectory": "/strangers"})

    before = clientsettings.memory_folder(project_dir)
    _trust(project_dir)

    assert before == f"{paths.project_transcripts_dir(project_dir)}/memory"
    assert clientsettings.memory_folder(project_dir) == "/strangers"


def _trust(project_dir: str) -> None:
    notes = Path(os.environ["CLAUDE_CONFIG_DIR"], ".claude.json")
    notes.parent.mkdir(parents=True, exist_ok=True)
    notes.write_text(json.dumps({"projects": {project_dir: {"hasTrustDialogAccepted": True}}}))


def _write(project_dir: str, scope: str, document: dict[str, Any]) -> None:
    path = Path(clientsettings.path_by_scope(project_dir)[scope])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document))


@pytest.mark.parametrize(("size", "tokens"), [(_MOST_BYTES, 5), (_MOST_BYTES + 1, None)])
def test_a_large_settings_file_is_not_read(size: int, tokens: int | None, project_dir: str) -> None:
    """A longer one says nothing."""
    path = Path(clientsettings.path_by_scope(project_dir)["project"])
    path.parent.mkdir(parents=True)
    path.write_bytes(b'{"autoCompactWindow": 5}'.ljust(size))

    assert clientsettings.settings_moving_compaction(project_dir)["autocompact_window"] == tokens


def test_settings_of_some_models_are_read(project_dir: str) -> None:
    """A repository that brings more is not followed."""
    most = clientsettings._MOST_MODELS
    models = {f"m{number}": {"autoCompactWindow": number} for number in range(1, most + 2)}
    _write(project_dir, "project", {"modelSettings": models})

    windows = clientsettings.settings_moving_compaction(project_dir)["autocompact_window_by_model"]

    assert list(windows.items())[-1] == (f"m{most}", most)


@pytest.mark.parametrize(
    ("git", "back", "main"),
    [
        (None, None, "{project}"),
        ("gitdir: {main}/.git/worktrees/w", "{project}/.git", "{main}"),
        ("gitdir: ../main/.git/worktrees/w\n", "../../../../project/.git\n", "{main}"),
        ("gitdir: {main}/.git/worktrees/w", "/elsewhere/.git", "{project}"),
        ("gitdir: {main}/.git/worktrees/w", None, "{project}"),
        ("gitdir: {main}/.git/modules/w", "{project}/.git", "{project}"),
        ("\0", None, "{project}"),
    ],
)
def test_a_worktree_belongs_to_the_main_one_that_knows_of_it(
    project_dir: str, git: str | None, back: str | None, main: str
) -> None:
    """Anybody can name a main worktree; a submodule has none."""
    project, other = Path(project_dir).resolve(), Path(project_dir).resolve().parent / "main"
    below = project / "a" / "b"
    below.mkdir(parents=True)

    def filled(text: str) -> str:
        return text.replace("{main}", str(other)).replace("{project}", str(project))

    if git is None:
        (project / ".git").mkdir()
    else:
        (project / ".git").write_text(filled(git))
    if back is not None:
        for kind in ("worktrees", "modules"):
            (other / ".git" / kind / "w").mkdir(parents=True)
            (other / ".git" / kind / "w" / "gitdir").write_text(filled(back))

    assert clientsettings.main_worktree(str(below)) == filled(main)


def test_a_folder_in_no_repository_is_its_own_worktree(tmp_path: Path) -> None:
    """As far as one can look up."""
    assert clientsettings.main_worktree(str(tmp_path / "a")) == str(tmp_path / "a")


@pytest.mark.parametrize(
    ("value", "tokens"), [("150000", 150_000), (" 150000 ", 150_000), (1, 1), ("", None)]
)
def test_a_number_may_be_written_as_text(value: Any, tokens: int | None, project_dir: str) -> None:
    """Blanks around it do not matter."""
    _write(project_dir, "user", {"autoCompactWindow": value, "cleanupPeriodDays": value})

    facts = clientsettings.settings_moving_compaction(project_dir)

    assert (facts["autocompact_window"], facts["cleanup_days"]) == (tokens, tokens)


@pytest.mark.parametrize(
    ("env", "model"),
    [
        ({"ANTHROPIC_MODEL": "haiku"}, "haiku"),
        ({"ANTHROPIC_MODEL": None}, "opus"),
        ({"ANTHROPIC_MODEL": ["haiku"]}, "opus"),
        ({"ANTHROPIC_MODEL": ""}, "opus"),
    ],
)
def test_a_variable_in_settings_is_a_text_or_a_number(
    env: dict[str, Any], model: str, project_dir: str
) -> None:
    """Anything else says nothing."""
    _write(project_dir, "user", {"model": "opus", "env": env})

    assert clientsettings.settings_moving_compaction(project_dir)["model"] == model
