"""API pages, written from the package tree before every build: a page per package.

A page has one section per module. Nothing here names a module, so a module that moves needs no
edit. The pages go to ``docs/api``, which git ignores.
"""

from __future__ import annotations

import ast
import dataclasses
import math
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

ROOT = Path(__file__).parents[2]
LIBRARY = ROOT / "farhand"

# The commands are documented by `farhand --help`; nobody imports them.
LEFT_OUT = {"farhand.cli"}

# Longer values of constants are not shown. [characters]
LONGEST_VALUE = 70


def packages() -> list[Path]:
    """Folders of the library that are packages, by name; the library itself first."""
    found = sorted(path.parent for path in LIBRARY.rglob("__init__.py"))
    return [
        folder
        for folder in found
        if not any(_name(folder).startswith(left_out) for left_out in LEFT_OUT)
    ]


def _name(path: Path) -> str:
    """Dotted name of a package folder or a module file."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


def _summary(path: Path) -> str:
    """First sentence of a module's docstring, read without importing it."""
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return " ".join(docstring.partition("\n\n")[0].split())


def _heading(text: str, line: str) -> list[str]:
    return [text, line * len(text), ""]


def _automodule(name: str) -> list[str]:
    return [f".. automodule:: {name}", ""]


def _public_names(folder: Path) -> list[str]:
    """What to import from the package, by its ``__all__``, linked to where it is described."""
    tree = ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))
    for line in tree.body:
        targets = line.targets if isinstance(line, ast.Assign) else []
        if any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets):
            try:
                names = ast.literal_eval(line.value)
            except ValueError:
                return []
            links = [
                f":py:obj:`{name} <{_name(folder)}.{name}>`"
                for name in names
                if not name.startswith("_")
            ]
            return [f"**Import from this package:** {', '.join(links)}.", ""]
    return []


def package_page(folder: Path) -> str:
    """A package's own docstring and names, its subpackages, then a section per module."""
    name = _name(folder)
    lines = [*_heading(name, "="), *_automodule(name), *_public_names(folder)]
    inner = [package for package in packages() if package.parent == folder and folder != LIBRARY]
    if inner:
        lines += [
            ".. toctree::",
            "   :maxdepth: 1",
            "   :caption: Packages inside",
            "   :hidden:",
            "",
        ]
        lines += [*(f"   {_name(package)}" for package in inner), ""]
        lines += [
            f"* :doc:`{_name(package)}`: {_summary(package / '__init__.py')}" for package in inner
        ] + [""]
    for module in sorted(folder.glob("*.py")):
        if not module.stem.startswith("_"):
            lines += [*_heading(module.stem, "-"), *_automodule(_name(module))]
    return "\n".join(lines)


def index_page() -> str:
    """The list of the library's packages, each with the first sentence of its docstring."""
    rooms = [folder for folder in packages() if folder.parent == LIBRARY]
    lines = [
        *_heading("API", "="),
        "Generated from the docstrings of the installed version. Units are SI.",
        "",
    ]
    lines += [
        ".. list-table::",
        "   :widths: 30 70",
        "   :header-rows: 1",
        "",
        "   * - package",
        "     - what is in it",
    ]
    for folder in [LIBRARY, *rooms]:
        lines += [f"   * - :doc:`{_name(folder)}`", f"     - {_summary(folder / '__init__.py')}"]
    lines += [
        "",
        ".. toctree::",
        "   :hidden:",
        "",
        *(f"   {_name(folder)}" for folder in [LIBRARY, *rooms]),
        "",
    ]
    return "\n".join(lines)


def write_pages(app: Sphinx) -> None:
    """Bring ``docs/api`` up to date; unchanged pages keep their time, so Sphinx skips them."""
    folder = Path(app.srcdir) / "api"
    folder.mkdir(exist_ok=True)
    pages = {f"{_name(package)}.rst": package_page(package) for package in packages()} | {
        "index.rst": index_page()
    }
    for old in folder.glob("*.rst"):
        if old.name not in pages:
            old.unlink()
    for name, text in pages.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def add_settings(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """List the settable parameters of a part under its docstring, from the fields' metadata."""
    if what != "class" or not dataclasses.is_dataclass(obj):
        return
    documented = "\n".join(lines)
    own = [field for field in dataclasses.fields(obj) if "unit" in field.metadata]
    own = [field for field in own if f":ivar {field.name}:" not in documented]
    if own:
        lines += ["", "**Parameters that can be set:**", ""]
        lines += [f"* ``{field.name}``: {_described(field)}" for field in own]


def _described(field: dataclasses.Field[Any]) -> str:
    """Meaning, unit, range or choices of one parameter."""
    data = field.metadata
    text = str(data["doc"]).replace("|", r"\|").replace("*", r"\*")
    if data["unit"] not in ("", "-"):
        text += f", [{data['unit']}]"
    if data.get("choices"):
        return f"{text}; one of {', '.join(f'``{choice}``' for choice in data['choices'])}"
    low, high = data.get("low", -math.inf), data.get("high", math.inf)
    if math.isinf(low) and math.isinf(high):
        return text
    if math.isinf(high):
        return f"{text}; at least {low:g}"
    return f"{text}; at most {high:g}" if math.isinf(low) else f"{text}; {low:g} to {high:g}"


def shorten(
    app: Sphinx,
    what: str,
    name: str,
    obj: Any,
    options: Any,
    signature: str | None,
    returns: str | None,
) -> tuple[str | None, str | None]:
    """Show a field's default factory as ``...``: Sphinx cannot parse ``<factory>``."""
    return signature and signature.replace("<factory>", "..."), returns


def hide_object(app: Sphinx, name: str, obj: Any, options: Any, bases: list[Any]) -> None:
    """A class without a base class of its own shows none."""
    if bases == [object]:
        bases.clear()


def tidy(app: Sphinx, doctree: nodes.document) -> None:
    """Drop long values of constants, and title the attributes of a class "Attributes"."""
    for node in list(doctree.findall(addnodes.desc_annotation)):
        if node.astext().lstrip().startswith("=") and len(node.astext()) > LONGEST_VALUE:
            node.parent.remove(node)
    for name in doctree.findall(nodes.field_name):
        if name.astext() == "Variables":
            name.children[:] = [nodes.Text("Attributes")]
    for paragraph in list(doctree.findall(nodes.paragraph)):
        if paragraph.astext().strip() == "Bases:":
            paragraph.parent.remove(paragraph)


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("builder-inited", write_pages)
    app.connect("autodoc-process-signature", shorten)
    app.connect("autodoc-process-bases", hide_object)
    app.connect("doctree-read", tidy)
    # After napoleon, whose priority is 500.
    app.connect("autodoc-process-docstring", add_settings, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
