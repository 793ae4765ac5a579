"""Rights in the smallest pieces that RBAC knows, and the few rules that say the same."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, NamedTuple, TypeAlias, TypeVar

K = TypeVar("K")
V = TypeVar("V")

PolicyRule = dict[str, Any]

_USUAL_ORDER = ("get", "list", "watch", "create", "update", "patch", "delete")


class Grant(NamedTuple):
    """One verb on one resource; with a name, only on the object of that name."""

    group: str
    resource: str
    verb: str
    name: str = ""


Grants: TypeAlias = frozenset[Grant]


def grants(
    group: str, resources: Iterable[str], verbs: Iterable[str], names: Iterable[str] = ()
) -> Grants:
    """Every verb on every resource; without names, on all objects."""
    limits = tuple(names) or ("",)
    verbs = tuple(verbs)
    return frozenset(
        Grant(group, resource, verb, name)
        for resource in resources
        for verb in verbs
        for name in limits
    )


def policy_rules(rights: Iterable[Grant]) -> list[PolicyRule]:
    """The same rights, no more and no less, in few rules that always come in the same order."""
    needed = _without_needless(frozenset(rights))
    verbs = _gathered(((grant.group, grant.resource, grant.name), grant.verb) for grant in needed)
    names = _gathered(
        ((group, resource, verbs_of, name != ""), name)
        for (group, resource, name), verbs_of in verbs.items()
    )
    resources = _gathered(
        ((group, verbs_of, names_of), resource)
        for (group, resource, verbs_of, _), names_of in names.items()
    )
    rules = [_rule(group, them, of, named) for (group, of, named), them in resources.items()]
    return sorted(rules, key=_place)


def allowed(rules: Iterable[PolicyRule]) -> Grants:
    """What rules allow, in pieces: the inverse of `policy_rules`."""
    return frozenset[Grant]().union(
        *(
            grants(group, rule["resources"], rule["verbs"], rule.get("resourceNames", ()))
            for rule in rules
            for group in rule["apiGroups"]
        )
    )


def _without_needless(rights: Grants) -> Grants:
    """A right on one object says nothing where the same right on all of them is there."""
    return frozenset(
        grant for grant in rights if not grant.name or grant._replace(name="") not in rights
    )


def _gathered(pairs: Iterable[tuple[K, V]]) -> dict[K, frozenset[V]]:
    found: defaultdict[K, set[V]] = defaultdict(set)
    for key, value in pairs:
        found[key].add(value)
    return {key: frozenset(values) for key, values in found.items()}


def _rule(
    group: str, resources: Iterable[str], verbs: Iterable[str], names: Iterable[str]
) -> PolicyRule:
    rule: PolicyRule = {"apiGroups": [group], "resources": sorted(resources)}
    if named := sorted(name for name in names if name):
        rule["resourceNames"] = named
    return rule | {"verbs": sorted(verbs, key=_verb_place)}


def _place(rule: PolicyRule) -> tuple[list[str], list[str], list[str], list[str]]:
    return rule["apiGroups"], rule["resources"], rule.get("resourceNames", []), rule["verbs"]


def _verb_place(verb: str) -> tuple[int, str]:
    return (_USUAL_ORDER.index(verb) if verb in _USUAL_ORDER else len(_USUAL_ORDER)), verb
