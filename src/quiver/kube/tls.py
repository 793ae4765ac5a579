"""TLS contexts, shared: one costs up to 1.1 MiB, and a fleet has ten thousand servers.

The other cost is the read buffer of each connection. uvloop, on which the operator runs, allocates
its 256 KiB without touching them: a standing connection costs 54 KiB (asyncio's own loop: 296 KiB,
because it zeroes the buffer; there is no public switch for that).
"""

import os
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

from quiver.kube.errors import ConfigError

CONTEXTS_KEPT = 256


def context_for(
    *, ca: str | None, certificate: str | None = None, key: str | None = None, verify: bool = True
) -> ssl.SSLContext:
    """The context of a CA and a certificate; the same arguments give the same context."""
    return _context(ca, certificate, key, verify)


@lru_cache(maxsize=CONTEXTS_KEPT)
def _context(
    ca: str | None, certificate: str | None, key: str | None, verify: bool
) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cadata=ca)
        if not verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if certificate and key:
            with _file_of(certificate + "\n" + key) as path:
                context.load_cert_chain(path)
    except ssl.SSLError as error:
        raise ConfigError(
            f"the CA or the client certificate cannot be used: {error.reason}"
        ) from error
    return context


@contextmanager
def _file_of(text: str) -> Iterator[str]:
    """OpenSSL loads a client certificate from a file only; this one is never on a disk."""
    if not hasattr(os, "memfd_create"):
        with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:
            file.write(text)
            file.flush()
            yield file.name
        return
    descriptor = os.memfd_create("pem", os.MFD_CLOEXEC)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
        file.flush()
        yield f"/proc/self/fd/{descriptor}"
