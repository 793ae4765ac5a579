"""The names of an operator, each from the one before, and why some cannot be."""

import keyword
import re
import sys
from dataclasses import dataclass

from quiver import sdk

# With longer ones, lines of the templates would be too long for their own style.
LONGEST_OPERATOR = 36
LONGEST_KIND = 28
LONGEST_GROUP = 50
_LABEL = r"[a-z]([-a-z0-9]*[a-z0-9])?"
_OPERATOR = re.compile(_LABEL)
_GROUP = re.compile(rf"{_LABEL}(\.{_LABEL})+")
_KIND = re.compile(r"[A-Z][A-Za-z0-9]*")
_SUFFIX = re.compile(r"-(operator|controller)$")
_RESERVED = ("k8s.io", "kubernetes.io")
# What a package of the same name would hide from the operator.
_PACKAGES = frozenset(
    ("aiohttp", "cryptography", "msgspec", "pytest", "quiver", "tests", "uvloop", "yaml")
)
_NAMES_IN_TEMPLATES = frozenset(
    ("Annotated", "AsyncIterator", "CHART", "Client", "Iterator", "KIND", "Options", "Path")
)


class CannotScaffold(Exception):
    """A name that cannot be, or a folder that is taken; the message says what to do."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Names:
    operator: str
    """Of the repository, the program, the service account and the Lease: `site-operator`."""
    kind: str
    group: str

    @property
    def package(self) -> str:
        return self.operator.replace("-", "_")

    @property
    def controller(self) -> str:
        return self.kind.lower()

    @property
    def plural(self) -> str:
        return plural_of(self.kind.lower())


def names_for(operator: str, *, kind: str = "", group: str = "example.com") -> Names:
    """All names of an operator; its kind is `Site` for `site-operator`, unless told otherwise."""
    _check_operator(operator)
    kind = kind or _kind_of(operator)
    _check_kind(kind)
    _check_group(group)
    return Names(operator=operator, kind=kind, group=group)


def plural_of(word: str) -> str:
    if re.search(r"(s|x|z|ch|sh)$", word):
        return f"{word}es"
    return f"{word[:-1]}ies" if re.search(r"[^aeiou]y$", word) else f"{word}s"


def _kind_of(operator: str) -> str:
    words = _SUFFIX.sub("", operator).split("-")
    return "".join(word.capitalize() for word in words)


def _check_operator(name: str) -> None:
    if not _OPERATOR.fullmatch(name) or len(name) > LONGEST_OPERATOR:
        raise CannotScaffold(
            f"{name!r} cannot be an operator's name: write at most {LONGEST_OPERATOR} lower-case "
            "letters, digits and hyphens, the first a letter, such as site-operator"
        )
    package = name.replace("-", "_")
    taken = package in sys.stdlib_module_names or package in _PACKAGES
    if taken or keyword.iskeyword(package):
        raise CannotScaffold(
            f"{name!r} cannot be an operator's name: a Python package {package!r} would hide "
            f"another; write {name}-operator"
        )


def _check_kind(kind: str) -> None:
    if not _KIND.fullmatch(kind) or len(kind) > LONGEST_KIND:
        raise CannotScaffold(
            f"{kind!r} cannot be a kind: write at most {LONGEST_KIND} letters and digits, the "
            "first a capital, such as --kind Site"
        )
    if kind in sdk.__all__ or kind in _NAMES_IN_TEMPLATES or keyword.iskeyword(kind):
        raise CannotScaffold(
            f"{kind!r} cannot be a kind: the code already has something of that name; choose "
            "another with --kind"
        )


def _check_group(group: str) -> None:
    if not _GROUP.fullmatch(group) or len(group) > LONGEST_GROUP:
        raise CannotScaffold(
            f"{group!r} cannot be an API group: write a DNS name of at most {LONGEST_GROUP} "
            "characters that you own, such as --group apps.example.com"
        )
    if group.endswith(tuple(f".{it}" for it in _RESERVED)) or group in _RESERVED:
        raise CannotScaffold(
            f"{group!r} cannot be an API group: {' and '.join(_RESERVED)} belong to Kubernetes "
            "itself; write a DNS name that you own, such as --group apps.example.com"
        )
