"""A harness that knows only the experiments a test writes."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

import farhand_lab
from farhand_lab import harness, mutation  # noqa: F401 - toy rigs import it, when only they are to be found


@pytest.fixture
def write_rig(tmp_path, monkeypatch) -> Callable[[str, str], None]:
    """Write a module of experiments; it is then the only rig there is, beside others written the same way."""
    folder = tmp_path / "experiments"
    folder.mkdir()
    monkeypatch.setattr(farhand_lab, "__path__", [str(folder)])
    monkeypatch.setattr(harness, "_registry", {})
    monkeypatch.setattr(harness, "_caches", [])

    def write(module: str, body: str) -> None:
        name = f"farhand_lab.{module}"
        monkeypatch.delitem(sys.modules, name, raising=False)
        imports = (
            "from farhand.errors import OutOfRange\n"
            "from farhand_lab.harness import Finding, experiment, generator, shared\n"
            "from farhand_lab.mutation import Mutation, patched\n"
            "import sys\n"
            f"fields = dict(group={module.replace('_', '-')!r}, unit='mm', criterion='< 1 mm', source='a thesis')\n"
        )
        (folder / f"{module}.py").write_text(imports + body)

    yield write
    for name in [name for name in sys.modules if name.startswith("farhand_lab.toy_")]:
        del sys.modules[name]
