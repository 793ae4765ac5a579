"""What a person is told about clusters."""

from quiver.devcluster import components, configs, liveness
from quiver.devcluster.catalog import KUBERNETES
from quiver.devcluster.errors import DevClusterError
from quiver.devcluster.home import ForeignRecord, Home, Record, find_home, visible_homes
from quiver.devcluster.network import Network
from quiver.devcluster.spec import Spec


def running_home(name: str) -> Home:
    home = find_home(name)
    if home.record() is None:
        raise DevClusterError(
            f"there is no cluster {name!r}: `quiver dev up --name {name}` makes it"
        )
    if not liveness.is_running(home):
        raise DevClusterError(
            f"cluster {name!r} does not run any more: `quiver dev up --name {name}` starts it anew"
        )
    return home


def network_of(name: str) -> Network:
    record = running_home(name).record()
    if record is None or record.network is None:
        raise DevClusterError(f"cluster {name!r} has no node and therefore no registry")
    return record.network


def welcome(home: Home) -> str:
    record = _record(home)
    servers = components.api_servers(record.network, record.api_ports)
    lines = [f"cluster {home.name!r} is up: Kubernetes {KUBERNETES}"]
    contexts = {components.context_name(record.spec, server): server.url for server in servers}
    lines += [f"  API        {url}  (context {name})" for name, url in contexts.items()]
    if network := record.network:
        lines.append(f"  ingress    http://{network.node_ip}  (by Host header)")
        lines.append(
            f"  registry   {network.node_ip}:{configs.REGISTRY_PORT}  (localhost:5000 in manifests)"
        )
        lines.append("  storage    classes standard and fast-ssd, volumes can grow")
        lines.append("  policies   NetworkPolicies are enforced")
        lines.append("  metrics    kubectl top answers about 20 s after the start")
    lines.append(f"  kubectl    export KUBECONFIG={home.kubeconfig}")
    lines.append(f"             or: quiver dev kubectl{_named(home)} get pods -A")
    lines.append(f"  end it     quiver dev down{_named(home)}")
    return "\n".join(lines)


def overview() -> str:
    rows = [("NAME", "STATE", "API", "SHAPE")]
    for home in visible_homes():
        state = "running" if liveness.is_running(home) else "ended"
        rows.append((home.name, state, *_summary(home)))
    if len(rows) == 1:
        return "there are no clusters: `quiver dev up` makes one"
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def details(name: str) -> tuple[str, bool]:
    """The parts of a cluster with their state, and whether all is well."""
    home = running_home(name)
    state = liveness.running(home)
    assert state is not None
    lines = [welcome(home), "  parts"]
    for name, child in state.children.items():
        again = f", restarts: {state.restarts[name]}" if state.restarts[name] else ""
        lines.append(f"             {name}: {'running' if child else 'not running'}{again}")
    healthy = state.api_ready and all(state.children.values())
    return "\n".join(lines), healthy


def _record(home: Home) -> Record:
    record = home.record()
    assert record is not None
    return record


def _summary(home: Home) -> tuple[str, str]:
    try:
        record = home.record()
    except ForeignRecord:
        return "-", "made by another version of Quiver"
    return _address(record), _shape(record)


def _address(record: Record | None) -> str:
    if record is None:
        return "-"
    servers = components.api_servers(record.network, record.api_ports)
    return servers[0].url + (f" and {len(servers) - 1} more" if len(servers) > 1 else "")


def _shape(record: Record | None) -> str:
    if record is None:
        return "unfinished"
    parts = ["node" if record.spec.node else "control plane only"]
    if record.spec.simulated_nodes:
        parts.append(f"{record.spec.simulated_nodes} simulated nodes")
    return ", ".join(parts)


def _named(home: Home) -> str:
    return "" if home.name == Spec().name else f" --name {home.name}"
