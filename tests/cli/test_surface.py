"""The whole tree of commands: what each promises, what is told to a person who mistypes."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import click
import pexpect
import pytest

from brimline import __version__, output
from brimline.cli import surface
from brimline.cli.surface import program
from brimline.settings import elsewhere

from .conftest import PROGRAM, Run, process

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from .conftest import Golden, Refused, Run

SURFACE = """install uninstall doctor demo status history cost
session: inspect purge repair restore backups
store: list get elsewhere search pin unpin learned prune forget
carry: show add done reopen forget card checkpoint
memory: search show add list lint index status sync
forget budget
rules: show explain lint
config: list get set unset explain presets autocompact
scout: on off init
gateway run dashboard report"""
HIDDEN = ["mcp", "hook", "mod", "statusline"]


def commands(group: click.Group = program, above: str = "") -> Iterator[tuple[str, click.Command]]:
    """Every command of the tree with its full name, groups included."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        path = f"{above} {name}".strip()
        yield path, command
        if isinstance(command, click.Group):
            yield from commands(command, path)


ALL = dict(commands())
PLAIN = [name for name, one in ALL.items() if not isinstance(one, click.Group)]


def test_the_surface_is_exactly_this() -> None:
    """Nothing more to learn, nothing missing, nothing hidden but what machines call."""
    wanted = []
    for line in SURFACE.splitlines():
        group, _, names = line.rpartition(": ")
        wanted += [f"{group} {name}".strip() for name in names.split()]

    assert [name for name in PLAIN if not ALL[name].hidden] == wanted
    assert [name for name in PLAIN if ALL[name].hidden] == HIDDEN
    assert list(surface.names_of_visible_commands()) == wanted


def test_the_help_marks_what_needs_a_missing_extra(
    brimline: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The gateway's and the team's commands, where their library is not installed; else nothing."""
    pages = [("--help",), ("memory", "--help")]
    complete = "".join(brimline(*page).out for page in pages)
    monkeypatch.setitem(sys.modules, "httpx2", None)
    marked = [line for page in pages for line in brimline(*page).out.splitlines() if "(ext" in line]

    assert "(extra" not in complete
    assert [line.split()[0] for line in marked] == ["gateway", "run", "sync"]


def test_there_are_at_most_twenty_commands() -> None:
    """Who adds one puts it below another, or takes one out."""
    assert len(surface.COMMANDS) - len(HIDDEN) <= 20


@pytest.mark.parametrize("name", [name for name in PLAIN if name not in HIDDEN])
def test_every_command_takes_json_and_shows_an_example(name: str) -> None:
    """Its help says so, and names itself by its name."""
    command = ALL[name]
    told = command.get_help(click.Context(command, info_name=name, **output.HELP))

    # What `run` prints is its client's.
    assert name == "run" or any("--json" in option.opts for option in command.params)
    assert f"Example:\n    brimline {name}" in told
    assert command.name == name.rpartition(" ")[2]


def test_every_help_text_is_as_it_was(brimline: Run, golden: Golden) -> None:
    """One page of them all, by -h and by --help alike; none is wider than 80 columns."""
    pages = []
    for name in ["", *[name for name in ALL if name not in HIDDEN]]:
        done = brimline(*name.split(), "--help")
        assert done.code == 0
        assert done == brimline(*name.split(), "-h"), name
        pages.append(done.out)
    text = "\n".join(pages)

    assert max(map(len, text.splitlines())) <= 80
    lists = [line for page in pages for line in page.partition("\nCommands:\n")[2].splitlines()]
    assert not [line for line in lists if line.endswith("...")]
    golden("help.txt", text)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("stat", "There is no command 'stat': did you mean `brimline status` or `brimline memory"),
        ("purge", "There is no command 'purge': did you mean `brimline session purge`?"),
        ("unpin", "There is no command 'unpin': did you mean `brimline store unpin`?"),
        ("session prune", "There is no command 'prune'; there are inspect, purge, repair,"),
        ("config sett", "There is no command 'sett': did you mean `brimline config set`"),
        ("config show", "There is no command 'show'; there are list, get, set,"),
        ("carry ad", "There is no command 'ad': did you mean `brimline carry add`?"),
        ("statuslin", "There is no command 'statuslin': did you mean `brimline status` or"),
        ("tout", "There is no command 'tout'. See `brimline --help`."),
        ("compact", "There is no command 'compact': type `/compact` in a session, or run `brim"),
        ("frobnicate", "There is no command 'frobnicate'. See `brimline --help`."),
        ("gateway --port 99999", "99999 is not in the range 0<=x<=65535"),
        ("gateway --port -3", "-3 is not in the range 0<=x<=65535"),
        ("status --jsn", "No such option '--jsn'"),
        ("store get", "Missing argument 'KEY'. See `brimline store get --help`."),
        ("status more", "extra argument (more): name a session by --session. See `brimline st"),
        ("status --jso\x1b[2J", "No such option '--jso"),
    ],
)
def test_a_mistyped_command_is_answered_in_one_line(
    words: str, told: str, refused: Refused
) -> None:
    """With what was meant, wherever in the tree it is, and the code of wrong usage."""
    err = refused(*words.split(), code=2)

    assert told in err
    assert err.rstrip("\n").isprintable()


@pytest.mark.parametrize("words", ["", "status", "session", "session purge"])
def test_help_before_other_words_is_their_help(words: str, brimline: Run) -> None:
    """As many programs have it; inside a group as well."""
    *group, name = words.split() or [""]
    shown = brimline(*words.split(), "--help")
    assert brimline("help", *words.split()) == shown
    assert brimline(*group, "help", *filter(None, [name])) == shown


def test_a_group_alone_shows_its_help(brimline: Run) -> None:
    """On standard error, as wrong usage."""
    for group in ("", "session"):
        done = brimline(*group.split())
        assert (done.code, done.out) == (2, "")
        assert "Commands:" in done.err


def test_the_version_is_the_packages(brimline: Run) -> None:
    """One number everywhere."""
    assert brimline("--version").out == f"brimline, version {__version__}\n"


@pytest.mark.parametrize("name", ["status", "history", "carry show", "session inspect"])
def test_a_failure_is_one_sentence_with_json_too(name: str, refused: Refused) -> None:
    """On standard error; no traceback, nothing on standard output."""
    for more in ([], ["--json"]):
        assert "nobody" in refused(*name.split(), "--session", "nobody", *more)


def test_on_a_terminal_a_failure_fits_its_columns() -> None:
    """Between words; where a program reads it, it is one line."""
    words = ["store", "prune", "--max-age-days", "3"]
    child: Any = pexpect.spawn(
        PROGRAM[0], [*PROGRAM[1:], "session", "purge", "x", "--session", "y"], dimensions=(24, 80)
    )
    child.expect(pexpect.EOF)
    lines = child.before.decode().splitlines()

    assert len(lines) > 1
    assert max(map(len, lines)) <= 80
    assert " ".join(lines).endswith("See `brimline session purge --help`.")
    assert process(*words, stdin=subprocess.DEVNULL).stderr.count(b"\n") == 1


def test_what_the_disk_refuses_is_one_sentence(
    home_dir: str, session_file: str, refused: Refused
) -> None:
    """A file stands where the data folder should be."""
    with open(home_dir, "wb"):
        pass

    for words in ("carry add x", "store pin last", "history", "config set guard.preset off"):
        assert home_dir in refused(*words.split())


@pytest.fixture
def session_file(project_dir: str) -> str:
    """A session of the project in the client's folder."""
    from brimline.fast import paths
    from brimline.testing import SessionBuilder

    path = f"{paths.project_transcripts_dir(project_dir)}/abc.jsonl"
    session = SessionBuilder(path, session_id="abc", cwd=project_dir)
    session.prompt("begin")
    session.reply(40_000)
    return path


def test_a_command_loads_little(world: Path, session_file: str) -> None:
    """No command of another group."""
    code = (
        "import sys; from brimline.cli.main import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print(sorted({m for m in sys.modules if m.startswith('brimline.')}))\n"
    )

    def loaded(*arguments: str) -> str:
        command = [sys.executable, "-c", code, *arguments]
        told = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
        return told.stdout.splitlines()[-1]

    assert "brimline.install" not in loaded("--help")
    assert "brimline.cli.status_commands" not in loaded("--help")
    status = loaded("status")
    assert "'brimline.cli.status_commands'" in status
    for name in (
        "brimline.install",
        "brimline.cli.session_commands",
        "brimline.rules.lint",
    ):
        assert f"'{name}" not in status


def test_a_reader_that_has_seen_enough_is_no_error() -> None:
    """`brimline … | head` ends without a complaint."""
    read, write = os.pipe()
    os.close(read)
    done = process("config", "explain", stdout=write)
    os.close(write)

    assert done.returncode != 0
    assert done.stderr == b""


@pytest.mark.parametrize("words", ["nothing-like-it", "session", "store get 12"])
def test_where_nobody_reads_complaints_it_ends_as_a_shell_would_say(words: str) -> None:
    """As any program does whose reader has gone; nothing that Python adds is in the way."""
    read, write = os.pipe()
    os.close(read)
    done = process(*words.split(), stderr=write)
    os.close(write)

    assert (done.returncode, done.stdout) == (128 + signal.SIGPIPE, b"")


def test_a_closed_standard_output_is_said_in_one_sentence(world: Path) -> None:
    """Where there is none at all, nothing was printed."""
    shell = f"exec '{sys.executable}' -m brimline config list >&-"
    done = subprocess.run(
        ["/bin/sh", "-c", shell], env=os.environ, stderr=subprocess.PIPE, check=False, timeout=60
    )
    assert (done.returncode, done.stderr) == (1, b"brimline: standard output is closed\n")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
def test_an_output_that_cannot_be_written_is_what_is_blamed() -> None:
    """And Python adds nothing when it ends."""
    with open("/dev/full", "wb") as full:
        done = process("config", "list", stdout=full)

    assert done.returncode == 1
    told = b"brimline: standard output cannot be written: No space left on device\n"
    assert done.stderr == told


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="no folder that takes no file")
def test_a_file_that_cannot_be_replaced_is_named_as_the_user_knows_it() -> None:
    """Not by the name of the copy that was to take its place."""
    done = process("dashboard", "--no-open", env=os.environ | {"BRIMLINE_HOME": "/proc/self/fd"})

    assert done.returncode == 1
    assert re.fullmatch(rb"brimline: /proc/self/fd/dashboard-\d+\.html: .*\n", done.stderr)


def test_a_name_that_the_locale_cannot_write_leaves_no_traceback(world: Path) -> None:
    """One line says what to do."""
    program = {"type": "command", "command": f"{world}/h\u00e9/bin/hook", "args": ["Stop"]}
    settings = world / "home/.claude/settings.json"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text(json.dumps({"hooks": {"Stop": [{"hooks": [program]}]}}), encoding="utf-8")
    plain = {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    folder = {"CLAUDE_CONFIG_DIR": str(settings.parent)}

    done = process("doctor", env=os.environ | plain | folder)

    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.startswith(b"brimline: this locale cannot name ")
    assert done.stderr.count(b"\n") == 1


@pytest.mark.parametrize(
    "where",
    [
        "click",  # while the first library is imported
        "brimline.cli.surface",
        "brimline.cli.status_commands",  # a lazy import, within the command
        "brimline.transcript.compactions",
    ],
)
def test_ctrl_c_at_any_moment_leaves_no_traceback(where: str, session_file: str) -> None:
    """Also while modules are still being imported; the code is that of an interruption."""
    code = (
        "import os, sys, signal\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "class Press:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == {where!r}:\n"
        "            sys.meta_path.remove(self)\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Press())\n"
        "from brimline.cli.main import main\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "status"], capture_output=True, check=False, timeout=60
    )

    assert done.returncode == 130
    assert done.stdout == b""
    assert done.stderr.strip() == b""


def test_ctrl_c_at_a_question_changes_nothing(home_dir: str, session_file: str) -> None:
    """The same code, no traceback."""
    process("carry", "add", "x")
    child: Any = pexpect.spawn(
        PROGRAM[0],
        [*PROGRAM[1:], "forget", "--session", "abc"],
        timeout=60,
    )
    child.expect(r"\[y/N\]")
    for _ in range(5):  # one that comes between two system calls is lost in any program
        child.sendintr()
        if child.expect([pexpect.EOF, pexpect.TIMEOUT], timeout=5) == 0:
            break
    child.close()

    assert child.exitstatus == 130
    assert b"Traceback" not in child.before
    assert os.path.exists(f"{home_dir}/carry/abc/notes.jsonl")


def test_no_colour_where_none_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    """`NO_COLOR` holds on a terminal too."""
    monkeypatch.setenv("NO_COLOR", "1")
    child: Any = pexpect.spawn(PROGRAM[0], [*PROGRAM[1:], "store", "list"], timeout=60)
    child.expect(pexpect.EOF)

    assert b"Nothing is stored." in child.before
    assert b"\x1b" not in child.before


@pytest.mark.parametrize(
    ("word", "above", "meant"),
    [
        ("sess", "", ["session"]),
        ("stor", "", ["store"]),
        ("memroy", "", ["memory"]),
        ("s", "", []),
        ("statsu", "", ["status", "memory status"]),
        ("inspcet", "session", ["session inspect"]),
        ("zzzz", "session", []),
        ("purgee", "", ["session purge"]),
        ("restroe", "", ["session restore"]),
        ("forgt", "carry", ["carry forget"]),
        ("list", "", ["store list", "memory list", "config list"]),
        ("show", "", ["carry show", "memory show", "rules show"]),
    ],
)
def test_a_mistyped_word_is_answered_with_what_was_meant(
    word: str, above: str, meant: list[str]
) -> None:
    """Three commands at most; in a group where nothing is near, none."""
    assert surface.suggest_commands(word, above) == meant


def test_a_group_alone_and_wrong_usage_end_with_2(brimline: Run) -> None:
    """A cancelled question with 1."""
    assert brimline("session").code == 2
    assert brimline("session", "nothing-like-it").code == 2
    assert brimline("rules", "show", "").code == 1


@pytest.mark.parametrize(("word", "same"), elsewhere.tables()["words"].items())
def test_the_words_of_other_tools_are_answered(
    word: str, same: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a command and as an option, with what does it here."""
    for arguments in ([word], [f"{word}.py"], ["store", "prune", f"--{word}"]):
        monkeypatch.setattr("sys.argv", ["brimline", *arguments])

        assert surface.run() == 2
        assert f"{same} does that here." in capsys.readouterr().err
