"""Where the objects of one kind live under an API server."""

import msgspec


class Resource(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """`path` is that of the group and version: `/api/v1`, `/apis/apps/v1`."""

    path: str
    plural: str
    kind: str
    namespaced: bool
    verbs: frozenset[str] = frozenset()
    subresources: frozenset[str] = frozenset()
    short_names: tuple[str, ...] = ()

    def url(self, namespace: str | None, name: str | None, subresource: str | None = None) -> str:
        parts = [self.path]
        if self.namespaced and namespace:
            parts += ["namespaces", _segment(namespace)]
        parts.append(self.plural)
        if name:
            parts.append(_segment(name))
        if subresource:
            parts.append(subresource)
        return "/".join(parts)


def _segment(name: str) -> str:
    """A name as part of a path. What could lead to another path is no name in Kubernetes."""
    if name in (".", "..") or any(sign in name for sign in "/%?#"):
        raise ValueError(f"{name!r} cannot be the name of a Kubernetes object")
    return name
