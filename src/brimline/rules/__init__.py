"""Instruction files: which hold where, what they cost, and the marked rules that are never lost.

lines     a file line by line: what is text, what code or comment; its imports (standard library)
cascade   which files hold, weakest first, and what the client does with each (standard library)
marked    rules marked `(ENFORCED)` or `(CRITICAL)`, compiled into the policy (standard library)
assemble  many files as one text within limits; what is added at the start of a session
lint      what is wrong with the files; single rules, with markdown-it
memoryfiles   the same for the client's own memory
"""
