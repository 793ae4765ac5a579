"""A kubeconfig is read as kubectl reads it, or refused with one sentence that names the file."""

import base64
from pathlib import Path
from typing import Any

import pytest
import yaml

from quiver.kube import ConfigError, KubeConfig
from quiver.kube.config import CredentialFiles


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _document() -> dict[str, Any]:
    with_data = {
        "client-certificate-data": _encoded("my certificate"),
        "client-key-data": _encoded("my key"),
    }
    with_files = {"client-certificate": "pki/me.crt", "client-key": "pki/me.key"}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "near",
        "clusters": [
            {
                "name": "here",
                "cluster": {
                    "server": "https://10.0.0.1:6443/",
                    "certificate-authority-data": _encoded("our CA"),
                },
            },
            {
                "name": "there",
                "cluster": {
                    "server": "https://example.com/k8s",
                    "certificate-authority": "pki/ca.crt",
                },
            },
        ],
        "users": [
            {"name": "data", "user": with_data},
            {"name": "files", "user": with_files},
            {"name": "robot", "user": {"token": "secret"}},
        ],
        "contexts": [
            {"name": "near", "context": {"cluster": "here", "user": "data"}},
            {"name": "far", "context": {"cluster": "there", "user": "files", "namespace": "team"}},
            {"name": "robot", "context": {"cluster": "here", "user": "robot"}},
            {"name": "no-user", "context": {"cluster": "here", "user": "nobody"}},
            {"name": "no-cluster", "context": {"cluster": "nowhere", "user": "data"}},
        ],
    }


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Path:
    path = tmp_path / "config"
    path.write_text(yaml.safe_dump(_document()))
    return path


def _rewrite(path: Path, **changes: object) -> None:
    path.write_text(yaml.safe_dump(_document() | changes))


def test_the_current_context_is_used_when_none_is_named(kubeconfig: Path) -> None:
    assert KubeConfig.load(kubeconfig) == KubeConfig(
        server="https://10.0.0.1:6443",
        ca="our CA",
        certificate="my certificate",
        key="my key",
        token=None,
        namespace="default",
    )


def test_another_context_has_its_own_server_user_and_namespace(kubeconfig: Path) -> None:
    pki = kubeconfig.parent / "pki"
    pki.mkdir()
    for file, text in (("ca.crt", "their CA"), ("me.crt", "a certificate"), ("me.key", "a key")):
        (pki / file).write_text(text)
    assert KubeConfig.load(kubeconfig, "far") == KubeConfig(
        server="https://example.com/k8s",
        ca="their CA",
        certificate="a certificate",
        key="a key",
        namespace="team",
        files=CredentialFiles(ca=pki / "ca.crt", certificate=pki / "me.crt", key=pki / "me.key"),
    )


def test_files_are_found_relative_to_the_kubeconfig_and_not_to_the_working_folder(
    kubeconfig: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    (kubeconfig.parent / "pki").mkdir()
    for file in ("ca.crt", "me.crt", "me.key"):
        (kubeconfig.parent / "pki" / file).write_text(file)
    assert KubeConfig.load(kubeconfig, "far").key == "me.key"


def test_an_absolute_path_is_taken_as_it_is(kubeconfig: Path, tmp_path: Path) -> None:
    ca = tmp_path / "elsewhere.crt"
    ca.write_text("absolute CA")
    cluster = {"server": "https://example.com", "certificate-authority": str(ca)}
    _rewrite(kubeconfig, clusters=[{"name": "here", "cluster": cluster}])
    assert KubeConfig.load(kubeconfig).ca == "absolute CA"


def test_data_counts_more_than_a_file(kubeconfig: Path) -> None:
    user = {"client-key": "missing.key", "client-key-data": _encoded("inline key")}
    _rewrite(kubeconfig, users=[{"name": "data", "user": user}])
    assert KubeConfig.load(kubeconfig).key == "inline key"


def test_a_token_needs_no_certificate(kubeconfig: Path) -> None:
    config = KubeConfig.load(kubeconfig, "robot")
    assert (config.token, config.certificate, config.key) == ("secret", None, None)


@pytest.mark.parametrize(
    ("context", "missing"),
    [
        ("nope", "'nope' under contexts"),
        ("no-user", "'nobody' under users"),
        ("no-cluster", "'nowhere' under clusters"),
    ],
)
def test_a_missing_entry_is_named_with_its_section_and_file(
    context: str, missing: str, kubeconfig: Path
) -> None:
    with pytest.raises(ConfigError) as refusal:
        KubeConfig.load(kubeconfig, context)
    assert str(refusal.value) == f"kubeconfig {kubeconfig} has no entry {missing}"


@pytest.mark.parametrize("section", ["contexts", "clusters", "users"])
@pytest.mark.parametrize("content", [[], None])
def test_an_empty_section_has_no_entries(
    section: str, content: list[object] | None, kubeconfig: Path
) -> None:
    _rewrite(kubeconfig, **{section: content})
    with pytest.raises(ConfigError, match=f"under {section}"):
        KubeConfig.load(kubeconfig)


def test_without_a_current_context_one_must_be_named(kubeconfig: Path) -> None:
    document = _document()
    del document["current-context"]
    kubeconfig.write_text(yaml.safe_dump(document))
    with pytest.raises(ConfigError, match="has no entry None under contexts"):
        KubeConfig.load(kubeconfig)
    assert KubeConfig.load(kubeconfig, "near").server == "https://10.0.0.1:6443"


def test_broken_yaml_is_refused_with_the_name_of_the_file(kubeconfig: Path) -> None:
    kubeconfig.write_text("clusters: [")
    with pytest.raises(ConfigError) as refusal:
        KubeConfig.load(kubeconfig)
    assert str(refusal.value).startswith(f"cannot read kubeconfig {kubeconfig}: ")


def test_a_file_that_is_not_there_is_refused_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=f"cannot read kubeconfig {tmp_path}/nothing: "):
        KubeConfig.load(tmp_path / "nothing")
