"""Write `upstream/NAME/go.mod` and `go.sum` for one upstream program.

    python tools/pin_upstream.py etcd go.etcd.io/etcd/server/v3@v3.6.16 go.etcd.io/etcd/server/v3

The pinned module builds the upstream's commands as Go tools, so the versions of all
dependencies are the upstream's own. Its `replace` and `exclude` lines only apply in a main
module and are therefore carried over (local replacements cannot be).
"""

import argparse
import json
import os
import subprocess
from pathlib import Path
from typing import Any

UPSTREAM = Path(__file__).parent.parent / "upstream"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name")
    parser.add_argument("module", help="MODULE@VERSION")
    parser.add_argument("packages", nargs="+", help="import paths of the commands to build")
    parser.add_argument("--replace", action="append", default=[], metavar="OLD=NEW@VERSION")
    arguments = parser.parse_args()
    pin(UPSTREAM / arguments.name, arguments.module, arguments.packages, arguments.replace)


def pin(folder: Path, module: str, packages: list[str], replacements: list[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    path, version = module.split("@")
    for stale in ("go.mod", "go.sum"):
        (folder / stale).unlink(missing_ok=True)
    go(folder, "mod", "init", f"quiver.dev/upstream/{folder.name}")
    source = f"{path}@{version}"
    for replacement in replacements:
        go(folder, "mod", "edit", f"-replace={replacement}")
        if replacement.split("=")[0] == path:
            source = replacement.split("=")[1]
    upstream = json.loads(go(folder, "mod", "edit", "-json", downloaded_go_mod(source)))
    go(folder, "mod", "edit", f"-go={upstream['Go']}", *carried_over(upstream))
    go(folder, "mod", "edit", f"-require={path}@{version}")
    for package in packages:
        go(folder, "mod", "edit", f"-tool={package}")
    go(folder, "list", "-mod=mod", "-deps", "tool")


def carried_over(upstream: dict[str, Any]) -> list[str]:
    replaced = [line for line in upstream.get("Replace") or [] if "Version" in line["New"]]
    excluded = upstream.get("Exclude") or []
    return [
        *(f"-replace={at(line['Old'])}={at(line['New'])}" for line in replaced),
        *(f"-exclude={at(line)}" for line in excluded),
    ]


def at(module: dict[str, str]) -> str:
    return f"{module['Path']}@{module['Version']}" if "Version" in module else module["Path"]


def downloaded_go_mod(source: str) -> str:
    done = subprocess.run(
        ["go", "mod", "download", "-json", source],
        cwd="/", check=True, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    return str(json.loads(done.stdout)["GoMod"])


def go(folder: Path, *arguments: str) -> str:
    environment = os.environ | {"GOFLAGS": "-buildvcs=false", "CGO_ENABLED": "0"}
    done = subprocess.run(
        ["go", *arguments],
        cwd=folder,
        env=environment,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return done.stdout


if __name__ == "__main__":
    main()
