"""The one list of settings: name, kind, default, meaning. Config, policy and docs are made from it.

Fast path: imports nothing. A setting `a.b` has the environment form `BRIMLINE_A_B`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# What a setting takes, where its default tells that.
_KINDS = {str: "choice", bool: "flag", list: "texts", int: "number"}


class Setting:
    """One thing a user can set."""

    __slots__ = ("choices", "default", "doc", "key", "kind", "least", "project")

    def __init__(
        self,
        key: str,
        default: Any,
        doc: str,
        *,
        kind: str = "",
        choices: tuple[str, ...] = (),
        least: int = 0,
        project: bool = True,
    ) -> None:
        self.key = key
        self.kind = kind or _KINDS[type(default)]
        self.default = default
        self.doc = doc
        self.choices = choices
        self.least = least
        self.project = project

    @property
    def variable(self) -> str:
        """The environment variable that overrides it, where a project may do so."""
        return "BRIMLINE_" + self.key.upper().replace(".", "_")


def _make_user_only_setting(key: str, default: Any, doc: str, **more: Any) -> Setting:
    """A setting that no variable sets: a project sets those, and may be a stranger's."""
    return Setting(key, default, doc, project=False, **more)


SETTINGS = (
    Setting(
        "context_window",
        None,
        "Size of the model's context window in tokens. Unset: found out by itself.",
        least=1_000,
        kind="tokens",
    ),
    Setting(
        "compaction_tokens",
        None,
        "Tokens at which a context ends, by a compaction or the API's refusal. Unset: learned from "
        "earlier ones, else from the client's settings, else from window and model.",
        least=1_000,
        kind="tokens",
    ),
    Setting(
        "guard.preset",
        "default",
        "Which set of warnings is in force; `brimline config presets` lists what each does.",
        choices=("default", "adr11", "haios-80", "ccm-70-80-90", "guard-30-15-7-3", "off"),
    ),
    Setting(
        "guard.tiers",
        [30, 15, 7, 3],
        "Where the tiers L1, L2, … begin, in the unit of `guard.tier_unit`; any number of them.",
        kind="numbers",
    ),
    Setting(
        "guard.tier_unit",
        "to_compaction",
        "What `guard.tiers` counts: points before compaction, points remaining or used, tokens.",
        choices=("to_compaction", "remaining", "used", "tokens"),
    ),
    Setting(
        "guard.velocity_points",
        5,
        "Growth in points per request, over the last three, that raises the tier by one; 0: off.",
        kind="percent",
    ),
    _make_user_only_setting(
        "guard.ceiling",
        "warn",
        "What happens when something in `guard.gate_tools` is loaded above the ceiling: advice, a "
        "refusal (on a verified window only), or nothing.",
        choices=("warn", "strict", "off"),
    ),
    Setting(
        "guard.ceiling_percent", 40, "The ceiling as a percentage of the window.", kind="percent"
    ),
    Setting(
        "guard.ceiling_tokens",
        350_000,
        "The ceiling in tokens, where that is lower.",
        least=1_000,
        kind="tokens",
    ),
    _make_user_only_setting(
        "guard.recovery_skills",
        [
            *("context-summarization", "context-loading-protocol", "continue", "handoff"),
            *("review-summary", "session-review"),
        ],
        "Skills that always pass the ceiling, without their `plugin:` prefix.",
    ),
    _make_user_only_setting(
        "guard.gate_tools",
        ["Skill"],
        "What the ceiling is asked about: `Skill`, `Agent`, `Task`; `Agent:warn` is never refused.",
        choices=("Skill", "Agent", "Task", "Skill:warn", "Agent:warn", "Task:warn"),
    ),
    _make_user_only_setting(
        "statusline.format",
        ["forecast", "tier", "used"],
        "What follows the distance in the status line, in this order: `forecast`, `tier`, `used`, "
        "`model`, `cost`, `branch`, `limits`. What a terminal has no room for is left out.",
        choices=("forecast", "tier", "used", "model", "cost", "branch", "limits"),
    ),
    _make_user_only_setting(
        "scout.mode",
        "off",
        "What the scout does about reads into ignored folders: nothing, a hint, or a refusal. "
        "`brimline scout on` and `off` set it, and register the hook.",
        choices=("off", "advise", "block"),
    ),
    _make_user_only_setting(
        "reminder.file",
        None,
        "A text for the model at a session's start, after a compaction and when it changed.",
        kind="path",
    ),
    _make_user_only_setting(
        "reminder.every", 0, "Repeat the reminder after this many prompts; 0: never.", kind="count"
    ),
    Setting(
        "offload.preset",
        "default",
        "Whether bulky tool results are swapped for a reference with a preview; `off` replaces "
        "nothing.",
        choices=("default", "off"),
    ),
    Setting(
        "offload.inline_bytes",
        8_000,
        "Largest bulk that stays in the window whole: logs, listings, search hits by the thousand, "
        "JSON and other dumps, minified text, tests that passed.",
        kind="count",
    ),
    Setting(
        "offload.read_bytes",
        25_000,
        "From this size on, as the model is sent it (a file with line numbers), content is shown "
        "as a preview: source, documents, and diffs, whose preview has the changed lines. The "
        "default grows to 3 % of a known window.",
        kind="count",
    ),
    _make_user_only_setting(
        "offload.never",
        [],
        "Commands (`git diff`, `npm run *`), paths (`*.sql`, `docs/*`) and tools (`mcp__db__*`) "
        "whose results always stay whole.",
    ),
    _make_user_only_setting(
        "offload.always",
        [],
        "Commands, paths and tools whose results count as bulk, whatever kind they are and also if "
        "they failed; `offload.never` wins over it.",
    ),
    _make_user_only_setting(
        "compaction.inside",
        "balanced",
        "Whether a compaction is made inside the client, without a model: old bulk becomes a line "
        "that can be recalled, and all that was said stays. `balanced` does so where that frees "
        "30 % of the messages: about 8 of 10 compactions then need no model, and the input costs "
        "an eighth more, because the context stays fuller. `thrifty` lets go earlier, `keep` of "
        "less and from 10 % on (a sixth more). Else, and with `off`, the client makes its own "
        "summary.",
        choices=("keep", "balanced", "thrifty", "off"),
    ),
    _make_user_only_setting(
        "compaction.when_cold",
        "say",
        "What happens when the prompt cache of a session of 100,000 tokens or more has expired and "
        "a compaction without a model would free enough: a line with both prices, when you resume "
        "it and in a pause (`say`); the compaction itself (`do`; with the plugin in a pause if "
        "`brimline-idle` is installed, too); or nothing.",
        choices=("say", "do", "off"),
    ),
    _make_user_only_setting(
        "carry.enabled",
        True,
        "Whether the user's messages, tasks, files and checks are carried across a compaction.",
    ),
    _make_user_only_setting(
        "carry.critical_files",
        [],
        "Files whose content is kept with every checkpoint, relative to the project or absolute.",
    ),
    _make_user_only_setting(
        "carry.daily_note",
        None,
        "Where each session leaves a line when it ends: a folder of daily notes, such as an "
        "Obsidian vault, or the note's path in strftime form, such as `~/notes/%Y-%m-%d.md`.",
        kind="path",
    ),
    _make_user_only_setting(
        "store.max_mb",
        500,
        "Most megabytes the store may take on the disk; what sessions refer to is kept above it.",
        least=1,
    ),
    _make_user_only_setting(
        "store.max_age_days",
        30,
        "How many days an output is kept after it was last used; what sessions refer to stays.",
    ),
    _make_user_only_setting(
        "memory.exclude",
        [],
        "Folders whose sessions stay out of memory's search, with all below; `*` is any text.",
        kind="folders",
    ),
    _make_user_only_setting(
        "memory.url",
        None,
        "A Qdrant server that shares memory with your team or your other machines: "
        "`qdrant+https://[author@]host[:port]/collection[?authority=/file.pem]`. Nothing goes "
        "there before `brimline memory sync` has asked you.",
        kind="url",
    ),
)
BY_KEY = {setting.key: setting for setting in SETTINGS}
