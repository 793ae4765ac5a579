"""What is written of a cluster is read back, by one process at a time."""

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quiver.devcluster import paths
from quiver.devcluster.errors import DevClusterError
from quiver.devcluster.home import (
    Home,
    Record,
    find_home,
    homes,
    is_held,
    locked,
    records,
    visible_homes,
    write_atomically,
)
from quiver.devcluster.network import Network
from quiver.devcluster.spec import Spec

counts = st.integers(min_value=0, max_value=10**6)
specs = st.builds(
    Spec,
    name=st.text(max_size=5),
    node=st.booleans(),
    controller_manager=st.booleans(),
    api_servers=st.integers(min_value=1, max_value=50),
    api_port=st.none() | st.integers(min_value=1, max_value=65535),
    simulated_nodes=counts,
    gpus=counts,
    node_labels=st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=3),
    tied_to=st.none() | st.text(max_size=5),
)
networks = st.builds(Network, st.integers(min_value=0, max_value=31), st.text(max_size=5))
written = st.builds(
    Record,
    spec=specs,
    network=st.none() | networks,
    api_ports=st.lists(st.integers(min_value=1, max_value=65535), max_size=3),
)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(record=written)
def test_a_record_is_read_back_as_it_was_written(record: Record, tmp_path: Path) -> None:
    Home("dev", root=tmp_path).write(record)
    assert Home("dev", root=tmp_path).record() == record


def test_what_was_never_written_is_no_record(tmp_path: Path) -> None:
    home = Home("dev", root=tmp_path)
    assert home.record() is None
    home.path.mkdir(parents=True)
    assert home.record() is None


def test_all_files_of_a_cluster_are_in_its_folder(tmp_path: Path) -> None:
    home = Home("dev", root=tmp_path)
    places = {value for value in vars(home).values() if isinstance(value, Path)} - {tmp_path}
    assert all(place.is_relative_to(tmp_path / "clusters" / "dev") for place in places)
    assert home.pki(1) != home.pki(2)


def test_clusters_are_listed_in_order_also_those_never_finished(tmp_path: Path) -> None:
    for name in ("b", "a"):
        Home(name, root=tmp_path).write(Record(spec=Spec(name=name)))
    Home("c", root=tmp_path).path.mkdir()
    assert [home.name for home in homes(tmp_path)] == ["a", "b", "c"]
    assert [record.spec.name for record in records(tmp_path).values()] == ["a", "b"]


def test_a_folder_that_is_not_there_has_no_clusters(tmp_path: Path) -> None:
    assert homes(tmp_path / "nothing") == []


def test_a_chosen_state_folder_shows_only_its_own_clusters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUIVER_STATE", str(tmp_path))
    Home("mine").write(Record(spec=Spec(name="mine")))
    assert [home.path for home in visible_homes()] == [tmp_path / "clusters" / "mine"]
    assert find_home("other").path == tmp_path / "clusters" / "other"


def test_an_ordinary_user_sees_root_s_clusters_after_the_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, roots = tmp_path / "own" / "quiver", tmp_path / "root"
    monkeypatch.delenv("QUIVER_STATE", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "own"))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(paths, "ROOTS_STATE", roots)
    for name, root in (("a", own), ("b", own), ("b", roots), ("c", roots)):
        Home(name, root=root).write(Record(spec=Spec(name=name)))
    assert [(home.name, home.root) for home in visible_homes()] == [
        ("a", own),
        ("b", own),
        ("b", roots),
        ("c", roots),
    ]
    assert find_home("b").root == own
    assert find_home("c").root == roots
    assert find_home("d").root == own


def test_a_reader_of_the_old_file_is_not_disturbed_by_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_atomically(path, b"old")
    with path.open("rb") as reader:
        write_atomically(path, b"new and longer")
        assert reader.read() == b"old"
    assert path.read_bytes() == b"new and longer"
    assert list(tmp_path.iterdir()) == [path]


_LOCKER = """
import sys
from pathlib import Path
from quiver.devcluster.home import Home

home, released = Home("dev", root=Path(sys.argv[1])), Path(sys.argv[2])
print("trying", flush=True)
with home.locked():
    print(released.exists(), flush=True)
"""


def test_a_second_process_waits_until_the_first_lets_go(tmp_path: Path) -> None:
    released = tmp_path / "released"
    with Home("dev", root=tmp_path).locked():
        other = subprocess.Popen(
            [sys.executable, "-c", _LOCKER, tmp_path, released], stdout=subprocess.PIPE, text=True
        )
        assert other.stdout is not None
        assert other.stdout.readline() == "trying\n"
        released.touch()
    assert other.communicate(timeout=60)[0] == "True\n"


def test_another_name_is_another_lock(tmp_path: Path) -> None:
    with Home("a", root=tmp_path).locked(), Home("b", root=tmp_path).locked():
        assert is_held(tmp_path / "locks" / "a")
        assert is_held(tmp_path / "locks" / "b")


def test_a_lock_outlives_the_folder_it_guards(tmp_path: Path) -> None:
    home = Home("dev", root=tmp_path)
    with home.locked():
        home.path.mkdir(parents=True)
        home.path.rmdir()
        assert is_held(tmp_path / "locks" / "dev")


def test_a_lock_is_held_exactly_while_its_holder_is_inside(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "lock"
    assert not is_held(path)
    with locked(path):
        assert is_held(path)
    assert not is_held(path)


def test_asking_for_a_lock_does_not_take_it(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    path.touch()
    assert not is_held(path)
    with path.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_a_record_of_another_version_is_refused_by_name_and_passed_over_in_lists(
    tmp_path: Path,
) -> None:
    foreign = Home("foreign", tmp_path)
    foreign.path.mkdir(parents=True)
    (foreign.path / "cluster.json").write_text('{"spec": {"name": 7}}')
    with pytest.raises(DevClusterError, match=r"'foreign' .* made by another version of Quiver"):
        foreign.record()
    assert records(tmp_path) == {}
