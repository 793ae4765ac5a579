"""Quantities are read as Kubernetes' `resource.ParseQuantity` reads them."""

from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quiver.kube.quantity import parse_quantity

SUFFIXES = [
    "n", "u", "m", "", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei",
]  # fmt: skip

suffixes = st.sampled_from(SUFFIXES)
counts = st.integers(min_value=-(10**9), max_value=10**9)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", "0"),
        ("2", "2"),
        ("+2", "2"),
        ("-2", "-2"),
        ("5.", "5"),
        (".5", "0.5"),
        ("007", "7"),
        ("100n", "0.0000001"),
        ("100u", "0.0001"),
        ("500m", "0.5"),
        ("-500m", "-0.5"),
        ("1181116006400m", "1181116006.4"),
        ("10k", "10000"),
        ("1M", "1000000"),
        ("1G", "1000000000"),
        ("1T", "1000000000000"),
        ("1P", "1000000000000000"),
        ("1E", "1000000000000000000"),
        ("8Ki", "8192"),
        ("1Mi", "1048576"),
        ("1.5Gi", "1610612736"),
        (".5Gi", "536870912"),
        ("1Ti", "1099511627776"),
        ("1Pi", "1125899906842624"),
        ("7Ei", "8070450532247928832"),
        ("1e3", "1000"),
        ("1E3", "1000"),
        ("1e+3", "1000"),
        ("1e-3", "0.001"),
        ("1.5e3", "1500"),
        ("0e0", "0"),
    ],
)
def test_a_quantity_has_the_value_that_kubernetes_gives_it(text: str, value: str) -> None:
    assert parse_quantity(text) == Decimal(value)


@pytest.mark.parametrize(
    "text",
    [
        "", " ", ".", "+", "Gi", "m", "1 Gi", " 1", "1 ", "1\n", "1K", "1ki", "1KI", "1i", "1g",
        "1t", "1mi", "1ni", "1GiB", "1GB", "1e", "1e+", "1ei", "1e3Gi", "1e3m", "1e1.5", "1.2.3",
        "--1", "+-1", "1-", "0x10", "1,5", "1_000", "inf", "nan", "1Zi", "one",
    ],
)  # fmt: skip
def test_what_kubernetes_refuses_is_refused_with_examples(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a quantity: write a number such as 500m, 2"):
        parse_quantity(text)


@pytest.mark.parametrize(("number", "value"), [(2, "2"), (0.5, "0.5"), (1e22, "1e22"), (-3, "-3")])
def test_a_number_from_yaml_is_a_quantity(number: float, value: str) -> None:
    assert parse_quantity(number) == Decimal(value)


@settings(deadline=None)
@given(counts, suffixes)
def test_a_suffix_multiplies(count: int, suffix: str) -> None:
    assert parse_quantity(f"{count}{suffix}") == count * parse_quantity(f"1{suffix}")


@settings(deadline=None)
@given(counts, counts, suffixes)
def test_quantities_are_ordered_as_their_numbers(one: int, other: int, suffix: str) -> None:
    ordered = parse_quantity(f"{one}{suffix}") < parse_quantity(f"{other}{suffix}")
    assert ordered == (one < other)


def test_each_suffix_is_larger_than_the_one_before() -> None:
    for family in (SUFFIXES[:10], ["", *SUFFIXES[10:]]):
        values = [parse_quantity(f"1{suffix}") for suffix in family]
        assert values == sorted(set(values))


@settings(deadline=None)
@given(counts, st.integers(min_value=-9, max_value=18))
def test_an_exponent_and_zeros_are_the_same(count: int, exponent: int) -> None:
    assert parse_quantity(f"{count}e{exponent}") == Decimal(count).scaleb(exponent)


@settings(deadline=None)
@given(st.text(alphabet="0123456789+-.eEinumkKMGTP _", max_size=12))
def test_any_text_is_a_finite_number_or_refused(text: str) -> None:
    try:
        value = parse_quantity(text)
    except ValueError:
        return
    assert value.is_finite()


def test_only_the_digits_of_kubernetes_are_digits() -> None:
    with pytest.raises(ValueError, match="is not a quantity"):
        parse_quantity("\u0661Gi")


def test_large_values_are_exact() -> None:
    assert parse_quantity("12345678901Ei") == 12345678901 * 2**60
