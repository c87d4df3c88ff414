"""Claude Code's session files, typed and streamed.

What rooms ask: `session` (what happened: requests, calls, compactions), `calls`, `caching`, `words`
(whose they are), `find` and `project` (which file, whose), `usage` (the end of a file, for hooks).
`row` and `pieces` are its private half, `read` the lines below it: only who edits a session's file,
or goes on where it left off, asks them. A contract in `pyproject.toml` names these.
"""
