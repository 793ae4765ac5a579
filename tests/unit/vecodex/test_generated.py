"""Files that are made from the types, and the sample of the documents."""

import pytest
import yaml

from quiver.vecodex.generated import generated
from support.vecodex import ROOT, SAMPLE

RESOURCES = ("config/crd", "config/samples")


@pytest.mark.parametrize("path", generated())
def test_a_generated_file_is_up_to_date(path: str) -> None:
    assert (ROOT / path).read_text() == generated()[path], (
        f"{path} is not what the types say: run python -m quiver.vecodex.generated"
    )


def test_the_sample_is_named_as_in_the_documents() -> None:
    sample = yaml.safe_load(SAMPLE.read_text())
    assert sample["metadata"] == {"name": "search-cluster", "namespace": "default"}


@pytest.mark.parametrize("folder", RESOURCES)
def test_a_kustomization_names_files_that_are_there(folder: str) -> None:
    kustomization = yaml.safe_load((ROOT / folder / "kustomization.yaml").read_text())
    for resource in kustomization["resources"]:
        assert (ROOT / folder / resource).exists()
