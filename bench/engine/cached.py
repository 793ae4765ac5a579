"""What the engine's cache takes for each object: `python -m bench.engine.cached < deployment.json`.

A process of its own, because memory once taken is not given back. The objects are copies of a real
one with names, uids, owners and versions of their own; seven share an owner.
"""

import gc
import os
import sys
import time
import uuid

import msgspec

from bench.peers.children import CHILDREN
from bench.processes import usage_of
from quiver.engine.kinds import DEPLOYMENT
from quiver.engine.store import Store

OBJECTS = 50_000


class Cached(msgspec.Struct, frozen=True):
    """Bytes for each object: as the server sends it, its JSON as kept, and what that takes."""

    sent: float
    json: float
    memory: float
    microseconds: float


def main() -> None:
    measured = measure(sys.stdin.buffer.read(), OBJECTS)
    sys.stdout.buffer.write(msgspec.json.encode(measured))


def measure(sample: bytes, objects: int) -> Cached:
    store = Store(DEPLOYMENT)
    store.observed(copy_of(sample, 0))
    gc.collect()
    before, started = usage_of(os.getpid()).memory, time.process_time()
    sent = making = 0.0
    for number in range(1, objects + 1):
        made = time.process_time()
        raw = copy_of(sample, number)
        making += time.process_time() - made
        sent += len(raw)
        store.observed(raw)
    seconds = time.process_time() - started - making
    gc.collect()
    grown = usage_of(os.getpid()).memory - before
    return Cached(
        sent=sent / objects,
        json=store.bytes / len(store),
        memory=grown / objects,
        microseconds=1e6 * seconds / objects,
    )


def copy_of(sample: bytes, number: int) -> bytes:
    obj = msgspec.json.decode(sample)
    metadata = obj["metadata"]
    owner = number // CHILDREN
    metadata |= {
        "name": f"set-{owner:05}-{number:05}",
        "uid": str(uuid.UUID(int=number)),
        "resourceVersion": str(1000 + number),
    }
    metadata["ownerReferences"][0] |= {"name": f"set-{owner:05}", "uid": str(uuid.UUID(int=owner))}
    return msgspec.json.encode(obj)


if __name__ == "__main__":
    main()
