"""How often an API server was called, from its own count `apiserver_request_total`.

Exact where one program is alone on a server and whoever measures only holds watches meanwhile:
the server counts a watch when it ends.
"""

import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

READS = ("GET", "LIST")
WRITES = ("POST", "PUT", "PATCH", "APPLY", "DELETE", "DELETECOLLECTION")

# What the API server calls for itself: its lease (every operator has one too), its namespaces, the
# address of each new Service; and its own OpenAPI.
OWN_RESOURCES = frozenset({"ipaddresses", "leases", "namespaces"})
OWN_PATHS = frozenset({"openapi/v3", "/readyz"})

_SAMPLE = re.compile(r"^apiserver_request_total\{(?P<labels>.*)\} (?P<value>\S+)$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="([^"]*)"')


class Call(NamedTuple):
    verb: str
    resource: str
    subresource: str


Calls = Counter[Call]


def parsed(metrics: str) -> Calls:
    """Calls since the server started; answers of all codes count."""
    calls: Calls = Counter()
    for labels, value in _samples(metrics):
        call = Call(labels["verb"], labels["resource"], labels["subresource"])
        calls[call] += int(float(value))
    return calls


def between(before: Calls, after: Calls) -> Calls:
    """What was called meanwhile, without leases and without what the server does for itself."""
    calls = after - before
    return Counter({call: count for call, count in calls.items() if is_operators(call)})


def is_operators(call: Call) -> bool:
    if not call.resource:
        return call.subresource not in OWN_PATHS
    return call.resource not in OWN_RESOURCES


def writes(calls: Calls) -> int:
    return sum(count for call, count in calls.items() if call.verb in WRITES)


def reads(calls: Calls) -> int:
    return sum(count for call, count in calls.items() if call.verb in READS)


def by_verb(calls: Calls) -> dict[str, int]:
    """In the order of `READS` and `WRITES`; verbs that did not occur are left out."""
    found = Counter[str]()
    for call, count in calls.items():
        found[call.verb] += count
    return {verb: found[verb] for verb in (*READS, *WRITES) if found[verb]}


def _samples(metrics: str) -> Iterator[tuple[dict[str, str], str]]:
    for sample in _SAMPLE.finditer(metrics):
        yield dict(_LABEL.findall(sample["labels"])), sample["value"]
