"""`tools/generate.py`, which is no part of a package."""

import importlib.util
from pathlib import Path
from types import ModuleType

_PATH = Path(__file__).parents[2] / "tools" / "generate.py"


def _loaded() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", _PATH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


generate = _loaded()
