"""The settings around the client's own edits: back to the byte, or at least without our traces."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from brimline.install import clientedits

ORIGINAL = b'{\r\n\t"model": "opus",   "n": [1, 2.50]\r\n}'
BY_CLIENT = json.dumps(
    {"model": "opus", "n": [1, 2.5], "enabledPlugins": {"brim@brimline": True}}, indent=2
).encode()
AFTER_REMOVAL = json.dumps(
    {"model": "opus", "n": [1, 2.5], "enabledPlugins": {}}, indent=2
).encode()


@pytest.fixture
def settings(user_settings: Path) -> Path:
    """The user's settings as they were before us."""
    user_settings.write_bytes(ORIGINAL)
    return user_settings


def test_while_nobody_else_wrote_the_bytes_come_back(settings: Path, home_dir: str) -> None:
    """And the record goes."""
    settings.write_bytes(BY_CLIENT)
    clientedits.remember(home_dir, ORIGINAL)
    assert clientedits.is_last_writer(home_dir)
    settings.write_bytes(AFTER_REMOVAL)

    clientedits.put_back(home_dir, untouched=True)

    assert settings.read_bytes() == ORIGINAL
    assert os.listdir(f"{home_dir}/install") == []


def test_a_file_that_the_client_made_goes(user_settings: Path, home_dir: str) -> None:
    """There was none before."""
    user_settings.write_bytes(BY_CLIENT)
    clientedits.remember(home_dir, None)
    user_settings.write_bytes(AFTER_REMOVAL)

    clientedits.put_back(home_dir, untouched=True)

    assert not user_settings.exists()


def test_after_an_edit_only_the_empty_members_go(settings: Path, home_dir: str) -> None:
    """What the user wrote since stays, in the form that it has by now."""
    settings.write_bytes(BY_CLIENT)
    clientedits.remember(home_dir, ORIGINAL)
    settings.write_bytes(BY_CLIENT.replace(b"opus", b"sonnet"))
    assert not clientedits.is_last_writer(home_dir)
    settings.write_bytes(AFTER_REMOVAL.replace(b"opus", b"sonnet"))

    clientedits.put_back(home_dir, untouched=False)

    assert json.loads(settings.read_bytes()) == {"model": "sonnet", "n": [1, 2.5]}


@pytest.mark.parametrize("plugins", [{"other@place": True}, {}])
def test_members_that_were_there_before_stay(
    plugins: dict[str, bool], settings: Path, home_dir: str
) -> None:
    """Also an empty one: it was the user's."""
    before = json.dumps({"enabledPlugins": plugins}).encode()
    settings.write_bytes(BY_CLIENT)
    clientedits.remember(home_dir, before)
    settings.write_bytes(json.dumps({"enabledPlugins": plugins, "x": 1}).encode())

    clientedits.put_back(home_dir, untouched=False)

    assert json.loads(settings.read_bytes())["enabledPlugins"] == plugins


def test_a_second_edit_keeps_the_first_original(settings: Path, home_dir: str) -> None:
    """The plugin was installed anew by us: the bytes of the beginning count."""
    settings.write_bytes(BY_CLIENT)
    clientedits.remember(home_dir, ORIGINAL)
    again = BY_CLIENT.replace(b"true", b"false")
    settings.write_bytes(again)
    clientedits.remember(home_dir, BY_CLIENT)

    assert clientedits.is_last_writer(home_dir)
    clientedits.put_back(home_dir, untouched=True)
    assert settings.read_bytes() == ORIGINAL


def test_without_a_change_there_is_nothing_to_remember(settings: Path, home_dir: str) -> None:
    """Nor where the client left no file at all."""
    clientedits.remember(home_dir, ORIGINAL)
    settings.unlink()
    clientedits.remember(home_dir, None)

    assert not os.path.exists(f"{home_dir}/install")
    assert not clientedits.is_last_writer(home_dir)
    clientedits.put_back(home_dir, untouched=False)


@pytest.mark.parametrize("raw", [b"", b"{", b'{"v": 2}', b'{"v": 1, "x": 1}', b"[]"])
def test_a_damaged_record_changes_nothing(raw: bytes, settings: Path, home_dir: str) -> None:
    """The client's result stands."""
    os.makedirs(f"{home_dir}/install")
    Path(home_dir, "install", "client-edits.json").write_bytes(raw)

    clientedits.put_back(home_dir, untouched=True)

    assert settings.read_bytes() == ORIGINAL


def test_a_lost_original_is_not_replaced_by_a_guess(settings: Path, home_dir: str) -> None:
    """Then only the empty members go."""
    settings.write_bytes(BY_CLIENT)
    clientedits.remember(home_dir, ORIGINAL)
    Path(home_dir, "install", "client-edits.original").unlink()
    settings.write_bytes(AFTER_REMOVAL)

    clientedits.put_back(home_dir, untouched=True)

    assert json.loads(settings.read_bytes()) == {"model": "opus", "n": [1, 2.5]}


def test_a_changed_original_is_not_put_back(settings: Path, home_dir: str) -> None:
    """Bytes that nobody had before must not become the settings."""
    settings.write_bytes(BY_CLIENT)
    clientedits.remember(home_dir, ORIGINAL)
    Path(home_dir, "install", "client-edits.original").write_bytes(b'{"torn')
    settings.write_bytes(AFTER_REMOVAL)

    clientedits.put_back(home_dir, untouched=True)

    assert json.loads(settings.read_bytes()) == {"model": "opus", "n": [1, 2.5]}


@pytest.mark.parametrize("first", [True, False])
def test_bytes_with_the_plugin_in_them_are_never_put_back(
    first: bool, settings: Path, home_dir: str
) -> None:
    """The user disabled it by hand, or had installed it by hand: that is no state without it."""
    if first:
        settings.write_bytes(BY_CLIENT)
        clientedits.remember(home_dir, ORIGINAL)
    disabled = BY_CLIENT.replace(b"true", b"false")
    settings.write_bytes(BY_CLIENT)
    clientedits.remember(home_dir, disabled)
    assert clientedits.is_last_writer(home_dir)
    settings.write_bytes(AFTER_REMOVAL)

    clientedits.put_back(home_dir, untouched=True)

    left = json.loads(settings.read_bytes())
    assert not left.get("enabledPlugins")
    assert ("enabledPlugins" in left) is not first
