"""Small random changes to an object: what people, other controllers and new releases do."""

import copy
from collections.abc import Iterator
from random import Random
from typing import Any

from quiver.kube.quantity import parse_quantity

Object = dict[str, Any]
Place = tuple[Any, Any]

QUANTITIES = {"cpu", "memory", "storage", "ephemeral-storage", "sizeLimit", "averageValue"}
IDENTITY = {"apiVersion", "kind", "metadata", "name", "namespace"}
EMPTY: tuple[Any, ...] = (None, {}, [], "", 0, False)


def mutated(obj: Object, rich: Object, random: Random) -> tuple[Object, str]:
    """A changed copy, and the name of the change."""
    changed = copy.deepcopy(obj)
    mutation = random.choice(MUTATIONS)
    mutation(changed, rich, random)
    return changed, mutation.__name__


def change(obj: Object, _: Object, random: Random) -> None:
    places = list(_leaves(obj))
    if places:
        holder, key = random.choice(places)
        holder[key] = _changed(holder[key], random)


def remove(obj: Object, _: Object, random: Random) -> None:
    places = list(_places(obj))
    if places:
        holder, key = random.choice(places)
        del holder[key]


def reorder(obj: Object, _: Object, random: Random) -> None:
    lists = [holder[key] for holder, key in _places(obj) if isinstance(holder[key], list)]
    if lists:
        random.shuffle(random.choice(lists))


def duplicate(obj: Object, _: Object, random: Random) -> None:
    lists = [holder[key] for holder, key in _places(obj) if _is_filled_list(holder[key])]
    if lists:
        items = random.choice(lists)
        items.insert(random.randrange(len(items) + 1), copy.deepcopy(random.choice(items)))


def graft(obj: Object, rich: Object, random: Random) -> None:
    """Something from the rich sample, at its place."""
    holder, key, value = random.choice(list(_borrowed(obj, rich)))
    if isinstance(holder, list):
        holder.insert(random.randrange(len(holder) + 1), copy.deepcopy(value))
    else:
        holder[key] = copy.deepcopy(value)


def spell(obj: Object, _: Object, random: Random) -> None:
    """A quantity, written differently."""
    places = [place for place in _leaves(obj) if place[1] in QUANTITIES]
    if places:
        holder, key = random.choice(places)
        holder[key] = _spelled(holder[key], random)


def empty(obj: Object, rich: Object, random: Random) -> None:
    """Something said to be nothing, of the right sort or as null."""
    places = [(holder, key, holder[key]) for holder, key in _places(obj)]
    holder, key, value = random.choice([*places, *_borrowed(obj, rich)])
    if isinstance(holder, dict) and key not in IDENTITY:
        alike = [one for one in EMPTY if one is not None and type(one) is type(value)]
        holder[key] = random.choice([*alike, *alike, None])


MUTATIONS = (change, change, remove, reorder, duplicate, graft, graft, spell, empty)


def _places(obj: Any) -> Iterator[Place]:
    """Everything in an object but what makes it that object."""
    entries = list(enumerate(obj)) if isinstance(obj, list) else list(obj.items())
    for key, value in entries:
        if key not in IDENTITY:
            yield obj, key
        if isinstance(value, dict | list):
            yield from _places(value)


def _leaves(obj: Any) -> Iterator[Place]:
    return ((h, k) for h, k in _places(obj) if not isinstance(h[k], dict | list))


def _borrowed(obj: Any, rich: Any) -> Iterator[tuple[Any, Any, Any]]:
    """What the rich one has, and where it would go."""
    if isinstance(obj, dict) and isinstance(rich, dict):
        for key, value in rich.items():
            if key not in IDENTITY:
                yield obj, key, value
            if key in obj:
                yield from _borrowed(obj[key], value)
    if isinstance(obj, list) and isinstance(rich, list):
        for index, value in enumerate(rich):
            yield obj, index, value
            if index < len(obj):
                yield from _borrowed(obj[index], value)


def _is_filled_list(value: Any) -> bool:
    return isinstance(value, list) and bool(value)


def _changed(value: Any, random: Random) -> Any:
    match value:
        case bool():
            return not value
        case int():
            return random.choice([value + 1, max(0, value - 1), 0])
        case str():
            return random.choice([value + "x", value[:-1], ""])
    return value


def _spelled(value: Any, random: Random) -> str:
    try:
        number = parse_quantity(value)
    except ValueError:
        return str(value)
    thousandths = f"{int(number * 1000)}m"
    return random.choice([thousandths, f"{number:f}", f"{number / 1024:f}Ki", f"{number:e}"])
