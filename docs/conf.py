"""How the documentation is built: Markdown through MyST, the API from docstrings."""

from importlib.metadata import version as _version

project = "azbatch"
author = "The azbatch authors"
release = _version("azbatch")
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = "azbatch"
exclude_patterns = ["requirements.txt"]
autodoc_typehints = "description"
