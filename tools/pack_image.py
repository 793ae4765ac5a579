"""Packs the operator's image as an OCI layout: `python tools/pack_image.py FOLDER`."""

import sys
from pathlib import Path

from quiver.devcluster.known_images import OPERATOR
from quiver.images import Layout, Reference, pack_operator


def main() -> None:
    folder = Path(sys.argv[1])
    image = pack_operator(folder)
    Layout.at(folder).name(image, Reference.parse(OPERATOR))
    print(f"{OPERATOR}@{image.digest} in {folder}")


if __name__ == "__main__":
    main()
