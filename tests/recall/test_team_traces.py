"""What `doctor` tells of the team's server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.recall.answers import READY, counted, name_server, say

from brimline.recall import together, traces

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.recall.conftest import Answering


def test_doctor_tells_of_a_server_where_one_is_named(
    home_dir: str, project_dir: str, answering: Callable[..., Answering]
) -> None:
    """How it is, or what is wrong, and how much waits in either case."""
    assert not together.is_server_named(home_dir)
    assert list(traces.check(home_dir, project_dir)) == []
    say(home_dir, "otter")
    server = answering(READY, counted(7), (200, {"version": "1.2.3-" + "x" * 20}), (500, {}))
    name_server(home_dir, f"qdrant+http://mia@{server.host}/team")

    ((kind, told),) = traces.check(home_dir, project_dir)
    ((away, problem),) = traces.check(home_dir, project_dir)

    where = f"{server.host}/team"
    assert together.is_server_named(home_dir)
    assert (kind, away) == ("team", "team-away")
    assert told["told"] == f"{where}, Qdrant 1.2.3-{'x' * 14}: 7 points; 1 waiting here"
    assert problem["told"] == f"{server.host} says 500: no reason; 1 waiting here"
    name_server(home_dir, "qdrant+http://a b/team")
    ((away, wrong),) = traces.check(home_dir, project_dir)
    assert wrong["told"].startswith("memory.url has another form than")
    assert wrong["told"].endswith("/collection")
