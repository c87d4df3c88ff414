"""Bulk is hidden, content is not: what becomes of a result, by its kind and its size."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from brimline.bulk import hook, judge, kinds
from brimline.bulk.kinds import _FEWEST_LINES

from .conftest import LOG, SOURCE, cut

if TYPE_CHECKING:
    from .conftest import Player

ROWS = json.dumps([{"id": n, "name": f"row {n}", "state": "open"} for n in range(2_000)])
PATHS = "\n".join(f"./src/package_{n % 40}/module_{n}.py" for n in range(4_000))
HITS = "\n".join(f"src/module_{n}.py:{n}: needle in the hay {n}" for n in range(4_000))
PROSE = "\n\n".join(
    f"Paragraph {chr(97 + n % 26)} says that {'the words ' * (n % 9)}differ each time."
    for n in range(900)
)
PASSED = "\n".join(f"tests/test_{n}.py::test_case_{n} PASSED" for n in range(2_000))
CSV = "\n".join(f"{n},name {n},{n * 3},open" for n in range(4_000))
DIFF = (
    "diff --git a/x.py b/x.py\nindex 1..2 100644\n--- a/x.py\n+++ b/x.py\n@@ -1,900 +1,900 @@\n"
    + "\n".join(f" context line {n}\n-old line {n}\n+new line {n}" for n in range(3_000))
)

TEXTS = {"LOG": LOG, "PATHS": PATHS, "PASSED": PASSED, "CSV": CSV, "SOURCE": SOURCE, "HITS": HITS}
TEXTS |= {"PROSE": PROSE, "DIFF": DIFF, "MINIFIED": "var a=1;" * 4_000}
LIMITS = json.loads((Path(__file__).parent / "golden/limits.json").read_text(encoding="utf-8"))


@pytest.mark.row("S3-04", "S3-10", "S3-26")
@pytest.mark.parametrize("row", LIMITS, ids=lambda row: row["command"])
def test_bulk_is_previewed_from_eight_thousand_bytes_on_and_content_from_twenty_five(
    player: Player, row: dict[str, Any]
) -> None:
    """Logs, listings, dumps, tests that passed, minified text; source, documents, hits, diffs."""
    command, text, most = row["command"], TEXTS[row["text"]], row["most"]
    assert player.bash(command, cut(text, most)) is None

    text = cut(text, most + (60_000 if command == "git diff" else 1))
    shown = player.bash(command, text)

    assert shown is not None
    assert shown.startswith("[brimline stored")
    assert len(shown) < len(text) / 2


def test_failing_output_passes(player: Player) -> None:
    """Also where a pipe lost the exit code; what the client would cut itself is previewed."""
    failing = (
        PASSED[:20_000] + "\nFAILED tests/test_x.py::test_y - assert 1 == 2\n1 failed, 400 passed\n"
    )

    assert player.bash("pytest -v | cat", failing) is None
    assert player.bash("cat old.log", failing) is not None
    for command, end in {
        "npx tsc --noEmit | head -200": "src/App.tsx(3,4): error TS2339: Property 'x' is missing.",
        "npm run typecheck; echo exit: $?": "exit: 2",
        "node serve.js | tee o": "Error: bad\n    at f (a.js:1:1)\n\nNode.js v20.1.0",
        "./build.sh | cat": "Segmentation fault (core dumped)",
        "make all | tail -400": "sh: 1: foo: command not found",
    }.items():
        assert player.bash(command, PASSED[:20_000] + "\n" + end + "\n") is None, command


@pytest.mark.row("S3-20")
@pytest.mark.parametrize(
    "name",
    [
        *("CLAUDE.md", "SKILL.md", "MEMORY.md", "README", "a.json", "a.yml", "uv.lock", ".env.x"),
        *("go.mod", "pom.xml", "requirements.txt"),
    ],
)
def test_configuration_and_instructions_pass_up_to_a_hard_limit(player: Player, name: str) -> None:
    """By Read and by a command that shows the file."""
    assert player.read(f"/p/{name}", cut(PROSE, 30_000)) is None
    assert player.bash(f"cat /p/{name}", cut(PROSE, 30_000)) is None
    assert (
        player.read(f"/p/{name}", cut(PROSE * 9, judge._LARGEST_CONFIGURATION_BYTES + 1))
        is not None
    )


@pytest.mark.row("S3-18")
def test_pages_and_files_edited_in_this_session_pass(player: Player) -> None:
    """Whoever asks for lines gets lines; by Read and by command, another file does not."""
    for asked in ({"offset": 1}, {"limit": 2_000}, {"offset": 5, "limit": 5}):
        assert player.read("/p/paged.py", SOURCE, **asked) is None
    player.edit("/p/app.py")

    assert player.read("/p/app.py", SOURCE) is None
    assert player.bash("cat /p/app.py", SOURCE[:29_000]) is None
    assert player.read("/p/other.py", SOURCE) is not None


@pytest.mark.row("S3-23")
@pytest.mark.parametrize("spelt", ["~/app.py", "app.py", "./sub/../app.py", "link/app.py"])
def test_a_file_is_the_same_however_its_path_is_spelt(
    player: Player, spelt: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """By the home folder, from the current one, with detours or through a link."""
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "link").symlink_to(tmp_path)
    player.project_dir = str(tmp_path)
    player.edit(f"{tmp_path}/app.py")

    assert player.bash(f"cat {spelt}", SOURCE[:29_000]) is None
    assert player.bash(f"cat other/{spelt}", SOURCE[:29_000]) is not None
    assert player.read(f"{tmp_path}/b.log", LOG) is not None
    assert player.write(spelt.replace("app.py", "b.log")) is not None


@pytest.mark.row("S3-21", "S3-24")
@pytest.mark.parametrize("command", ["git status", "echo x", "ssh host", "python", "bash -i"])
def test_brief_and_interactive_commands_pass(player: Player, command: str) -> None:
    """Compound ones are neither."""
    assert player.bash(command, LOG[:20_000]) is None
    assert player.bash(f"{command} && docker logs x", LOG[:20_000]) is not None


def test_the_users_lists_win(player: Player) -> None:
    """By command, path or tool; `never` over `always`, which counts for failing output too."""
    player.values = {
        "offload.never": ["docker logs", "*.csv", "make *"],
        "offload.always": ["git diff", "*/generated/*", "make *"],
    }

    assert player.bash("cd x && docker logs web | tail -500", LOG[:20_000]) is None
    assert player.bash("cat data.csv", CSV[:20_000]) is None
    assert player.bash("make all", LOG[:20_000]) is None
    assert player.bash("kubectl logs web", LOG[:20_000]) is not None
    assert player.bash("git diff", DIFF[:24_000]) is not None
    assert player.bash("git diff && false", PASSED[:20_000] + "\nFAILED x\n") is not None
    assert player.read("/p/generated/api.py", SOURCE[:20_000]) is not None
    player.values = {"offload.preset": "off"}
    assert player.bash("kubectl logs api", LOG) is None


def test_nothing_is_hidden_that_the_model_could_not_get_at(player: Player) -> None:
    """Without a rule for our recall only calls that may be repeated are replaced."""
    player.allowed = False
    assert player.bash("npm run build", LOG[:20_000]) is None
    assert player.bash("npm run build", LOG[:20_000], permission_mode="bypassPermissions")
    assert player.bash("cat app.log", LOG[:20_000]) is not None
    assert player.read("/p/app.log", LOG) is not None


@pytest.mark.parametrize(
    ("tool", "response"),
    [
        ("mcp__db__query", [{"type": "text", "text": ROWS}]),
        ("WebFetch", {"result": PROSE, "url": "u", "bytes": 1, "code": 200}),
        ("Agent", {"status": "completed", "content": [{"type": "text", "text": PROSE}]}),
        ("Grep", {"mode": "content", "filenames": [], "content": HITS, "numLines": 4_000}),
        ("Glob", {"filenames": PATHS.split("\n"), "numFiles": 4_000, "truncated": False}),
    ],
)
def test_every_tool_is_answered_in_its_own_shape(player: Player, tool: str, response: Any) -> None:
    """The client ignores a replacement that has another one."""
    decision = hook.post_tool_use(player.result(tool, {"pattern": "x"}, response))

    assert decision is not None
    assert "[brimline stored" in json.dumps(decision.replacement)
    assert type(decision.replacement) is type(response)


@pytest.mark.row("S2-10", "S3-03", "S3-15")
def test_the_reference_says_what_it_stands_for_and_leads_back_to_every_byte(player: Player) -> None:
    """Bytes, lines, exit code, tool, origin, key; half a surrogate pair is kept too."""
    text = (LOG + "\n") * 2 + "\ud83d end \x00 é"

    shown = player.bash("cat app.log", text)

    assert shown is not None
    stored = player.stored(shown)
    assert stored == text.encode("utf-8", "surrogatepass")
    first, *_, last = shown.split("\n")
    assert first.startswith(f"[brimline stored {len(stored)} bytes, 8001 lines, exit 0, tool")
    assert 'from "cat app.log": sha256:' in first
    assert first.endswith("] Preview, not the whole:")
    assert last.startswith("For the rest call `recall` with this key.")
    assert len(text) > 200_000


def plain(count: int, form: str = "the {} thing stays as it was") -> list[str]:
    """Lines of a form, of prose at first, that are all different."""
    return [form.format(chr(97 + n % 26) + chr(97 + n // 26)) for n in range(count)]


def over(share: float, of: int = _FEWEST_LINES) -> int:
    """The fewest lines that are more than such a share."""
    return int(round(share * of, 3)) + 1


def kind(lines: list[str], tool: str = "Bash", files: list[str] | None = None) -> str:
    """The kind of such an output."""
    return kinds.kind_of_output("\n".join(lines), lines, tool, files or [])


TITLES = "## A title"


@pytest.mark.parametrize(
    ("form", "fewest", "taken_for"),
    [
        ("10:11:12 something {}", over(kinds._TIMES_SHARE), kinds.LOG),
        ("{} all passed", over(kinds._PASSED_SHARE), kinds.LOG),
        ("always the same", _FEWEST_LINES + 2 - over(kinds._FORMS_SHARE), kinds.LOG),
        ("one,two,three,four of {}", over(kinds._CELLS_SHARE), kinds.DUMP),
        ("src/app.py:12: hit {}", over(kinds._FOUND_SHARE), kinds.FOUND),
        ("./src/{}.py", over(kinds._PATHS_SHARE), kinds.PATHS),
    ],
)
def test_so_many_lines_of_a_kind_make_a_text_of_that_kind(
    form: str, fewest: int, taken_for: str
) -> None:
    """One line fewer is content."""
    assert kind(plain(fewest, form) + plain(_FEWEST_LINES - fewest)) == taken_for
    assert kind(plain(fewest - 1, form) + plain((_FEWEST_LINES + 1) - fewest)) == kinds.PROSE


def test_a_file_of_no_known_kind_is_code_unless_it_has_titles() -> None:
    """By its text; a name that tells the kind comes first."""
    lines, titles = plain(_FEWEST_LINES), [TITLES] * kinds._FEWEST_HEADINGS

    assert kind(lines + titles[1:], "Read") == kinds.CODE
    assert kind(lines + titles, "Read") == kinds.PROSE
    assert kind(lines, "Read", ["/p/notes.md"]) == kinds.PROSE
    assert kind(lines, "Read", ["/p/notes.md", "/p/a.log"]) == kinds.CODE
    assert kind(lines, "Read", ["/p/x.rs"]) == kinds.CODE
    assert kind(lines, "Glob") == kinds.PATHS
    assert kind(lines, "Grep") == kinds.FOUND
    assert kind(lines, "WebFetch") == kinds.PROSE


def code(definitions: int, statements: int) -> list[str]:
    """A hundred lines with so many of both; a definition ends like a statement."""
    rest = statements - definitions
    return ["def one():"] * definitions + plain(rest, "put {};") + plain(100 - statements)


def test_code_has_definitions_and_lines_that_end_like_statements() -> None:
    """Enough of both."""
    enough = (over(kinds._DEFINITIONS_SHARE, 100), over(kinds._STATEMENTS_SHARE, 100))

    assert kind(code(*enough)) == kinds.CODE
    assert kind(code(enough[0], enough[1] - 1)) == kinds.PROSE
    assert kind(code(enough[0] - 1, enough[1])) == kinds.PROSE
    assert kind([line.replace("():", "(x) of") for line in code(*enough)]) == kinds.PROSE


ENOUGH, MORE = kinds._FAILURE_CHARACTERS - 1_000, kinds._FAILURE_CHARACTERS + 1


@pytest.mark.parametrize(
    ("before", "after", "fails"),
    [(ENOUGH, MORE, True), (MORE, ENOUGH, True), (MORE, MORE, False), (0, 0, True)],
)
def test_a_failure_is_seen_at_either_end_of_a_large_output(
    before: int, after: int, *, fails: bool
) -> None:
    """What failed in the middle was got over."""
    text = f"{'x' * before}\nFAILED tests/test_x.py\n{'y' * after}"

    assert kinds.reports_failure(text) is fails


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ("src/a.py:12: x", "src/a.py"),
        ("src/a-2-b/c.py:12:x", "src/a-2-b/c.py"),
        ("src/a-2-b/c.py-12-x = y.z", "src/a-2-b/c.py"),
        ("C:\\\\d.e\\\\f.cs:7:3", "C:\\\\d.e\\\\f.cs"),
        ("./7:7: digits", None),
        ("a b.c:1:", None),
    ],
)
def test_a_hit_is_told_from_its_path(line: str, path: str | None) -> None:
    """Up to the number of its line, between colons or dashes."""
    match = kinds._HIT.match(line)

    assert (match and match["path"]) == path
