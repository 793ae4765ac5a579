"""Names of images, read as containerd and Docker read them: `busybox` is on Docker Hub."""

import re

import msgspec

from quiver.images.errors import BadReference

DOCKER_HUB = "docker.io"

_LEGACY_DOCKER_HUB = "index.docker.io"
_MAX_REPOSITORY = 255
_HEX_DIGITS = {"sha256": 64, "sha384": 96, "sha512": 128}

_LABEL = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_HOST = re.compile(rf"(?:{_LABEL}(?:\.{_LABEL})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?")
_PART = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_REPOSITORY = re.compile(rf"{_PART}(?:/{_PART})*")
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_DIGEST = re.compile(r"(sha256|sha384|sha512):([a-f0-9]+)")
_BARE_ID = re.compile(r"[a-f0-9]{64}")


class Reference(msgspec.Struct, frozen=True, kw_only=True):
    """A full name: host and repository, and at least one of tag and digest."""

    host: str
    repository: str
    tag: str = ""
    digest: str = ""

    @classmethod
    def parse(cls, text: str) -> "Reference":
        if _BARE_ID.fullmatch(text):
            raise _bad(text, "64 hexadecimal digits are an image id; give a name")
        name, _, digest = text.partition("@")
        host, rest = _split_host(name)
        repository, _, tag = rest.partition(":")
        reference = cls(host=host, repository=repository, tag=tag, digest=digest)
        _check(text, reference)
        return reference if tag or digest else msgspec.structs.replace(reference, tag="latest")

    def __str__(self) -> str:
        tag = f":{self.tag}" if self.tag else ""
        digest = f"@{self.digest}" if self.digest else ""
        return f"{self.host}/{self.repository}{tag}{digest}"

    @property
    def mirrored_repository(self) -> str:
        """Where one registry keeps images of all others: under the host they come from."""
        # A repository's name has no colon, so `localhost:5000` becomes `localhost_5000`.
        host = re.sub(r"[^a-z0-9.-]+", "_", self.host.lower()).strip("_")
        return f"{host}/{self.repository}"


def is_digest(text: str) -> bool:
    match = _DIGEST.fullmatch(text)
    return match is not None and len(match[2]) == _HEX_DIGITS[match[1]]


def is_repository(text: str) -> bool:
    return _REPOSITORY.fullmatch(text) is not None and len(text) <= _MAX_REPOSITORY


def is_tag(text: str) -> bool:
    return _TAG.fullmatch(text) is not None


def _split_host(name: str) -> tuple[str, str]:
    first, slash, rest = name.partition("/")
    if not slash or not _looks_like_a_host(first):
        first, rest = DOCKER_HUB, name
    host = DOCKER_HUB if first == _LEGACY_DOCKER_HUB else first
    if host == DOCKER_HUB and "/" not in rest:
        rest = f"library/{rest}"
    return host, rest


def _looks_like_a_host(part: str) -> bool:
    return part == "localhost" or "." in part or ":" in part or part != part.lower()


def _check(text: str, reference: Reference) -> None:
    if not _HOST.fullmatch(reference.host):
        raise _bad(text, f"{reference.host!r} cannot be the host of a registry")
    if reference.repository != reference.repository.lower():
        raise _bad(text, f"the repository {reference.repository!r} must be in lower case")
    if not is_repository(reference.repository):
        raise _bad(text, f"{reference.repository!r} cannot be a repository")
    if not is_tag(reference.tag) and (reference.tag or _ends_bare(text, ":")):
        raise _bad(text, f"{reference.tag!r} cannot be a tag")
    if not is_digest(reference.digest) and (reference.digest or "@" in text):
        raise _bad(text, f"{reference.digest!r} is not a digest such as sha256:<64 digits>")


def _ends_bare(text: str, mark: str) -> bool:
    return text.partition("@")[0].endswith(mark)


def _bad(text: str, why: str) -> BadReference:
    hint = "Write it like `busybox`, `ghcr.io/team/app:1.2` or `host:5000/app@sha256:…`."
    return BadReference(f"{text!r} is not the name of an image: {why}. {hint}")
