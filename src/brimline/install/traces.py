"""What the installer keeps: records of what it changed, and settings files from before."""

from __future__ import annotations

FILES = {
    "": "command",
    "install": r"[0-9a-f]{16}\.json",
    "backups": r"settings(\.local)?\.json\.\d{8}_\d{6}(\.\d+)?",
    "bin": r"hook\.\d+\.\d+\.tmp",
    "mod": "",
    "mod/.claude-plugin": r"marketplace\.json",
    "mod/brimline": r"brimline\.json",
    "mod/brimline/.claude-plugin": r"plugin\.json",
    "mod/brimline/hooks": r"hooks\.json|register\.js",
    "mod/idle": "",
    "mod/idle/.claude-plugin": r"plugin\.json",
    "mod/idle/hooks": r"hooks\.json|register\.js",
}
