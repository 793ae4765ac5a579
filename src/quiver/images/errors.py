"""What can go wrong with images and registries, as types. Each message is a whole sentence."""

import msgspec


class ImageError(Exception):
    """Anything that keeps an image from being named, packed, stored or pushed."""


class BadReference(ImageError):
    """The text is not the name of an image."""


class BadEntry(ImageError):
    """A file meant for an image has an impossible path, or cannot be read."""


class BadArchive(ImageError):
    """The file is not an image archive, or part of it is missing or damaged."""


class BadDocument(ImageError):
    """The bytes are not the JSON document they claim to be."""


class Missing(ImageError):
    """The layout does not hold the blob or the name."""


class Corrupt(ImageError):
    """The bytes are not those that the digest promises."""


class CannotCollect(ImageError):
    """The host lacks something that the image needs."""


class RegistryError(ImageError):
    """Anything that kept a request to a registry from succeeding."""


class Unreachable(RegistryError):
    """No answer: refused, reset, broken off, or past the deadline. Worth another try."""


class Refused(RegistryError):
    """The registry answered, and the answer was no."""

    def __init__(self, request: str, status: int, code: str, message: str) -> None:
        super().__init__(f"{request} was answered with {status} {code}: {message}")
        self.status = status
        self.code = code
        self.message = message


class NotFound(Refused):
    """The registry holds no such repository, manifest or blob."""


class Unauthorized(Refused):
    """The registry wants other credentials than it was given."""


class Busy(Refused):
    """The registry failed or asks for patience. Worth another try, after `retry_after` seconds."""

    retry_after: float = 0.0


class _Complaint(msgspec.Struct):
    code: str = "UNKNOWN"
    message: str = ""


class _Complaints(msgspec.Struct):
    errors: list[_Complaint]


_BY_STATUS: dict[int, type[Refused]] = {
    401: Unauthorized,
    403: Unauthorized,
    404: NotFound,
    429: Busy,
}
_NOT_IMPLEMENTED = 501


def refusal(request: str, status: int, body: bytes) -> Refused:
    """Turn an answer into the matching error; bodies that are no OCI error list are quoted."""
    complaint = _first_complaint(body)
    return _kind_of(status)(request, status, complaint.code, complaint.message)


def _kind_of(status: int) -> type[Refused]:
    if status >= 500 and status != _NOT_IMPLEMENTED:
        return Busy
    return _BY_STATUS.get(status, Refused)


def _first_complaint(body: bytes) -> _Complaint:
    try:
        complaints = msgspec.json.decode(body, type=_Complaints).errors
    except (msgspec.DecodeError, UnicodeDecodeError):
        complaints = []
    quoted = body[:500].decode(errors="replace") or "the answer has no text"
    return complaints[0] if complaints else _Complaint(message=quoted)
