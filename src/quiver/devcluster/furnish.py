"""What a running cluster is given through its API: storage classes, DNS, ingress, metrics, nodes.

Every part may be repeated on a cluster that has it already.
"""

from quiver.devcluster import addons, imagestore, known_images, nodes
from quiver.devcluster.home import Home
from quiver.devcluster.network import Network
from quiver.devcluster.progress import Progress, Step
from quiver.devcluster.spec import Spec
from quiver.devcluster.waiting import until
from quiver.kube import Client, KubeConfig

NODE_READY_WITHIN = 120.0
ADDONS_READY_WITHIN = 180.0
SIMULATED_READY_WITHIN = 180.0


async def furnish(
    spec: Spec, home: Home, network: Network | None, contexts: list[str], progress: Progress
) -> None:
    for context in contexts:
        config = KubeConfig.load(home.kubeconfig, context)
        async with Client(config, manager="quiver-dev") as client:
            if network:
                await furnish_node(spec, home, network, client, progress)
            if spec.simulated_nodes:
                await furnish_simulated_nodes(spec, client, progress)


async def furnish_node(
    spec: Spec, home: Home, network: Network, client: Client, progress: Progress
) -> None:
    with progress.step("loading the images of the add-ons", "10 s"):
        await imagestore.load_known(home, network, known_images.ADDONS, progress)
    with progress.step("waiting for the node", "10 s") as step:
        await node_ready(client, spec.name, step)
        await nodes.dress(client, spec.name, labels=spec.node_labels, gpus=spec.gpus)
    with progress.step("starting DNS, ingress and metrics", "20 s") as step:
        for manifest in addons.manifests(network):
            await client.apply(manifest, force=True)
        await until(lambda: addons.missing(client), within=ADDONS_READY_WITHIN, note=step.note)


async def furnish_simulated_nodes(spec: Spec, client: Client, progress: Progress) -> None:
    with progress.step(f"adding {spec.simulated_nodes} simulated nodes", "a few seconds") as step:
        await nodes.add_simulated(client, spec.simulated_nodes, tainted=spec.node)
        await simulated_nodes_ready(client, spec.simulated_nodes, step)


async def node_ready(client: Client, name: str, step: Step) -> None:
    async def missing() -> str | None:
        ready = nodes.ready_names(await client.list("v1", "Node"))
        return None if name in ready else f"node {name} is not ready"

    await until(missing, within=NODE_READY_WITHIN, note=step.note)


async def simulated_nodes_ready(client: Client, count: int, step: Step) -> None:
    async def missing() -> str | None:
        ready = len(nodes.ready_names(await client.list("v1", "Node", labels="type=kwok")))
        return None if ready >= count else f"{ready} of {count} simulated nodes are ready"

    await until(missing, within=SIMULATED_READY_WITHIN, note=step.note)
