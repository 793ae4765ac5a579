"""Runs several controllers in one process, from the first watch to the last write.

The order matters: definitions are settled, caches are warm, then this process becomes the leader
(or takes its shards), and only then anything is written. At the end the other way round: no new
work, what is in work goes on to its end, then the lease is released, so that a successor starts at
once and never beside us.
"""

import asyncio
import contextlib
import gc
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from quiver.engine.attempt import Surroundings
from quiver.engine.controller import Controller
from quiver.engine.installing.definitions import (
    Off,
    On,
    Standing,
    Waiting,
    settle,
    until_established,
)
from quiver.engine.kinds import Key, kind_of
from quiver.engine.leading.duty import Callbacks
from quiver.engine.observe.liveness import stuck_worker
from quiver.engine.runner import Runner
from quiver.kube import Client, KubeError

log = logging.getLogger(__name__)

GRACE = 25.0
"""Seconds for reconciles in work when the process is told to stop; Kubernetes kills after 30."""
_RETRY = 2.0
_HEARTBEAT = 1.0


class LeadershipLost(Exception):
    """Somebody else may lead now: this process must end, and start anew."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Definitions:
    """What may be done about CustomResourceDefinitions."""

    install: bool = True
    take_over: frozenset[str] = frozenset()


class Manager:
    def __init__(
        self,
        controllers: Sequence[Controller[Any]],
        around: Surroundings,
        *,
        definitions: Definitions,
        unfenced: Client,
        grace: float = GRACE,
        started: asyncio.Event | None = None,
    ) -> None:
        self._controllers = {controller.name: controller for controller in controllers}
        self._around = around
        self._leadership = around.leadership
        self._leadership.attend(
            Callbacks(on_gained=self._gained, on_losing=self._losing, on_lost=self._lost)
        )
        self._definitions = definitions
        # Definitions are settled before anybody leads: all replicas would write the same.
        self._unfenced = unfenced
        self._grace = grace
        self._standings: dict[str, Standing] = {}
        self._runners: dict[str, Runner[Any]] = {}
        self._started = started or asyncio.Event()
        self._is_settled = False

    def ready(self) -> str | None:
        """Why this process is not ready to lead, in words; None if it is."""
        if not self._is_settled:
            return "the definitions of its kinds are not settled yet"
        return self._around.cache.trouble()

    def stuck(self) -> str | None:
        """Which controller has a worker that hangs although its reconcile was cancelled."""
        for name, runner in self._runners.items():
            check = stuck_worker(runner.queue.metrics, timeout=runner.controller.timeout)
            if wrong := check():
                return f"{name}: {wrong}"
        return None

    def standings(self) -> dict[str, Standing]:
        return dict(self._standings)

    def runners(self) -> list[Runner[Any]]:
        return list(self._runners.values())

    async def run(self, stop: asyncio.Event) -> None:
        """Work until `stop` is set; raises `LeadershipLost` if it had to end before."""
        async with asyncio.TaskGroup() as group:
            watching = group.create_task(self._around.cache.run(), name="cache")
            working = group.create_task(self._work(), name="controllers")
            stopped = group.create_task(stop.wait(), name="stop")
            await asyncio.wait([working, stopped], return_when=asyncio.FIRST_COMPLETED)
            await self._wind_down(working)
            for task in (watching, stopped):
                task.cancel()

    async def _wind_down(self, working: asyncio.Task[None]) -> None:
        for runner in self._runners.values():
            runner.stop()
        drained = [runner.queue.drained() for runner in self._runners.values()]
        try:
            async with asyncio.timeout(self._grace):
                await asyncio.gather(*drained)
        except TimeoutError:
            log.warning("Reconciles were still at work after %g s and are cut off", self._grace)
        working.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.wait([working])
        await self._leadership.release()

    async def _work(self) -> None:
        await self._settle()
        await self._around.cache.synced()
        # What is there now stays: the collector need not walk it again.
        gc.collect()
        gc.freeze()
        log.info("The caches are warm")
        await self._leadership.acquired()
        self._started.set()
        async with asyncio.TaskGroup() as group:
            for name, standing in list(self._standings.items()):
                if isinstance(standing, Waiting):
                    group.create_task(self._run_later(name), name=f"{name} waits")
            for runner in list(self._runners.values()):
                group.create_task(runner.run(), name=runner.controller.name)
            group.create_task(self._encourage(), name="after an outage")
            await self._leadership.lost()
            raise LeadershipLost(
                "the lease could not be kept: another replica may lead now, and this one ends"
            )

    async def _settle(self) -> None:
        """See to the definitions; an API server that cannot be reached yet is waited for."""
        while True:
            try:
                self._standings = await self._judged(self._controllers)
                break
            except* KubeError as errors:
                log.warning("The definitions cannot be settled yet: %s", errors.exceptions[0])
            await asyncio.sleep(_RETRY)
        for name, standing in self._standings.items():
            self._tell(name, standing)
            if isinstance(standing, On):
                self._runners[name] = self._runner(name)
        self._is_settled = True

    async def _judged(self, names: Iterable[str]) -> dict[str, Standing]:
        return await settle(
            self._unfenced,
            [self._controllers[name] for name in names],
            install=self._definitions.install,
            take_over=self._definitions.take_over,
        )

    def _tell(self, name: str, standing: Standing) -> None:
        match standing:
            case On(note=note):
                log.info("Controller %s is on%s", name, f": {note}" if note else "")
            case Off(why=why):
                log.error("Controller %s is off: %s", name, why)
            case Waiting(why=why):
                log.warning("Controller %s waits: %s", name, why)

    def _runner(self, name: str) -> Runner[Any]:
        runner = Runner(self._controllers[name], self._around)
        for informer in runner.informers():
            self._around.metrics.add_cache(str(informer.kind), informer.size)
        return runner

    async def _run_later(self, name: str) -> None:
        """Start a controller when the definition of its kind turns up."""
        resource = self._controllers[name].resource
        while isinstance(self._standings[name], Waiting):
            try:
                await until_established(self._unfenced, resource.definition.name)
                # Whose it is has to be judged like that of any other.
                self._standings |= await self._judged([name])
            except* KubeError as errors:
                log.debug("%s: %s", kind_of(resource), errors.exceptions[0])
            await asyncio.sleep(_RETRY)
        self._tell(name, self._standings[name])
        if not isinstance(self._standings[name], On):
            return
        runner = self._runners[name] = self._runner(name)
        for informer in runner.informers():
            await informer.synced()
        await runner.run()

    async def _encourage(self) -> None:
        """When the server is back after an outage, what failed meanwhile is tried at once."""
        was_troubled = False
        while True:
            await asyncio.sleep(_HEARTBEAT)
            is_troubled = self._around.cache.trouble() is not None
            if was_troubled and not is_troubled:
                for runner in self._runners.values():
                    runner.look_again_at_failed()
            was_troubled = is_troubled

    def _gained(self, shards: frozenset[int]) -> None:
        for runner in self._runners.values():
            runner.look_again(filter(self._within(shards), runner.keys()))

    async def _losing(self, shards: frozenset[int]) -> None:
        for runner in self._runners.values():
            await runner.drained(self._within(shards))

    def _lost(self, shards: frozenset[int]) -> None:
        for runner in self._runners.values():
            runner.cut_off(self._within(shards))

    def _within(self, shards: frozenset[int]) -> Callable[[Key], bool]:
        return lambda key: self._leadership.shard_of(key) in shards
