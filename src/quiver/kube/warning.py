"""The header `Warning`, by which an API server speaks to people: `299 - "spec.x is deprecated"`."""

import re
from collections.abc import Iterator

from multidict import CIMultiDictProxy

_WARNING = re.compile(r'\d{3} \S+ "(?P<text>(?:[^"\\]|\\.)*)"')
_ESCAPED = re.compile(r"\\(.)")


def warnings_in(headers: CIMultiDictProxy[str]) -> Iterator[str]:
    for header in headers.getall("Warning", ()):
        for match in _WARNING.finditer(header):
            yield _ESCAPED.sub(r"\1", match["text"])
