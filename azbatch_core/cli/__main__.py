"""`python -m azbatch_core.cli`: the command where the console script is not on the path."""

import sys

from azbatch_core.cli import main

sys.exit(main())
