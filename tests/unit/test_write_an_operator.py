"""The page for those who write an operator shows the code that is tested, and all of it."""

import re
from pathlib import Path

import pytest
import yaml

from quiver import sdk
from support.site_operator import EXAMPLE, site_operator

PAGE = Path(__file__).parents[2] / "docs" / "write-an-operator.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), flags=re.MULTILINE | re.DOTALL)
FILES = {path.name: path.read_text() for path in sorted(EXAMPLE.glob("*.py"))}
SITE = FILES["site_operator.py"]


def _shown_of(text: str) -> list[str]:
    return [block for block in BLOCKS if block in text]


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.strip().splitlines()[0])
def test_every_piece_of_code_is_in_an_example_word_for_word(block: str) -> None:
    assert any(block in text for text in FILES.values())


def test_the_pieces_of_the_first_operator_are_all_of_it_in_their_order() -> None:
    assert "\n\n\n".join(block.strip("\n") for block in _shown_of(SITE)) == SITE.strip("\n")


def test_there_is_no_other_kind_of_code_block() -> None:
    assert PAGE.read_text().count("```") == 2 * len(BLOCKS)


def test_the_first_operator_has_at_most_60_lines() -> None:
    assert len(SITE.splitlines()) <= 60


def test_the_first_operator_takes_all_from_the_sdk() -> None:
    imported = set(re.findall(r"^(?:from|import) (\S+)", SITE, flags=re.MULTILINE))
    assert imported == {"collections.abc", "typing", "quiver"}
    used = set(re.findall(r"\bsdk\.(\w+)", "\n".join(FILES.values())))
    assert used <= set(sdk.__all__)


def test_the_sample_is_one_that_the_operator_can_read() -> None:
    sample = yaml.safe_load((EXAMPLE / "site.yaml").read_text())
    definition = site_operator.Site.definition
    assert (sample["apiVersion"], sample["kind"]) == (definition.api_version, definition.kind)
    assert set(sample["spec"]) <= set(site_operator.Spec.__struct_fields__)


@pytest.mark.parametrize("name", re.findall(r"\bsdk\.([A-Za-z_]+)", PAGE.read_text()))
def test_what_the_page_names_is_in_the_sdk(name: str) -> None:
    assert name in sdk.__all__
