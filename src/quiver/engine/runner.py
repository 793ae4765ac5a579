"""Runs one controller: watches into a queue, workers from the queue into attempts."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Generic

from quiver.engine.attempt import Attempt, Surroundings
from quiver.engine.cache import Handler, Informer
from quiver.engine.controller import Change, Controller, Mapping, R, Watch
from quiver.engine.kinds import Key, Kind, kind_of
from quiver.engine.mapping import is_more_than_status, to_owner
from quiver.engine.outcome import Decision, Next
from quiver.engine.queue import ShutDown, WorkQueue
from quiver.engine.reflector import Source

FIRST_LIST = -100
"""The priority of what was there before we were: changes go first."""


class Runner(Generic[R]):
    def __init__(self, controller: Controller[R], around: Surroundings) -> None:
        self.controller = controller
        self.kind = kind_of(controller.resource)
        self._around = around
        self._primary = around.cache.informer(Source(self.kind))
        self._informers = self._make_informers()
        self._working: set[Key] = set()
        self._drains: list[Callable[[], None]] = []
        durations = around.metrics.queue_durations(controller.name)
        self.queue: WorkQueue[Key] = WorkQueue(
            now=asyncio.get_running_loop().time,
            jitter=around.jitter,
            queue_duration=durations.queue,
            work_duration=durations.work,
        )
        around.metrics.add_queue(controller.name, self.queue.metrics)
        self._attempt = Attempt(controller, self._informers, around, by=self)

    def informers(self) -> list[Informer]:
        return list(self._informers.values())

    async def run(self) -> None:
        """Work until `stop`. The caches must be warm."""
        self._subscribe()
        self.look_again(self.keys())
        try:
            async with asyncio.TaskGroup() as group:
                for number in range(self.controller.workers):
                    group.create_task(self._work(), name=f"{self.controller.name}-{number}")
        finally:
            for informer in self._informers.values():
                informer.unsubscribe(self)

    def stop(self) -> None:
        """Take no new work; what is in work goes on to its end."""
        self.queue.shutdown()

    def keys(self) -> list[Key]:
        return self._primary.store.keys()

    def look_again(self, keys: Iterable[Key]) -> None:
        for key in keys:
            self._add(key, priority=FIRST_LIST)

    def look_again_at_failed(self) -> None:
        """The server is back: what failed meanwhile need not wait out its backoff."""
        for key in self.keys():
            if self.queue.failures(key):
                self._add(key)

    async def drained(self, lost: Callable[[Key], bool]) -> None:
        """Wait until none of the lost keys is in work."""
        done = asyncio.Event()

        def check() -> None:
            if not any(map(lost, self._working)):
                done.set()

        check()
        self._drains.append(check)
        try:
            await done.wait()
        finally:
            self._drains.remove(check)

    def cut_off(self, lost: Callable[[Key], bool]) -> None:
        """The shard of these keys may soon be worked on elsewhere."""
        for key in filter(lost, list(self._working)):
            self._attempt.cut_off(key)

    async def _work(self) -> None:
        while True:
            try:
                key = await self.queue.get()
            except ShutDown:
                return
            self._working.add(key)
            try:
                # The shard may have gone to somebody else while the key waited.
                if self._around.leadership.owns(key):
                    decision = await self._attempt(key, failures=self.queue.failures(key))
                    self._reschedule(key, decision)
            finally:
                self._working.discard(key)
                self.queue.done(key)
                for check in self._drains:
                    check()

    def _reschedule(self, key: Key, decision: Decision) -> None:
        match decision.next:
            case Next.BACKOFF:
                self.queue.retry(key)
                return
            case Next.LATER:
                self.queue.requeue(key, after=decision.after)
            case Next.ON_CHANGE:
                pass
        self.queue.forget(key)

    def _make_informers(self) -> dict[Kind, Informer]:
        """One per kind; where a kind is owned and watched, the informer with the whole objects."""
        controller, cache = self.controller, self._around.cache
        sources = [
            *(Source(it.kind, it.labels, it.metadata_only, it.only) for it in controller.watches),
            *(Source(kind, metadata_only=True) for kind in controller.owned_formerly),
            *(Source(kind) for kind in controller.owns),
        ]
        made = {source.kind: cache.informer(source) for source in sources}
        return made | {self.kind: self._primary}

    def _subscribe(self) -> None:
        self._primary.subscribe(self, self._primary_changed)
        owner = to_owner(self.kind)
        for kind in (*self.controller.owns, *self.controller.owned_formerly):
            self._informers[kind].subscribe(self, self._adding(owner))
        for watch in self.controller.watches:
            self._informers[watch.kind].subscribe(self, self._watching(watch))

    def _primary_changed(self, change: Change) -> None:
        if change.after is None:
            self.queue.forget(change.key)
        elif is_more_than_status(change):
            self._add(change.key)

    def _adding(self, maps: Mapping) -> Handler:
        def handler(change: Change) -> None:
            keys = maps(change)
            if keys is None:
                self.look_again(self.keys())
                return
            for key in keys:
                self._add(key)

        return handler

    def _watching(self, watch: Watch) -> Handler:
        add = self._adding(watch.maps)

        def handler(change: Change) -> None:
            if watch.when(change):
                add(change)

        return handler

    def _add(self, key: Key, *, priority: int = 0) -> None:
        if self._around.leadership.owns(key):
            self.queue.add(key, priority=priority)
