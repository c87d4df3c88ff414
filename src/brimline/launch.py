"""Starts a hook process with the fast-path modules taken from one precompiled bundle.

Fast path: imports only `sys`, `posix` and `marshal`, all built in. Finding a score of small modules
one by one costs more than everything a quiet hook does. A bundle that is missing, damaged, of
another interpreter is ignored, and so is a module whose source changed: plain imports do the work.
"""

from __future__ import annotations

import sys
from marshal import loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

FORMAT = 2
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
    return f"{PACKAGE_DIR}/__pycache__/fastpath.{sys.hexversion:x}.bin"


def read_bundle() -> dict[str, tuple[str, int, int, bytes]]:
    """The fast-path modules by name: source file, its time and size when compiled, marshalled code.

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
        raise ValueError("the bundle is of another interpreter or version")
    return entries  # type: ignore[no-any-return]


def is_current(entry: tuple[str, int, int, bytes]) -> bool:
    """Whether a module's source is what its code was compiled from."""
    import posix

    file, modified_ns, size, _ = entry
    try:
        found = posix.stat(PACKAGE_DIR + file)
    except OSError:
        return False
    return found.st_mtime_ns == modified_ns and found.st_size == size


class BundleFinder:
    """Hands the bundle's modules to the import system, each only while it is current."""

    def __init__(self, entries: dict[str, tuple[str, int, int, bytes]]) -> None:
        self.entries = entries

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:  # noqa: ARG002
        """The module's specification; None leaves it to the plain import system."""
        entry = self.entries.get(name)
        if entry is None or not is_current(entry):
            return None
        file = PACKAGE_DIR + entry[0]
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
        file, _, _, code = self.entries[module.__name__]
        module.__file__ = PACKAGE_DIR + file
        exec(loads(code), module.__dict__)  # noqa: S102, S302 - our own code, from the checked source


def _use_bundle() -> None:
    sys.meta_path.insert(0, BundleFinder(read_bundle()))
