"""What stands in the way is told in one sentence before anything is made."""

import io
import os
import socket
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quiver.devcluster import preflight
from quiver.devcluster.errors import DevClusterError
from quiver.devcluster.preflight import (
    CONTROL_PLANE_TOOLS,
    GIGABYTE,
    NODE_TOOLS,
    PORTS,
    api_ports,
    free_bytes,
    install_missing,
    is_free,
    missing_packages,
    refuse_full_disk,
    refuse_unsupported_system,
    refuse_without_root,
    search_path,
)
from quiver.devcluster.progress import Progress
from quiver.devcluster.spec import Spec

ONE = Spec(node=False)


def test_root_may_have_a_node_and_others_are_told_what_they_may_have() -> None:
    refuse_without_root(0)
    with pytest.raises(DevClusterError) as refusal:
        refuse_without_root(1000)
    assert str(refusal.value) == (
        "a dev cluster with a node needs root, for network namespaces and mounts:"
        " run it with sudo, or add --control-plane-only, which needs no root"
    )


@pytest.mark.parametrize("platform", ["darwin", "win32", "freebsd14"])
def test_another_system_than_linux_is_refused_by_name(platform: str) -> None:
    refuse_unsupported_system("linux")
    with pytest.raises(DevClusterError, match=f"on Linux only, and this is {platform}: use"):
        refuse_unsupported_system(platform)


def test_a_full_disk_is_refused_with_what_it_has_and_what_is_needed() -> None:
    with pytest.raises(DevClusterError) as refusal:
        refuse_full_disk(Path("/state"), 5 * GIGABYTE, lambda _: 1_240_000_000)
    assert str(refusal.value) == (
        "no disk space: /state has 1.2 GB free and the cluster needs 5.0 GB:"
        " free some, or set QUIVER_STATE to a folder elsewhere"
    )


def test_exactly_enough_space_is_enough() -> None:
    refuse_full_disk(Path("/state"), GIGABYTE, lambda _: GIGABYTE)


def test_the_space_is_measured_where_the_folder_will_be(tmp_path: Path) -> None:
    there, later = os.statvfs(tmp_path), free_bytes(tmp_path / "not" / "there" / "yet")
    assert 0 < later <= there.f_blocks * there.f_frsize


def test_each_missing_package_is_named_once_and_in_order() -> None:
    tools = {"b": "two", "a": "one", "c": "two", "d": "three"}
    assert missing_packages(tools, lambda tool: "/bin/d" if tool == "d" else None) == ["one", "two"]


def test_nothing_is_missing_where_all_tools_are() -> None:
    assert missing_packages(NODE_TOOLS, lambda tool: f"/bin/{tool}") == []


def test_a_control_plane_needs_no_more_tools_than_a_node() -> None:
    assert CONTROL_PLANE_TOOLS.items() <= NODE_TOOLS.items()


def test_who_may_not_install_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    tools = {"no-such-tool-1": "zebra", "no-such-tool-2": "ape", "sh": "dash"}
    with pytest.raises(DevClusterError) as refusal:
        install_missing(tools, Progress(io.StringIO()))
    assert str(refusal.value) == (
        "some tools are missing: install ape, zebra (Debian's names) and try again"
    )


def test_what_is_there_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    install_missing({"sh": "dash"}, Progress(io.StringIO()))


def test_the_system_s_tools_are_found_on_an_ordinary_user_s_path(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", "/home/me/bin")
    assert search_path() == "/home/me/bin:/usr/local/sbin:/usr/sbin:/sbin"


def test_a_node_is_refused_without_root_before_the_disk_is_looked_at(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(preflight, "free_bytes", lambda _: 0)
    with pytest.raises(DevClusterError, match="needs root"):
        preflight.check(Spec(), tmp_path, Progress(io.StringIO()))
    with pytest.raises(DevClusterError, match="no disk space"):
        preflight.check(ONE, tmp_path, Progress(io.StringIO()))


def test_a_port_that_is_in_use_is_refused() -> None:
    with pytest.raises(DevClusterError) as refusal:
        api_ports(Spec(node=False, api_port=6443), set(), lambda port: port != 6443)
    assert str(refusal.value) == (
        "port 6443 on 127.0.0.1 is in use: choose another --api-port,"
        " or leave it out to get a free one"
    )


def test_without_a_wish_the_first_free_port_is_taken() -> None:
    assert api_ports(ONE, {20000}, lambda port: port != 20001) == [20002]


ports = st.integers(min_value=PORTS.start, max_value=PORTS.start + 40)


@settings(deadline=None)
@given(
    st.integers(min_value=1, max_value=10),
    st.none() | st.just(6443) | ports,
    st.sets(ports),
    st.sets(ports),
)
def test_ports_are_distinct_free_and_nobody_else_s_with_the_wish_first(
    count: int, wish: int | None, taken: set[int], busy: set[int]
) -> None:
    taken, busy = taken - {wish}, busy - {wish}  # Those are refused: see below.
    spec = Spec(node=False, api_servers=count, api_port=wish)
    chosen = api_ports(spec, taken, lambda port: port not in busy)
    assert len(chosen) == len(set(chosen)) == count
    assert not set(chosen) & (taken | busy)
    assert wish is None or chosen[0] == wish


def test_a_port_is_free_exactly_if_nobody_listens_on_it() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        assert not is_free(listener.getsockname()[1])
    assert any(is_free(port) for port in PORTS)


def test_a_wished_port_that_another_cluster_has_is_refused() -> None:
    with pytest.raises(DevClusterError, match="port 20000 on"):
        api_ports(Spec(node=False, api_port=20000), {20000}, lambda _: True)


def test_no_free_port_at_all_is_a_sentence() -> None:
    with pytest.raises(DevClusterError, match="no free port"):
        api_ports(Spec(node=False), set(), lambda _: False)
