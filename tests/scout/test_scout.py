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

from brimline.decision import NOTE_BUDGET_CHARACTERS
from brimline.errors import ConfigError
from brimline.hooks.table import EVENTS
from brimline.install.switches import init
from brimline.scout import reads

if TYPE_CHECKING:
    from brimline.decision import Decision

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
    """What is searched for is no path."""
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
    assert "is not used" in reads.load_ignored(os.getcwd()).problem
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
    assert "scout" not in text
    assert "brimline config" not in text


@pytest.mark.row("S2-46")
def test_init_writes_the_defaults_or_what_a_ckignore_says() -> None:
    """What is written is in force; a file that is there is replaced only when asked."""
    ignore("# theirs", "one/", "!one/two", name=".ckignore")
    assert CliRunner().invoke(init, []).exit_code == 0
    assert [p.text for p in reads.load_ignored(os.getcwd()).patterns] == ["one/", "!one/two"]

    with pytest.raises(ConfigError, match="--force"):
        CliRunner().invoke(init, [], catch_exceptions=False)
    forced = CliRunner().invoke(init, ["--force", "--json"])

    assert '"node_modules/"' in forced.output
    assert tuple(p.text for p in reads.load_ignored(os.getcwd()).patterns) == reads.DEFAULTS
    assert sorted(os.listdir(".")) == [".brimlineignore", ".ckignore"]
