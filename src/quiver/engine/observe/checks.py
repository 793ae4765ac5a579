"""Named health checks and their report, in the words of Kubernetes' own components."""

import logging
from collections.abc import Callable, Collection
from dataclasses import dataclass

Check = Callable[[], str | None]
"""None, or a sentence that says what is wrong. Asked on the event loop: it must not wait."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Report:
    """`text` is for people, and lists every check."""

    healthy: bool
    text: str


class Checks:
    """The checks behind one path, such as `readyz`; without any, it is fine."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._checks: dict[str, Check] = {}

    def add(self, name: str, check: Check) -> None:
        if name in self._checks:
            raise ValueError(f"{self.name} has a check {name} already")
        self._checks[name] = check

    def __contains__(self, name: str) -> bool:
        return name in self._checks

    def one(self, name: str) -> str | None:
        """What is wrong with one of them."""
        try:
            return self._checks[name]()
        except Exception as error:
            # A check that cannot tell is no reason to believe that all is well.
            _log.exception("the check %s of %s failed", name, self.name)
            return f"the check itself failed with {type(error).__name__}"

    def report(self, *, exclude: Collection[str] = ()) -> Report:
        lines, failed = [], []
        for name in self._checks:
            if name in exclude:
                lines.append(f"[+]{name} excluded: ok")
            elif wrong := self.one(name):
                lines.append(f"[-]{name} failed: {wrong}")
                failed.append(name)
            else:
                lines.append(f"[+]{name} ok")
        lines += self._unknown(exclude)
        lines.append(f"{self.name} check {'failed' if failed else 'passed'}")
        return Report(not failed, "".join(f"{line}\n" for line in lines))

    def _unknown(self, exclude: Collection[str]) -> list[str]:
        unknown = ", ".join(f'"{name}"' for name in sorted(set(exclude) - self._checks.keys()))
        if not unknown:
            return []
        return [f"warn: some health checks cannot be excluded: no matches for {unknown}"]
