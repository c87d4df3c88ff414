"""Starts a hook process with the fast-path modules taken from one precompiled bundle.

Fast path: imports only `sys`, `posix` and `marshal`, all built in. Finding a score of small modules
one by one costs more than everything a quiet hook does. A bundle that is missing, damaged, of
another interpreter or older than any source file is ignored and plain imports do the work.
"""

from __future__ import annotations

import sys
from marshal import loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, ModuleType
    from typing import Any

FORMAT = 1
PACKAGE_DIR = __file__[: -len("/launch.py")]


def bootstrap(root: str) -> str:
    """The code that installed entries give to the interpreter: whatever fails, silence and exit 0.

    Naming a script file instead would exit with 2 once the package is gone, which the client takes
    for a refusal.
    """
    return (
        "import sys\n"
        f"try:\n sys.path.insert(0,{root!r});from brimline.launch import main;main()\n"
        "except BaseException:pass"
    )


def main() -> None:
    """Answer the event named on the command line and end the process."""
    try:
        _use_bundle()
    except Exception:  # noqa: BLE001, S110 - a broken bundle only costs time
        pass
    from brimline.hooks.entry import main as answer

    answer()


def bundle_path() -> str:
    """Where the bundle of this interpreter lies."""
    return f"{PACKAGE_DIR}/__pycache__/fastpath.{sys.implementation.cache_tag}.bin"


def read_bundle() -> dict[str, CodeType] | None:
    """The code of the fast-path modules by name, or None where the bundle is not current.

    Raises:
        OSError, ValueError, EOFError, TypeError: there is no bundle, or it is damaged.
    """
    import posix

    descriptor = posix.open(bundle_path(), posix.O_RDONLY)
    try:
        # Trusted as much as the byte code beside it: both are ours, in our own package folder.
        header, entries = loads(posix.read(descriptor, posix.fstat(descriptor).st_size))  # noqa: S302
    finally:
        posix.close(descriptor)
    if header != (FORMAT, sys.hexversion):
        return None
    codes = {}
    for name, file, modified_ns, size, code in entries:
        found = posix.stat(PACKAGE_DIR + file)
        if found.st_mtime_ns != modified_ns or found.st_size != size:
            return None
        codes[name] = code
    return codes


class BundleFinder:
    """Hands the bundle's modules to the import system."""

    def __init__(self, codes: dict[str, CodeType]) -> None:
        self.codes = codes

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:  # noqa: ARG002
        """The module's specification, or None for modules of others."""
        if name not in self.codes:
            return None
        file = self.codes[name].co_filename
        package = file.endswith("/__init__.py")
        make_spec: Any = type(sys.__spec__)
        spec = make_spec(name, self, origin=file, is_package=package)
        if package:
            spec.submodule_search_locations = [file[: -len("/__init__.py")]]
        return spec

    def create_module(self, spec: Any) -> None:
        """The import system makes the module itself."""

    def exec_module(self, module: ModuleType) -> None:
        """Run the module's code."""
        code = self.codes[module.__name__]
        module.__file__ = code.co_filename
        exec(code, module.__dict__)  # noqa: S102 - our own code, compiled from the checked source


def _use_bundle() -> None:
    codes = read_bundle()
    if codes:
        sys.meta_path.insert(0, BundleFinder(codes))
