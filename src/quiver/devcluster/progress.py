"""What is going on, on stderr: a spinner for a person at a terminal, plain lines for a log."""

import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_CLEAR_LINE = "\r\x1b[2K"
_FRAME_SECONDS = 0.1
_HEARTBEAT_SECONDS = 60.0
_COLOURS = {"✓": "32", "✗": "31", "!": "33"} | dict.fromkeys(_FRAMES, "36")


class Step:
    """One thing under way; `note` says how far it is."""

    def __init__(self, text: str, aside: str, started: float) -> None:
        self.text = text
        self.aside = aside
        self.started = started
        self.latest_note = ""
        self.ended = threading.Event()

    def note(self, text: str) -> None:
        self.latest_note = text

    def under_way(self, now: float) -> str:
        note = f" {self.latest_note}," if self.latest_note else ""
        return f"{self.text}{self.aside}{note} {clock(now - self.started)}"

    def over(self, now: float) -> str:
        return f"{self.text} ({clock(now - self.started)})"


class Progress:
    """Safe to use from several threads; with several steps under way the latest one is shown."""

    def __init__(
        self,
        stream: TextIO | None = None,
        *,
        now: Callable[[], float] = time.monotonic,
        heartbeat: float = _HEARTBEAT_SECONDS,
        animated: bool | None = None,
        coloured: bool | None = None,
    ) -> None:
        self._stream = stream or sys.stderr
        self._now = now
        self._animated = _is_terminal(self._stream) if animated is None else animated
        self._coloured = (
            self._animated and not os.environ.get("NO_COLOR") if coloured is None else coloured
        )
        self._interval = _FRAME_SECONDS if self._animated else heartbeat
        self._lock = threading.Lock()
        self._steps: list[Step] = []

    @contextmanager
    def step(
        self, text: str, usually: str = "", *, first_time_only: bool = False
    ) -> Iterator[Step]:
        """Show `text` until the block ends: `✓` when it returns, `✗` when it raises."""
        step = Step(text, _aside(usually, first_time_only=first_time_only), self._now())
        painter = threading.Thread(target=self._paint_until_over, args=(step,), daemon=True)
        self._begin(step)
        painter.start()
        outcome = "✗"
        try:
            yield step
            outcome = "✓"
        finally:
            step.ended.set()
            painter.join()
            self._end(step, outcome)

    def line(self, text: str) -> None:
        """One line that stays, whatever is being drawn."""
        with self._lock:
            self._write_line("!", text)

    def _begin(self, step: Step) -> None:
        with self._lock:
            self._steps.append(step)
            if not self._animated:
                self._write_line("…", step.text + step.aside)

    def _end(self, step: Step, outcome: str) -> None:
        with self._lock:
            self._steps.remove(step)
            self._write_line(outcome, step.over(self._now()))

    def _paint_until_over(self, step: Step) -> None:
        frame = 0
        while not step.ended.wait(self._interval):
            with self._lock:
                self._paint(step, _FRAMES[frame % len(_FRAMES)])
            frame += 1

    def _paint(self, step: Step, frame: str) -> None:
        if not self._animated:
            self._write_line("…", step.under_way(self._now()))
        elif step is self._steps[-1]:
            text = fitted(step.under_way(self._now()), shutil.get_terminal_size().columns - 3)
            self._stream.write(f"{_CLEAR_LINE}{self._mark(frame)} {text}")
            self._stream.flush()

    def _write_line(self, mark: str, text: str) -> None:
        clear = _CLEAR_LINE if self._animated else ""
        self._stream.write(f"{clear}{self._mark(mark)} {text}\n")
        self._stream.flush()

    def _mark(self, mark: str) -> str:
        if not self._coloured or mark not in _COLOURS:
            return mark
        return f"\x1b[{_COLOURS[mark]}m{mark}\x1b[0m"


def clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def fitted(text: str, width: int) -> str:
    """Cut in the middle, so that the clock at the end stays: a wrapped line cannot be redrawn."""
    if len(text) <= width:
        return text
    tail = min(24, width // 2)
    return f"{text[: max(width - tail - 1, 0)]}…{text[-tail:]}"


def _aside(usually: str, *, first_time_only: bool) -> str:
    parts = ["first time only"] if first_time_only else []
    parts += [f"usually {usually}"] if usually else []
    return f" ({', '.join(parts)})" if parts else ""


def _is_terminal(stream: TextIO) -> bool:
    return stream.isatty() and os.environ.get("TERM") != "dumb"
