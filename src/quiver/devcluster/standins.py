"""Stand-ins for the images that samples name, where the real ones cannot be had.

They answer HTTP with who they are, and nothing more: enough to show that an operator wires things
up as it should.
"""

from pathlib import Path

from quiver.images import Content, Descriptor, RunConfig, busybox, pack

ROLES = ("coordinator", "writer", "searcher")
VECODEX_PORT = 44400
VECODEX_APP = "ghcr.io/ivan-digital/vecodex/app"
VERSIONS = ("latest", "v2")

_PROGRAM = "/app/cmake/build/vecodex-app"
_SERVE = f"""#!/bin/sh
mkdir -p /tmp/www
echo "vecodex $1 VERSION" > /tmp/www/index.html
httpd -f -p {VECODEX_PORT} -h /tmp/www &
trap 'exit 0' TERM INT  # Process 1 has no default for signals, and would be waited for.
wait
"""


def vecodex_image(role: str) -> str:
    """As the sample manifest names it."""
    return f"docker.io/library/vecodex-{role}-image:latest"


def pack_vecodex(into: Path, *, role: str = "", version: str = "latest") -> Descriptor:
    """With a role it is the program of that role; without, `command` says which."""
    script = _SERVE.replace("VERSION", version).encode()
    program = Content(_PROGRAM, script, mode=0o755)
    entrypoint = (_PROGRAM, role) if role else (_PROGRAM,)
    return pack(into, below=[busybox()], files=[program], config=RunConfig(entrypoint=entrypoint))
