"""Lists in pages, their objects left as bytes."""

import msgspec


class ListMeta(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    resource_version: str = ""
    continue_: str = msgspec.field(name="continue", default="")
    remaining_item_count: int | None = None


class Page(msgspec.Struct, frozen=True, gc=False):
    """One page of a list.

    An item refers to the bytes of its whole page: who keeps one keeps `bytes(item)`. Items of
    built-in kinds carry no `apiVersion` and `kind`. `is_first` is true again when the server has
    forgotten the version and the list began anew: what the earlier pages said is void.
    """

    metadata: ListMeta
    items: list[msgspec.Raw] = []
    is_first: bool = False


class _Answer(msgspec.Struct):
    metadata: ListMeta
    # A server writes null for an empty list of some kinds.
    items: list[msgspec.Raw] | None = None


_answer = msgspec.json.Decoder(_Answer)


def page_from(body: bytes, *, is_first: bool) -> Page:
    answer = _answer.decode(body)
    return Page(answer.metadata, answer.items or [], is_first)
