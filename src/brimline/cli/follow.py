"""`brimline status --follow`: a line whenever the figures of a session change."""

from __future__ import annotations

import json
import os
import time
from typing import Any

import click

from brimline.cli import status
from brimline.errors import SessionError

_INTERVAL_S = 1.0


def follow(path: str, home_dir: str, project_dir: str, *, as_json: bool) -> None:
    """Print until interrupted or the file is gone; it is read again whenever it changed.

    Raises:
        SessionError: the file cannot be read.
    """
    shown: dict[str, Any] | None = None
    stamp: tuple[int, int] | None = None
    try:
        while True:
            found = os.stat(path)
            if (found.st_mtime_ns, found.st_size) != stamp:
                stamp = (found.st_mtime_ns, found.st_size)
                report = status.read_status(path, home_dir, project_dir)
                if report != shown:
                    shown = report
                    click.echo(json.dumps(report) if as_json else _line(report))
            time.sleep(_INTERVAL_S)
    except KeyboardInterrupt:
        return
    except FileNotFoundError:
        if shown is None:
            raise SessionError(f"cannot read {path}: there is no such file") from None


def _line(report: dict[str, Any]) -> str:
    if report["occupancy_tokens"] is None:
        return "unknown: no model request since the session began or compacted"
    forecast = ""
    if report["forecast_ops"] is not None:
        forecast = (
            f", about {report['forecast_ops']} requests left "
            f"({report['forecast_ops_low']} to {report['forecast_ops_high']})"
        )
    tier = f"L{report['tier']} {report['tier_name']}"
    return f"{status.in_use(report)} ({report['used_ratio']:.0%}), {tier}{forecast}"
