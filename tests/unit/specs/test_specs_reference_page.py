"""The reference page is written from the specs."""

import subprocess
import sys
from pathlib import Path


def test_the_reference_page_is_current() -> None:
    tool = Path(__file__).parents[3] / "tools" / "render_job_reference.py"
    checked = subprocess.run([sys.executable, tool, "--check"], capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, "")
