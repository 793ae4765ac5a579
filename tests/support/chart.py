"""The chart, rendered as `helm template` would, in a process of its own."""

import atexit
import functools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

from quiver.kube import Object

CHART = Path(__file__).parents[2] / "charts" / "quiver"

# Helm's runtime does not survive a fork of its process, and could take the tests down with it.
_PROGRAM = """
import json, sys
import helm_python

def answer(chart, values, name, namespace):
    with helm_python.Chart.load(chart) as loaded:
        loaded.validate_schema(loaded.merge_values(values))
        files = loaded.render(values, name=name, namespace=namespace)
        return {"files": files, "crds": [crd["data"] for crd in loaded.crds]}

for line in sys.stdin:
    try:
        said = answer(**json.loads(line))
    except helm_python.HelmError as error:
        said = {"error": str(error)}
    print(json.dumps(said), flush=True)
"""


class CannotRender(Exception):
    """In Helm's words."""


def render(
    values: dict[str, Any] | None = None,
    *,
    name: str = "quiver",
    namespace: str = "quiver-system",
    crds: bool = False,
    hooks: bool = False,
    chart: Path = CHART,
) -> list[Object]:
    """The objects that Helm would install, in an order in which they apply."""
    answer = _rendered(values or {}, name, namespace, chart)
    texts = [text for path, text in answer["files"].items() if path.endswith(".yaml")]
    objects = [it for text in texts for it in yaml.safe_load_all(text) if it]
    if not hooks:
        objects = [it for it in objects if not _is_hook(it)]
    if crds:
        objects += [it for text in answer["crds"] for it in yaml.safe_load_all(text) if it]
    return sorted(objects, key=_place)


def notes(values: dict[str, Any] | None = None, *, name: str = "quiver") -> str:
    files: dict[str, str] = _rendered(values or {}, name, "quiver-system", CHART)["files"]
    return next(text for path, text in files.items() if path.endswith("NOTES.txt"))


def _rendered(values: dict[str, Any], name: str, namespace: str, chart: Path) -> dict[str, Any]:
    worker = _worker()
    assert worker.stdin is not None
    assert worker.stdout is not None
    asked = {"chart": str(chart), "values": values, "name": name, "namespace": namespace}
    worker.stdin.write(json.dumps(asked) + "\n")
    worker.stdin.flush()
    answer: dict[str, Any] = json.loads(worker.stdout.readline())
    if "error" in answer:
        raise CannotRender(answer["error"])
    return answer


@functools.cache
def _worker() -> subprocess.Popen[str]:
    """One for all charts: it takes half a second to load Helm, and a few ms to render."""
    worker = subprocess.Popen(
        [sys.executable, "-c", _PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    atexit.register(worker.communicate)
    return worker


def _is_hook(obj: Object) -> bool:
    return "helm.sh/hook" in (obj["metadata"].get("annotations") or {})


def _place(obj: Object) -> int:
    """What others refer to comes first."""
    first = ("CustomResourceDefinition", "ServiceAccount", "ClusterRole", "Role")
    return first.index(obj["kind"]) if obj["kind"] in first else len(first)
