"""The comparison before the real API server, which is asked by a forced dry-run apply.

QUIVER_COMPARE_SEEDS=50 makes the campaigns larger; with the same number they are the same.
"""

import asyncio
import os
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from pathlib import Path

import pytest

from quiver.devcluster.handle import DevCluster
from quiver.devcluster.waiting import until
from quiver.engine.compare import custom_structure, difference, stamped
from quiver.engine.compare.scalars import Node
from quiver.kube import Client, KubeConfig
from support.custom_samples import DEFINITION, MERGER, SCHEMA
from support.desired_samples import MORE, SAMPLES, Object, Sample
from support.drifting import Drifting

ROOT = Path(__file__).parent.parent.parent
SEEDS = int(os.environ.get("QUIVER_COMPARE_SEEDS", "3"))
ROUNDS = 10
AT_ONCE = 8


@pytest.fixture
async def others(api_server: DevCluster) -> AsyncIterator[Client]:
    """Somebody else who changes our objects."""
    config = KubeConfig.load(api_server.kubeconfig)
    async with Client(config, manager="somebody") as client:
        yield client


@pytest.fixture
async def mergers(api_client: Client) -> None:
    """The custom resource of the samples is served."""
    await api_client.apply(DEFINITION, force=True)

    async def missing() -> str | None:
        name = DEFINITION["metadata"]["name"]
        found = await api_client.get("apiextensions.k8s.io/v1", "CustomResourceDefinition", name)
        conditions = found.get("status", {}).get("conditions") or []
        served = any(c["type"] == "Established" and c["status"] == "True" for c in conditions)
        return None if served else f"{name} is not established"

    await until(missing, within=30)


class Campaign:
    """Many objects that drift, and what the rule said about each round."""

    def __init__(self, us: Client, them: Client, namespace: str) -> None:
        self._us, self._them, self._namespace = us, them, namespace
        self._slots = asyncio.Semaphore(AT_ONCE)
        self.tally: Counter[str] = Counter()
        self.told: list[str] = []

    async def run(
        self, samples: Iterable[Sample], seeds: int, structure: Node | None = None
    ) -> None:
        async with asyncio.TaskGroup() as group:
            for sample in samples:
                for seed in range(seeds):
                    group.create_task(self._one(sample, seed, structure))
        print(dict(self.tally), *self.told, sep="\n")

    async def _one(self, sample: Sample, seed: int, structure: Node | None) -> None:
        clients = (self._us, self._them)
        async with self._slots:
            one = Drifting(*clients, sample, self._namespace, seed, structure=structure)
            await one.run(ROUNDS)
        self.tally += one.tally
        self.told += [str(case) for case in one.cases]

    def share(self, verdict: str) -> float:
        decided = self.tally.total() - self.tally["rejected"] - self.tally["unsettled"]
        return self.tally[verdict] / decided


@pytest.fixture
def campaign(api_client: Client, others: Client, namespace: str) -> Campaign:
    return Campaign(api_client, others, namespace)


async def test_no_change_is_missed_and_hardly_one_is_needless(campaign: Campaign) -> None:
    await campaign.run(SAMPLES, SEEDS)
    assert campaign.tally["missed"] == 0, campaign.told
    assert campaign.tally["found"] > 30 * SEEDS
    assert campaign.tally["rested"] > 30 * SEEDS
    # Nearly all of these are explicit zeros and nulls for what the server has a default.
    assert campaign.share("needless") <= 0.01, campaign.told
    assert campaign.share("unsettled") <= 0.02, campaign.told


@pytest.mark.usefixtures("mergers")
async def test_with_its_schema_no_change_of_a_custom_resource_is_missed(
    campaign: Campaign,
) -> None:
    await campaign.run([MERGER], 2 * SEEDS, custom_structure(SCHEMA))
    assert campaign.tally["missed"] == 0, campaign.told
    assert campaign.share("needless") <= 0.01, campaign.told


@pytest.mark.usefixtures("mergers")
async def test_a_schema_tells_of_defaults_in_lists_and_of_atomic_maps(
    api_client: Client, others: Client, namespace: str
) -> None:
    desired = MERGER.plain | {"metadata": {"name": "it", "namespace": namespace}}
    structure = custom_structure(SCHEMA)
    live = await api_client.apply(desired)
    assert difference(desired, live) == "spec.parts[0].mode"
    assert difference(desired, live, structure=structure) is None

    live["spec"]["pick"]["more"] = "theirs"
    live = await others.replace(live)
    assert difference(desired, live, structure=structure) == "spec.pick.more"
    live = await api_client.apply(desired, force=True)
    assert "more" not in live["spec"]["pick"]


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.plain["kind"])
async def test_what_was_applied_is_contained_in_what_came_of_it(
    sample: Sample, api_client: Client, namespace: str
) -> None:
    for number, desired in enumerate(sample):
        metadata = desired["metadata"] | {"name": f"it-{number}", "namespace": namespace}
        wanted = stamped(desired | {"metadata": metadata})
        live = await api_client.apply(wanted, force=True, field_validation="Strict")
        assert difference(wanted, live) is None


@pytest.mark.parametrize("desired", MORE, ids=lambda desired: desired["kind"])
async def test_other_kinds_are_contained_in_what_came_of_them_too(
    desired: Object, api_client: Client, namespace: str
) -> None:
    wanted = desired | {"metadata": desired["metadata"] | {"namespace": namespace}}
    live = await api_client.apply(wanted, force=True, dry_run=True, field_validation="Strict")
    if "namespace" not in live["metadata"]:
        del wanted["metadata"]["namespace"]
    assert difference(wanted, live) is None


async def test_a_custom_resource_definition_settles(api_client: Client, mergers: None) -> None:
    live = await api_client.get(
        "apiextensions.k8s.io/v1", "CustomResourceDefinition", DEFINITION["metadata"]["name"]
    )
    assert difference(DEFINITION, live) is None


def test_the_tables_are_what_the_server_says(api_server: DevCluster) -> None:
    tool = ROOT / "tools" / "structure_tables.py"
    done = subprocess.run(
        [sys.executable, tool, "--check", api_server.kubeconfig],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
