"""Which kinds an API server has, asked once per group version and again when one is unknown."""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TypeAlias

import msgspec

from quiver.kube.errors import NotFound
from quiver.kube.resource import Resource

Kinds: TypeAlias = Mapping[str, Resource]


class ApiGroup(msgspec.Struct, frozen=True, kw_only=True):
    """`versions` as the server orders them; the core group's name is empty."""

    name: str
    versions: tuple[str, ...]
    preferred: str

    @property
    def preferred_api_version(self) -> str:
        return f"{self.name}/{self.preferred}" if self.name else self.preferred


class _Entry(msgspec.Struct, rename="camel"):
    name: str
    kind: str
    namespaced: bool
    verbs: tuple[str, ...] = ()
    short_names: tuple[str, ...] = ()


class _ResourceList(msgspec.Struct):
    resources: tuple[_Entry, ...] = ()


class _Version(msgspec.Struct):
    version: str


class _Group(msgspec.Struct, rename="camel"):
    name: str
    versions: tuple[_Version, ...]
    preferred_version: _Version


class _GroupList(msgspec.Struct):
    groups: tuple[_Group, ...] = ()


class _CoreVersions(msgspec.Struct):
    versions: tuple[str, ...]


class Discovery:
    def __init__(self, get: Callable[[str], Awaitable[bytes]]) -> None:
        self._get = get
        self._kinds: dict[str, Kinds] = {}
        self._asking: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def find(self, api_version: str, kind: str) -> Resource:
        known = self._kinds.get(api_version)
        found = known.get(kind) if known else None
        if found is None:
            # Unknown may mean new: the CRD may be younger than what is known of its group.
            found = (await self._ask_again(api_version, than=known)).get(kind)
        if found is None:
            message = f"the server has no kind {kind} in {api_version}"
            raise NotFound(404, "NotFound", message)
        return found

    async def kinds(self, api_version: str) -> Kinds:
        """The kinds of one group version by name, from the cache where it is filled."""
        return self._kinds.get(api_version) or await self._ask_again(api_version, than=None)

    async def groups(self) -> list[ApiGroup]:
        """All groups as they are now, the core group first."""
        core = msgspec.json.decode(await self._get("/api"), type=_CoreVersions).versions
        others = msgspec.json.decode(await self._get("/apis"), type=_GroupList).groups
        return [
            ApiGroup(name="", versions=core, preferred=core[0]),
            *(_group(entry) for entry in others),
        ]

    async def preferred_version(self, group: str) -> str:
        """The `apiVersion` that the server prefers for a group: `apps` gives `apps/v1`."""
        for entry in await self.groups():
            if entry.name == group:
                return entry.preferred_api_version
        raise NotFound(404, "NotFound", f"the server has no API group {group!r}")

    def forget(self, api_version: str) -> None:
        self._kinds.pop(api_version, None)

    async def _ask_again(self, api_version: str, *, than: Kinds | None) -> Kinds:
        async with self._asking[api_version]:
            newer = self._kinds.get(api_version)
            if newer is not None and newer is not than:
                return newer
            path = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
            answer = msgspec.json.decode(await self._get(path), type=_ResourceList)
            self._kinds[api_version] = kinds = _kinds(path, answer.resources)
            return kinds


def _group(entry: _Group) -> ApiGroup:
    versions = tuple(version.version for version in entry.versions)
    return ApiGroup(name=entry.name, versions=versions, preferred=entry.preferred_version.version)


def _kinds(path: str, entries: Iterable[_Entry]) -> Kinds:
    subresources: defaultdict[str, set[str]] = defaultdict(set)
    for entry in entries:
        plural, _, subresource = entry.name.partition("/")
        if subresource:
            subresources[plural].add(subresource)
    return {
        entry.kind: Resource(
            path=path,
            plural=entry.name,
            kind=entry.kind,
            namespaced=entry.namespaced,
            verbs=frozenset(entry.verbs),
            subresources=frozenset(subresources[entry.name]),
            short_names=entry.short_names,
        )
        for entry in entries
        if "/" not in entry.name
    }
