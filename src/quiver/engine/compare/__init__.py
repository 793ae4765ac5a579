"""Does a live object contain what is desired? The comparison behind rule 9 of the engine.

An apply is needed when the object is missing, when what is desired changed since it was last
applied, or when live does not contain desired. The last question is answered as the API server
would answer a forced server-side apply:

- Maps and keyed lists are granular: what others added to them may stay. A keyed list keeps the
  desired order among the desired items.
- Atomic maps and lists are replaced whole: anything more in them is a difference, unless it is
  what the server itself fills in.
- Quantities are compared by value, and nothing differs from nothing: null, an empty list or map,
  and, where the server's own type is no pointer, `0`, `false` and `""`.

How a type is made is known from `tables/`, generated from the server's OpenAPI by
`tools/structure_tables.py`. Kinds without a table are custom resources: without their schema
(`custom_structure`) their maps count as granular and their lists as atomic; what is empty is
stored as it is.

An apply can still be needless where the server rewrites what it got in a way that no table
tells (an admission webhook, a feature that is off, an explicit zero for a default); who applies
remembers an apply that changed nothing.
"""

from quiver.engine.compare.custom import custom_structure
from quiver.engine.compare.digest import APPLIED, digest, stamped
from quiver.engine.compare.rule import difference, reason_to_apply

__all__ = ["APPLIED", "custom_structure", "difference", "digest", "reason_to_apply", "stamped"]
