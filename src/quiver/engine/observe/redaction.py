"""The last line of defence: what looks like a secret is taken out of what is logged.

It knows shapes, not secrets: a password that looks like a word passes. Whoever logs remains
responsible for not logging secrets.
"""

import re
from functools import lru_cache

HIDDEN = "<redacted>"

# Every secret that the pattern finds has one of these in it. Looking for them costs a twentieth of
# the pattern, which is left to texts that need it.
_HINTS = (
    "-----begin", "ls0tls1crudjti", "bearer", "basic", "negotiate", "authorization", "://", "eyj",
    "passw", "passphrase", "key", "client", "token",
)  # fmt: skip
# Nothing in it may backtrack over more than one word.
_SECRET = re.compile(
    r"""
      (?P<pem>-----BEGIN[ ](?:[A-Z0-9]+[ ])*PRIVATE[ ]KEY-----)
          (?:(?!-----END).)*(?:-----END[ ][A-Z0-9 ]*-----)?
    | (?P<pem64>LS0tLS1CRUdJTi)[A-Za-z0-9+/=_-]*
    | (?P<scheme>\b(?:(?:Bearer|Basic|Negotiate)\s+)+)[A-Za-z0-9._~+/=-]{6,}
    | (?P<header>\b(?:Proxy-)?Authorization\b["']?\s*[:=,]\s*b?["']?)[^\r\n"']+
    | (?P<url>://[^\s/:@"']*:)[^\s/@"']+(?=@)
    | (?P<jwt>\beyJ)[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]+\.?[A-Za-z0-9_-]*
    | (?P<pair>(?:password|passwd|passphrase|api[_-]?key|secret[_-]?key|access[_-]?key
          |client[_-]?secret|access[_-]?token|refresh[_-]?token|id[_-]?token)
          ["']?\s*[=:]\s*["']?)[^\s"',;&)}]+
    """,
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
_SECRET_NAME = re.compile(
    r"authorization|passw|passphrase|credential|api_?-?key|private_?-?key|secret_?-?key"
    r"|access_?-?key|client_?-?secret|token$|cookie",
    re.IGNORECASE,
)


def redact(text: str) -> str:
    """The text with what looks like a secret replaced; the same text if there is nothing."""
    lowered = text.lower()
    for hint in _HINTS:
        if hint in lowered:
            return _SECRET.sub(_hide, text)
    return text


@lru_cache(maxsize=1024)
def is_secret_name(name: str) -> bool:
    """Whether a field of that name is not to be shown, whatever is in it."""
    return _SECRET_NAME.search(name) is not None


def _hide(match: re.Match[str]) -> str:
    """What tells a reader which secret it was is kept, except of what is secret as a whole."""
    kept = match.group(match.lastgroup) if match.lastgroup else ""
    return HIDDEN if match.lastgroup in ("jwt", "pem64") else kept + HIDDEN
