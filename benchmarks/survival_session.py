"""Writes the long made-up session of the survival test: facts among filler, things that end."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from benchmarks import survival_filler as filler
from benchmarks.survival_words import Slots
from brimline import testing

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Mapping, Sequence

PER_KIND = 5
ENDED = 20
TURNS = 150


class Fact(NamedTuple):
    """Something that has to survive, and the part of it that has to come back word for word."""

    kind: str
    place: str
    text: str
    needle: str


class Ended(NamedTuple):
    """Something that was opened and ended again."""

    opened: Fact
    place: str
    text: str


class Grammar(NamedTuple):
    """Where facts come from: by kind the places and templates, and the things that end."""

    facts: Mapping[str, Sequence[tuple[str, str]]]
    ended: Sequence[tuple[str, str, str, str]]
    pools: dict[str, tuple[str, ...]] | None = None
    is_noisy: bool = False
    """Whether the assistant's filler is full of paths and figures as well."""


class Expected(NamedTuple):
    """What a session holds."""

    facts: list[Fact]
    ended: list[Ended]


def write(session: testing.SessionBuilder, grammar: Grammar, seed: int) -> Expected:
    """Write a session of a few hundred rows; the same seed gives the same session."""
    slots = Slots(seed, grammar.pools)
    expected = Expected(_draw_facts(grammar, slots), _draw_ended(grammar, slots))
    writer = _Writer(session, slots.random, is_noisy=grammar.is_noisy)
    turns: list[list[Callable[[], None]]] = [[] for _ in range(TURNS)]
    for facts in _bundled(expected.facts, slots.random) if grammar.is_noisy else ():
        turns[slots.random.randrange(2, TURNS - 2)].append(partial(writer.place_all, facts))
    for fact in () if grammar.is_noisy else expected.facts:
        turns[slots.random.randrange(2, TURNS - 2)].append(partial(writer.place, fact))
    for ended in expected.ended:
        start = slots.random.randrange(2, TURNS - 30)
        end = slots.random.randrange(start + 3, TURNS - 2)
        turns[start].append(partial(writer.place, ended.opened))
        turns[end].append(partial(writer.end, ended))
    writer.prompt(filler.FIRST_PROMPT)
    for turn in turns:
        slots.random.shuffle(turn)
        for step in turn:
            step()
        writer.filler()
    return expected


def _bundled(facts: list[Fact], source: random.Random) -> list[list[Fact]]:
    """The facts, some of those that are told in one place together."""
    bundles = [[fact] for fact in facts if fact.place not in ("user", "assistant")]
    for place in ("user", "assistant"):
        told = [fact for fact in facts if fact.place == place]
        source.shuffle(told)
        while told:
            count = source.choice((1, 1, 1, 2, 3, 4))
            bundles.append(told[:count])
            told = told[count:]
    return bundles


def _draw_facts(grammar: Grammar, slots: Slots) -> list[Fact]:
    found = []
    for kind, templates in grammar.facts.items():
        chosen = list(templates)
        slots.random.shuffle(chosen)
        while len(chosen) < PER_KIND:
            chosen += templates
        found += [_fact(kind, place, template, slots) for place, template in chosen[:PER_KIND]]
    return found


def _draw_ended(grammar: Grammar, slots: Slots) -> list[Ended]:
    found: list[Ended] = []
    ways: list[tuple[str, str, str, str]] = []
    while len(found) < ENDED:
        if not ways:
            ways = list(grammar.ended)
            slots.random.shuffle(ways)
        place, opening, end_place, ending = ways.pop()
        bound: dict[str, str] = {}
        opened = _fact("ended", place, opening, slots, bound)
        found.append(Ended(opened, end_place, slots.fill(ending, bound)))
    return found


def _fact(
    kind: str, place: str, template: str, slots: Slots, bound: dict[str, str] | None = None
) -> Fact:
    text = slots.fill(template, bound)
    needle = text.partition("[[")[2].partition("]]")[0]
    if needle in slots.used:
        if bound is not None:
            bound.clear()
        return _fact(kind, place, template, slots, bound)
    slots.used.add(needle)
    return Fact(kind, place, text.replace("[[", "").replace("]]", ""), needle)


class _Writer:
    """Puts facts where they belong, in the client's shapes."""

    def __init__(
        self, session: testing.SessionBuilder, source: random.Random, *, is_noisy: bool
    ) -> None:
        self.session = session
        self.is_noisy = is_noisy
        self.random = source
        self.tokens = 20_000
        self.tasks: dict[str, str] = {}
        self.todos: list[dict[str, str]] = []

    def place(self, fact: Fact) -> None:
        ways = {
            "user": lambda: self.prompt(filler.embed(fact.text, self.random)),
            "list": lambda: self.prompt(filler.as_list(fact.kind, fact.text, self.random)),
            "assistant": lambda: self.say(filler.tell(fact.text, self.random)),
            "task_create": lambda: self.create_task(fact.text),
            "todo": lambda: self.add_todo(fact.text),
            "edit": lambda: self.edit(fact.text),
            "bash_error": lambda: self.fail(fact.text),
            "bash_piped": lambda: self.fail_in_a_pipe(fact.text),
            "agent_short": lambda: self.agent(fact.text),
            "agent_long": lambda: self.agent(filler.report(fact.text, self.random)),
            "notification": lambda: self.notify(filler.report(fact.text, self.random)),
        }
        ways[fact.place]()

    def place_all(self, facts: list[Fact]) -> None:
        if len(facts) == 1:
            self.place(facts[0])
            return
        text = filler.bundle([fact.text for fact in facts], self.random)
        if facts[0].place == "user":
            self.prompt(text)
        else:
            self.say(text)

    def end(self, ended: Ended) -> None:
        text = ended.opened.text
        ways = {
            "user": lambda: self.prompt(ended.text),
            "assistant": lambda: self.say(ended.text),
            "task_completed": lambda: self.update_task(text, "completed"),
            "task_deleted": lambda: self.update_task(text, "deleted"),
            "todo_completed": lambda: self.set_todo(text, "completed"),
            "todo_gone": lambda: self.drop_todo(text),
        }
        ways[ended.place]()

    def prompt(self, text: str) -> None:
        self.session.prompt(text)

    def say(self, text: str) -> None:
        self.tokens += 300
        self.session.reply(self.tokens, testing.text_block(text))

    def call(self, name: str, result: str, told: Any = None, **arguments: Any) -> None:
        """A tool call and its result."""
        self.tokens += 400
        call_id = self.session.tool_call(self.tokens, name, **arguments)
        is_error = {"is_error": True} if told is Exception else {}
        block = {"type": "tool_result", "tool_use_id": call_id, "content": result} | is_error
        copy = f"Error: {result}" if told is Exception else told or {"stdout": result}
        self.session.row("user", message={"role": "user", "content": [block]}, toolUseResult=copy)

    def create_task(self, subject: str) -> None:
        number = str(len(self.tasks) + 1)
        self.tasks[subject] = number
        self.call(
            "TaskCreate",
            f"Task #{number} created successfully: {subject}",
            {"task": {"id": number, "subject": subject}},
            subject=subject,
            description="See the discussion.",
            activeForm="Working",
        )

    def update_task(self, subject: str, status: str) -> None:
        number = self.tasks[subject]
        told = {"success": True, "taskId": number, "updatedFields": ["status"]}
        self.call(
            "TaskUpdate", f"Updated task #{number} status", told, taskId=number, status=status
        )

    def add_todo(self, text: str) -> None:
        self.todos.append({"content": text, "status": "pending", "activeForm": "Working"})
        self._write_todos()

    def set_todo(self, text: str, status: str) -> None:
        for todo in self.todos:
            if todo["content"] == text:
                todo["status"] = status
        self._write_todos()

    def drop_todo(self, text: str) -> None:
        self.todos = [todo for todo in self.todos if todo["content"] != text]
        self._write_todos()

    def _write_todos(self) -> None:
        todos = [dict(todo) for todo in self.todos]
        told = {"oldTodos": [], "newTodos": todos}
        self.call("TodoWrite", "Todos have been modified successfully.", told, todos=todos)

    def edit(self, path: str) -> None:
        self.call("Read", "1\tline", {"type": "text"}, file_path=path)
        self.call("Edit", f"The file {path} has been updated.", {"filePath": path}, file_path=path)

    def fail(self, text: str) -> None:
        command = self.random.choice(filler.FAILING_COMMANDS).format(n=self.random.randint(1, 999))
        output = filler.failing_output(text, self.random)
        self.call("Bash", f"Exit code 1\n{output}", Exception, command=command, description="Run")

    def fail_in_a_pipe(self, text: str) -> None:
        command = f"pytest tests -q -k part{self.random.randint(1, 999)} 2>&1 | tail -20"
        self.call("Bash", filler.failing_output(text, self.random), command=command)

    def agent(self, text: str) -> None:
        told = {"status": "completed", "agentId": f"a{self.session.counter:08x}"}
        arguments = {"description": self.random.choice(filler.ERRANDS), "prompt": "Look into it."}
        content = f"{text}\nagentId: a{self.session.counter:08x} (for resuming to continue)"
        self.call("Agent", content, told, subagent_type="Explore", **arguments)

    def notify(self, text: str) -> None:
        agent = f"b{self.session.counter:08x}"
        told = {"isAsync": True, "status": "async_launched", "agentId": agent}
        errand = self.random.choice(filler.ERRANDS)
        self.call("Agent", "Async agent launched successfully.", told, description=errand)
        prompt = (
            f"<task-notification>\n<task-id>{agent}</task-id>\n<status>completed</status>\n"
            f'<summary>Agent "{errand}" finished</summary>\n<result>{text}</result>\n'
            "</task-notification>"
        )
        attachment = {
            "type": "queued_command",
            "prompt": prompt,
            "commandMode": "task-notification",
        }
        self.session.row("attachment", attachment=attachment)

    def filler(self) -> None:
        """A turn in which nothing happens that has to be kept."""
        if self.random.random() < 0.5:
            self.prompt(self.random.choice(filler.PROMPTS))
        for _ in range(self.random.randint(1, 3)):
            name, result, arguments = filler.tool(self.random)
            self.say(filler.narration(self.random))
            self.call(name, result, **arguments)
        if self.random.random() < 0.6:
            self.say(filler.summary(self.random))
        if self.is_noisy and self.random.random() < 0.7:
            self.say(filler.noise(self.random))
