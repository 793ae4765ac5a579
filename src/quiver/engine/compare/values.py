"""When two values that are written differently are the same to the server."""

import binascii
from base64 import b64decode
from datetime import datetime
from decimal import ROUND_CEILING, Context, Decimal
from typing import Any

from quiver.kube.quantity import parse_quantity

# The server rounds the resources of containers up to thousandths, other quantities to billionths;
# it never stores finer ones, so that rounding alike hides no difference.
_FINEST = Decimal("1e-9")
_FINEST_RESOURCE = Decimal("1e-3")
_UPWARDS = Context(prec=1000, rounding=ROUND_CEILING)


def same_quantity(one: Any, other: Any) -> bool:
    return _same_rounded(one, other, _FINEST)


def same_resource(one: Any, other: Any) -> bool:
    return _same_rounded(one, other, _FINEST_RESOURCE)


def same_bytes(one: Any, other: Any) -> bool:
    """Base64, which may be broken into lines."""
    try:
        return b64decode(one) == b64decode(other)
    except (TypeError, ValueError, binascii.Error):
        return False


def same_time(one: Any, other: Any) -> bool:
    """The server writes times in UTC, with or without a fraction as the field has it."""
    try:
        return datetime.fromisoformat(one) == datetime.fromisoformat(other)
    except (TypeError, ValueError):
        return False


def is_zero_quantity(value: Any) -> bool:
    try:
        return parse_quantity(value) == 0
    except ValueError:
        return False


def _same_rounded(one: Any, other: Any, finest: Decimal) -> bool:
    try:
        first, second = parse_quantity(one), parse_quantity(other)
    except ValueError:
        return False
    return first == second or _rounded_up(first, finest) == _rounded_up(second, finest)


def _rounded_up(value: Decimal, finest: Decimal) -> Decimal:
    return value.quantize(finest, context=_UPWARDS)
