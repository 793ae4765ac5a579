"""Fetches or builds the binaries that the tests need, before they are timed against a clock."""

import sys

from quiver.devcluster import components
from quiver.devcluster.binaries import Binaries
from quiver.devcluster.errors import DevClusterError
from quiver.devcluster.preflight import NODE_TOOLS, install_missing
from quiver.devcluster.progress import Progress
from quiver.devcluster.spec import Spec

TESTED_WEAVIATE = "weaviate-1.36.12"


def main() -> int:
    progress = Progress()
    try:
        install_missing(NODE_TOOLS, progress)
        needed = components.needed_binaries(Spec(simulated_nodes=1))
        Binaries.default(progress).ensure([*needed, TESTED_WEAVIATE])
    except DevClusterError as error:
        print(f"prepare: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
