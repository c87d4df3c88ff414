"""`python -m brimline`: the command for where its script is not on the PATH."""

from __future__ import annotations

from brimline.cli.main import main

if __name__ == "__main__":
    main()
