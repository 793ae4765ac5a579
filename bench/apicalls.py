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

EVENTS = "events"

_SAMPLE = re.compile(r"^apiserver_request_total\{(?P<labels>.*)\} (?P<value>\S+)$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="([^"]*)"')


class Call(NamedTuple):
    verb: str
    resource: str
    subresource: str

    def __str__(self) -> str:
        return f"{self.verb} {'/'.join(filter(None, (self.resource, self.subresource)))}"


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
    """Events for people are counted apart."""
    return sum(
        count for call, count in calls.items() if call.verb in WRITES and call.resource != EVENTS
    )


def events(calls: Calls) -> int:
    return sum(
        count for call, count in calls.items() if call.verb in WRITES and call.resource == EVENTS
    )


def reads(calls: Calls) -> int:
    return sum(count for call, count in calls.items() if call.verb in READS)


def ordered(calls: Calls) -> list[tuple[Call, int]]:
    """Reads, then writes; watches are left out, as the server counts them when they end."""
    verbs = (*READS, *WRITES)
    found = [(call, count) for call, count in calls.items() if call.verb in verbs]
    return sorted(found, key=lambda it: (verbs.index(it[0].verb), it[0]))


def _samples(metrics: str) -> Iterator[tuple[dict[str, str], str]]:
    for sample in _SAMPLE.finditer(metrics):
        yield dict(_LABEL.findall(sample["labels"])), sample["value"]
