"""The published grammar of the survival test: eight kinds of facts and the things that end.

Each line is a place and a template; `{slots}` are drawn from `survival_words` with the seed of the
run, `[[…]]` marks what has to be in the card word for word.
"""

from __future__ import annotations

USER, ASSISTANT, LIST = "user", "assistant", "list"

FACTS = {
    "constraint": (
        (USER, "Never [[run {cmd}]] here."),
        (USER, "Do not [[touch {dir}]] until I say so."),
        (USER, "You must not [[edit {file}]]."),
        (USER, "Always [[ask {person} before changing {table}]]."),
        (USER, "Only use [[{lib} {ver}]], no other version."),
        (USER, "Make sure that [[{svc} stays below {n} MB]]."),
        (LIST, "never [[log {field}]]"),
    ),
    "decision": (
        (ASSISTANT, "I'll use [[{chosen} for {thing}]] instead of {refused}."),
        (ASSISTANT, "Decided: [[{thing} uses {chosen}]], because {good}."),
        (ASSISTANT, "We settled on [[{chosen} for {thing}]]."),
        (USER, "Let's go with [[{chosen} for {thing}]]."),
        (USER, "brim:decide [[{chosen} for {thing}]]"),
        (USER, "For {thing} use [[{chosen}, not {refused}]]."),
    ),
    "rejected": (
        (ASSISTANT, "I ruled out [[{refused} for {thing}]] because {reason}."),
        (ASSISTANT, "Not using [[{refused} for {thing}]]: {reason}."),
        (ASSISTANT, "We rejected [[{refused}]], {reason}."),
        (USER, "Scrap the [[{refused} idea for {thing}]], {reason}."),
        (USER, "[[{refused}]] is not an option, {reason}."),
    ),
    "task": (
        ("task_create", "[[{work}]]"),
        ("todo", "[[{work}]]"),
        (USER, "TODO: [[{work}]]"),
        (USER, "Also [[{work}]] later."),
        (USER, "Next: [[{work}]]."),
        (USER, "Later we need to [[{work}]]."),
    ),
    "path": (
        (USER, "The exports are written to [[{place}]]."),
        (USER, "Look at [[{place}]] for an example."),
        (ASSISTANT, "The handler is in [[{place}:{line}]]."),
        (ASSISTANT, "The setting comes from [[{place}]]."),
        ("edit", "[[/home/dev/project/{place}]]"),
    ),
    "number": (
        (USER, "The service listens on [[port {port}]]."),
        (USER, "We have [[{n} customers]] on this plan."),
        (USER, "The issue is [[{ticket}]]."),
        (ASSISTANT, "The request takes [[{n} ms]] now."),
        (ASSISTANT, "The bad commit is [[{sha}]]."),
    ),
    "error": (
        ("bash_error", "Error: [[cannot open {place}]]"),
        ("bash_error", "ValueError: [[{n} is not a valid {word} code]]"),
        ("bash_error", "fatal: [[unable to reach {word}.example:{port}]]"),
        ("bash_piped", "FAILED tests/test_{word}.py::test_load - [[ValueError: {n}]]"),
        ("bash_error", "error: [[{word} {ver} conflicts with {lib}]]"),
    ),
    "subagent": (
        ("agent_short", "[[The slow part is {place}:{line}.]]"),
        ("agent_short", "[[{n} rows of {table} have no owner.]]"),
        ("agent_long", "The cause is [[a missing lock in {place}]]."),
        ("agent_long", "I found [[{small} unused settings, among them {env}]]."),
        ("notification", "The limit is [[{n} entries, set in {file}]]."),
    ),
}

ENDED = (
    ("task_create", "[[{work}]]", "task_completed", ""),
    ("task_create", "[[{work}]]", "task_deleted", ""),
    ("todo", "[[{work}]]", "todo_completed", ""),
    (USER, "TODO: [[{work}]]", ASSISTANT, "I'm done with {short}."),
    (USER, "Also [[{work}]] later.", USER, "Never mind {short}."),
    (USER, "Next: [[{work}]].", USER, "Scrap {short}."),
    (USER, "TODO: [[{work}]]", USER, "brim:done {work}"),
    (USER, "Later we need to [[{work}]].", ASSISTANT, "{short} is finished."),
    (USER, "Do not [[push to {branch}]] until I say so.", USER, "You may push to {branch} now."),
)
