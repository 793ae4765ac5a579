"""`python -m quiver` is the `quiver` command."""

import sys

from quiver.cli.main import main

sys.exit(main())
