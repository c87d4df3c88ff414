"""`python -m brimline`: the command for where its script is not on the PATH.

`python -I …/brimline` does the same for a package that an isolated interpreter would not find.
"""

from __future__ import annotations

if not __package__:
    import os
    import site
    import sys

    # First on the path is the package itself, whose modules would hide others of that name.
    site.addsitedir(os.path.dirname(sys.path.pop(0)))

from brimline.cli.main import main

if __name__ == "__main__":
    main()
