"""Starts the replay of recorded sessions with offloading: `python benchmarks/offload.py --help`."""

from __future__ import annotations

import os
import sys

if __name__ == "__main__":
    # A script's own folder is on the path, the checkout that holds the package is not.
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    from benchmarks.offload_table import main

    sys.exit(main())
