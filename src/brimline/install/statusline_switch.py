"""The plugin's status line: the one key of the client's settings that it writes, when asked to.

The plugin's launcher starts this, and nothing else of this door: to answer `/brim-statusline`, and
after an update.
"""

from __future__ import annotations

import json
import os
import sys

from brimline.errors import InstallError
from brimline.fast import io, paths
from brimline.install import entries, pythons, settingsfile, wiring
from brimline.install.records import Change
from brimline.launch import is_launcher
from brimline.settings import clientsettings

_USAGE = "Usage: /brim-statusline on|off"
_NEXT = "It shows in a few seconds. `/brim-statusline off` takes it back."


def main(*folders: str) -> None:
    """Answer what the mod asks on standard input, as its own process does.

    Args:
        folders: those to go by (`paths.pin`).
    """
    paths.pin(*folders)
    asked = str(json.load(sys.stdin).get("arguments")).strip()
    try:
        text = switch(is_on=asked == "on") if asked in ("on", "off") else _USAGE
    except InstallError as error:
        text = f"brimline: {error}"
    json.dump({"text": text}, sys.stdout)


def switch(*, is_on: bool) -> str:
    """Write or take out the line; the text says what the key was and is.

    Raises:
        InstallError: the settings cannot be changed.
    """
    path, home_dir = clientsettings.path_by_scope("")["user"], paths.data_dir()

    def edit() -> tuple[str | None, str | None]:
        file = settingsfile.read(path)
        text = file.text or "{}\n"
        after = _text_with_line(text, home_dir) if is_on else wiring.without_statusline(text, None)
        if after != text:
            settingsfile.replace_settings(file, file.encode(after), f"{home_dir}/backups")
        lines = [wiring.statusline_command_of(wiring.parse_settings(one)) for one in (text, after)]
        return lines[0], lines[1]

    before, after = settingsfile.retry_if_changed(edit)
    if before == after:
        return f"The status line in {path} stays as it is: {after or 'none'}"
    told = f"`statusLine` in {path}\nwas: {before or 'none'}\nis:  {after or 'none'}"
    return f"{told}\n{_NEXT}" if is_on else told


def _text_with_line(text: str, home_dir: str) -> str:
    if entries.parse_our_statusline(wiring.statusline_command_of(wiring.parse_settings(text))):
        return text
    launcher = home_dir + paths.LAUNCHER
    if os.path.lexists(launcher) and not is_launcher(launcher):
        raise InstallError(f"{launcher} is not brimline's: move it")
    if not os.path.lexists(launcher):  # what `brimline install` wrote serves as well
        _write_launcher(home_dir)
    return wiring.with_statusline(text, _wiring(home_dir))


def renew(*folders: str) -> None:
    """At the first start of a version, have hooks start it without a shell, and the line start it.

    Args:
        folders: those to go by (`paths.pin`).
    """
    paths.pin(*folders)
    home_dir, root = paths.data_dir(), pythons.package_root()
    if root.startswith(_kept_in()) and entries.can_start_scripts(sys.executable):
        # The client says first where the plugin keeps its data, which the program knows.
        program = (
            _wiring(home_dir).launcher_bytes().replace(b"\n", b"\nimport sys;del sys.argv[1]\n", 1)
        )
        io.replace_file(f"{root}/hooks/run", program, 0o700)
    found = entries.parse_our_command(home_dir + paths.LAUNCHER, ["Stop"])
    if found and found.root and _are_versions_of_one_plugin(found.root, root):
        _write_launcher(home_dir)


def _are_versions_of_one_plugin(root: str, other: str) -> bool:
    """Tell whether both are folders that the client keeps side by side."""
    return root.startswith(_kept_in()) and os.path.dirname(root) == os.path.dirname(other)


def _kept_in() -> str:
    return f"{paths.client_config_dir()}/plugins/"


def _write_launcher(home_dir: str) -> None:
    change = Change(home_dir + paths.LAUNCHER, None, _wiring(home_dir).launcher_bytes())
    change.write_or_remove_file()


def _wiring(home_dir: str) -> entries.Wiring:
    launcher = home_dir + paths.LAUNCHER
    return entries.Wiring(sys.executable, pythons.package_root(), home_dir, launcher)
