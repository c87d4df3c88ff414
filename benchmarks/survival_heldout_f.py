"""Facts in long-winded sentences, asides and pastes; see `survival_heldout_e`."""

from __future__ import annotations

USER, ASSISTANT, LIST = "user", "assistant", "list"

FACTS = {
    "constraint": (
        (
            USER,
            (
                "As you may remember from our talk about the outage in spring, when half of the "
                "team was on holiday and nobody knew what to do, [[{cmd} is only run by "
                "{person}]], and that has not changed since."
            ),
        ),
        (
            USER,
            (
                "I know it is tempting, and I know you would rather clean it up, but for the time "
                "being I have to insist: [[leave {dir} alone]]."
            ),
        ),
        (
            USER,
            (
                "Looks fine so far, one remark though (and I say it once): [[commits to {branch} "
                "need my ok]]."
            ),
        ),
        (USER, "It may sound pedantic but [[{file} has to stay sorted]]."),
        (USER, "sry for being a pain, but pls no [[direct calls to {svc}]] from the ui"),
        (USER, "Since the auditors look at it every month, [[nobody deletes rows from {table}]]."),
        (USER, "I'm not comfortable with you [[changing {env}]]."),
        (USER, "Mind that [[{lib} must not be upgraded past {ver}]], the vendor is strict there."),
        (LIST, "[[{svc}]] is production, so read only"),
    ),
    "decision": (
        (
            USER,
            (
                "Having slept over it and having asked around a little, I think we are best "
                "served with [[{chosen} for {thing}]], so please do that."
            ),
        ),
        (USER, "long story short: [[{chosen} for {thing}]]"),
        (USER, "{person} and I agree that {thing} should be [[{chosen}]]"),
        (USER, "we'll do what {person} proposed, that is [[{chosen} for {thing}]]"),
        (
            ASSISTANT,
            (
                "After comparing the options in detail and looking at what the team already runs, "
                "I decided to build {thing} on [[{chosen}]], because {good}."
            ),
        ),
        (ASSISTANT, "To sum up our discussion: {thing} uses [[{chosen}]]."),
        (ASSISTANT, "We picked [[{chosen}]] for {thing}."),
        (ASSISTANT, "My choice for {thing}: [[{chosen}]], as {good}."),
        (LIST, "{thing} → [[{chosen}]]"),
    ),
    "rejected": (
        (
            USER,
            (
                "I've seen too many projects fail with [[{refused}]], mostly because {reason}, so "
                "let's not go there."
            ),
        ),
        (USER, "[[{refused} for {thing}]] is not what we want"),
        (USER, "skip [[{refused}]], {reason}"),
        (USER, "thanks for the proposal with [[{refused}]], but no: {reason}"),
        (
            ASSISTANT,
            (
                "I had a look at [[{refused} for {thing}]] too, however {reason}, which makes it "
                "a poor choice for us."
            ),
        ),
        (ASSISTANT, "[[{refused}]] was ruled out early since {reason}."),
        (ASSISTANT, "The option [[{refused}]] is gone, {reason}."),
        (LIST, "[[{refused}]] - {reason}"),
    ),
    "task": (
        ("task_create", "[[{work}]]"),
        ("todo", "[[{work}]]"),
        (
            USER,
            (
                "By the way, and this has time until the end of the month, somebody would have to "
                "[[{work}]]."
            ),
        ),
        (USER, "please put on the todo list that we have to [[{work}]]"),
        (USER, "and then there is still this: [[{work}]]"),
        (USER, "If you find the time after this, [[{work}]]."),
        (USER, "I'll forget it otherwise: [[{work}]]"),
        (ASSISTANT, "What is left for a follow-up: [[{work}]]."),
        (ASSISTANT, "I have not started with this yet: [[{work}]]."),
    ),
    "path": (
        (
            USER,
            (
                "in case you wonder where all of that ends up on disk when the job has run, it is "
                "[[{place}]]"
            ),
        ),
        (USER, "paths:\n```\nDATA_DIR={place}\n```\nuse [[{place}]] please"),
        (USER, "see [[{place}]]"),
        (
            ASSISTANT,
            (
                "After following the calls through three layers I ended up in [[{place}:{line}]], "
                "where the default is set."
            ),
        ),
        (ASSISTANT, "It writes to [[{place}]]."),
        ("edit", "[[/home/dev/project/{place}]]"),
    ),
    "number": (
        (USER, "settings:\n```\n[[PORT={port}]]\n```\nthat is all you need"),
        (USER, "the SLA, and I had to look that up myself, is [[{n} ms]] at the 95th percentile"),
        (USER, "id of the tenant in question: [[{n}{small}]]"),
        (USER, "should be [[{small} GB]] at most, I guess"),
        (
            ASSISTANT,
            (
                "In the end it came down to [[{n} bytes]] per record, which explains the size of "
                "the index."
            ),
        ),
        (ASSISTANT, "Release [[{ver}]] has the fix."),
        (ASSISTANT, "[[{n} of {n} files]] are affected."),
    ),
    "error": (
        ("bash_error", "[[curl: (7) Failed to connect to {word}.internal port {port}]]"),
        ("bash_error", "[[java.lang.IllegalStateException: {word} already closed]]"),
        ("bash_error", "[[Uncaught ReferenceError: {word}Config is not defined]]"),
        ("bash_error", "[[sqlite3.OperationalError: no such column: {table}.owner]]"),
        ("bash_error", "[[terraform: state lock {sha} is held by {person}]]"),
        (
            USER,
            (
                "this is what I see:\n```\nloading\n[[SyntaxError: unexpected token in "
                "{word}.json at {line}]]\n```"
            ),
        ),
        (ASSISTANT, "What comes back is [[status 4{small} from {svc}]], every time."),
    ),
    "subagent": (
        ("agent_short", "[[All callers of {svc} go through {file}.]]"),
        ("agent_short", "[[{table} grows by {n} rows a day.]]"),
        (
            "agent_long",
            (
                "While reading the importer I noticed that [[{place} ignores {env}]], which is "
                "probably not intended."
            ),
        ),
        ("agent_long", "In total [[{n} records]] would be lost."),
        ("agent_long", "The answer to your question is [[{lib} {ver}]]."),
        ("notification", "Of all suspects only [[{file}]] remains."),
    ),
}

ENDED = (
    ("task_create", "[[{work}]]", "task_completed", ""),
    ("task_create", "[[{work}]]", "task_deleted", ""),
    ("todo", "[[{work}]]", "todo_completed", ""),
    ("todo", "[[{work}]]", "todo_gone", ""),
    (
        USER,
        "please also [[{work}]] at some point",
        ASSISTANT,
        "Good news: {short} is finished as well.",
    ),
    (USER, "don't let me forget to [[{work}]]", USER, "we are done with {short}"),
    (USER, "later: [[{work}]]", USER, "as for {short}: not necessary any more"),
    (USER, "todo: [[{work}]]", ASSISTANT, "I have implemented {short} and the tests pass."),
    (USER, "one more todo, [[{work}]]", USER, "strike {short} from the list"),
    (USER, "we still have to [[{work}]]", USER, "{person} has done {short} already"),
    (
        USER,
        "hold off on [[the {svc} upgrade]] until friday",
        USER,
        "the {svc} upgrade can go ahead",
    ),
)
