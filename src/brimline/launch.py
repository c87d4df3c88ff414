"""Starts a hook process with the fast-path modules taken from one precompiled bundle.

Fast path: imports only `sys`, `gc`, `posix` and `marshal`, all built in, and not even `__future__`.
Finding a score of small modules one by one costs more than everything a quiet hook does. A bundle
that is missing, damaged or of another interpreter is ignored, and so is every module from the first
whose source changed: plain imports do the work then.
"""

import sys
from marshal import loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType
    from typing import TypeAlias

    # Name, source file, its time and size when compiled, code.
    Entry: TypeAlias = tuple[str, str, int, int, CodeType]

FORMAT = 4
PACKAGE_DIR = __file__[: -len("/launch.py")]
_PACKAGE_FILE = "/__init__.py"
_LAUNCHER_BYTES = 10_000


def bootstrap_code(root: str, *installed: str) -> str:
    """The code that starts brimline for the client: whatever fails, silence and exit 0.

    A status line says so, and the user's own, which ours had wrapped, goes on. This is the body of
    the launcher, or is given to the interpreter itself. Naming a script to the interpreter would
    exit with 2 once that is gone, which the client takes for a refusal.

    Args:
        root: the folder with the package.
        installed: the folders that it tells `main`.
    """
    told = ",".join(map(ascii, installed))
    return (
        "import sys\n"
        f"try:\n sys.path.insert(0,{root!a});from brimline.launch import main;main({told})\n"
        "except BaseException:\n"
        " try:\n"
        "  if sys.argv[1]=='statusline':\n"
        "   import os;print('brimline: package not found, run `brimline doctor`',flush=True)\n"
        "   os.execl('/bin/sh','sh','-c',sys.argv[2])\n"
        " except BaseException:pass"
    )


def is_bootstrap(text: str) -> bool:
    """Tell whether a text holds the code that starts brimline, as written by any version of it."""
    return "from brimline." in text and "import main" in text


def is_launcher(path: str) -> bool:
    """Tell whether a program is our launcher; one that is gone is known by its usual place."""
    from brimline.fast.paths import LAUNCHER

    if not path.endswith(LAUNCHER):
        return False
    import os

    try:
        # A stranger's settings may name a pipe, which would make us wait.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            return is_bootstrap(os.read(descriptor, _LAUNCHER_BYTES).decode("utf-8", "replace"))
        finally:
            os.close(descriptor)
    except BlockingIOError:
        return False
    except OSError:
        return path.endswith("/brimline" + LAUNCHER)


def main(*installed: str) -> None:
    """Answer the event named on the command line and end the process.

    Args:
        installed: the folders written down at install (`paths.pin`); earlier versions named the
            data folder alone, or named it on the command line.
    """
    import gc

    # A hook ends before there is anything to collect, and looking for it costs as much as its work.
    gc.disable()
    try:
        load_modules(read_bundle())
    except Exception:  # noqa: BLE001, S110 - a broken bundle only costs time
        pass
    name, *told = [*sys.argv[1:], ""]
    if name != "mod" and not installed:
        installed, told = tuple(told[:1]), told[1:]
    if installed[:1] > ("",):
        from brimline.fast.paths import pin

        pin(*installed)
    if name == "mod":
        from brimline.mod.request import main as answer_mod

        answer_mod(told[0])
    if name == "mcp":
        from brimline.mcp.server import serve

        gc.enable()
        serve()
        return
    from brimline.hooks.entry import main as answer

    answer(name, "".join(told[:1]))


def bundle_path() -> str:
    """Return where the bundle of this interpreter lies."""
    return f"{PACKAGE_DIR}/__pycache__/fastpath.{sys.hexversion:x}.bin"


def read_bundle() -> "list[Entry]":
    """The modules that quiet hooks need, each after those that it imports itself.

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


def is_source_unchanged(entry: "Entry") -> bool:
    """Tell whether a module's source is what its code was compiled from."""
    import posix

    _, file, modified_ns, size, _ = entry
    try:
        found = posix.stat(PACKAGE_DIR + file)
    except OSError:
        return False
    return found.st_mtime_ns == modified_ns and found.st_size == size


def load_modules(entries: "list[Entry]") -> None:
    """Make the modules known without the import system, which would look for each on the disk.

    Raises:
        Exception: whatever a module's code raises; that module is then not known.
    """
    for entry in entries:
        if not is_source_unchanged(entry):
            return
        name, file, _, _, code = entry
        parent, _, child = name.rpartition(".")
        module = type(sys)(name)
        module.__file__ = PACKAGE_DIR + file
        module.__package__ = parent
        if file.endswith(_PACKAGE_FILE):
            module.__package__ = name
            module.__path__ = [PACKAGE_DIR + file[: -len(_PACKAGE_FILE)]]
        sys.modules[name] = module
        try:
            exec(code, module.__dict__)  # noqa: S102 - our own code, from the checked source
        except BaseException:
            del sys.modules[name]
            raise
        setattr(sys.modules[parent], child, module)
