"""A hook as most are written in Python: the usual imports, the event parsed, nothing to say."""

from __future__ import annotations

import argparse
import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path

_SESSION = re.compile(r"[0-9a-f-]{36}")


@dataclass
class Event:
    """What the hook looks at."""

    session_id: str
    transcript: Path


def main() -> int:
    """Read the event and find nothing wrong with it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("event")
    parser.parse_args()
    payload = json.load(sys.stdin)
    event = Event(payload["session_id"], Path(payload["transcript_path"]))
    return 0 if _SESSION.fullmatch(event.session_id) and event.transcript.exists() else 1


if __name__ == "__main__":
    sys.exit(main())
