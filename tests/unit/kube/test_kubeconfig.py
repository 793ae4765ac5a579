"""Several kubeconfigs as one, the pod's own configuration, and what must not be told."""

import base64
from pathlib import Path
from typing import Any

import pytest
import yaml

from quiver.kube import ConfigError, Impersonation, KubeConfig
from quiver.kube.config import ExecPlugin


def document(name: str, server: str, user: dict[str, Any], **cluster: Any) -> dict[str, Any]:
    return {
        "clusters": [{"name": name, "cluster": {"server": server} | cluster}],
        "users": [{"name": name, "user": user}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
    }


def write(path: Path, content: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(content))
    return path


def one(tmp_path: Path, user: dict[str, Any], **cluster: Any) -> KubeConfig:
    content = document("x", "https://x", user, **cluster)
    return KubeConfig.load(write(tmp_path / "one", content), "x")


def test_of_two_files_the_first_that_names_something_counts(tmp_path: Path) -> None:
    first = document("same", "https://first", {"token": "1"})
    second = document("same", "https://second", {"token": "2"}) | {"current-context": "same"}
    paths = [write(tmp_path / "a", first), write(tmp_path / "b", second)]
    assert KubeConfig.load_merged(paths).server == "https://first"
    assert KubeConfig.load_merged(paths[::-1]).server == "https://second"


def test_a_context_may_join_entries_of_different_files(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "me.token").write_text("from there\n")
    user = {"users": [{"name": "u", "user": {"tokenFile": "me.token"}}]}
    cluster = {
        "clusters": [{"name": "c", "cluster": {"server": "https://c"}}],
        "contexts": [{"name": "k", "context": {"cluster": "c", "user": "u", "namespace": "n"}}],
        "current-context": "k",
    }
    paths = [write(tmp_path / "here" / "config", cluster), write(tmp_path / "there" / "b", user)]
    config = KubeConfig.load_merged(paths)
    assert (config.server, config.token, config.namespace) == ("https://c", "from there", "n")


def test_the_default_is_the_list_in_the_environment_without_files_that_are_missing(
    tmp_path: Path,
) -> None:
    here = write(tmp_path / "a", document("a", "https://a", {}) | {"current-context": "a"})
    environment = {"KUBECONFIG": f"{tmp_path}/missing:{here}:"}
    assert KubeConfig.default(environment=environment, home=tmp_path).server == "https://a"


def test_without_a_list_the_default_is_in_the_home_folder(tmp_path: Path) -> None:
    content = document("h", "https://h", {}) | {"current-context": "h"}
    write(tmp_path / ".kube" / "config", content)
    assert KubeConfig.default(environment={}, home=tmp_path).server == "https://h"


def test_without_any_configuration_the_error_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"set KUBECONFIG, write ~/.kube/config, or run inside"):
        KubeConfig.default(environment={}, home=tmp_path)


@pytest.mark.parametrize(
    ("host", "server"), [("10.0.0.1", "https://10.0.0.1:443"), ("fd00::1", "https://[fd00::1]:443")]
)
def test_in_a_pod_the_service_account_is_used(host: str, server: str, tmp_path: Path) -> None:
    for name, text in (("token", "secret\n"), ("ca.crt", "a CA"), ("namespace", "team")):
        (tmp_path / name).write_text(text)
    environment = {"KUBERNETES_SERVICE_HOST": host}
    config = KubeConfig.in_cluster(folder=tmp_path, environment=environment)
    assert (config.server, config.token, config.ca) == (server, "secret", "a CA")
    assert config.namespace == "team"
    assert config.files.token == tmp_path / "token"


def test_outside_a_pod_there_is_no_service_account() -> None:
    with pytest.raises(ConfigError, match="this is no pod"):
        KubeConfig.in_cluster(environment={})


def test_impersonation_and_tls_options_are_read(tmp_path: Path) -> None:
    options = {"tls-server-name": "api.example.com", "insecure-skip-tls-verify": True}
    user = {"as": "jane", "as-groups": ["cooks"]}
    config = one(tmp_path, user, **options, **{"proxy-url": "http://proxy:3128"})
    assert config.impersonation == Impersonation(user="jane", groups=("cooks",))
    assert config.tls_server_name == "api.example.com"
    assert config.insecure_skip_tls_verify
    assert config.proxy_url == "http://proxy:3128"


def test_a_proxy_that_cannot_work_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="only http proxies work, not socks5"):
        one(tmp_path, {}, **{"proxy-url": "socks5://proxy"})


def exec_user(**changes: Any) -> dict[str, Any]:
    plugin = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": "./login",
        "args": ["--now"],
        "env": [{"name": "PASSWORD", "value": "hunter2"}],
        "installHint": "get it from example.com",
        "provideClusterInfo": True,
    }
    return {"exec": plugin | changes}


def test_a_credential_plugin_is_read_with_all_that_belongs_to_it(tmp_path: Path) -> None:
    extension = {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "x"}}
    config = one(tmp_path, exec_user(), extensions=[extension])
    assert config.plugin == ExecPlugin(
        api_version="client.authentication.k8s.io/v1",
        command=str(tmp_path / "login"),
        args=("--now",),
        env=(("PASSWORD", "hunter2"),),
        install_hint="get it from example.com",
        cluster_info=True,
        cluster_config={"audience": "x"},
    )


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"apiVersion": "client.authentication.k8s.io/v1alpha1"}, "has apiVersion"),
        ({"interactiveMode": "Always"}, "asks for a terminal"),
        ({"command": None}, "has no command"),
    ],
)
def test_a_plugin_that_cannot_work_is_refused(
    change: dict[str, Any], complaint: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=complaint):
        one(tmp_path, exec_user(**change))


def test_no_secret_is_in_the_repr(tmp_path: Path) -> None:
    key = base64.b64encode(b"my private key").decode()
    user = exec_user() | {"token": "my token", "client-key-data": key}
    shown = repr(one(tmp_path, user, **{"proxy-url": "http://u:pass@proxy"}))
    assert "server='https://x'" in shown
    for secret in ("my token", "my private key", "hunter2", "pass@"):
        assert secret not in shown


def test_no_secret_is_in_the_complaint_about_a_broken_file(tmp_path: Path) -> None:
    path = tmp_path / "broken"
    path.write_text('users: [{user: {token: "s3cret"')
    with pytest.raises(ConfigError, match="line") as refusal:
        KubeConfig.load(path)
    assert "s3cret" not in str(refusal.value)


@pytest.mark.parametrize("text", ["", "[]", "just words"])
def test_a_file_without_a_mapping_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "odd"
    path.write_text(text)
    with pytest.raises(ConfigError, match=f"cannot read kubeconfig {path}: it holds no mapping"):
        KubeConfig.load(path)


def test_a_certificate_file_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=f"cannot read {tmp_path}/me.crt"):
        one(tmp_path, {"client-certificate": "me.crt"})


def test_data_that_is_no_base64_is_named_and_not_shown(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"client-key-data in .* is no base64 text") as refusal:
        one(tmp_path, {"client-key-data": "%%%secret%%%"})
    assert "secret" not in str(refusal.value)
