"""Where brimline and Claude Code keep their files. No other module spells these paths.

Fast path: imports only `brimline.fast.io`. Paths are strings.
"""

from __future__ import annotations

from brimline.fast import io

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_SESSION_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")
_SESSION_LENGTH = 128
_PRIME = (1 << 89) - 1
# As many as the systems follow themselves.
_MOST_LINKS = 40
_DATA, _CLIENT = "BRIMLINE_HOME", "CLAUDE_CONFIG_DIR"
# Where the client's folder is in a home, and ours in the client's, if nobody says otherwise.
USUAL_CLIENT_DIR, USUAL_DATA_DIR = "/.claude", "/brimline"

# Where our own files are.
PACKAGE_DIR = __file__[: -len("/fast/paths.py")]
# Where the launcher lies in the data folder.
LAUNCHER = "/bin/hook"
PLUGIN_MANIFEST = "/.claude-plugin/plugin.json"
# Figures of sessions for the pages, made from what is elsewhere.


def is_plugin() -> bool:
    """Tell whether this package is part of the plugin, and not what the command installed."""
    try:
        io.system.stat(PACKAGE_DIR[: PACKAGE_DIR.rindex("/")] + PLUGIN_MANIFEST)
    except OSError:
        return False
    return True


def pin(data: str, client: str | None = None, home: str = "") -> None:
    """Put what was written down at install in place of what the environment says.

    Whatever the client starts begins with this: a project can set variables there. It holds for
    everything that the process starts, too.

    Args:
        data: the data folder.
        client: what CLAUDE_CONFIG_DIR was, empty for nothing; None: not written down.
        home: the user's home; empty: not written down.
    """
    io.set_env(_DATA, data)
    if client is not None:
        io.set_env(_CLIENT, client)
    if home:
        io.set_env("HOME", home)
    io.set_env("SQLITE_TMPDIR", "")  # where SQLite would put parts of what is searched


def folders_to_pin() -> tuple[str, str, str]:
    """Return what `pin` is to be told, as the environment of this process has it."""
    client = client_config_dir() if io.env(_CLIENT) else ""
    return data_dir(), client, user_home()


def client_config_dir() -> str:
    """Claude Code's own configuration folder."""
    chosen = io.env(_CLIENT) or user_home() + USUAL_CLIENT_DIR
    return _absolute_from_base(chosen, io.system.getcwd)  # as the client takes it


def data_dir() -> str:
    """brimline's data folder.

    A relative one is below the user's home: hooks run in the folder of each session, and would
    otherwise keep their data in as many places.
    """
    chosen = io.env(_DATA)
    if not chosen:
        return client_config_dir() + USUAL_DATA_DIR
    return _absolute_from_base(chosen.removeprefix("~/"), user_home)


def user_config(home_dir: str) -> str:
    """The user's own settings."""
    return home_dir + "/config.toml"


def conductor_state_paths(project_dir: str) -> tuple[str, ...]:
    """Return where a conductor of several sessions may keep its state in a project."""
    name = "conductor-state.json"
    return (f"{project_dir}/{name}", f"{project_dir}/.claude/{name}")


def policy_file(home_dir: str, project_dir: str) -> str:
    """The compiled settings of one project, read by hooks."""
    return f"{home_dir}/policy/{path_fingerprint(project_dir)}.json"


def path_fingerprint(path: str) -> str:
    """24 digits that stand for a path in the name of a file."""
    # The remainder by a prime is a hash without an import; a cryptographic one costs a hook 1 %.
    number = int.from_bytes(io.path_bytes(path), "big") % _PRIME
    return f"{number:024x}"


def normalised_path(path: str, cwd: str) -> str:
    """A path as the client understands it: `~` and the current folder resolved, no detours."""
    if path.startswith("~/"):
        path = user_home() + path[1:]
    elif not path.startswith("/"):
        path = f"{cwd}/{path}"
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            parts = parts[:-1]
        elif part not in ("", "."):
            parts.append(part)
    return "/" + "/".join(parts)


def resolve_links(path: str, cwd: str) -> str:
    """The file that a path leads to, through however many links; it need not be there."""
    pending = normalised_path(path, cwd).split("/")[::-1]
    found, links = "", 0
    while pending:
        part = pending.pop()
        if part == "..":
            found = found.rpartition("/")[0]
        elif part not in ("", "."):
            target = _link_target_or_none(f"{found}/{part}") if links < _MOST_LINKS else None
            if target is None:
                found = f"{found}/{part}"
                continue
            links += 1
            found = "" if target.startswith("/") else found
            pending += target.split("/")[::-1]
    return found or "/"


def is_link_out_of_folder(path: str, folder: str) -> bool:
    """Tell whether a path in a folder is, by a link, one outside of it."""
    inside = normalised_path(path, "/").startswith(normalised_path(folder, "/").rstrip("/") + "/")
    place = resolve_links(folder, "/").rstrip("/") + "/"
    return inside and not resolve_links(path, "/").startswith(place)


def error_log(home_dir: str) -> str:
    """One line for every failure of a hook."""
    return home_dir + "/errors.jsonl"


def audit_log(home_dir: str) -> str:
    """One line for every escalation and refusal."""
    return home_dir + "/audit.jsonl"


def learned_file(home_dir: str) -> str:
    """Return what housekeeping learned from earlier sessions, for the compiled settings."""
    return home_dir + "/learned.json"


def command_file(home_dir: str) -> str:
    """Return where the installer notes how the command is started where it is not on the PATH."""
    return home_dir + "/command"


def stand_ins_database(home_dir: str) -> str:
    """Return what stands in for which block in requests that pass through a gateway."""
    return home_dir + "/gateway/stand-ins.sqlite3"


def sessions_dir(home_dir: str) -> str:
    """The folder with one folder per session."""
    return home_dir + "/sessions"


def session_dir(home_dir: str, session_id: object) -> str:
    """Return our folder of one session. The id is foreign text, never a path as it is."""
    return f"{home_dir}/sessions/{safe_session_id(session_id)}"


def carry_dir(home_dir: str) -> str:
    """Return what is carried across compactions, with one folder per session."""
    return home_dir + "/carry"


def carry_session_dir(home_dir: str, session_id: object) -> str:
    """The ledger, checkpoints and audits of one session."""
    return f"{home_dir}/carry/{safe_session_id(session_id)}"


def safe_session_id(session_id: object) -> str:
    """The id reduced to letters, digits, `_` and `-`; `nosession` where nothing is left."""
    text = session_id if isinstance(session_id, str) else ""
    kept = "".join([c for c in text[:_SESSION_LENGTH] if c in _SESSION_CHARACTERS])
    return kept or "nosession"


def transcript_of_session(session_id: str) -> str:
    """The client's file of a session, in whichever project; empty where there is none."""
    parent = f"{client_config_dir()}/projects"
    for project in io.list_names(parent):
        path = f"{parent}/{project}/{session_id}.jsonl"
        if io.system.access(io.path_bytes(path), 0):
            return path
    return ""


def project_transcripts_dir(project_dir: str) -> str:
    """The folder in which the client keeps a project's sessions."""
    # The client counts in units of UTF-16, of which rarer characters take two.
    name = "".join(
        [c if c.isascii() and c.isalnum() else "-" * (1 + (c > "\uffff")) for c in project_dir]
    )
    return f"{client_config_dir()}/projects/{name}"


def user_home() -> str:
    """The user's home; without a variable what the system's list of users says."""
    chosen = io.env("HOME")
    if chosen:
        return chosen
    import pwd

    return pwd.getpwuid(io.system.getuid()).pw_dir


def _link_target_or_none(path: str) -> str | None:
    """Return where a link points; None for everything that is none."""
    try:
        return io.system.readlink(io.path_bytes(path)).decode("utf-8", "surrogateescape")
    except (OSError, ValueError):
        return None


def _absolute_from_base(path: str, base: Callable[[], str]) -> str:
    stripped = path.rstrip("/") or "/"
    if stripped.startswith("/"):
        return stripped
    return base().rstrip("/") + "/" + stripped
