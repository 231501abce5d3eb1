"""The documentation site: ``make docs``, or ``sphinx-build -W --keep-going -n docs out/docs``."""

import importlib.util
import sys
from pathlib import Path

DOCS = Path(__file__).parent
ROOT = DOCS.parent
sys.path[:0] = [str(DOCS / "_site"), str(DOCS / "results"), str(ROOT)]

import farhand  # noqa: E402  (found through the path above)

project = "Farhand"
author = "the Farhand authors"
project_copyright = "the Farhand authors, Apache-2.0"
version = release = farhand.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.mathjax",
    "sphinx_copybutton",
    "sphinx_design",
    # The project's own, in docs/_site.
    "api_pages",
    "references",
    "results_pages",
    "local_files",
    "explorable_page",
]
exclude_patterns = ["_build", "_site", "_static"]
nitpicky = True

# -- Pages -----------------------------------------------------------------------------------------

myst_enable_extensions = ["colon_fence", "dollarmath", "attrs_inline"]
# Anchors of headings are those of GitHub, so that a link works in both places.
myst_heading_anchors = 4
# People also read the guides in the repository, where a line that begins with "%" is text and no
# comment.
myst_disable_syntax = ["myst_line_comment", "myst_block_break"]
# Copying a console block leaves out the prompt.
copybutton_prompt_text = r"\$ |>>> "
copybutton_prompt_is_regexp = True

# -- Look ------------------------------------------------------------------------------------------

html_theme = "furo"
html_title = f"Farhand {release}"
html_static_path = ["_static"]
html_css_files = ["farhand.css"]
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b5cad", "color-brand-content": "#0b5cad"},
    "dark_css_variables": {"color-brand-primary": "#6fb3ff", "color-brand-content": "#6fb3ff"},
}
html_show_sourcelink = False
html_copy_source = False
pygments_style = "friendly"
pygments_dark_style = "github-dark"

# -- Equations -------------------------------------------------------------------------------------

# MathJax comes from a Python package and is copied into the site: the pages need no network. The
# SVG output is one file and loads no fonts. The package's own extension would copy all of MathJax,
# 24 MB.
_mathjax = importlib.util.find_spec("sphinx-mathjax-offline")
if _mathjax is None or _mathjax.origin is None:
    raise SystemExit(
        "docs: sphinx-mathjax-offline is not installed; run 'make docs', or pip install '.[docs]'"
    )
html_static_path.append(str(Path(_mathjax.origin).parent / "static" / "mathjax" / "tex-svg.js"))
mathjax_path = "tex-svg.js"

# -- API -------------------------------------------------------------------------------------------

autodoc_default_options = {"members": True, "show-inheritance": True, "ignore-module-all": True}
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
autodoc_use_type_comments = False
napoleon_numpy_docstring = False
napoleon_use_ivar = True
python_use_unqualified_type_names = True
add_module_names = False
# Other libraries have no entry in this site, and the build asks no network for theirs.
nitpick_ignore_regex = [("py:.*", r"(?!farhand\b)[A-Za-z_]\w*\..*")]
