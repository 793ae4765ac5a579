"""Reads the command line, runs one command, and turns errors into one sentence each."""

import argparse
import sys
from collections.abc import Sequence

from quiver import __version__
from quiver.cli import crds, dev, new_operator, operator, preflight, rbac


def main(arguments: Sequence[str] | None = None) -> int:
    parsed = parser().parse_args(arguments)
    try:
        return int(parsed.run(parsed))
    except KeyboardInterrupt:
        print("quiver: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        return 141
    except Exception as error:
        if not is_sentence(error):
            raise
        print(f"quiver: {error}", file=sys.stderr)
        return 1


def is_sentence(error: Exception) -> bool:
    """Whether an error is one that a person is told as it is, without a traceback."""
    from quiver.devcluster.errors import DevClusterError
    from quiver.images import ImageError
    from quiver.kube import ConfigError, KubeError
    from quiver.operators import UnknownController

    sentences = DevClusterError | ImageError | ConfigError | KubeError | UnknownController
    return isinstance(error, sentences)


def parser() -> argparse.ArgumentParser:
    root = argparse.ArgumentParser(
        prog="quiver",
        description="Runs vector databases and ML platforms on Kubernetes.",
    )
    root.add_argument("--version", action="version", version=f"quiver {__version__}")
    groups = root.add_subparsers(title="commands", metavar="COMMAND", required=True)
    operator.add_to(groups)
    crds.add_to(groups)
    rbac.add_to(groups)
    preflight.add_to(groups)
    new_operator.add_to(groups)
    dev.add_to(groups)
    return root
