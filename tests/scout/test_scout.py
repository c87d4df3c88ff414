"""What the scout makes of a tool call: the checklist's cases, and what a stranger's file may do."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from brimline.errors import ConfigError
from brimline.fast import paths
from brimline.fast.decision import NOTE_BUDGET_CHARACTERS
from brimline.figures.spool import read_spooled_events
from brimline.hooks.table import EVENTS
from brimline.hooks.turn import Turn
from brimline.hooks.wire import Event
from brimline.install.switches import init
from brimline.scout import hook, reads
from brimline.scout.reads import _LONGEST_PATTERN, _MOST_BYTES, _MOST_PATTERNS
from brimline.settings import config
from brimline.testing import event

if TYPE_CHECKING:
    from brimline.fast.decision import Decision
    from brimline.testing import SessionBuilder

# The checklist: what is found and what passes, by tool and form.
CASES = json.loads((Path(__file__).parent / "golden" / "cases.json").read_text(encoding="utf-8"))
FIELD = {"Read": "file_path", "Glob": "pattern", "Grep": "path", "Bash": "command"}
FOLDERS = [pattern.rstrip("/") for pattern in reads.DEFAULTS]
FIELDS = st.sampled_from(["file_path", "pattern", "path", "glob", "command", "output_mode"])
VALUES = st.text(max_size=40) | st.sampled_from(
    ["node_modules/x", "**/*.ts", "{a,dist}/**", "\0", "~", "C:\\x", "/", "..", "cat dist/a", "'"]
)
PATTERNS = st.text(st.sampled_from("ab*?[]!/\\#-. \t{}^"), max_size=12)


def decided(tool: str, value: Any, *, mode: str = "block", cwd: str = "") -> Decision | None:
    """The decision on a tool's main field, or on its whole input, in the current folder."""
    given_input = value if isinstance(value, dict) else {FIELD[tool]: value}
    here = os.getcwd()
    return reads.decide(tool, given_input, cwd=cwd or here, project_dir=here, mode=mode)


def refused(tool: str, value: Any, **more: Any) -> bool:
    """Whether a call is refused."""
    found = decided(tool, value, **more)
    return found is not None and found.permission == "deny"


def ignore(*lines: str, name: str = ".brimlineignore") -> None:
    """Write the project's ignore file."""
    Path(name).write_text("\n".join(lines), encoding="utf-8")


@pytest.mark.row("S2-46")
@pytest.mark.parametrize(("tool", "form"), CASES["found"])
def test_reads_into_the_default_folders_are_found(tool: str, form: str) -> None:
    """Every tool that reads, each of the twelve folders, at the root and nested."""
    assert len(set(FOLDERS)) == 12
    assert [name for name in FOLDERS if not refused(tool, form.format(name))] == []
    assert refused("Read", f"{os.getcwd()}/dist/a.js")


@pytest.mark.row("S2-46")
@pytest.mark.parametrize("command", [*CASES["passes"], "\0", "$(" * 5_000])
def test_building_running_and_writing_are_let_through(command: str) -> None:
    """Build commands, executables, new virtual environments, writing, searches that exclude."""
    assert decided("Bash", command) is None


@pytest.mark.row("S2-46")
@pytest.mark.parametrize("path", CASES["elsewhere"])
def test_look_alikes_and_other_places_are_let_through(path: str) -> None:
    """A pattern means a whole name, and only inside the project."""
    calls = [("Read", path), ("Glob", path), ("Grep", path), ("Bash", f"cat {path}")]

    assert [call for call in calls if decided(*call)] == []


@pytest.mark.row("S2-46")
@pytest.mark.parametrize(
    "pattern", ["**", "*", "**/*", "*.ts", "**/*.ts", "**/*.{ts,tsx}", "*.*", "*/*.ts", "./**/*"]
)
@pytest.mark.parametrize("path", [None, "", ".", "/"])
def test_a_broad_glob_at_the_root_is_found_and_scoped_ones_are_offered(
    pattern: str, path: str | None
) -> None:
    """The example can be used as it stands; a folder, a name or another project narrows it."""
    for name in ("src", "tests", "dist", ".hidden"):
        Path(name).mkdir()

    found = decided("Glob", {"pattern": pattern} | ({} if path is None else {"path": path}))

    assert found is not None
    assert "`src/" in found.reason
    assert "dist" not in found.reason
    offered = found.reason.partition("folder: `")[2].partition("`")[0]
    for scoped in (offered, "src/**/*.ts", "**/*.test.ts", "**/package.json"):
        assert decided("Glob", scoped) is None
    for folder in ("src", "/elsewhere"):
        assert decided("Glob", {"pattern": pattern, "path": folder}) is None
    assert decided("Glob", "**/*.ts", cwd=f"{os.getcwd()}/src") is None


@pytest.mark.row("S2-46")
@pytest.mark.parametrize(("given_input", "expected"), CASES["greps"])
def test_a_grep_is_judged_by_its_path_and_its_glob(
    given_input: dict[str, str], expected: bool
) -> None:
    """What is searched for is not a path."""
    assert refused("Grep", given_input) is expected


def test_a_file_with_a_folders_name_and_names_of_the_project(
    world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A script called `build` is no build folder; the project is known by all its own names."""
    Path("build").write_text("a script", encoding="utf-8")
    link = world / "link"
    link.symlink_to(os.getcwd())
    given_input = {"file_path": f"{os.getcwd()}/dist/a.js"}

    assert decided("Read", "build") is None
    assert reads.decide("Read", given_input, cwd="", project_dir=str(link), mode="block")
    project = world / "build" / "node_modules-x"
    project.mkdir(parents=True)
    monkeypatch.chdir(project)
    assert decided("Read", f"{project}/src/a.ts") is None
    assert refused("Read", f"{project}/build/a.ts")


@pytest.mark.row("S2-46")
@pytest.mark.parametrize("text", [None, "", "\n\n", "# only a comment\n", "\ufeff\r\n", "!\n/\n"])
def test_without_patterns_of_its_own_a_project_has_the_defaults(text: str | None) -> None:
    """A missing, an empty and a commented-out file all leave them in force."""
    if text is not None:
        ignore(text)

    assert all(refused("Read", f"{name}/a") for name in FOLDERS)


@pytest.mark.row("S2-46")
def test_patterns_of_ones_own_replace_the_defaults_and_exceptions_are_taken_from_them() -> None:
    """Who lists folders lists all; one `!` line lets one folder through. Ours wins over theirs."""
    ignore("theirs/", name=".ckignore")
    assert refused("Read", "theirs/a")
    assert not refused("Read", "node_modules/a")

    ignore("!dist", "!vendor/ours/")
    assert not refused("Read", "theirs/a")
    assert not refused("Bash", "ls dist vendor/ours/deep")
    assert refused("Read", "vendor/a.go")


@pytest.mark.row("S2-46")
@pytest.mark.parametrize(("lines", "path", "expected"), CASES["patterns"])
def test_patterns_mean_what_they_mean_in_a_gitignore(
    lines: list[str], path: str, expected: bool
) -> None:
    """Anchors, wildcards, folders, negation; the last line that matches decides."""
    ignore(*lines)

    assert refused("Read", path) is expected


@pytest.mark.parametrize("kind", ["folder", "link", "pipe", "huge", "binary"])
def test_a_file_that_cannot_be_used_leaves_the_defaults(world: Path, kind: str) -> None:
    """Whatever lies there under that name, the answer comes at once, and `scout on` says it."""
    path = Path(".brimlineignore")
    if kind == "folder":
        path.mkdir()
    elif kind == "link":
        (world / "elsewhere").write_text("secret/\n", encoding="utf-8")
        path.symlink_to(world / "elsewhere")
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.write_bytes(b"# long\n" * 20_000 if kind == "huge" else b"\xff\xfe\x00\n" * 10)

    assert refused("Read", "dist/a")
    assert "is not used" in reads.load_ignore_patterns(os.getcwd()).problem
    if kind == "link":
        path.unlink()
        ignore(*["*a" * 40 + "b/**/" + "**/" * 40 + "*a*c"] * 5_000, "x" * 300)
        assert not refused("Read", ("a" * 200 + "/") * 15 + "a")


@given(
    st.sampled_from(EVENTS["PreToolUse"].rooms["scout"].split("|")),
    st.dictionaries(FIELDS, VALUES) | VALUES | st.none(),
    VALUES,
    st.lists(PATTERNS, max_size=6),
)
def test_no_input_and_no_file_makes_it_fail(
    tool: str, given_input: Any, cwd: str, lines: list[str]
) -> None:
    """Input of another shape passes; the text always fits into what the client passes on."""
    ignore(*lines)
    here = os.getcwd()
    decision = reads.decide(tool, given_input, cwd=cwd, project_dir=here, mode="block")

    assert decision is None or 0 < len(decision.reason) < NOTE_BUDGET_CHARACTERS


@pytest.mark.row("S2-46")
@pytest.mark.parametrize("mode", ["advise", "block"])
def test_it_says_what_it_did_and_not_how_to_switch_it_off(mode: str) -> None:
    """In both modes about 200 characters on one line; only a refusal says that nothing was run."""
    Path("src").mkdir()
    ignore("!vendor")

    decision = decided("Read", "node_modules/react/a\n[brimline] `x`\x1b[31m.js", mode=mode)

    assert decision is not None
    text = decision.reason or decision.model_notes[0]
    assert decision.permission == ("deny" if mode == "block" else "")
    assert text.startswith(
        "[brimline] Refused:" if mode == "block" else "[brimline] Advised, not refused:"
    )
    for part in ("`node_modules/react/a [brimline] ?x?[31m.js`", "`node_modules/`", "`src/`"):
        assert part in text
    assert len(text) < 300
    assert "is bulk by the pattern `node_modules/` of .brimlineignore. Look in" in text
    Path(".brimlineignore").unlink()
    plain = decided("Read", "dist/a", mode=mode)
    assert plain is not None
    assert "`dist/a` is bulk by the pattern `dist/`. Look in `src/`, or ask" in (
        plain.reason or plain.model_notes[0]
    )
    assert "scout" not in text
    assert "brimline config" not in text


@pytest.mark.row("S2-46")
def test_init_writes_the_defaults_or_what_a_ckignore_says() -> None:
    """What is written is in force; a file that is there is replaced only when asked."""
    ignore("# theirs", "one/", "!one/two", name=".ckignore")
    assert CliRunner().invoke(init, []).exit_code == 0
    assert [p.text for p in reads.load_ignore_patterns(os.getcwd()).patterns] == [
        "one/",
        "!one/two",
    ]

    with pytest.raises(ConfigError, match="--force"):
        CliRunner().invoke(init, [], catch_exceptions=False)
    forced = CliRunner().invoke(init, ["--force", "--json"])

    assert '"node_modules/"' in forced.output
    assert tuple(p.text for p in reads.load_ignore_patterns(os.getcwd()).patterns) == reads.DEFAULTS
    assert sorted(os.listdir(".")) == [".brimlineignore", ".ckignore"]


def test_a_file_is_read_up_to_its_limits() -> None:
    """Of patterns, of the characters of each, and of bytes."""
    longest = "y" * _LONGEST_PATTERN
    ignore(
        *[f"p{number}/" for number in range(_MOST_PATTERNS - 1)], "x" + longest, longest, "last/"
    )
    read = [pattern.text for pattern in reads.load_ignore_patterns(os.getcwd()).patterns]
    assert (len(read), read[-1]) == (_MOST_PATTERNS, longest)
    for size, is_used in ((_MOST_BYTES, True), (_MOST_BYTES + 1, False)):
        Path(".brimlineignore").write_bytes(b"own/\n" + b"#" * (size - 5))
        assert refused("Read", "own/a") is is_used
        assert bool(reads.load_ignore_patterns(os.getcwd()).problem) is not is_used


def test_a_few_folders_are_offered_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few, none that is hidden or bulk."""
    monkeypatch.setattr(reads, "_MOST_FOLDERS", 4)
    for name in ("e", "d", "c", "b", "a", ".h", "dist"):
        Path(name).mkdir()
    Path("0").write_text("", encoding="utf-8")

    found = decided("Read", "dist/x")

    assert found is not None
    assert "Look in `a/`, `b/`, `c/`, `d/`, or ask" in found.reason


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("ls", False),
        ("cd dist && ls", True),
        ("cd dist && make", False),
        ("cd dist; cd ..; cat a", True),
        ("cd dist && npm ci && ls", True),
        ("make && cd dist && pwd", True),
        ("cd dist && pwd && make", False),
        ("pushd dist", True),
        ("cd; cat .", False),
        ("tree; du", False),
        ("grep -r --exclude-dir dist x src", False),
        ("grep --exclude dist x dist", True),
        ("diff dist/a b", True),
        ("sort a -o dist/b", False),
        ("find src ! -name dist", False),
        ("cat a >> dist/log", False),
        ("cat dist/a >> out", False),
        ("cat a < dist/b > out", False),
        ("cd src; cat ../dist/a", True),
        ("cd; cat dist/a", False),
        ("cat dist/a > out", False),
        ("cat dist/a 2> out", True),
        ("cat < dist/a", True),
        ("grep dist src", False),
        ("grep x dist", True),
        ("rg --files dist", True),
        ("sed -i s/a/b/ dist/a", False),
        ("sed -n 1p dist/a", True),
        ("find . -path dist", False),
        ("find dist -delete", False),
        ("sort -o dist/a b", False),
        ("du -sh dist", True),
    ],
)
def test_a_command_reads_what_it_would_print(command: str, expected: bool) -> None:
    """Going somewhere to build is no read, and what goes to a file is not seen."""
    assert refused("Bash", command) is expected


def test_other_tools_and_fields_are_none_of_its_business() -> None:
    """A Read needs a file, a Glob a pattern, a listing its folder."""
    assert decided("Write", {"file_path": "dist/a", "pattern": "**"}) is None
    assert decided("Edit", {"file_path": "dist/a"}) is None
    assert decided("Read", {"path": "dist"}) is None
    assert decided("Glob", {"path": "dist"}) is None
    assert refused("Bash", "ls", cwd=f"{os.getcwd()}/dist")
    assert not refused("Bash", "cat", cwd=f"{os.getcwd()}/dist")
    assert decided("Read", ["dist/a"]) is None
    nowhere = reads.decide(
        "Read", {"file_path": "dist/a"}, cwd="", project_dir="/nowhere", mode="block"
    )
    assert nowhere is None


def test_the_ignore_file_can_be_read_by_others() -> None:
    """It belongs to the repository."""
    path = reads.write_ignore_file(os.getcwd())

    assert os.stat(path).st_mode & 0o777 == 0o644


@pytest.mark.parametrize("mode", ["off", "advise", "block"])
def test_the_hook_answers_by_its_mode_and_puts_it_on_record(
    mode: str, session: SessionBuilder, home_dir: str, project_dir: str
) -> None:
    """Switched off it is silent; a call that reads no bulk is not on record."""
    os.makedirs(os.path.dirname(paths.user_config(home_dir)), exist_ok=True)
    Path(paths.user_config(home_dir)).write_text(f'scout.mode = "{mode}"\n', encoding="utf-8")
    config.compile_policy(home_dir, project_dir)
    session.cwd = project_dir

    def ask(path: str) -> Decision | None:
        fields = {"tool_name": "Read", "tool_input": {"file_path": path}}
        payload = json.dumps(event("PreToolUse", session, **fields)).encode()
        return hook.pre_tool_use(Turn(Event("PreToolUse", payload), home_dir))

    assert ask("src/a.py") is None
    decision = ask("dist/a.js")
    lines = [
        (line["event"], line.get("blocked"))
        for line in read_spooled_events(home_dir, session.session_id)
    ]

    if mode == "off":
        assert (decision, lines) == (None, [])
    else:
        assert decision is not None
        assert decision.permission == ("deny" if mode == "block" else "")
        assert lines == [("Blocked", True) if mode == "block" else ("Advised", None)]
    assert os.path.exists(paths.audit_log(home_dir)) is (mode == "block")


def test_a_long_path_is_shown_by_its_beginning() -> None:
    """A part of it, so that the advice stays short; a longer one is not looked at."""
    found = decided("Read", "dist/" + "x" * 999)

    assert found is not None
    assert len(found.reason.partition("`")[2].partition("`")[0]) == reads._MOST_SHOWN_CHARACTERS
    room = reads._LONGEST_PATH - len(os.getcwd()) - len("/dist")
    assert refused("Read", f"{os.getcwd()}{'/' * (room + 1)}dist")
    assert not refused("Read", f"{os.getcwd()}{'/' * (room + 2)}dist")


def test_a_folder_of_very_many_names_is_not_read_to_its_end() -> None:
    """Some entries are looked at."""
    for number in range(reads._MOST_ENTRIES + 1):
        Path(f"f{number}").touch()

    found = decided("Read", "dist/x")

    assert found is not None
    assert "`dist/`. Ask the tool that owns the files" in found.reason


NOT_USED = f".brimlineignore is not used: it is not a text of at most {_MOST_BYTES >> 10} KB"


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"own/\n", ""),
        *[(content, NOT_USED) for content in (b"\0", b"#" * (_MOST_BYTES + 1))],
    ],
)
def test_why_a_file_is_not_used_is_told(content: bytes, told: str) -> None:
    """With its name; the defaults hold then."""
    Path(".brimlineignore").write_bytes(content)

    found = reads.load_ignore_patterns(os.getcwd())

    assert (found.file, found.problem) == (".brimlineignore", told)
    assert ("dist/" in [pattern.text for pattern in found.patterns]) is bool(told)


@pytest.mark.parametrize(
    ("mode", "text"),
    [
        (
            "block",
            (
                "[brimline] Refused: `dist/a` is bulk by the pattern `dist/`. Ask the tool that "
                "owns the files (`npm ls`, `pip show`). If this very file is needed, ask the user."
            ),
        ),
        (
            "advise",
            (
                "[brimline] Advised, not refused: `dist/a` is bulk by the pattern `dist/`. Ask the "
                "tool that owns the files (`npm ls`, `pip show`)."
            ),
        ),
    ],
)
def test_only_a_refusal_sends_to_the_user(mode: str, text: str) -> None:
    """Word by word; advice leaves the choice."""
    found = decided("Read", "dist/a", mode=mode)

    assert found is not None
    assert (found.reason or found.model_notes[0]) == text


@pytest.mark.parametrize(
    ("pattern", "offered"),
    [
        ("*.ts", "`src/**/*.ts`"),
        ("**/*.ts", "`src/**/*.ts`"),
        ("*/*.ts", "`src/*/*.ts`"),
        ("**", "`src/**/**`"),
    ],
)
def test_a_broad_glob_is_offered_below_a_folder(pattern: str, offered: str) -> None:
    """At any depth there, where it named none; without a folder to name it stands for one."""
    nowhere = decided("Glob", pattern)
    Path("src").mkdir()
    found = decided("Glob", pattern)

    assert found is not None
    assert nowhere is not None
    assert found.reason.endswith(f"Scope it to a folder: {offered}.")
    assert nowhere.reason.endswith(f"{offered.replace('src', '<folder>')}.")


def test_a_file_that_is_there_is_not_replaced_unasked() -> None:
    """The sentence says how it is; what it held stays until then."""
    ignore("own/")

    with pytest.raises(ConfigError) as raised:
        reads.write_ignore_file(os.getcwd())

    path = f"{os.getcwd()}/.brimlineignore"
    assert str(raised.value) == f"{path} is there already; --force replaces it"
    assert refused("Read", "own/a")
    assert reads.write_ignore_file(f"{os.getcwd()}/", force=True) == path
    assert not refused("Read", "own/a")
