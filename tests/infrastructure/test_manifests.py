"""The Kubernetes manifests and the compose file say what the platforms understand."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import Any

import kubernetes_validate  # type: ignore[import-untyped]
import pytest
from ruamel.yaml import YAML

from support.terraform import INFRASTRUCTURE

KUBERNETES = INFRASTRUCTURE / "kubernetes"
MANIFESTS = sorted(set(KUBERNETES.glob("*.yaml")) - {KUBERNETES / "kustomization.yaml"})
PATHS = {"/ping", "/v2/health/ready", "/v2/health/live"}


def documents(text: str) -> list[dict[str, Any]]:
    return list(YAML(typ="safe").load_all(text))


@pytest.mark.parametrize("version", ["1.31", "1.34"])
def test_the_manifests_fit_the_schema_of_the_api(version: str) -> None:
    for manifest in _manifests().values():
        kubernetes_validate.validate(manifest, version, strict=True)
    wrong = _manifests()["Deployment"]
    wrong["spec"]["replica"] = 2
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, version, strict=True)


def test_the_kustomization_names_every_manifest_and_their_image() -> None:
    (kustomization,) = documents((KUBERNETES / "kustomization.yaml").read_text())
    (container,) = _manifests()["Deployment"]["spec"]["template"]["spec"]["containers"]
    (image,) = kustomization["images"]
    assert {*kustomization["resources"]} == {path.name for path in MANIFESTS}
    assert container["image"] == image["name"]
    # Few machines have kubectl; where one is, it must agree.
    if kubectl := shutil.which("kubectl"):
        words = [kubectl, "kustomize", str(KUBERNETES)]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
        assert f"image: {image['name']}:{image['newTag']}" in done.stdout
        assert {manifest["kind"] for manifest in documents(done.stdout)} == {*_manifests()}


def test_service_policy_and_autoscaler_find_the_deployment() -> None:
    built = _manifests()
    deployment, service = built["Deployment"], built["Service"]
    assert service["spec"]["selector"] == deployment["spec"]["template"]["metadata"]["labels"]
    assert service["spec"]["selector"] == deployment["spec"]["selector"]["matchLabels"]
    policy = built["NetworkPolicy"]["spec"]["podSelector"]
    assert policy == deployment["spec"]["selector"]
    target = built["HorizontalPodAutoscaler"]["spec"]["scaleTargetRef"]
    assert target["name"] == deployment["metadata"]["name"]


def test_the_container_is_probed_where_the_server_answers() -> None:
    (container,) = _manifests()["Deployment"]["spec"]["template"]["spec"]["containers"]
    probes = [value for name, value in container.items() if name.endswith("Probe")]
    assert {probe["httpGet"]["path"] for probe in probes} == PATHS
    assert container["ports"][0]["containerPort"] == 8080
    for folder in ("google_cloud_run", "azure_container_apps"):
        text = (INFRASTRUCTURE / folder / "main.tf").read_text()
        assert set(re.findall(r'path += "(.*)"', text)) <= PATHS
        assert re.search(r"(container|target)_port += 8080", text)


def test_compose_joins_its_parts() -> None:
    folder = INFRASTRUCTURE / "compose"
    (compose,) = documents((folder / "compose.yaml").read_text())
    services = compose["services"]
    assert set(services) == {"model", "nginx", "prometheus"}
    assert all(service["image"].startswith("${") for service in services.values())
    assert "ports" not in services["model"]
    for service in services.values():
        for volume in service.get("volumes", ()):
            source = volume.split(":")[0]
            assert source in compose["volumes"] or (folder / source).is_file()
    assert "http://model:8080" in (folder / "nginx.conf").read_text()
    (prometheus,) = documents((folder / "prometheus.yaml").read_text())
    assert prometheus["scrape_configs"][0]["static_configs"] == [{"targets": ["model:8080"]}]


def test_nginx_takes_its_configuration() -> None:
    nginx = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if nginx is None:
        pytest.skip("nginx is not installed")
    words = ["-t", "-c", str(INFRASTRUCTURE / "compose/nginx.conf")]
    checked = subprocess.run([nginx, *words], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr


def _manifests() -> dict[str, dict[str, Any]]:
    """By their kinds."""
    return {
        manifest["kind"]: manifest for path in MANIFESTS for manifest in documents(path.read_text())
    }
