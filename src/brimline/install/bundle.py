"""Builds the bundle of fast-path modules that `launch` loads, for the interpreter it runs on."""

from __future__ import annotations

import ast
import os
import sys
from marshal import dumps
from typing import TYPE_CHECKING

from brimline.fast.paths import PACKAGE_DIR
from brimline.launch import FORMAT, bundle_path

if TYPE_CHECKING:
    from types import CodeType

# What every quiet hook loads, each after those that it imports itself;
# `tests/hooks/test_imports.py` compares it with reality.
FAST_MODULES = tuple(
    f"brimline.{name}"
    for name in (
        *("fast", "fast.io", "fast.json", "fast.owntools", "fast.paths", "fast.policy", "models"),
        *("transcript", "transcript.clienttools", "transcript.usage", "state", "state.session"),
        *("gauge", "gauge.window", "gauge.reading", "gauge.hook"),
        *("bulk", "bulk.marks", "bulk.hook", "carry", "carry.hook"),
        *(
            "guard",
            "guard.hook",
            "hooks",
            "hooks.wire",
            "hooks.table",
            "hooks.turn",
            "hooks.entry",
        ),
    )
)


def build() -> str:
    """Compile the fast path for the running interpreter and write the bundle; returns its path.

    Raises:
        OSError: a source cannot be read or the package folder cannot be written.
    """
    entries = []
    for name in FAST_MODULES:
        file = _source_path_in_package(name)
        found = os.stat(PACKAGE_DIR + file)
        code = _compile_without_annotations(PACKAGE_DIR + file)
        entries.append((name, file, found.st_mtime_ns, found.st_size, code))
    target = bundle_path()
    os.makedirs(os.path.dirname(target), exist_ok=True)
    temporary = f"{target}.{os.getpid()}.tmp"
    with open(temporary, "wb") as out:
        out.write(dumps(((FORMAT, sys.hexversion), entries)))
    os.replace(temporary, target)
    return target


def _compile_without_annotations(path: str) -> CodeType:
    """The module's code without docstrings and annotations."""
    with open(path, "rb") as source:
        tree = ast.parse(source.read(), path)
    return compile(_Bare().visit(tree), path, "exec", dont_inherit=True, optimize=2)


class _Bare(ast.NodeTransformer):
    """Leaves out what only readers and checkers need: annotations, and the import for them."""

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST | None:
        return None if node.module == "__future__" else node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | None:
        if node.value is None:
            return None
        return ast.copy_location(ast.Assign([node.target], node.value), node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)


def _source_path_in_package(name: str) -> str:
    relative = "/" + "/".join(name.split(".")[1:])
    package = os.path.isdir(PACKAGE_DIR + relative)
    return relative + ("/__init__.py" if package else ".py")


if __name__ == "__main__":
    sys.stdout.write(build() + "\n")
