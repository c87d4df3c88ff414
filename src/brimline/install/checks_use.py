"""Checks of what brimline keeps and measures by: data, errors, store, rules, the client."""

from __future__ import annotations

import os
import shlex
import stat
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from brimline import models, output, rooms
from brimline.bulk import contents, layout, retention
from brimline.errors import SessionError, StoreError, reason
from brimline.fast import clock, io, paths, policy
from brimline.gauge.reading import Reading, measure_session
from brimline.gauge.window import (
    ending_at_text,
    idle_compaction_tokens,
    word_for_ending,
)
from brimline.guard.ceiling import Ceiling
from brimline.install import checks_files, client, datafolder
from brimline.rules import lint
from brimline.settings import config, elsewhere, pinned, presets
from brimline.state import logs
from brimline.state.session import SessionState
from brimline.transcript import find

if TYPE_CHECKING:
    from collections.abc import Iterator

    from brimline.install.doctor import Said

_RECENT_S = 24 * 3_600
_FOR_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_MESSAGE_LENGTH = 200
# The first client that knows hooks as `command` and `args`; older ones drop the arguments.
_OLDEST_CLIENT = (2, 1, 139)
_TESTED_CLIENT = (2, 1, 328)
# A window of 100,000 was seen to be honoured, one of 50,000 was not.
LEAST_WINDOW_TOKENS = 100_000
_FEW_CLEANUP_DAYS = 7


def _check_data_folder(home_dir: str, _project_dir: str) -> list[Said]:
    problem = pinned.why_not_to_be_used(home_dir)
    if problem:
        return [("data-foreign", {"problem": problem})]
    is_new = not os.path.lexists(home_dir)
    said = {"home": home_dir, "quoted": shlex.quote(home_dir)}
    probe = f"{_nearest_existing_path(home_dir)}/errors.jsonl.{os.getpid()}.0.tmp"
    try:
        io.create_exclusively(probe, b"doctor\n")
        io.remove(probe)
    except OSError as error:
        return [("data-unwritable", said | {"problem": reason(error)})]
    if is_new:
        return [("no-data-folder", said)]
    kept = [*datafolder.our_folders(home_dir), *datafolder.our_files(home_dir)]
    loose = [path for path in kept if _file_mode_or_zero(path) & _FOR_OTHERS]
    if not loose:
        return [("data-folder", said)]
    # Behind a closed folder nobody gets at them; the user's own editor made them so.
    said["level"] = "broken" if _file_mode_or_zero(home_dir) & _FOR_OTHERS else "warning"
    return [("data-readable", said | {"first": loose[0]})]


def _nearest_existing_path(path: str) -> str:
    """The path itself, or the nearest one above it that is there."""
    while not os.path.lexists(path):
        path = os.path.dirname(path)
    return path


def _file_mode_or_zero(path: str) -> int:
    try:
        return os.stat(path).st_mode
    except OSError:
        return 0


def _check_own_errors(home_dir: str, _project_dir: str) -> list[Said]:
    recent = logs.recent_failures(home_dir, clock.now_s() - _RECENT_S)
    if not recent:
        return [("no-hook-errors", {})]
    last = {name: recent[-1].get(name) for name in ("event", "error", "message", "where")}
    told = "{event}: {error}: {message} ({where})".format(**last)[:_MESSAGE_LENGTH]
    count, log = output.count_text(len(recent), "failure"), shlex.quote(paths.error_log(home_dir))
    return [("hook-errors", {"count": count, "told": told, "log": log})]


def _check_configuration(home_dir: str, project_dir: str) -> Iterator[Said]:
    problems = config.load(home_dir, project_dir).problems
    for problem in problems:
        yield "config-problem", {"problem": problem}
    if not problems:
        yield "config", {}


def _check_what_has_no_effect(home_dir: str, project_dir: str) -> Iterator[Said]:
    """What somebody configured in a place that nobody reads."""
    known = config.load(home_dir, project_dir)
    for variable, fix in elsewhere.variables_without_effect(project_dir, known, os.environ):
        yield "variable-unread", {"variable": variable, "fix": fix}
    for problem in lint.find_folder_of_rules_nobody_reads(project_dir):
        yield "rules-unread", {"path": problem.path, "problem": problem.text}


def _check_store(home_dir: str, project_dir: str) -> list[Said]:
    if not os.path.isdir(layout.store_folder(home_dir)):
        return []
    try:
        layout.refuse_newer_format(home_dir)
        kept = contents.list_blobs(home_dir)
    except (StoreError, OSError) as error:
        return [("store-unreadable", {"problem": error})]
    limit_mb = config.load(home_dir, project_dir).values["store.max_mb"]
    used_mb = sum(blob.disk_bytes for blob in kept) / retention.MEGABYTE
    said = {"used": f"{used_mb:,.1f}", "limit": f"{limit_mb:g}"}
    said["size"] = output.size_text(sum(blob.disk_bytes for blob in kept))
    said["outputs"] = output.count_text(len(kept), "output")
    if used_mb <= limit_mb:
        return [("store", said)]
    moved = [blob for blob in kept if contents.read_sidecar(home_dir, blob.key).get("moved_out")]
    said["moved"] = f"{sum(blob.disk_bytes for blob in moved) / retention.MEGABYTE:,.1f}"
    return [("store-full", said)]


def _check_client_version(_home_dir: str, _project_dir: str) -> Iterator[Said]:
    program, version = client.claude_on_path(), client.client_version_on_path()
    shown = {"version": version, "oldest": _OLDEST_CLIENT, "tested": _TESTED_CLIENT}
    said = {name: ".".join(map(str, numbers)) for name, numbers in shown.items()}
    said["program"] = program or ""
    if program is None:
        yield "no-client", said
    elif not version:
        yield "client-mute", said
    elif version < _OLDEST_CLIENT:
        yield "client-old", said
    else:
        yield "client-new" if version > _TESTED_CLIENT else "client-version", said


def _check_where_client_compacts(home_dir: str, project_dir: str) -> Iterator[Said]:
    """Where the client compacts, and whether what brimline says comes in order before that."""
    rules = config.build_live_policy(home_dir, project_dir)
    reading = _reading_of_newest_session(home_dir, project_dir, rules)
    known, point, window = rules.client, reading.compaction, reading.window
    least = max(window.tokens, LEAST_WINDOW_TOKENS)
    sources = f"(from: {point.source}; window from: {window.source})"
    about = f"{ending_at_text(point.ending, point.tokens)} of {window.tokens:,} tokens {sources}"
    if known["autocompact_enabled"] is False:
        yield "compaction-off", {"wall": f"{point.tokens:,}"}
    else:
        named = {False: "compaction-reactive", None: "compaction-unsure", True: "compaction"}
        yield named[point.enforced], {"about": about, "window": least}
    idle = idle_compaction_tokens(known, reading.version)
    if idle is not None and idle < point.tokens:
        yield "compaction-idle", {"tokens": f"{idle:,}"}
    chosen, percent = known["autocompact_window"], known["autocompact_pct"]
    if percent and not chosen and not known["autocompact_window_by_model"]:
        yield "compaction-pct", {"percent": percent, "window": least}
    if chosen and chosen < LEAST_WINDOW_TOKENS:
        yield "compaction-window", {"window": f"{chosen:,}", "least": LEAST_WINDOW_TOKENS}
    yield _judge_order_of_tiers_and_compaction(rules.values, reading)


def _reading_of_newest_session(home_dir: str, project_dir: str, rules: policy.Policy) -> Reading:
    """The newest session's reading, which knows the model; without a session, what settings say."""
    try:
        transcript = find.newest_in_project(project_dir)
        state = SessionState(home_dir, find.session_id_of(transcript))
        return measure_session(transcript, state, rules)
    except (SessionError, OSError):
        return measure_session(None, SessionState(home_dir, None), rules)


def _judge_order_of_tiers_and_compaction(values: dict[str, Any], reading: Reading) -> Said:
    """Whether ceiling, tiers and compaction come in this order, for the window of a reading."""
    point, window = reading.compaction.tokens, reading.window.tokens
    ceiling = None if values["guard.ceiling"] == "off" else Ceiling(window, values).tokens
    speaks = presets.preset_or_default(values["guard.preset"])["tiers"]
    tiers = [int(tokens) for tokens in reading.ladder.begins] if speaks else []
    points = {} if ceiling is None else {"ceiling": ceiling}
    points |= {f"L{at}": tiers[at - 1] for at in (1, len(tiers)) if tiers}
    points[word_for_ending(reading.compaction.ending)] = point
    chain = ", ".join(f"{name} {tokens:,}" for name, tokens in points.items())
    said = {"chain": chain, "point": f"{point:,}", "window": f"{window:,}"}
    said["usual"] = str(max(1, window - models.RESERVE_TOKENS))
    if ceiling is None and not tiers:
        return "warnings-off", said
    if point > window:
        return "point-beyond-window", said
    is_in_order = all(a < b for a, b in pairwise([0, *points.values()]))
    return "ordering" if is_in_order else "out-of-order", said


def _check_client_cleanup(home_dir: str, project_dir: str) -> Iterator[Said]:
    days = config.build_live_policy(home_dir, project_dir).client["cleanup_days"]
    if days is None:
        yield "retention-default", {"path": f"{paths.client_config_dir()}/settings.json"}
    else:
        yield "retention-short" if days < _FEW_CLEANUP_DAYS else "retention", {"days": days}


CHECKS = (
    *(_check_data_folder, checks_files.check_files, _check_own_errors, _check_configuration),
    _check_what_has_no_effect,
    _check_store,
    *rooms.values_in_all_traces("check"),
    *(_check_client_version, _check_where_client_compacts, _check_client_cleanup),
)
