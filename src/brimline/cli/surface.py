"""The tree of commands, as data: where each lives, one line of help; imported when it is run.

A command that belongs to another door lives in that door; doors never import each other.
"""

from __future__ import annotations

import difflib
import importlib
import os
import re
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from brimline import __version__, output
from brimline.errors import BrimlineError
from brimline.settings import elsewhere, extras, pinned

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_MOST_SUGGESTIONS = 3
# So alike are words with two letters swapped, or with one too many or too few.
_LIKENESS = 0.75
_EXIT_USAGE = 2
_DASHBOARD = "brimline.dashboard.page_commands"


class Entry(NamedTuple):
    """One command: where it is, and one line of help where that is shown before it is loaded."""

    target: str
    help: str = ""
    hidden: bool = False
    extra: str = ""  # of the package, without which it does not run


class Tree(click.Group):
    """A group whose commands are named by dotted paths."""

    def __init__(self, *, entries: dict[str, Entry], **settings: Any) -> None:
        """Take the entries; nothing is imported for it."""
        super().__init__(**settings)
        self.entries = entries

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """In the order of the tree."""
        return list(self.entries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import one command."""
        entry = self.entries.get(cmd_name)
        if entry is None:
            return None
        module, _, attribute = entry.target.partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        command.hidden = entry.hidden
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands; those that the tree has words for are not loaded for it."""
        rows = []
        for name, entry in self.entries.items():
            command = None if entry.help else self.get_command(ctx, name)
            if not entry.hidden:
                line = command.get_short_help_str(60) if command else entry.help
                missing = entry.extra and extras.is_extra_missing(entry.extra)
                rows.append((name, f"{line} (extra: {entry.extra})" if missing else line))
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take `help` before other words for `--help` behind them."""
        return super().parse_args(ctx, [*args[1:], "--help"] if args[:1] == ["help"] else args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or name those that may have been meant."""
        name = args[0]
        if name not in self.entries and not name.startswith("-") and not ctx.resilient_parsing:
            raise click.UsageError(f"There is no command {name!r}{self._hint_text(name, ctx)}", ctx)
        return super().resolve_command(ctx, args)

    def _hint_text(self, name: str, ctx: click.Context) -> str:
        """Return what may have been meant by a word, else what there is."""
        if name == "compact":
            return ": type `/compact` in a session, or run `brimline session purge` after it."
        if same := elsewhere.same_here(name):
            return f": {same} does that here."
        meant = suggest_commands(name, ctx.command_path.partition(" ")[2])
        if meant:
            return f": did you mean {' or '.join(f'`brimline {path}`' for path in meant)}?"
        return f"; there are {', '.join(self.entries)}." if ctx.parent else "."


def _group_decorator(
    module: str, names: str, end: str = "_command", **others: Entry
) -> Callable[[Callable[[], None]], Tree]:
    """A group of commands that stand in one module under their names and this end."""
    entries = {name: Entry(f"{module}:{name}{end}") for name in names.split()}
    return click.group(cls=Tree, entries=entries | others, context_settings=output.HELP)


@_group_decorator("brimline.cli.session_commands", "inspect purge repair restore backups")
def session() -> None:
    """Look into recorded sessions, shrink them, mend them, and put them back.

    Without SESSION (an id, how that begins, a file, `last`) it is the running session, else the
    newest of this project. What changes one makes a copy, and names it.

    \b
    Example:
      brimline session inspect
      brimline session purge --dry-run
      brimline session purge && brimline session restore
    """


@_group_decorator(
    "brimline.cli.store_commands", "list get elsewhere search pin unpin learned prune forget"
)
def store() -> None:
    """Look into the store of outputs that were kept out of the context window.

    A KEY is sha256: and 64 hexadecimal digits; its first 8 or more will do where they fit only one,
    and `last` is what was stored last.

    \b
    Example:
      brimline store list
      brimline store get 3f2a9c01 --lines 100:120
      brimline store search connection refused
    """


@_group_decorator("brimline.cli.carry_commands", "show add done reopen forget card checkpoint")
def carry() -> None:
    """Look at what a session takes across a compaction, and add to it.

    The user's messages, the client's tasks, files, commits and checks come from the session itself.
    Without --session it is the running one, else the newest of this project.

    \b
    Example:
      brimline carry show
      brimline carry add "Never touch the billing tables."
      brimline carry card
    """


@_group_decorator(
    "brimline.cli.memory_commands",
    "search show add list lint index status",
    sync=Entry("brimline.cli.memory_commands:sync_command", extra="team"),
)
def memory() -> None:
    """Keep what outlives a session: topics that every session begins with, and a search.

    Topics are the files of Claude Code's own memory of this project. The search is over them and
    over what was said in earlier sessions.

    \b
    Example:
      brimline memory search why did we drop the session store
      brimline memory list
      brimline memory lint
    """


@_group_decorator("brimline.cli.rules_commands", "show explain lint")
def rules() -> None:
    """See which instruction files hold in this folder: CLAUDE.md, AGENTS.md, rules, imports.

    They are listed weakest first: organisation, user, your own for this project, folders above it,
    the project, folders below it on the way to the file at hand.

    \b
    Example:
      brimline rules show
      brimline rules explain src/api/server.py
      brimline rules lint
    """


@_group_decorator(
    "brimline.cli.config_commands",
    "list get set unset explain presets",
    autocompact=Entry("brimline.install.switches:autocompact"),
)
def config() -> None:
    """Show, explain and change settings.

    Precedence, weakest first: defaults, preset, your file, environment.

    \b
    Example:
      brimline config list
      brimline config set guard.tiers 40,20,10,5
      brimline config unset guard.tiers
    """


@_group_decorator("brimline.install.switches", "on off init", end="")
def scout() -> None:
    """Watch reads of folders that only fill the context window.

    Which ones is said by .brimlineignore (else .ckignore) in the project's folder, in the syntax of
    .gitignore; without patterns of its own, twelve default folders.

    \b
    Example:
      brimline scout init
      brimline scout on
    """


_HERE = f"{__name__}:"
COMMANDS = {
    "install": Entry("brimline.install.command:install", "Wire brimline into Claude Code."),
    "uninstall": Entry("brimline.install.command:uninstall", "Take brimline out again."),
    "doctor": Entry("brimline.install.command:doctor", "Check the installation."),
    "demo": Entry("brimline.cli.demo:demo", "Watch a session fill up; no client needed."),
    "status": Entry("brimline.cli.status_commands:status", "Show how full a session is."),
    "history": Entry("brimline.cli.history_commands:history", "Look back: turns, compactions."),
    "cost": Entry("brimline.cli.cost_command:cost", "Show what sessions cost."),
    "session": Entry(f"{_HERE}session", "Inspect, purge and mend a session."),
    "store": Entry(f"{_HERE}store", "Look into what was kept out of the window."),
    "carry": Entry(f"{_HERE}carry", "See what crosses a compaction, and add to it."),
    "memory": Entry(f"{_HERE}memory", "Keep and find what outlives a session."),
    "forget": Entry(
        "brimline.cli.memory_commands:forget_command", "Delete all that is kept of sessions."
    ),
    "budget": Entry("brimline.cli.budget_command:budget", "Plan the window in compartments."),
    "rules": Entry(f"{_HERE}rules", "See which instruction files load, and why."),
    "config": Entry(f"{_HERE}config", "Show, explain and change settings."),
    "scout": Entry(f"{_HERE}scout", "Watch reads of folders that fill the window."),
    "gateway": Entry(
        "brimline.gateway.gateway_commands:gateway",
        "Shorten requests on their way to the service.",
        extra="gateway",
    ),
    "run": Entry(
        "brimline.gateway.gateway_commands:run",
        "Run Claude Code behind a gateway.",
        extra="gateway",
    ),
    "dashboard": Entry(f"{_DASHBOARD}:dashboard", "Look at all sessions in the browser."),
    "report": Entry(f"{_DASHBOARD}:report", "Write a session's page into one file."),
    "mcp": Entry("brimline.cli.by_hand:mcp", "Serve stored output to the model.", hidden=True),
    "hook": Entry("brimline.cli.by_hand:hook", "Answer one hook event.", hidden=True),
    "mod": Entry("brimline.cli.by_hand:mod", "Answer the mod.", hidden=True),
    "statusline": Entry("brimline.cli.by_hand:statusline", "Print the line.", hidden=True),
}


_GROUPS = {
    group.name or "": group for group in (session, store, carry, memory, rules, config, scout)
}


@click.group(cls=Tree, entries=COMMANDS, name="brimline", context_settings=output.HELP)
@click.version_option(__version__, prog_name="brimline")
@click.pass_context
def program(context: click.Context) -> None:
    """Keep a Claude Code session below the brim of its context window.

    Commands take --json, except run, and show an example with --help.
    """
    pinned.pin_or_refuse(str(context.invoked_subcommand))


def names_of_visible_commands() -> Iterator[str]:
    """The full name of every command that is not hidden, groups aside."""
    for name in _visible_names_in(""):
        if name in _GROUPS:
            yield from [f"{name} {child}" for child in _GROUPS[name].entries]
        else:
            yield name


def suggest_commands(word: str, above: str) -> list[str]:
    """The commands that may have been meant: in a group its own, else any, by their last word.

    Those that the word begins, else those that it is a slip of.
    """
    groups = () if above else _GROUPS
    paths = [*groups, *names_of_visible_commands()]
    by_name: dict[str, list[str]] = {}
    for path in [path for path in paths if path.startswith(f"{above} ".lstrip())]:
        by_name.setdefault(path.rpartition(" ")[2], []).append(path)
    begun = [name for name in by_name if len(word) > 1 and name.startswith(word)]
    names = begun or difflib.get_close_matches(word, by_name, _MOST_SUGGESTIONS, _LIKENESS)
    return [path for name in names for path in by_name[name]][:_MOST_SUGGESTIONS]


def _visible_names_in(group: str) -> list[str]:
    """The commands of a group, or of the program itself, that are not hidden."""
    entries = _GROUPS[group].entries if group else COMMANDS
    return [name for name, entry in entries.items() if not entry.hidden]


def run() -> int:
    """Run what the command line asks for; returns the exit code."""
    try:
        code = program(prog_name="brimline", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        output.say(error.format_message(), err=True)
        return _EXIT_USAGE
    except click.NoSuchOption as error:
        same = elsewhere.same_here(error.option_name)
        text = f"There is no option {error.option_name!r}: {same} does that here."
        return _print_usage_error(click.UsageError(text, error.ctx) if same else error)
    except click.ClickException as error:
        return _print_usage_error(error)
    except click.Abort as error:
        if isinstance(error.__context__, KeyboardInterrupt):
            raise KeyboardInterrupt from None
        output.complain("Cancelled; nothing was changed.")
        return 1
    except BrimlineError as error:
        output.complain(f"brimline: {error}")
        return error.exit_code
    except BrokenPipeError:
        raise
    except UnicodeEncodeError as error:
        output.complain(f"brimline: this locale cannot name {error.object!a}: set LC_ALL=C.UTF-8")
        return 1
    except OSError as error:
        output.complain(f"brimline: {_file_name_in_error(error)}: {error.strerror or error}")
        return 1
    return code if isinstance(code, int) else 0


def _file_name_in_error(error: OSError) -> str:
    """The file that the system refused; of one being replaced the name that the user knows."""
    name = os.fsdecode(error.filename or "the current folder, or another file")
    return re.sub(r"(\.\d+){2}\.tmp$", "", name)


def _print_usage_error(error: click.ClickException) -> int:
    """Tell in one line what is wrong with the words of a command."""
    problem = error.format_message()
    if isinstance(error, click.UsageError) and error.ctx is not None:
        problem = _usage_error_with_remedy(problem, error.ctx)
    output.complain(f"brimline: {problem}")
    return error.exit_code


def _usage_error_with_remedy(problem: str, ctx: click.Context) -> str:
    """Return what is wrong with the words, and where to read about it."""
    takes_session = any(param.name == "session_id" for param in ctx.command.params)
    if takes_session and "unexpected extra argument" in problem:
        problem += ": name a session by --session"
    end = "" if problem.endswith((".", "?")) else "."
    return f"{problem}{end} See `{ctx.command_path} --help`."
