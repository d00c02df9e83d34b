"""Sphinx: pages in MyST, examples executed when the site is built, the reference from docstrings."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "src"))
# Examples run in kernels of their own: they find this robula, and their pictures come into the page.
os.environ["PYTHONPATH"] = os.pathsep.join([str(HERE.parent / "src"), os.environ.get("PYTHONPATH", "")]).rstrip(
    os.pathsep
)
os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"

from robula import __version__  # noqa: E402

project = "robula"
author = "The robula developers"
copyright = "The robula developers"
version = release = __version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinxcontrib.bibtex",
]
exclude_patterns = ["_build", "**/.ipynb_checkpoints"]

# Examples run once and again when their code changes; an example that fails fails the build.
nb_execution_mode = "cache"
nb_execution_cache_path = str(HERE / "_build" / "examples")
nb_execution_raise_on_error = True
nb_execution_timeout = 600
nb_merge_streams = True

myst_enable_extensions = ["colon_fence"]  # formulas are in plain characters: nothing is loaded from elsewhere
myst_heading_anchors = 3
# Types in docstrings are words ("float", "Model"), and a word may name a thing in two rooms.
suppress_warnings = ["ref.python"]

autodoc_typehints = "none"  # the docstrings say types and shapes
autodoc_member_order = "groupwise"
autodoc_default_options = {"members": True}
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_param = False  # types are words and shapes, not links
napoleon_use_ivar = True

bibtex_bibfiles = ["refs.bib"]
bibtex_default_style = "plain"
bibtex_reference_style = "author_year"

html_theme = "pydata_sphinx_theme"
html_title = f"robula {release}"
html_static_path = ["_static"]
html_css_files = ["robula.css"]
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "robula"},
    "navbar_align": "left",
    "show_nav_level": 1,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "default",
    "pygments_dark_style": "monokai",
}
html_sidebars = {"index": []}

#: Papers are cited as [key] in docstrings and on pages, so that the text reads as it is on a terminal too.
_KEYS = "|".join(re.findall(r"@\w+\{(\w+),", (HERE / "refs.bib").read_text()))
_CITED = re.compile(rf"\[((?:{_KEYS})(?:, (?:{_KEYS}))*)\](?!\()")


#: Tables of the repository that are not pages of the site: their path is shown instead.
_TABLES = re.compile(r"\[([^\]]+)\]\((?:\.\./)+(benchmarks/[^)]+\.md)\)")


def _cite_on_pages(app: Any, docname: str, source: list[str]) -> None:
    source[0] = _TABLES.sub(r"\1 (`\2`)", source[0])
    source[0] = _CITED.sub(lambda found: f"{{cite:p}}`{found[1].replace(' ', '')}`", source[0])


def _clean_docstring(app: Any, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Cite papers, and keep |x| a norm: reStructuredText takes it for a substitution."""
    for place, line in enumerate(lines):
        pieces = _CITED.sub(lambda found: f":cite:p:`{found[1].replace(' ', '')}`", line).split("``")
        pieces[::2] = [piece.replace("|", r"\|") for piece in pieces[::2]]
        lines[place] = "``".join(pieces)


def _skip(app: Any, what: str, name: str, value: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what scikit-learn adds to every estimator for its own routing."""
    return True if re.fullmatch(r"set_\w+_request|get_metadata_routing", name) else None


def setup(app: Any) -> None:
    """Register the three."""
    app.connect("source-read", _cite_on_pages)
    app.connect("autodoc-process-docstring", _clean_docstring)
    app.connect("autodoc-skip-member", _skip)
