"""Kubernetes quantities (`1Gi`, `500m`, `1e3`) as exact numbers."""

import re
from decimal import Context, Decimal
from functools import lru_cache

_SUFFIXES = ("Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_BINARY = {suffix: Decimal(1024) ** power for power, suffix in enumerate(_SUFFIXES, 1)}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_SCALES = _BINARY | {suffix: Decimal(10) ** power for suffix, power in _DECIMAL.items()}
# The default context would round at 28 digits.
_EXACT = Context(prec=1000)
_QUANTITY = re.compile(
    r"(?P<number>[+-]?(\d+\.?\d*|\.\d+))((?P<exponent>[eE][+-]?\d+)|(?P<suffix>[KMGTPE]i|[numkMGTPE]?))",
    re.ASCII,
)


@lru_cache(maxsize=1024)
def parse_quantity(text: str | float) -> Decimal:
    """The value of a quantity; a ValueError says what it should look like."""
    match = _QUANTITY.fullmatch(str(text))
    if match is None:
        raise ValueError(
            f"{text!r} is not a quantity: write a number such as 500m, 2, 1.5Gi or 1e3"
        )
    if match["exponent"]:
        return Decimal(match["number"] + match["exponent"])
    return _EXACT.multiply(Decimal(match["number"]), _SCALES[match["suffix"]])
