"""What a person and what a log get to see."""

import io
import re
import threading
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quiver.devcluster.progress import Progress, Step, clock, fitted


class _Clock:
    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


class _Signalling(io.StringIO):
    """Lets a test wait for a text instead of sleeping."""

    def __init__(self) -> None:
        super().__init__()
        self._written = threading.Condition()

    def write(self, text: str) -> int:
        with self._written:
            count = super().write(text)
            self._written.notify_all()
        return count

    def wait_for(self, text: str) -> None:
        with self._written:
            assert self._written.wait_for(lambda: text in self.getvalue(), timeout=5)


@pytest.fixture
def stream() -> Iterator[_Signalling]:
    with _Signalling() as stream:
        yield stream


def test_a_log_gets_a_line_at_the_start_and_one_at_the_end(stream: _Signalling) -> None:
    now = _Clock()
    with Progress(stream, now=now).step("building etcd", usually="about 30 s"):
        now.seconds = 100
    assert stream.getvalue() == ("… building etcd (usually about 30 s)\n✓ building etcd (1:40)\n")


def test_a_step_that_raises_is_marked_as_failed(stream: _Signalling) -> None:
    progress = Progress(stream, now=_Clock())
    with pytest.raises(KeyboardInterrupt), progress.step("building etcd"):
        raise KeyboardInterrupt
    assert stream.getvalue().endswith("✗ building etcd (0:00)\n")


def test_a_log_gets_a_heartbeat_that_tells_how_far_it_is(stream: _Signalling) -> None:
    now = _Clock()
    progress = Progress(stream, now=now, heartbeat=0.01)
    with progress.step("building etcd") as step:
        now.seconds = 60
        step.note("7 of at most 300 packages")
        stream.wait_for("… building etcd 7 of at most 300 packages, 1:00\n")


def test_a_log_has_no_control_characters(stream: _Signalling) -> None:
    progress = Progress(stream, heartbeat=0.001)
    with progress.step("building etcd"):
        stream.wait_for("building etcd 0:00\n")
    progress.line("the cached etcd is damaged")
    assert not re.search(r"[\r\x1b]", stream.getvalue())


def test_a_terminal_gets_a_spinner_with_the_time(stream: _Signalling) -> None:
    now = _Clock()
    progress = Progress(stream, now=now, animated=True, coloured=False)
    with progress.step("building kubelet", usually="about 6 min", first_time_only=True):
        now.seconds = 83
        stream.wait_for("⠙ building kubelet (first time only, usually about 6 min) 1:23")
    assert stream.getvalue().endswith("\r\x1b[2K✓ building kubelet (1:23)\n")


def test_of_two_steps_under_way_a_terminal_shows_the_later(stream: _Signalling) -> None:
    progress = Progress(stream, animated=True, coloured=False)
    with progress.step("first"), progress.step("second"):
        stream.wait_for("⠹ second")
    assert "⠙ first" not in stream.getvalue()


def test_colour_is_off_when_no_color_is_set(
    stream: _Signalling, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    Progress(stream, animated=True).line("hello")
    assert stream.getvalue() == "\r\x1b[2K! hello\n"


def test_colour_is_on_at_a_terminal(stream: _Signalling, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    with Progress(stream, animated=True).step("building etcd"):
        pass
    assert "\x1b[32m✓\x1b[0m building etcd" in stream.getvalue()


def test_lines_of_several_threads_never_mix(stream: _Signalling) -> None:
    progress = Progress(stream, heartbeat=0.001)

    def work(name: str) -> None:
        for _ in range(50):
            with progress.step(name * 20) as step:
                step.note(name)

    threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for line in stream.getvalue().splitlines():
        assert re.fullmatch(r"[…✓] (a{20}|b{20}|c{20}|d{20})( \w,)?( \(?\d:\d\d\)?)?", line)


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0, "0:00"), (59.9, "0:59"), (83, "1:23"), (3723, "1:02:03")]
)
def test_a_clock_reads_like_one(seconds: float, shown: str) -> None:
    assert clock(seconds) == shown


@given(st.text(), st.integers(min_value=4, max_value=200))
def test_a_fitted_text_never_wraps_and_keeps_its_end(text: str, width: int) -> None:
    shown = fitted(text, width)
    assert len(shown) <= width
    assert shown[-1:] == text[-1:]


def test_a_step_without_a_note_shows_only_its_time() -> None:
    assert Step("starting", "", 5.0).under_way(10.0) == "starting 0:05"
