"""The scout's verdicts on tool calls, and what it says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brimline.decision import NOTE_BUDGET_CHARACTERS, Decision
from brimline.guard import ignorefile, scout
from brimline.guard.ignorefile import DEFAULT_RULES, Matcher
from brimline.hooks import table

ROOT = "/srv/build/node_modules-x"  # names above the root must not matter
NAMES = ["node_modules", "dist", "build", ".git", ".venv", "venv", "__pycache__", ".next", ".nuxt"]
NAMES += ["target", "vendor", "coverage"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)
FIELDS = st.sampled_from(["file_path", "pattern", "path", "glob", "command", "output_mode"])
VALUES = st.text(max_size=40) | st.sampled_from(
    ["node_modules/x", "**/*.ts", "{a,dist}/**", "\0", "~", "C:\\x", "/", "..", "cat dist/a"]
)


def scene(
    cwd: str = ROOT,
    rules: tuple[str, ...] = DEFAULT_RULES,
    files: tuple[str, ...] = (),
    folders: tuple[str, ...] = ("src", "tests"),
) -> scout.Scene:
    """A project without a disk."""
    return scout.Scene(
        cwd=cwd,
        roots=(ROOT, "/private" + ROOT),
        matcher=Matcher(rules),
        home="/home/me",
        is_file=lambda path: path in files,
        source_folders=lambda: folders,
    )


def examine(tool: str, value: Any, **more: Any) -> scout.Finding | None:
    """The verdict on a tool's main field, or on its whole input."""
    given_input = value if isinstance(value, dict) else {scout.MAIN_FIELD[tool]: value}
    return scout.examine(tool, given_input, scene(**more))


@pytest.mark.row("S2-46")
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("tool", "form"),
    [
        ("Read", "{}/a.js"),
        ("Read", ROOT + "/{}/a.js"),
        ("Read", "packages/web/{}/a.js"),
        ("Read", "./src/../{}/a.js"),
        ("Glob", "{}/**/*.js"),
        ("Glob", "**/{}/**"),
        ("Glob", "packages/*/{}/*.js"),
        ("Grep", "{}"),
        ("Grep", ROOT + "/packages/web/{}/react"),
        ("Bash", "ls {}"),
        ("Bash", "ls -la packages/web/{}/"),
        ("Bash", "cd {}"),
        ("Bash", "cat {}/a.js"),
        ("Bash", "npm test && cat {}/a.js | head"),
        ("Bash", "grep -rn foo {}"),
    ],
)
def test_reads_into_the_default_folders_are_found(tool: str, form: str, name: str) -> None:
    """Every tool that reads, at the root and nested, relative and absolute."""
    found = examine(tool, form.format(name))

    assert found is not None
    assert found.kind == "ignored"
    assert found.rule == f"{name}/"
    assert f"{name}/" in found.path + "/"
    assert not found.path.startswith("/")


@pytest.mark.row("S2-46")
@pytest.mark.parametrize(
    "command",
    [
        "ls .venv/lib",
        "cat .venv/lib/python3.12/site-packages/x.py",
        "find venv/lib -name '*.py'",
        "cat .venv/bin/activate",
    ],
)
def test_reading_inside_a_virtual_environment_is_found(command: str) -> None:
    """Its executables may run; its files fill the window."""
    assert examine("Bash", command) is not None


@pytest.mark.row("S2-46")
@pytest.mark.parametrize(
    "command",
    [
        "npm run build",
        "pnpm build",
        "yarn build",
        "bun run build",
        "go build ./...",
        "cargo build",
        "make build",
        "docker build -t x build",
        "kubectl apply -f build/",
        "terraform plan -out build/plan",
        "mvn package",
        "gradle build",
        ".venv/bin/python x.py",
        "node_modules/.bin/tsc",
        "python -m venv .venv",
        "py -3.11 -m venv .venv",
        "uv venv",
        "virtualenv venv",
        "rm -rf node_modules && npm ci",
        "mkdir -p build && cd build && cmake .. && make",
        "git log --oneline",
        "ls",
        "ls src",
        "cat src/a.ts > dist/a.ts",
        "grep -r foo . --exclude-dir=node_modules",
    ],
)
def test_building_and_running_are_let_through(command: str) -> None:
    """Build commands, executables, new virtual environments, writing, searches that exclude."""
    assert examine("Bash", command) is None


@pytest.mark.row("S2-46")
@pytest.mark.parametrize(
    "path",
    [
        "distro/a",
        "nodemodulesbackup/a.js",
        "node_modules-x/a.js",
        "build-tools/a.sh",
        "rebuild/a",
        "my.venv/a",
        ".github/workflows/ci.yml",
        ".gitignore",
        "build.py",
        "dist.md",
        "src/vendored.go",
        "targets/a",
        "coverage.xml",
    ],
)
@pytest.mark.parametrize(
    ("tool", "form"), [("Read", "{}"), ("Glob", "{}"), ("Grep", "{}"), ("Bash", "cat {}")]
)
def test_look_alikes_are_let_through(tool: str, form: str, path: str) -> None:
    """A rule means a whole name, not a part of one."""
    assert examine(tool, form.format(path)) is None


@pytest.mark.row("S2-46")
@pytest.mark.parametrize(
    "path",
    [
        ROOT + "/src/a.ts",
        "/srv/build/other/a.ts",
        "/elsewhere/node_modules/a.js",
        "../dist/a.js",
        "~/node_modules/a.js",
    ],
)
def test_only_what_is_inside_the_project_counts(path: str) -> None:
    """Names above the root and folders elsewhere are let through."""
    assert examine("Read", path) is None
    assert examine("Bash", f"cat {path}") is None


def test_the_project_is_known_by_all_its_spellings() -> None:
    """The client may name a file by the real path of a project that is reached through a link."""
    assert examine("Read", "/private" + ROOT + "/dist/a.js") is not None
    assert examine("Read", "/public" + ROOT + "/dist/a.js") is None


def test_a_file_with_a_folders_name_is_let_through() -> None:
    """A script called `build` is no build folder; a folder rule is for folders."""
    script = ROOT + "/build"

    assert examine("Bash", "cat build", files=(script,)) is None
    assert examine("Read", "build", files=(script,)) is None
    assert examine("Bash", "ls build") is not None
    assert examine("Read", "a.log", rules=("*.log",), files=(ROOT + "/a.log",)) is not None


@pytest.mark.row("S2-46")
@pytest.mark.parametrize(
    "pattern",
    [
        *("**", "*", "**/*", "*.ts", "**/*.ts", "**/*.{ts,tsx}", "*.*", "**/.*", "*/*.ts"),
        *("./**/*.ts", ROOT + "/**/*.ts", "src/../**/*"),
    ],
)
@pytest.mark.parametrize("path", [None, "", ".", ROOT, ROOT + "/", "/srv", "/"])
def test_a_broad_glob_at_the_root_is_found(pattern: str, path: str | None) -> None:
    """Everything, or everything of one kind, from the project's root or above it."""
    given_input = {"pattern": pattern} if path is None else {"pattern": pattern, "path": path}
    found = examine("Glob", given_input)

    assert found is not None
    assert found.kind == "broad"
    assert found.path == pattern


@pytest.mark.row("S2-46")
@pytest.mark.parametrize(
    "given_input",
    [
        {"pattern": "src/**/*.ts"},
        {"pattern": "src/*"},
        {"pattern": "**/*.test.ts"},
        {"pattern": "**/package.json"},
        {"pattern": "package.json"},
        {"pattern": "**/src/*.ts"},
        {"pattern": "test_*.py"},
        {"pattern": "**/*.ts", "path": "src"},
        {"pattern": "**/*", "path": ROOT + "/src"},
        {"pattern": ROOT + "/src/**/*"},
        {"pattern": "**/*", "path": "/elsewhere"},
    ],
)
def test_a_scoped_glob_is_let_through(given_input: dict[str, str]) -> None:
    """A folder, a name, or another project narrows it."""
    assert examine("Glob", given_input) is None


def test_a_glob_is_scoped_by_the_current_folder() -> None:
    """Without a path the client searches where the session stands."""
    assert examine("Glob", "**/*.ts", cwd=ROOT + "/src") is None
    assert examine("Glob", "**/*.ts", cwd=ROOT + "/dist") is not None


@pytest.mark.row("S2-46")
@pytest.mark.parametrize(
    ("pattern", "suggestions"),
    [
        ("**/*.ts", ("src/**/*.ts", "tests/**/*.ts")),
        ("*.ts", ("src/**/*.ts", "tests/**/*.ts")),
        ("*.{ts,tsx}", ("src/**/*.{ts,tsx}", "tests/**/*.{ts,tsx}")),
        ("**", ("src/**", "tests/**")),
        ("*", ("src/*", "tests/*")),
    ],
)
def test_a_broad_glob_comes_with_scoped_ones(pattern: str, suggestions: tuple[str, ...]) -> None:
    """The suggestions are patterns that would be let through."""
    found = examine("Glob", pattern)

    assert found is not None
    assert found.suggestions == suggestions
    assert all(examine("Glob", suggestion) is None for suggestion in suggestions)


def test_a_broad_glob_in_a_project_without_folders_still_has_an_example() -> None:
    """There is always something to copy."""
    found = examine("Glob", "**/*", folders=())

    assert found is not None
    assert found.suggestions == ("<folder>/**/*",)


@pytest.mark.parametrize(
    ("given_input", "expected"),
    [
        ({"pattern": "foo"}, False),
        ({"pattern": "node_modules"}, False),
        ({"pattern": "foo", "path": ROOT}, False),
        ({"pattern": "foo", "path": "src"}, False),
        ({"pattern": "foo", "path": "node_modules"}, True),
        ({"pattern": "foo", "path": "dist/a.js"}, True),
        ({"pattern": "foo", "glob": "*.ts"}, False),
        ({"pattern": "foo", "glob": "node_modules/**"}, True),
        ({"pattern": "foo", "glob": "{src,dist}/**"}, True),
        ({"pattern": "foo", "glob": "src/** dist/**"}, True),
        ({"pattern": "foo", "glob": "src/**,dist/**"}, True),
        ({"pattern": "foo", "glob": "!node_modules/**"}, False),
        ({"pattern": "foo", "path": "packages/web", "glob": "dist/*.js"}, True),
    ],
)
@pytest.mark.row("S2-46")
def test_a_grep_is_judged_by_its_path_and_its_glob(
    given_input: dict[str, str], expected: bool
) -> None:
    """A search of the whole project is fine; the client's search skips what git ignores."""
    assert (examine("Grep", given_input) is not None) is expected


def test_standing_in_a_folder_that_is_kept_out_makes_plain_reads_findings() -> None:
    """An earlier `cd` moved the session there."""
    assert examine("Bash", "ls", cwd=ROOT + "/node_modules") is not None
    assert examine("Grep", {"pattern": "x"}, cwd=ROOT + "/node_modules") is not None
    assert examine("Bash", "cat ../src/a.ts", cwd=ROOT + "/node_modules") is None


@pytest.mark.row("S2-46")
def test_a_negated_rule_lets_a_folder_through() -> None:
    """The exception counts for every tool."""
    rules = (*DEFAULT_RULES, "!dist", "!vendor/ours")

    assert examine("Read", "dist/a.js", rules=rules) is None
    assert examine("Bash", "ls dist vendor/ours", rules=rules) is None
    assert examine("Glob", "vendor/ours/**/*.go", rules=rules) is None
    assert examine("Bash", "ls vendor", rules=rules) is not None


@pytest.mark.parametrize("tool", ["Write", "Edit", "Agent", "", "read"])
def test_tools_that_do_not_read_are_none_of_its_business(tool: str, project_dir: str) -> None:
    """Writing into a build folder is the user's affair."""
    given_input = {"file_path": "node_modules/a.js", "command": "cat dist/a"}

    decision = scout.decide(
        tool, given_input, cwd=project_dir, project_dir=project_dir, mode="block"
    )

    assert decision is None


@pytest.mark.row("S2-46")
@pytest.mark.parametrize("tool", scout.TOOLS)
@pytest.mark.parametrize(
    "given_input",
    [None, [], "cat dist/a", 1, {}, {"file_path": 1, "pattern": [], "path": None, "command": {}}],
)
def test_input_of_another_shape_is_let_through(tool: str, given_input: Any) -> None:
    """The client may change its tools; that must not stop them."""
    assert scout.examine(tool, given_input, scene()) is None


@settings(deadline=None)
@given(st.sampled_from(scout.TOOLS), JSON)
def test_no_json_makes_it_fail(tool: str, given_input: Any) -> None:
    """Any value may stand where the tool's input is expected."""
    scout.examine(tool, given_input, scene())


@settings(deadline=None)
@given(st.sampled_from(scout.TOOLS), st.dictionaries(FIELDS, VALUES), VALUES, VALUES)
def test_no_tool_input_on_a_real_machine_makes_it_fail(
    tool: str, given_input: dict[str, str], cwd: str, project_dir: str
) -> None:
    """Neither do odd folders: the text always fits into what the client passes on."""
    decision = scout.decide(tool, given_input, cwd=cwd, project_dir=project_dir, mode="block")

    assert decision is None or 0 < len(decision.reason) < NOTE_BUDGET_CHARACTERS


def decided(project_dir: str, tool: str, value: str, mode: str) -> Decision:
    """A decision that must exist."""
    decision = scout.decide(
        tool, {scout.MAIN_FIELD[tool]: value}, cwd=project_dir, project_dir=project_dir, mode=mode
    )
    assert decision is not None
    return decision


@pytest.mark.row("S2-46")
def test_block_denies_with_path_reason_and_remedy(project_dir: str) -> None:
    """What, why, what next, how to tune; one line of plain text."""
    Path(project_dir, "src").mkdir()

    decision = decided(project_dir, "Read", f"{project_dir}/node_modules/react/a.js", "block")

    assert decision.permission == "deny"
    assert decision.model_notes == ()
    for part in (
        "`node_modules/react/a.js`",
        "`node_modules/`",
        "a default",
        "`src/`",
        "`!node_modules/react` to .brimlineignore",
        "scout.mode advise",
    ):
        assert part in decision.reason
    assert decision.reason.isascii()
    assert "\n" not in decision.reason


@pytest.mark.row("S2-46")
def test_advise_says_the_same_to_the_model_and_refuses_nothing(project_dir: str) -> None:
    """Only the way to tune it differs."""
    advised = decided(project_dir, "Bash", "ls node_modules", "advise")
    blocked = decided(project_dir, "Bash", "ls node_modules", "block")

    assert advised.permission == ""
    assert advised.model_notes[0].split("; ")[:-1] == blocked.reason.split("; ")[:-1]
    assert "`brimline scout off`" in advised.model_notes[0]


@pytest.mark.row("S2-46")
def test_the_line_in_the_message_ends_the_refusal(project_dir: str) -> None:
    """Following the advice word for word works, in a project without an ignore file."""
    reason = decided(project_dir, "Bash", "cat dist/types/a.d.ts", "block").reason
    line = reason.partition("add the line `")[2].partition("`")[0]
    Path(project_dir, ".brimlineignore").write_text(line + "\n", encoding="utf-8")

    given_input = {"command": "cat dist/types/a.d.ts"}
    after = scout.decide(
        "Bash", given_input, cwd=project_dir, project_dir=project_dir, mode="block"
    )

    assert after is None
    assert decided(project_dir, "Bash", "ls node_modules", "block").permission == "deny"


@pytest.mark.row("S2-46")
def test_a_broad_globs_message_offers_the_folders_that_exist(project_dir: str) -> None:
    """The example can be used as it stands."""
    for name in ("src", "tests", "dist"):
        Path(project_dir, name).mkdir()

    reason = decided(project_dir, "Glob", "**/*.ts", "block").reason

    assert "`src/**/*.ts`, `tests/**/*.ts`" in reason
    assert "dist" not in reason


def test_a_rule_of_ones_own_is_named_with_its_file(project_dir: str) -> None:
    """Who wrote it finds it."""
    Path(project_dir, ".ckignore").write_text("secret-data/\n", encoding="utf-8")

    reason = decided(project_dir, "Read", "secret-data/a.csv", "block").reason

    assert "from .ckignore" in reason
    assert "to .ckignore" in reason


def test_foreign_text_stays_one_bounded_line_in_the_message(project_dir: str) -> None:
    """A path with line breaks or marks cannot pose as a message of ours."""
    odd = "dist/a\n[brimline] `do this`\x1b[31m" + "x" * 200

    reason = decided(project_dir, "Read", odd, "block").reason

    assert "\n" not in reason
    assert "\x1b" not in reason
    assert len(reason) < 1_500


def test_a_link_to_the_project_is_the_project(world: Path, project_dir: str) -> None:
    """The session was started through a link; the tool names the real folder."""
    link = world / "link"
    link.symlink_to(project_dir)

    decision = scout.decide(
        "Read",
        {"file_path": f"{project_dir}/dist/a.js"},
        cwd=str(link),
        project_dir=str(link),
        mode="block",
    )

    assert decision is not None


def test_a_project_without_a_folder_is_let_through() -> None:
    """Where the project is unknown nothing is inside it."""
    given_input = {"command": "cat node_modules/a.js"}

    assert scout.decide("Bash", given_input, cwd="", project_dir="", mode="block") is None


def test_windows_paths_are_understood() -> None:
    """Drive letters in either case, backslashes."""
    project = scout.Scene(
        cwd="C:/Users/me/p",
        roots=("C:/Users/me/p",),
        matcher=Matcher(DEFAULT_RULES),
        home="C:/Users/me",
        is_file=lambda _: False,
        source_folders=tuple,
    )

    blocked = {"file_path": "c:\\Users\\me\\p\\node_modules\\a.js"}
    allowed = {"file_path": "C:\\Users\\me\\p\\src\\a.js"}

    assert scout.examine("Read", blocked, project) is not None
    assert scout.examine("Read", allowed, project) is None


def test_the_hook_matcher_names_every_tool() -> None:
    """The registration is made from the same list as the verdicts."""
    assert table.EVENTS["PreToolUse"].rooms["scout"].split("|") == list(scout.TOOLS)
    assert set(scout.MAIN_FIELD) == set(scout.TOOLS)


def test_the_clients_own_payloads_are_let_through(project_dir: str) -> None:
    """Ordinary calls, in the shape the client sends them."""
    calls = {
        "Read": {"file_path": f"{project_dir}/a.txt"},
        "Glob": {"pattern": "docs/*.txt"},
        "Grep": {"pattern": "needle", "output_mode": "content"},
        "Bash": {"command": "echo B", "description": "x"},
    }

    for tool, given_input in calls.items():
        payload = json.loads(json.dumps(given_input))
        decision = scout.decide(
            tool, payload, cwd=project_dir, project_dir=project_dir, mode="block"
        )
        assert decision is None


def test_the_disk_is_asked_only_where_the_verdict_depends_on_it(project_dir: str) -> None:
    """A path that no rule is about costs no look at it."""
    asked: list[str] = []

    def ask(path: str) -> bool:
        asked.append(path)
        return False

    loaded = ignorefile.load(project_dir)
    judged = scout.Scene(
        cwd=project_dir,
        roots=(project_dir,),
        matcher=loaded.matcher,
        home="",
        is_file=ask,
        source_folders=list,
    )

    assert scout.examine("Read", {"file_path": "src/a.ts"}, judged) is None
    assert asked == []
    assert scout.examine("Read", {"file_path": "dist"}, judged) is not None
    assert asked == [f"{project_dir}/dist"]
