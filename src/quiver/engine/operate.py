"""An operator's process: clients, servers, leadership and the manager, put together."""

import asyncio
import logging
import os
import signal
import socket
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from quiver import __version__
from quiver.engine.attempt import Surroundings
from quiver.engine.cache import Cache
from quiver.engine.controller import Controller
from quiver.engine.leading.election import Election
from quiver.engine.leading.fence import Fence
from quiver.engine.leading.leadership import Alone, Elected, Leadership, Sharded
from quiver.engine.leading.leases import own_identity
from quiver.engine.leading.shards import Shards
from quiver.engine.manager import Definitions, LeadershipLost, Manager
from quiver.engine.observe.health import Address, Checks, health_routes, metrics_routes, serving
from quiver.engine.observe.liveness import loop_lag
from quiver.engine.observe.metrics import Metrics
from quiver.engine.observe.tracing import tracing_from
from quiver.engine.recording.events import Recorder
from quiver.engine.webhooks.absent import NoWebhooks
from quiver.kube import Client, KubeConfig
from quiver.kube.interceptor import Interceptor, chained

if TYPE_CHECKING:
    from quiver.engine.webhooks.serving import Webhooks

log = logging.getLogger(__name__)

_CONTROLLER = "quiver.dev/operator"


@dataclass(frozen=True, kw_only=True, slots=True)
class Options:
    """As the command line says; addresses are `HOST:PORT`, and empty ones are not served."""

    namespaces: tuple[str, ...] = ()
    workers: int = 0
    leader_elect: bool = False
    shards: bool = False
    own_namespace: str = ""
    lease: str = "quiver"
    metrics_address: str = ""
    health_address: str = ""
    webhook_address: str = ""
    webhook_service: str = ""
    install_crds: bool = True
    take_over_crds: frozenset[str] = frozenset()


async def operate(
    config: KubeConfig,
    controllers: Sequence[Controller[Any]],
    options: Options,
    *,
    stop: asyncio.Event | None = None,
    started: asyncio.Event | None = None,
    interceptor: Interceptor | None = None,
) -> int:
    """Run until a signal says stop; the exit code of the process.

    `started` is set once the caches are warm and this process leads.
    """
    stop = stop or _stopped_by_signals()
    lost = False
    try:
        await _operate(config, controllers, options, stop, started, interceptor)
    except* LeadershipLost as group:
        lost = True
        log.error("%s", _innermost(group))  # noqa: TRY400
    log.info("Stopped")
    return 1 if lost else 0


async def _operate(
    config: KubeConfig,
    controllers: Sequence[Controller[Any]],
    options: Options,
    stop: asyncio.Event,
    started: asyncio.Event | None,
    interceptor: Interceptor | None,
) -> None:
    log.info("Quiver %s on %s", __version__, config.server)
    if options.workers:
        for controller in controllers:
            controller.workers = options.workers  # type: ignore[misc]
    metrics, tracing = Metrics(), tracing_from(os.environ)
    counted: list[Interceptor] = [metrics.requests(config.server), *tracing.interceptors]
    counted += [interceptor] if interceptor else []
    async with AsyncExitStack() as stack:
        stack.push_async_callback(tracing.close)
        # Its own connections: a lease must not wait behind a thousand writes.
        leases = await stack.enter_async_context(Client(config, interceptor=chained(*counted)))
        leadership = _leadership(leases, options, metrics)
        fenced = chained(Fence(lambda: leadership.valid_until), *counted)
        client = await stack.enter_async_context(Client(config, interceptor=fenced))
        unfenced = leases
        recorder = await stack.enter_async_context(
            Recorder(unfenced, controller=_CONTROLLER, instance=socket.gethostname())
        )
        metrics.add_events(_CONTROLLER, recorder.counts)
        manager = Manager(
            controllers,
            Surroundings(
                client=client,
                cache=Cache(client, namespaces=options.namespaces),
                leadership=leadership,
                metrics=metrics,
                tracing=tracing,
                recorder=recorder,
            ),
            definitions=Definitions(install=options.install_crds, take_over=options.take_over_crds),
            unfenced=unfenced,
            started=started,
        )
        webhooks = _webhooks(unfenced, controllers, options, metrics)
        await _serve(stack, options, metrics, manager, webhooks)
        async with asyncio.TaskGroup() as group:
            asking = group.create_task(webhooks.run(), name="webhooks")
            await manager.run(stop)
            asking.cancel()


def _leadership(client: Client, options: Options, metrics: Metrics) -> Leadership:
    namespace = options.own_namespace or client.config.namespace
    if options.shards:
        return Sharded(
            lambda callbacks: Shards(
                client,
                name=options.lease,
                namespace=namespace,
                identity=own_identity(),
                callbacks=callbacks,
            )
        )
    if not options.leader_elect:
        return Alone()
    gauge = metrics.leader(options.lease)
    gauge.set(0)
    election = Election(client, name=options.lease, namespace=namespace, identity=own_identity())
    return Elected(election, gauge.set)


def _webhooks(
    client: Client, controllers: Sequence[Controller[Any]], options: Options, metrics: Metrics
) -> "Webhooks | NoWebhooks":
    namespace = options.own_namespace or client.config.namespace
    if not options.webhook_address:
        return NoWebhooks(client, controllers, namespace=namespace)
    # Certificates cost 8 MB, and who has no webhooks needs none.
    from quiver.engine.webhooks.serving import Webhooks

    address = Address.parse(options.webhook_address)
    service = options.webhook_service or None
    return Webhooks(
        client,
        controllers,
        namespace=namespace,
        service=service,
        url=None if service else f"https://{address}",
        bind=(address.host or "0.0.0.0", address.port),  # noqa: S104
        counts=metrics.webhook,
    )


async def _serve(
    stack: AsyncExitStack,
    options: Options,
    metrics: Metrics,
    manager: Manager,
    webhooks: "Webhooks | NoWebhooks",
) -> None:
    live, ready = Checks("healthz"), Checks("readyz")
    lag = loop_lag()
    lag.start()
    stack.callback(lag.stop)
    metrics.add_loop_lag(lambda: lag.seconds)
    live.add("event-loop", lag.check)
    ready.add("caches", manager.ready)
    ready.add("webhooks", webhooks.ready)
    live.add("workers", manager.stuck)
    routes = {options.health_address: health_routes(live, ready)}
    routes.setdefault(options.metrics_address, []).extend(metrics_routes(metrics.render))
    for address, served in routes.items():
        if address:
            await stack.enter_async_context(serving(address, served))


def _innermost(error: BaseException) -> BaseException:
    """Of a task within a group within a group, the error that ended it all."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _stopped_by_signals() -> asyncio.Event:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    return stop
