"""What keeps going wrong, said once."""

import logging


class Complaints:
    """Logs a sentence when it is new; the same one again and again is one complaint."""

    def __init__(self, log: logging.Logger) -> None:
        self._log = log
        self._last = ""

    def about(self, sentence: str) -> None:
        if sentence != self._last:
            self._log.warning(sentence)
        self._last = sentence

    def settled(self) -> None:
        self._last = ""
