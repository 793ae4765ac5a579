"""What can keep a request from succeeding, as types.

Each text is a sentence: what was tried (verb, kind, namespace/name), the status, and the server's
own message. `is_transient` tells whether the same request may succeed later without any change.
"""

import re

import msgspec


class ConfigError(Exception):
    """The configuration cannot be used; the message says which file and what is missing."""


class KubeError(Exception):
    """Anything that kept a request from succeeding."""

    is_transient = False


class CredentialError(KubeError):
    """There is no proof of who we are: the credential plugin or a mounted file failed us."""

    is_transient = True


class Unreachable(KubeError):
    """No answer: refused, reset, or past the deadline. The write may or may not have happened."""

    is_transient = True


class Timeout(Unreachable):
    """No answer within the deadline."""


class Cause(msgspec.Struct, frozen=True):
    """One thing that the server names as wrong, and the field where it found it."""

    reason: str = ""
    message: str = ""
    field: str = ""


class ApiError(KubeError):
    """The server answered, and the answer was no."""

    def __init__(
        self,
        status: int,
        reason: str,
        message: str,
        *,
        subject: str = "",
        causes: tuple[Cause, ...] = (),
        retry_after: float | None = None,
    ) -> None:
        tried = f"{subject} failed: " if subject else ""
        super().__init__(f"{tried}{status} {reason}: {message}")
        self.status = status
        self.reason = reason
        self.message = message
        self.subject = subject
        self.causes = causes
        self.retry_after = retry_after
        self.is_transient = status == 429 or status >= 500


class Unauthorized(ApiError):
    """The server does not know who we are: the credential is missing, wrong or expired."""


class Forbidden(ApiError):
    """The server knows who we are, and we may not do this."""


class NotFound(ApiError):
    """The object, or its kind, does not exist."""


class Conflict(ApiError):
    """Somebody else changed the object, created it first, or owns the field."""


class AlreadyExists(Conflict):
    """There is an object of that name."""


class FieldConflict(msgspec.Struct, frozen=True):
    """A field that another manager owns."""

    manager: str
    field: str


class ApplyConflict(Conflict):
    """Other managers own fields that the applied object sets; `force` would take them."""

    @property
    def fields(self) -> tuple[FieldConflict, ...]:
        owned = (cause for cause in self.causes if cause.reason == _OWNED_FIELD)
        return tuple(FieldConflict(_manager(cause.message), cause.field) for cause in owned)

    @property
    def managers(self) -> frozenset[str]:
        return frozenset(field.manager for field in self.fields)


class Gone(ApiError):
    """The requested version is compacted away: list again."""


class Invalid(ApiError):
    """The object breaks its schema or rules; `causes` names the fields."""


class TooManyRequests(ApiError):
    """The server did not act; it asks to come back after `retry_after` seconds."""


class DisruptionBudgetExceeded(TooManyRequests):
    """A PodDisruptionBudget does not allow this eviction now."""


class ServerTimeout(ApiError):
    """The server gave up waiting for itself. The write may or may not have happened."""


class _Details(msgspec.Struct):
    name: str = ""
    causes: tuple[Cause, ...] = ()
    retry_after: float | None = msgspec.field(name="retryAfterSeconds", default=None)


class _Status(msgspec.Struct):
    reason: str = "Unknown"
    message: str = ""
    code: int = 0
    details: _Details | None = None


_OWNED_FIELD = "FieldManagerConflict"
_BUDGET = "DisruptionBudget"
_BY_STATUS: dict[int, type[ApiError]] = {
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Gone,
    422: Invalid,
    429: TooManyRequests,
    504: ServerTimeout,
}
_NO_DETAILS = _Details()
_MANAGER = re.compile(r'conflict with "(?P<manager>[^"]*)"')


def error_from(
    status: int, body: bytes, *, subject: str = "", retry_after: float | None = None
) -> ApiError:
    """Turn an answer into the matching error; bodies that are no `Status` are quoted."""
    try:
        answer = msgspec.json.decode(body, type=_Status)
    except msgspec.DecodeError:
        answer = _Status(message=body[:500].decode(errors="replace"))
    details = answer.details or _NO_DETAILS
    # Inside a watch the status of the answer is 200, and the code is in the body only.
    code = status if status >= 300 else answer.code
    return _type_of(code, answer.reason, details.causes)(
        code,
        answer.reason,
        answer.message,
        subject=subject,
        causes=details.causes,
        retry_after=details.retry_after if retry_after is None else retry_after,
    )


def _type_of(code: int, reason: str, causes: tuple[Cause, ...]) -> type[ApiError]:
    named = {cause.reason for cause in causes}
    if code == 409 and reason == "AlreadyExists":
        return AlreadyExists
    if code == 409 and _OWNED_FIELD in named:
        return ApplyConflict
    if code == 429 and _BUDGET in named:
        return DisruptionBudgetExceeded
    return _BY_STATUS.get(code, ApiError)


def _manager(message: str) -> str:
    match = _MANAGER.search(message)
    return match["manager"] if match else "unknown"
