"""`brimline budget`: the five compartments of a session, as the model sees them."""

from __future__ import annotations

from typing import Any

import click

from brimline import output
from brimline.budget import items, operations
from brimline.fast import paths
from brimline.transcript import find


@output.command("budget")
@click.argument(
    "operation",
    metavar="[OPERATION]",
    type=click.Choice(list(operations.OPERATIONS)),
    default="get",
)
@click.option(
    "--in",
    "compartment",
    metavar="NAME",
    type=click.Choice(list(items.SHARES)),
    help="Which compartment.",
)
@click.option("--text", help="What an item says; for estimate, what is to be estimated.")
@click.option("--id", "item_id", metavar="ID", help="An item, by its id or how it begins.")
@click.option("--priority", type=click.IntRange(0, 10), help="10 goes last; 5 unless given.")
@click.option("--pinned", is_flag=True, default=None, help="Never evicted.")
@output.session_option
def budget(operation: str, session_id: str | None, as_json: bool, **given: Any) -> None:
    """Show and change what a session's window is meant to hold, in five compartments.

    OPERATION is get (unless given), add, remove, pin, unpin, evict, enforce, estimate, alerts, log
    or list; NAME is active_task, project_background, operator_preferences, safety_constraints or
    ambient_knowledge. Each has a share of the window that no other takes. What is pinned in
    safety_constraints and active_task comes back after every compaction. Without --session it is
    the running one, else the newest of this project.

    \b
    Example:
      brimline budget
      brimline budget add --in safety_constraints --text "Never push to main."
      brimline budget evict --in ambient_knowledge
      brimline budget list --in active_task
    """
    session = find.wanted_session_id(session_id)
    arguments = given | {"id": given.pop("item_id")}
    document = operations.run_operation(paths.data_dir(), session, operation, arguments)
    output.answer({"session_id": session} | document, operations.text, as_json=as_json)
