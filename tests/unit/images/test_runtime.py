"""The operator's image runs alone: nothing of the host is visible in it but the kernel."""

import os
import subprocess
import sys
import tarfile
from pathlib import Path

import msgspec
import pytest

from quiver.images import (
    CannotCollect,
    Descriptor,
    Interpreter,
    Layout,
    Manifest,
    pack_operator,
)
from quiver.images.oci import ImageConfig, decode

Packed = tuple[Layout, Descriptor]

VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"
SYSTEM_PYTHON = Path(f"/usr/bin/python{VERSION}")
NEEDED = "import ssl, aiohttp, uvloop, msgspec, yaml, cryptography"
SELF_TEST = f"""
{NEEDED}
import asyncio, ctypes, importlib.metadata, os, quiver, socket, sqlite3, threading, zoneinfo
from cryptography.hazmat.primitives.asymmetric import ec
ec.generate_private_key(ec.SECP256R1())
assert os.getuid() == 65532
assert zoneinfo.ZoneInfo("Europe/Berlin")
assert importlib.metadata.version("quiver-operator") == quiver.__version__
assert ssl.create_default_context().get_ca_certs() or not os.environ.get("SSL_CERT_FILE")
uvloop.run(asyncio.sleep(0))
print("all is well")
"""

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root for chroot")


def _python_at(path: Path) -> Interpreter:
    if not path.exists():
        pytest.skip(f"needs {path}")
    return Interpreter.probe(path)


@pytest.fixture(scope="module")
def operator(tmp_path_factory: pytest.TempPathFactory) -> Packed:
    layout = Layout.at(tmp_path_factory.mktemp("images"))
    return layout, pack_operator(layout.root)


def _layers(layout: Layout, image: Descriptor) -> list[Path]:
    manifest = decode(layout.read(image), Manifest, "the manifest")
    return [layout.path(layer.digest) for layer in manifest.layers]


def _names(layer: Path) -> list[str]:
    with tarfile.open(layer) as tar:
        return tar.getnames()


def _root(layout: Layout, image: Descriptor, into: Path) -> Path:
    for layer in _layers(layout, image):
        with tarfile.open(layer) as tar:
            tar.extractall(into, filter="tar")
    return into


def _config(layout: Layout, image: Descriptor) -> ImageConfig:
    manifest = decode(layout.read(image), Manifest, "the manifest")
    return decode(layout.read(manifest.config), ImageConfig, "the config")


def _run(root: Path, config: ImageConfig, code: str) -> subprocess.CompletedProcess[str]:
    user, python = config.config.user, config.config.entrypoint[0]
    command = ["/usr/sbin/chroot", f"--userspec={user}", str(root), python, "-I", "-c", code]
    environment = dict(pair.split("=", 1) for pair in config.config.env)
    return subprocess.run(command, capture_output=True, text=True, env=environment)


@needs_root
@pytest.mark.parametrize(
    "python", [Path(sys.base_prefix) / "bin" / f"python{VERSION}", SYSTEM_PYTHON], ids=str
)
def test_the_operator_s_packages_work_in_its_image(tmp_path: Path, python: Path) -> None:
    layout = Layout.at(tmp_path / "images")
    image = pack_operator(layout.root, interpreter=_python_at(python))
    root = _root(layout, image, tmp_path / "root")
    done = _run(root, _config(layout, image), SELF_TEST)
    assert (done.stdout, done.stderr) == ("all is well\n", "")


def test_the_image_runs_the_operator_without_privileges(operator: Packed) -> None:
    config = _config(*operator).config
    assert config.entrypoint == ("/usr/local/bin/python3", "-m", "quiver")
    assert config.user == "65532:65532"
    assert {"PYTHONDONTWRITEBYTECODE=1", "PYTHONUNBUFFERED=1"} <= set(config.env)


def test_the_image_has_no_caches_tests_or_tools_to_link_programs(operator: Packed) -> None:
    names = (name for layer in _layers(*operator) for name in _names(layer))
    parts = {part for name in names for part in name.split("/")}
    assert not parts & {"__pycache__", "idlelib", "tkinter", "ensurepip", "pytest", "mypy"}
    assert not any(part.endswith((".a", ".pyc")) for part in parts)


def test_the_operator_s_own_code_is_a_layer_of_its_own(operator: Packed) -> None:
    code = [name for name in _names(_layers(*operator)[-1]) if name.endswith(".py")]
    assert code
    assert all("-packages/quiver/" in name for name in code)


def test_the_same_host_gives_the_same_image(operator: Packed, tmp_path: Path) -> None:
    assert pack_operator(tmp_path) == operator[1]


def test_another_version_of_python_than_that_of_the_packages_is_refused(tmp_path: Path) -> None:
    other = msgspec.structs.replace(Interpreter.running(), version="2.7")
    with pytest.raises(CannotCollect, match=r"is Python 2\.7, but the packages are installed for"):
        pack_operator(tmp_path, interpreter=other)


def test_what_is_no_python_is_refused() -> None:
    with pytest.raises(CannotCollect, match="/bin/false cannot be used for an image"):
        Interpreter.probe(Path("/bin/false"))
