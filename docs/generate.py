"""Writes the generated reference pages and the README's picture; `--check` only compares.

Commands, settings and events come from the code that defines them, so the pages cannot drift.
"""

from __future__ import annotations

import io
import json
import re
import sys
import tomllib
from pathlib import Path

import click
import requirements
import screens
from rich.console import Console
from rich.text import Text

from brimline import models, output
from brimline.cli.surface import COMMANDS, program
from brimline.hooks.table import EVENTS
from brimline.install.modfolder import plugin_files
from brimline.mod import modsource
from brimline.settings import elsewhere, presets
from brimline.settings.catalogue import SETTINGS, Setting

DOCS = Path(__file__).parent
_HEAD = "<!-- Made by `make docs` from the code; do not edit. -->\n\n"


def pages() -> dict[Path, str]:
    """Every generated page and its text."""
    reference, developers = DOCS / "reference", DOCS / "developers"
    return {
        reference / "commands.md": _commands(),
        reference / "settings.md": _settings(),
        developers / "events.md": _events(),
        reference / "presets.md": _presets(),
        reference / "coming-from.md": _coming_from(),
        developers / "requirements.md": requirements.page(DOCS.parent),
        Path(models.FILE): _models(),
        **{DOCS.parent / "plugin" / name: raw.decode() for name, raw in plugin_files().items()},
        DOCS.parent / "idle/hooks/register.js": modsource.second_mod_javascript_bytes().decode(),
    }


def main() -> int:
    """Write the pages, or with `--check` report the ones that are out of date."""
    if "--check" in sys.argv[1:]:
        stale = [path for path, text in pages().items() if _read(path) != text]
        for path in stale:
            print(f"{path.relative_to(DOCS.parent)} is out of date: run `make docs`")
        return 1 if stale else 0
    for path, text in pages().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for path, text in _pictures().items():
        # The template names a font on a server; a picture must not make a reader's browser call it.
        plain = re.sub(r"@font-face \{.*?\}", "", text, flags=re.DOTALL)
        path.write_text(plain, encoding="utf-8")
    return 0


def _models() -> str:
    """The table of models as hooks can read it, a row on a line."""
    table = tomllib.loads(Path(models.FILE).with_suffix(".toml").read_text(encoding="utf-8"))
    rows = ",\n".join(json.dumps(row) for row in table["models"])
    return f'{{"models": [\n{rows}\n]}}\n'


def _commands() -> str:
    context = click.Context(program, info_name="brimline")
    parts = [_HEAD, "# Commands\n"]
    for name in COMMANDS:
        command = program.get_command(context, name)
        parts += _command_parts(command, context, name) if command else []
    return "\n".join(parts)


def _command_parts(command: click.Command, parent: click.Context, name: str) -> list[str]:
    settings = dict(command.context_settings)
    context = click.Context(command, info_name=name, parent=parent, **settings)
    context.terminal_width = context.max_content_width = 80
    text = command.get_help(context)
    found = [f"## `{context.command_path}`\n", f"```text\n{text}\n```\n"]
    if isinstance(command, click.Group):
        for child in command.list_commands(context):
            inner = command.get_command(context, child)
            found += _command_parts(inner, context, child) if inner else []
    return found


def _settings() -> str:
    lines = [
        _HEAD,
        "# Settings\n",
        "Precedence, weakest first: defaults, the preset, your `config.toml`, the environment.\n",
        "A project can set variables too, and may be a stranger's: few settings have one.\n",
    ]
    for setting in SETTINGS:
        default = "unset" if setting.default is None else f"`{setting.default}`"
        choices = (
            f" One of: {', '.join(f'`{c}`' for c in setting.choices)}." if setting.choices else ""
        )
        lines += [
            f"## `{setting.key}`\n",
            f"{setting.doc}{choices}\n",
            (f"Kind: {setting.kind}. Default: {default}. Environment: {_variable(setting)}.\n"),
        ]
    lines += [
        "## Switches\n",
        (
            "`/brim-off` switches brimline off in a session, and "
            "`claude --settings '{\"disableAllHooks\": true}'` from its start on.\n"
            "[Variables](../developers/variables.md): what is read from the environment, "
            "and who may set it.\n"
        ),
    ]
    return "\n".join(lines)


def _variable(setting: Setting) -> str:
    return f"`{setting.variable}`" if setting.project else "no"


def _events() -> str:
    lines = [
        _HEAD,
        "# Hook events\n",
        "What `brimline install` registers, and what each hook does.\n",
        "| event | matcher | timeout | what it does |",
        "|---|---|---|---|",
    ]
    for name, answered in EVENTS.items():
        tools = answered.tool_matcher()
        matcher = f"`{tools}`" if tools else "all"
        lines.append(f"| `{name}` | {matcher} | {answered.timeout_s} s | {answered.purpose} |")
    return "\n".join(lines) + "\n"


def _coming_from() -> str:
    """What others call things, and what does the same here."""
    lines = [_HEAD, "# Coming from …\n", "What you know, and what it is here.\n"]
    tables = elsewhere.tables()
    sections = {section["title"]: section["rows"] for section in tables["sections"]}
    sections["Words that commands answer"] = [[f"`{w}`", o] for w, o in tables["words"].items()]
    sections["Variables that `brimline doctor` names"] = [
        [f"`{variable}`", ours if "`" in ours else f"`{ours}`"]
        for variable, ours in tables["variables"].items()
    ]
    for title, rows in sections.items():
        lines += [f"## {title}\n", "| there | here |", "|---|---|"]
        lines += [f"| {theirs} | {ours} |" for theirs, ours in rows] + [""]
    return "\n".join(lines)


def _presets() -> str:
    """What each preset is for, what it sets, and its words, which are shown where they are new."""
    lines = [
        _HEAD,
        "# Presets\n",
        "`brimline config set guard.preset NAME` chooses one.",
        "Names in braces stand for figures, `{head}` for `[brimline] Context tier L2.`,",
        "`{thinking}` for a sentence about models that bind their thinking.\n",
    ]
    shown: list[object] = []
    for name, preset in presets.load_presets().items():
        lines += [f"## `{name}`\n", f"{preset['doc']}\n"]
        sets = [f"`{key}` = `{value}`" for key, value in preset["settings"].items()]
        lines += [f"Sets {', '.join(sets)}.\n"] if sets else []
        if names := preset["names"]:
            lines.append(f"Calls the tiers {', '.join(names.values())}.\n")
        titles = {
            "tiers": "Words of the tiers, to the model",
            "person": "To the person",
            "dispatch": "An agent in the last tier",
            "ceiling": "Words of the ceiling",
        }
        for kind, title in titles.items():
            words = preset[kind]
            if words and words not in shown and not preset["quiet"]:
                lines += [f"{title}:\n", f"```text\n{_words(words)}\n```\n"]
                shown.append(words)
        reads = [f"`{e['variable']}` for `{e['setting']}`" for e in preset["environment"]]
        lines += [f"Reads from the environment: {', '.join(reads)}.\n"] if reads else []
    return "\n".join(lines)


def _words(words: dict[str, object]) -> str:
    rows = []
    for name, text in words.items():
        rows += [f"{name}: {part}" for part in (text if isinstance(text, list) else [text])]
    return "\n".join(rows)


def _pictures() -> dict[Path, str]:
    """Pictures made of sessions that are played, by their files."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        return {
            DOCS / "demo.svg": _demo(f"{folder}/demo"),
            **screens.draw(f"{folder}/screens", DOCS),
        }


def _demo(folder: str) -> str:
    """The demo as a terminal would show it."""
    from brimline.cli import demo

    console = Console(record=True, width=92, file=io.StringIO(), force_terminal=False)
    with output.temporary_terminal_columns(92):
        for told in demo.told_in_story(demo.Player(folder)):
            console.print(Text(output.without_strong_marks(told)))
    return console.export_svg(title="brimline demo", unique_id="brimline-demo")


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


if __name__ == "__main__":
    sys.exit(main())
