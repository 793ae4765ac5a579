"""What a container asks for, checked by the API server in words that help.

Amounts are checked by rules instead of a pattern, because a pattern can only say that it did not
match. The sizes of the maps bound what the rules may cost.
"""

from typing import Annotated

from msgspec import Meta

from quiver.engine.crd import Fields, ListMap, Rule, rules
from quiver.engine.crd.core import ResourceClaim

_AMOUNT = "isQuantity(string(self)) && !quantity(string(self)).isLessThan(quantity('0'))"

Amount = Annotated[
    int | Annotated[str, Meta(max_length=32)],
    Meta(title="Quantity", description="An amount, such as 500m, 2, 1.5Gi."),
    Rule(_AMOUNT, "must be an amount of 0 or more, such as 500m, 2 or 1.5Gi"),
]
Amounts = Annotated[dict[str, Amount], Meta(max_length=16)]

_NOT_ABOVE = (
    "!has(self.requests) || !has(self.limits) || self.requests.all(k, !(k in self.limits)"
    " || !isQuantity(string(self.requests[k])) || !isQuantity(string(self.limits[k]))"
    " || !quantity(string(self.requests[k])).isGreaterThan(quantity(string(self.limits[k]))))"
)
_DEVICES_LIMITED = (
    "!has(self.requests) || self.requests.all(k, !k.contains('/')"
    " || (has(self.limits) && k in self.limits))"
)


@rules(
    Rule(_NOT_ABOVE, "a request is above its limit: lower requests or raise limits"),
    Rule(
        _DEVICES_LIMITED,
        "a GPU or another device belongs into limits: write it there, and leave it out of requests",
    ),
)
class Resources(Fields):
    """What a container asks for, and what it may use at most, as in a Pod.

    GPUs and other devices are written into `limits`, such as `nvidia.com/gpu: 1`.
    """

    requests: Amounts = {}
    limits: Amounts = {}
    claims: Annotated[list[ResourceClaim], ListMap("name"), Meta(max_length=16)] = []


SMALL: dict[str, int | str] = {"cpu": "100m", "memory": "128Mi"}
