"""Instruction files: which hold where, what they cost, and the marked rules that are never lost.

lines     a file line by line: what is text, what code or comment; its imports (standard library)
cascade   which files hold, weakest first, and what the client does with each (standard library)
marked    marked rules, compiled into the policy; many files as one text (standard library)
lint      what is wrong with the files and with the client's memory; single rules
"""
