"""The documents behind `rules`, and their texts: which files load, at what cost, what is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from brimline import output
from brimline.rules import cascade, lint, marked
from brimline.rules.cascade import AT_START, NEVER, ON_MATCH, ON_READ, short_path

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from brimline.rules.cascade import Cascade, Source
    from brimline.rules.lint import Survey

    # How many tokens a text of so many characters takes.
    Estimate = Callable[[int], int]

# Who asks may look into a large monorepo; a hook reads a tenth of that.
_MOST_CHARACTERS = 4_000_000
_WHEN = {
    AT_START: "at the start",
    ON_READ: "when a file there is read or written",
    ON_MATCH: "when a file that matches is read or written",
    NEVER: "no",
}
_LOST = "; a summary loses it, and brimline brings its marked rules back"
_AFTER_A_SUMMARY = {AT_START: ", and again after a summary", ON_READ: _LOST, ON_MATCH: _LOST}
_BY_US = "Claude Code does not know it; brimline adds it at the start"
_ORDER = (
    "Weakest first: where two disagree, the later one is nearer to the work. Claude Code sends all "
    "of them and leaves the choice to the model."
)


def gather_files_for_commands(
    project_dir: str, path: str = "", walked: Survey | None = None
) -> Cascade:
    """The instruction files of a project, or those for one path; after a walk, all of them."""
    return cascade.gather_instruction_files(
        project_dir,
        path,
        folders=walked.folders if walked else None,
        most_characters=_MOST_CHARACTERS,
    )


def project_document(project_dir: str, estimate: Estimate) -> dict[str, Any]:
    """All that loads in a project, with the folders below it."""
    walked = lint.survey_project_files(project_dir)
    gathered = gather_files_for_commands(project_dir, walked=walked)
    return document(gathered, estimate) | {"is_complete": walked.is_complete}


def document(gathered: Cascade, estimate: Estimate) -> dict[str, Any]:
    """The files in their order, under the keys that other programs rely on."""
    files = _file_documents(gathered.sources, estimate)
    at_start = [file["tokens"] for file in files if file["client"] == AT_START]
    on_demand = [file["tokens"] for file in files if file["client"] in (ON_READ, ON_MATCH)]
    return {
        "project": gathered.folder,
        "files": files,
        "tokens_at_start": sum(at_start),
        "tokens_on_demand": sum(on_demand),
        "marked_rules": len(marked.marked_rules_in(_reaching(gathered.sources))),
        "problems": [problem._asdict() for problem in gathered.problems],
    }


def _reaching(sources: Sequence[Source]) -> list[Source]:
    """The files that reach a model, by the client or by us."""
    return [each for each in sources if each.client != NEVER or marked.is_in_every_session(each)]


def _file_documents(sources: Sequence[Source], estimate: Estimate) -> list[dict[str, Any]]:
    first: dict[str, str] = {}
    files = []
    for source in sources:
        speaks = bool(source.text.strip())
        same = first.setdefault(source.digest, source.path) if speaks else source.path
        added = source.client == NEVER and marked.is_in_every_session(source)
        files.append(
            output.pick_attrs(source, "path level why client client_note patterns imported_by")
            | {
                "client_note": source.client_note or (_BY_US if added else ""),
                "survives_compaction": marked.is_in_every_session(source),
                "same_as": same if same != source.path else None,
                "characters": len(source.text),
                "tokens": estimate(len(source.text)),
            }
        )
    return files


def explanation_document(gathered: Cascade, path: str, estimate: Estimate) -> dict[str, Any]:
    """The files that hold for a path, with their rules."""
    made = document(gathered, estimate) | {
        "path": cascade.path_in_resolved_folder(gathered.folder, path)
    }
    for file, source in zip(made["files"], gathered.sources, strict=True):
        file["rules"] = [
            {
                "id": rule.hash_of_words,
                "line": rule.line,
                "text": rule.text,
                "marked": bool(marked.MARK.search(rule.text)),
            }
            for rule in ([] if file["same_as"] else lint.all_rules_in_file(source))
        ]
    return made


def findings_document(project_dir: str, now: float) -> dict[str, Any]:
    """The faults of all instruction files of a project, the broken ones first."""
    walked = lint.survey_project_files(project_dir)
    gathered = gather_files_for_commands(project_dir, walked=walked)
    problems, notes = lint.lint(gathered, walked, now)
    problems.sort(key=lambda problem: not problem.is_to_be_mended)
    broken = sum(problem.is_to_be_mended for problem in problems)
    return {
        "project": gathered.folder,
        "files": len(gathered.sources),
        "broken": broken,
        "doubtful": len(problems) - broken,
        "findings": [
            {"severity": "broken" if problem.is_to_be_mended else "doubtful"} | problem._asdict()
            for problem in problems
        ],
        "notes": notes,
    }


def text(document: dict[str, Any]) -> str:
    """The files for a person, then what they come to."""
    project = document["project"]
    if not document["files"]:
        return f"No instruction files hold in {short_path(project)}. Write a CLAUDE.md to begin."
    lines = [f"Instruction files in {short_path(project)}, weakest first.", ""]
    for at, file in enumerate(document["files"], 1):
        name = ("  @" if file["imported_by"] else "") + short_path(file["path"], project)
        lines.append(f"{at:3}  {file['level']:12}  ~{file['tokens']:<7,} {name}")
        lines += _when_one_file_is_loaded_lines(file, project)
    more = f"~{document['tokens_on_demand']:,} more on demand, estimated from the length"
    lines += ["", f"~{document['tokens_at_start']:,} tokens at the start, {more}."]
    lines += [f"Marked rules: {document['marked_rules']}."]
    if document["problems"]:
        lines.append(f"Problems: {len(document['problems'])}, see `brimline rules lint`.")
    if not document["is_complete"]:
        lines.append("The project is large: not every folder was searched.")
    return "\n".join(lines)


def explanation_text(document: dict[str, Any]) -> str:
    """The rules that hold for a path, file by file."""
    project = document["project"]
    lines = [f"What holds for {short_path(document['path'], project)}, weakest first."]
    for at, file in enumerate(document["files"], 1):
        origin = f"{short_path(file['path'], project)}  ({file['level']}: {file['why']})"
        lines += ["", f"{at}. {origin}", *_when_one_file_is_loaded_lines(file, project)]
        for rule in file["rules"]:
            lines.append(f"   {'!' if rule['marked'] else ' '}{rule['line']:5}  {rule['text']}")
    return "\n".join([*lines, "", output.wrapped_text(_ORDER)])


def findings_text(document: dict[str, Any]) -> str:
    """The faults for a person, a paragraph each, then their number."""
    paragraphs = []
    for finding in document["findings"]:
        line = f":{finding['line']}" if finding["line"] else ""
        place = f"{short_path(finding['path'], document['project'])}{line}"
        paragraphs.append((finding["severity"], f"{place}: {finding['text']}"))
    paragraphs += [("note", note) for note in document["notes"]]
    lines = [output.wrapped_text(words, f"{kind:9}", " " * 9) for kind, words in paragraphs]
    files = output.count_text(document["files"], "instruction file")
    lines.append(f"{files}: {document['broken']} broken, {document['doubtful']} doubtful.")
    return "\n".join(lines)


def _when_one_file_is_loaded_lines(file: dict[str, Any], project: str) -> list[str]:
    """Return when the client loads a file, and what else there is to say."""
    why_not = f": {file['client_note']}" if file["client_note"] else ""
    after = _AFTER_A_SUMMARY.get(file["client"], "")
    notes = [f"loads: {_WHEN[file['client']]}{why_not}{after}"]
    if file["patterns"]:
        notes.append(f"for {', '.join(file['patterns'])}")
    if file["same_as"]:
        notes.append(
            f"says the same as {short_path(file['same_as'], project)}, and is counted there"
        )
    return [output.wrapped_text(note, " " * 5, " " * 7) for note in notes]
