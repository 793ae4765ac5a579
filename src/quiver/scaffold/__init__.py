"""A repository for a new operator: names are checked, templates filled, files written.

Templates are the files under `templates/`, with `<<kind>>` and the like where a name belongs, in
their texts and (`__package__`) in their paths.
"""

from quiver.scaffold.names import CannotScaffold, Names, names_for
from quiver.scaffold.rendering import rendered, templates
from quiver.scaffold.writing import generate_chart, write

__all__ = [
    "CannotScaffold",
    "Names",
    "generate_chart",
    "names_for",
    "rendered",
    "templates",
    "write",
]
