"""From a process to its container to a job: cgroup texts of every kind, and what labels make of them."""

import pytest

from easyrider_telemetry.core.cgroups import containers_of
from easyrider_telemetry.core.container_jobs import Container, jobs_in, merged
from easyrider_telemetry.core.job_watch import Job

A, B = "a" * 64, "0123456789abcdef" * 4
TEXTS = {
    "version 2, systemd": (f"0::/system.slice/docker-{A}.scope\n", (A,)),
    "version 2, cgroupfs": (f"0::/docker/{A}\n", (A,)),
    "version 2, seen from another namespace": (f"0::/../docker-{A}.scope\n", (A,)),
    "version 2, deeper inside": (f"0::/docker/{A}/init.scope\n", (A,)),
    "version 2, a unit of systemd in the container": (f"0::/docker/{A}/system.slice/train.service\n", (A,)),
    "version 1, cgroupfs": (f"12:memory:/docker/{A}\n11:cpu,cpuacct:/docker/{A}\n1:name=systemd:/docker/{A}\n", (A,)),
    "version 1, systemd": (f"9:devices:/system.slice/docker-{A}.scope\n", (A,)),
    "both versions at once": (f"5:pids:/docker/{A}\n0::/system.slice/docker-{A}.scope\n", (A,)),
    "rootless": (f"0::/user.slice/user-1000.slice/user@1000.service/user.slice/docker-{A}.scope\n", (A,)),
    "a pod of Kubernetes": (f"0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-{A}.scope\n", (A,)),
    "a pod, cgroupfs": (f"4:cpu:/kubepods/burstable/pod0b2c3d4e-1111-2222-3333-444455556666/{A}\n", (A,)),
    "a parent of one's own": (f"0::/slurm/uid_1000/job_7/docker-{A}.scope\n", (A,)),
    "a container in a container": (f"0::/docker/{A}/docker/{B}\n", (A, B)),
    "the host": ("0::/user.slice/user-1000.slice/session-2.scope\n", ()),
    "the root": ("0::/\n", ()),
    "digits that are too few": (f"0::/docker/{A[:40]}\n", ()),
    "digits that are too many": (f"0::/docker/{A}ab\n", ()),
    "no line at all": ("", ()),
    "no cgroup file": ("what is this\n", ()),
}  # fmt: skip


@pytest.mark.parametrize(("text", "ids"), TEXTS.values(), ids=list(TEXTS))
def test_a_container_is_found_in_every_form_of_the_file(text: str, ids: tuple[str, ...]):
    assert containers_of(text) == ids


def container(container_id: str = A, started: float = 100.0, **labels: str) -> Container:
    named = {f"easyrider.{name}": value for name, value in labels.items()}
    return Container(id=container_id, labels=named, started=started)


def test_labels_say_what_a_job_is():
    labelled = container(job="llm-7", tenant="vision", priority="high", queue="gpu", type="llm-70b")

    (job,) = jobs_in({"g0": [1], "g1": [2]}, {1: labelled, 2: labelled}, "easyrider.")

    assert job == Job(
        id="llm-7",
        type_key="llm-70b",
        priority_class="high",
        tenant="vision",
        queue="gpu",
        gpu_uuids=("g0", "g1"),
        started=100.0,
    )


def test_a_job_says_its_image_and_configuration_so_that_its_type_is_known_again():
    labelled = Container(
        id=A, labels={"easyrider.job": "a", "easyrider.configuration": "batch=32"}, image="train:3\u202e"
    )

    (job,) = jobs_in({"g0": [1]}, {1: labelled}, "easyrider.")

    assert (job.image, job.configuration) == ("train:3?", "batch=32")


def test_containers_of_one_name_are_one_job_which_began_with_the_first():
    first, second = container(A, 100.0, job="llm-7"), container(B, 90.0, job="llm-7", tenant="vision")

    (job,) = jobs_in({"g0": [1], "g1": [2]}, {1: first, 2: second}, "easyrider.")

    assert (job.gpu_uuids, job.started, job.tenant) == (("g0", "g1"), 90.0, "vision")


def test_a_container_without_a_name_is_a_job_of_its_own_and_a_process_of_the_host_is_none():
    jobs = jobs_in({"g0": [1], "g1": [2]}, {1: container(A)}, "easyrider.")

    assert [(job.id, job.gpu_uuids, job.priority_class) for job in jobs] == [
        ("container-aaaaaaaaaaaa", ("g0",), "normal")
    ]


def test_a_board_that_two_jobs_share_is_told_of_both():
    shared = {1: container(A, job="one"), 2: container(B, job="two")}

    jobs = jobs_in({"g0": [1, 2]}, shared, "easyrider.")

    assert [(job.id, job.gpu_uuids) for job in jobs] == [("one", ("g0",)), ("two", ("g0",))]


def test_another_prefix_reads_other_labels():
    labelled = Container(id=A, labels={"org.example.job": "mine", "easyrider.job": "not this"})

    assert [job.id for job in jobs_in({"g0": [1]}, {1: labelled}, "org.example.")] == ["mine"]


def test_a_label_as_long_as_a_book_is_cut():
    (job,) = jobs_in({"g0": [1]}, {1: container(A, job="x" * 5000)}, "easyrider.")

    assert len(job.id) == 256


def test_what_the_file_says_of_a_job_or_a_board_stands():
    of_file = [Job(id="batch", gpu_uuids=("g0",), tenant="file")]
    of_containers = [
        Job(id="batch", gpu_uuids=("g3",), tenant="label"),
        Job(id="other", gpu_uuids=("g0", "g1")),
        Job(id="covered", gpu_uuids=("g0",)),
    ]

    assert [(job.id, job.gpu_uuids, job.tenant) for job in merged(of_file, of_containers)] == [
        ("batch", ("g0",), "file"),
        ("other", ("g1",), ""),
    ]
