"""What an API server can answer, as types. Each message is the server's own sentence."""

import msgspec


class KubeError(Exception):
    """Anything that kept a request from succeeding."""


class Unreachable(KubeError):
    """No answer: refused, reset, or past the deadline. The write may or may not have happened."""


class ApiError(KubeError):
    """The server answered, and the answer was no."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(f"{status} {reason}: {message}")
        self.status = status
        self.reason = reason
        self.message = message


class NotFound(ApiError):
    """The object, or its kind, does not exist."""


class Conflict(ApiError):
    """Somebody else changed the object, created it first, or owns the field."""


class Gone(ApiError):
    """The requested version is compacted away: list again."""


class _Status(msgspec.Struct):
    reason: str = "Unknown"
    message: str = ""
    code: int = 0


_BY_STATUS: dict[int, type[ApiError]] = {404: NotFound, 409: Conflict, 410: Gone}


def error_from(status: int, body: bytes) -> ApiError:
    """Turn an answer into the matching error; bodies that are no `Status` are quoted."""
    try:
        answer = msgspec.json.decode(body, type=_Status)
    except msgspec.DecodeError:
        answer = _Status(message=body[:500].decode(errors="replace"))
    code = status if status >= 400 else answer.code
    return _BY_STATUS.get(code, ApiError)(code, answer.reason, answer.message)
