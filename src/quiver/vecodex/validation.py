"""What the schema cannot say. The API server has checked the rest before."""

from collections.abc import Iterator
from decimal import Decimal

from quiver.engine.controller import Refusal
from quiver.engine.crd.core import Probe
from quiver.kube.quantity import parse_quantity
from quiver.vecodex.api import VecodexSet
from quiver.vecodex.component import Component
from quiver.vecodex.names import APP, LABEL_LENGTH, LONGEST_NAME, Role
from quiver.vecodex.network import ports_of

_WHOLE = Decimal(1)


def validate(new: VecodexSet, old: VecodexSet | None = None) -> list[Refusal]:  # noqa: ARG001
    found = [*_name(new), *_ingress(new), *_autoscaling(new)]
    for role in Role:
        found += _component(new, role)
    return found


def _name(new: VecodexSet) -> Iterator[Refusal]:
    """A set of the original operator may have a name that the schema now refuses."""
    name = new.metadata.name
    if len(name) > LONGEST_NAME or not name[:1].isalpha() or "." in name:
        yield Refusal(
            "metadata.name",
            f"{name!r} is no name for Services: at most {LONGEST_NAME} lower-case letters, digits"
            f" and dashes (a child has up to {LABEL_LENGTH}), beginning with a letter; make the"
            " set anew under another name",
        )


def _ingress(new: VecodexSet) -> Iterator[Refusal]:
    route = new.spec.ingress
    names = [port.name for port in ports_of(new.spec.coordinator)]
    if route and route.port and route.port not in names:
        yield Refusal(
            "spec.ingress.port",
            f"the coordinator has no port {route.port!r}: write one of {', '.join(names)}, or add"
            " it to spec.coordinator.ports",
        )


def _autoscaling(new: VecodexSet) -> Iterator[Refusal]:
    searcher = new.spec.searcher
    if searcher.autoscaling is None:
        return
    wishes = {"cpu": searcher.autoscaling.target_cpu, "memory": searcher.autoscaling.target_memory}
    if not any(wishes.values()) and not searcher.autoscaling.metrics:
        wishes["cpu"] = 1
    asked = searcher.resources.requests | searcher.resources.limits
    for name, wish in wishes.items():
        if wish and name not in asked:
            yield Refusal(
                "spec.searcher.autoscaling",
                f"a share of the requested {name} cannot be measured where none is requested:"
                f" write spec.searcher.resources.requests.{name}, or use other metrics",
            )


def _component(new: VecodexSet, role: Role) -> Iterator[Refusal]:
    component = new.spec.component(role)
    path = f"spec.{role}"
    yield from _resources(component, f"{path}.resources")
    yield from _probes(component, path)
    yield from _container_ports(component, f"{path}.ports")
    yield from _update_strategy(component, f"{path}.updateStrategy")
    yield from _deadline(new, component, f"{path}.minReadySeconds")
    if component.pod_labels.get(APP) is not None:
        yield Refusal(
            f"{path}.podLabels",
            f"the label {APP!r} is what the pods are found by: leave it out",
        )


def _resources(component: Component, path: str) -> Iterator[Refusal]:
    requests, limits = component.resources.requests, component.resources.limits
    amounts: dict[str, Decimal] = {}
    for kind, entries in (("requests", requests), ("limits", limits)):
        for name, text in entries.items():
            try:
                amounts[f"{kind}.{name}"] = parse_quantity(text)
            except ValueError as error:
                yield Refusal(f"{path}.{kind}.{name}", str(error))
    for place, amount in amounts.items():
        _, _, name = place.partition(".")
        if "/" in name and amount % _WHOLE:
            yield Refusal(
                f"{path}.{place}", f"{amount:f} is no number of devices: write a whole one"
            )
        if amount < 0:
            yield Refusal(f"{path}.{place}", f"{amount:f} is negative: write 0 or more")
    for name in requests:
        asked, most = amounts.get(f"requests.{name}"), amounts.get(f"limits.{name}")
        if asked is not None and most is not None and (asked > most or _differ(name, asked, most)):
            yield Refusal(f"{path}.requests.{name}", _other_than_limit(name, asked, most))


def _differ(name: str, asked: Decimal, most: Decimal) -> bool:
    return "/" in name and asked != most


def _other_than_limit(name: str, asked: Decimal, most: Decimal) -> str:
    if "/" in name:
        return f"devices are not shared, but {asked:f} is not its limit {most:f}: leave it out"
    return f"{asked:f} is above its limit {most:f}: lower it, or raise limits.{name}"


def _probes(component: Component, path: str) -> Iterator[Refusal]:
    names = {port.name for port in component.ports}
    probes = {
        "livenessProbe": component.liveness_probe,
        "readinessProbe": component.readiness_probe,
        "startupProbe": component.startup_probe,
    }
    for field, probe in probes.items():
        if probe is None:
            continue
        actions = [probe.exec, probe.http_get, probe.tcp_socket, probe.grpc]
        if sum(action is not None for action in actions) != 1:
            yield Refusal(
                f"{path}.{field}", "write exactly one of exec, httpGet, tcpSocket and grpc"
            )
        for place, port in _named_ports(probe):
            if port not in names:
                yield Refusal(
                    f"{path}.{field}.{place}.port",
                    f"there is no port {port!r}: add it to {path}.ports, or write its number",
                )


def _named_ports(probe: Probe) -> Iterator[tuple[str, str]]:
    for place, action in (("httpGet", probe.http_get), ("tcpSocket", probe.tcp_socket)):
        if action and isinstance(action.port, str):
            yield place, action.port


def _container_ports(component: Component, path: str) -> Iterator[Refusal]:
    seen: dict[tuple[int, str], str] = {}
    for index, port in enumerate(component.ports):
        other = seen.setdefault((port.target, port.protocol), port.name)
        if other != port.name:
            yield Refusal(
                f"{path}[{index}].containerPort",
                f"{port.target}/{port.protocol} is the port of {other!r} already: a container"
                " declares each port once; choose another, or remove one of the two",
            )


def _update_strategy(component: Component, path: str) -> Iterator[Refusal]:
    strategy = component.update_strategy
    if strategy and strategy.max_surge in (0, "0%") and strategy.max_unavailable in (0, "0%"):
        yield Refusal(
            path, "with maxSurge and maxUnavailable both 0 no pod could ever be replaced: raise one"
        )


def _deadline(new: VecodexSet, component: Component, path: str) -> Iterator[Refusal]:
    deadline = new.spec.rollout.progress_deadline_seconds if new.spec.rollout else None
    deadline = deadline or 600
    if (component.min_ready_seconds or 0) >= deadline:
        yield Refusal(
            path,
            f"must be below the roll-out's deadline of {deadline} s: lower it, or raise"
            " spec.rollout.progressDeadlineSeconds",
        )
