"""The same bus and store against the servers' official images, where a container engine answers."""

from collections.abc import Awaitable, Callable

import pytest

from easyrider import subjects
from easyrider.bus import Bus
from easyrider.messages import Hold, Message
from easyrider.store import Store

docker = pytest.importorskip("docker")
containers = pytest.importorskip("testcontainers.core.container")


def why_no_engine() -> str | None:
    try:
        docker.from_env(timeout=5).ping()
    except docker.errors.DockerException as fault:
        return f"no container engine answers: {fault}"
    return None


@pytest.fixture(scope="module")
def engine() -> None:
    if why := why_no_engine():
        pytest.skip(why)


def pulled(image: str) -> str:
    """The image, there now; a test that cannot have it is skipped with the registry's reason."""
    client = docker.from_env(timeout=60)
    try:
        client.images.get(image)
    except docker.errors.ImageNotFound:
        try:
            client.images.pull(image)
        except docker.errors.DockerException as fault:
            pytest.skip(f"{image} is not here and cannot be pulled: {fault}")
    return image


async def test_bus_against_the_official_image(
    engine: None, eventually: Callable[..., Awaitable[None]]
) -> None:
    heard: list[Message] = []
    with containers.DockerContainer(pulled("nats:2.11")).with_exposed_ports(4222) as server:
        url = f"nats://{server.get_container_host_ip()}:{server.get_exposed_port(4222)}"
        async with Bus.connect(url, name="test", wait_s=30) as bus:
            subject = subjects.command("r1", "n1")
            await bus.subscribe(subject, (Hold,), lambda m, _a: heard.append(m))
            await bus.publish(
                subject, Hold(tree="t", region="r1", node="n1", epoch=1, seq=1, nonce=1, ttl_s=5.0)
            )
            await eventually(lambda: heard)


@pytest.mark.parametrize("image", ["redis:6.2", "valkey/valkey:8"])
async def test_store_against_the_official_images(
    engine: None, image: str, eventually: Callable[..., Awaitable[None]]
) -> None:
    with containers.DockerContainer(pulled(image)).with_exposed_ports(6379) as server:
        url = f"redis://{server.get_container_host_ip()}:{server.get_exposed_port(6379)}/0"
        async with Store.connect(url, deadline_s=20) as store:
            assert await store.take_lead("site", "r1", "anna", 4, 5.0) == 5
            assert await store.renew_lead("site", "r1", "anna", 5, 5.0)
