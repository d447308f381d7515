"""The shipped manifests: valid by Kubernetes' own schemas, and held to what a pod of ours may and must."""

import re
import subprocess
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "deploy" / "kubernetes"
VERSIONS = ("1.29", "1.33")
SITE, NODES = "easyrider", "easyrider-nodes"
OBJECTS = [
    document
    for file in sorted(FOLDER.glob("*.yaml"))
    for document in yaml.safe_load_all(file.read_text())
    if document
]
PODS = {
    (o["metadata"]["namespace"], o["metadata"]["name"]): o["spec"]["template"]["spec"]
    for o in OBJECTS
    if o["kind"] in ("Deployment", "StatefulSet", "DaemonSet")
}
CONTAINERS = [
    pytest.param(pod, container, id=f"{namespace}-{container['name']}")
    for (namespace, _), pod in PODS.items()
    for container in pod["containers"]
]


def named(kind: str, name: str, namespace: str = SITE) -> dict[str, Any]:
    found = [
        o
        for o in OBJECTS
        if (o["kind"], o["metadata"]["name"], o["metadata"].get("namespace")) == (kind, name, namespace)
    ]
    assert len(found) == 1, (kind, name)
    return dict(found[0])


@pytest.mark.parametrize("version", VERSIONS)
def test_every_object_is_valid_by_the_schema_of_a_release(version: str) -> None:
    for o in OBJECTS:
        kubernetes_validate.validate(o, version, strict=True)


def test_the_schema_would_tell_of_a_field_that_is_none() -> None:
    wrong = named("DaemonSet", "guardian", NODES) | {"spec": {"replica": 1}}

    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, VERSIONS[0], strict=True)


@pytest.mark.parametrize(("pod", "container"), CONTAINERS)
def test_nothing_but_the_guardian_has_a_privilege(pod: dict[str, Any], container: dict[str, Any]) -> None:
    guards = container["name"] == "guardian"
    own, of_pod = container["securityContext"], pod["securityContext"]

    assert own["readOnlyRootFilesystem"]
    assert own["capabilities"]["drop"] == ["ALL"]
    assert own["capabilities"].get("add", []) == (["SYS_ADMIN"] if guards else [])
    assert of_pod["seccompProfile"]["type"] == "RuntimeDefault"
    assert not own.get("privileged", False)
    assert "hostNetwork" not in pod
    if guards:
        assert own["runAsUser"] == 0
    else:
        assert {**of_pod, **own}["runAsNonRoot"]
        assert {**of_pod, **own}["runAsUser"] == 10001
        assert own["allowPrivilegeEscalation"] is False


@pytest.mark.parametrize(("pod", "container"), CONTAINERS)
def test_every_container_is_probed_and_bounded(pod: dict[str, Any], container: dict[str, Any]) -> None:
    assert "livenessProbe" in container
    assert "memory" in container["resources"]["limits"]
    assert pod["priorityClassName"].startswith("system-")
    assert pod["automountServiceAccountToken"] is False
    assert pod["enableServiceLinks"] is False  # EASYRIDER_..._SERVICE_HOST would be a misspelt setting


def test_the_site_fits_the_strictest_standard_and_the_nodes_are_apart() -> None:
    def labels(name: str) -> dict[str, str]:
        return next(o for o in OBJECTS if o["kind"] == "Namespace" and o["metadata"]["name"] == name)[
            "metadata"
        ]["labels"]

    assert labels(SITE)["pod-security.kubernetes.io/enforce"] == "restricted"
    assert labels(NODES)["pod-security.kubernetes.io/enforce"] == "privileged"
    site_volumes = [v for (ns, _), pod in PODS.items() if ns == SITE for v in pod["volumes"]]
    assert not [volume for volume in site_volumes if "hostPath" in volume]


def test_node_services_run_on_every_gpu_node_whatever_its_taints() -> None:
    for name in ("guardian", "agents"):
        pod = PODS[NODES, name]
        assert pod["tolerations"] == [{"operator": "Exists"}]
        assert pod["priorityClassName"] == "system-node-critical"


def test_the_guardian_has_no_network_and_is_not_replaced_with_the_others() -> None:
    assert [c["name"] for c in PODS[NODES, "guardian"]["containers"]] == ["guardian"]
    denied = named("NetworkPolicy", "deny-all", NODES)["spec"]
    assert denied == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    reaching = [
        o
        for o in OBJECTS
        if o["kind"] == "NetworkPolicy"
        and o["metadata"]["namespace"] == NODES
        and o["metadata"]["name"] != "deny-all"
    ]
    assert [o["spec"]["podSelector"]["matchLabels"]["app.kubernetes.io/name"] for o in reaching] == ["agents"]


def test_the_guardian_keeps_limits_when_it_is_replaced() -> None:
    (container,) = PODS[NODES, "guardian"]["containers"]

    assert container["command"][-1].endswith("exec easyrider-guardian --keep")


def test_socket_and_state_lie_where_init_says_that_they_do() -> None:
    guardian = PODS[NODES, "guardian"]["containers"][0]
    actuator = next(c for c in PODS[NODES, "agents"]["containers"] if c["name"] == "actuator")

    def places(container: dict[str, Any]) -> set[str]:
        return {mount["mountPath"] for mount in container["volumeMounts"]}

    assert {"/run/easyrider", "/var/lib/easyrider-guardian"} <= places(guardian)
    assert "/run/easyrider" in places(actuator)
    (folder,) = PODS[NODES, "guardian"]["initContainers"]
    assert folder["command"][-3:] == ["-m", "02750", "/run/easyrider"]


@pytest.mark.parametrize(("pod", "container"), CONTAINERS)
def test_its_shell_lines_are_a_shells(pod: dict[str, Any], container: dict[str, Any]) -> None:
    command = container.get("command", [])
    if command[:2] == ["sh", "-c"]:
        assert subprocess.run(["sh", "-n", "-c", command[2]], check=False).returncode == 0
        programs = re.findall(r"exec (easyrider[a-z-]*)", command[2])
        assert len(programs) == 1
        assert f'{programs[0]} = "' in (ROOT / "pyproject.toml").read_text()


def test_every_volume_that_is_mounted_is_there() -> None:
    for (_, name), pod in PODS.items():
        claimed = {
            c["metadata"]["name"]
            for o in OBJECTS
            if o["metadata"]["name"] == name
            for c in o.get("spec", {}).get("volumeClaimTemplates", [])
        }
        there = {volume["name"] for volume in pod["volumes"]} | claimed
        for container in [*pod["containers"], *pod.get("initContainers", [])]:
            assert {mount["name"] for mount in container["volumeMounts"]} <= there, name
            assert not [
                m for m in container["volumeMounts"] if "$(" in m["mountPath"]
            ]  # only subPathExpr expands
