"""The page of operations is written from the table."""

import subprocess
import sys
from pathlib import Path


def test_the_page_of_operations_is_current() -> None:
    tool = Path(__file__).parents[3] / "tools" / "render_operations.py"
    checked = subprocess.run([sys.executable, tool, "--check"], capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, "")
