"""References in docstrings: what Sphinx alone does not resolve, and what it misreads.

A reference to a name of Farhand must name something that exists, else it is a warning. It becomes a
link if the thing has an entry in the API pages, and stays text if it has none (a constant without
docstring, an attribute that is listed in its class).
"""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import re
from typing import Any

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

MISSING = object()
SECTION = re.compile(
    r"^(Args|Attributes|Example|Examples|Note|Raises|Returns|Yields):\s*$", re.MULTILINE
)
CODE = re.compile(r"(``.*?``|:math:`.*?`)")


@functools.cache
def find(target: str) -> Any:
    """The object with this dotted name, ``MISSING`` if there is none."""
    parts = target.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:cut]))
        except ImportError:
            continue
        for name in parts[cut:]:
            found = _member(found, name)
        return found
    return MISSING


def _member(owner: Any, name: str) -> Any:
    """An attribute of a module or class; attributes that only instances have count as ``None``."""
    found = getattr(owner, name, MISSING)
    if found is MISSING and inspect.ismodule(owner) and name in _names_for_types(owner):
        return find(_names_for_types(owner)[name])
    if found is MISSING and inspect.isclass(owner):
        if any(name in getattr(base, "__annotations__", {}) for base in owner.__mro__):
            return None
        own = [base for base in owner.__mro__ if base.__module__.startswith("farhand")]
        if any(f"self.{name}" in inspect.getsource(base) for base in own):
            return None
    return found


@functools.cache
def _names_for_types(module: Any) -> dict[str, str]:
    """What a module imports under ``if TYPE_CHECKING:``, dotted names by the names it uses."""
    names: dict[str, str] = {}
    for block in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(block, ast.If) and ast.unparse(block.test).endswith("TYPE_CHECKING"):
            for line in block.body:
                if isinstance(line, ast.ImportFrom):
                    names |= {
                        item.asname or item.name: f"{line.module}.{item.name}"
                        for item in line.names
                    }
                elif isinstance(line, ast.Import):
                    names |= {
                        item.asname or item.name.partition(".")[0]: item.name for item in line.names
                    }
    return names


def spell_out(app: Sphinx, doctree: nodes.document) -> None:
    """Give short names in signatures their full path: Sphinx would guess among equal names."""
    for node in doctree.findall(pending_xref):
        module = node.get("py:module")
        if node.get("refdomain") == "py" and node.get("reftype") in ("class", "obj") and module:
            found = find(f"{module}.{node['reftarget']}")
            if inspect.isclass(found) and found.__module__.startswith("farhand"):
                node["reftarget"] = f"{found.__module__}.{found.__qualname__}"


def resolve(
    app: Sphinx, env: BuildEnvironment, node: pending_xref, content: nodes.TextElement
) -> nodes.Element | None:
    """Link a thing that is named by a shorter or a public path, or leave it as text."""
    if node.get("refdomain") != "py":
        return None
    target = node["reftarget"].lstrip(".~")
    context = [node.get("py:module"), node.get("py:class")]
    prefixes = [".".join(filter(None, context)), context[0], ""]
    for prefix in dict.fromkeys(prefix for prefix in prefixes if prefix is not None):
        full = f"{prefix}.{target}" if prefix else target
        found = find(full)
        if found is MISSING:
            continue
        return _link(app, env, node, content, full, found) or content
    return None


def _link(
    app: Sphinx,
    env: BuildEnvironment,
    node: pending_xref,
    content: nodes.TextElement,
    full: str,
    found: Any,
) -> nodes.Element | None:
    """A link to the entry of an object: where it is defined, or the class that lists it."""
    objects = env.domains.python_domain.objects
    names = [full, full.rpartition(".")[0]]
    home = getattr(found, "__module__", None)
    if home and hasattr(found, "__qualname__"):
        names.insert(0, f"{home}.{found.__qualname__}")
    elif not inspect.ismodule(found):
        # A constant does not know where it is defined; its package and name may still find it.
        package, _, name = full.rpartition(".")
        same = [
            entry
            for entry in objects
            if entry.startswith(f"{package}.") and entry.endswith(f".{name}")
        ]
        names[:0] = same if len(same) == 1 else []
    for name in names:
        if (
            name in objects
            and objects[name].objtype != "module"
            or inspect.ismodule(found)
            and name in objects
        ):
            entry = objects[name]
            return nodes.reference(
                "",
                "",
                content,
                internal=True,
                refuri=app.builder.get_relative_uri(node["refdoc"], entry.docname)
                + f"#{entry.node_id}",
            )
    return None


def keep(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Before napoleon: escape vertical bars, and remember docstrings that napoleon would misread.

    Bars mean an absolute value or a length: no docstring uses substitutions. Napoleon takes the
    words before the first colon in the docstring of a constant, attribute or property for a type.
    """
    block = False
    for number, line in enumerate(lines):
        if line.strip():
            block = (
                line.startswith(" ")
                and block
                or line.strip().startswith(".. math::")
                or line.endswith("::")
            )
        if not block and not line.lstrip().startswith("| "):
            lines[number] = "".join(
                part if CODE.fullmatch(part) else re.sub(r"(?<!\\)\|", r"\|", part)
                for part in CODE.split(line)
            )
    if what in ("attribute", "data", "property") and not SECTION.search("\n".join(lines)):
        _kept[name] = list(lines)


def restore(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """After napoleon: put back what was kept."""
    if name in _kept:
        lines[:] = _kept.pop(name)


_kept: dict[str, list[str]] = {}


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("doctree-read", spell_out)
    app.connect("missing-reference", resolve)
    app.connect("autodoc-process-docstring", keep, priority=400)
    app.connect("autodoc-process-docstring", restore, priority=600)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
