"""The API in an installation as `easyrider init` writes it: TLS everywhere, own key and password, the first token."""

import json
import signal
import ssl
from pathlib import Path

import httpx
import pytest
from installed_site import site_installed
from live_api import Process, until
from site_rules import document

pytestmark = pytest.mark.system


def test_the_first_administrator_comes_in_by_tls_and_an_edit_is_adopted_and_told(tmp_path: Path) -> None:
    rules = tmp_path / "rules.json"
    rules.write_text(json.dumps(document(tree={"id": "site", "version": 1})))
    with site_installed(tmp_path / "installed", nodes=None, rules_file=rules) as site:
        policy = Process("easyrider_policy", site.environ("policy"), tmp_path / "policy.log")
        policy.settings["EASYRIDER_POLICY_STATE_DIR"] = str(tmp_path / "policy")
        api = Process("easyrider_policy_api", site.environ("api"), tmp_path / "api.log")
        api.settings |= {
            "EASYRIDER_POLICY_API_ADDRESS": "127.0.0.1:0",
            "EASYRIDER_POLICY_API_ADDRESS_FILE": str(tmp_path / "api.address"),
            "EASYRIDER_POLICY_API_STATE_DIR": str(tmp_path / "api"),
        }
        try:
            policy.start()
            api.start()
            file = tmp_path / "api.address"
            address = until(
                lambda: file.exists() and file.read_text(), 30, f"the API to listen: {api.said()}"
            )
            shown = (site.folder / "admin" / "api.token").read_text().strip()
            client = httpx.Client(
                base_url=f"https://{address}/v1",
                headers={"Authorization": f"Bearer {shown}"},
                verify=ssl.create_default_context(cafile=str(site.folder / "api" / "ca.pem")),
                timeout=30.0,
            )

            def leads() -> bool:
                try:
                    return client.get("/state").status_code == 200
                except httpx.TransportError:
                    return False

            until(leads, 30, f"a leader: {api.said()} {policy.said()}")
            made = client.post("/holds", json={"domains": ["pdu"]}, headers={"Idempotency-Key": "first"})
            again = client.post("/holds", json={"domains": ["pdu"]}, headers={"Idempotency-Key": "first"})
            token = client.post("/tokens", json={"name": "anna", "role": "viewer"})
            listed = client.get("/tokens").json()["tokens"]
            gone = client.delete(f"/tokens/{token.json()['id']}")

            assert made.json()["adoption"] == "adopted", made.text
            assert again.json() == made.json()
            assert [each["name"] for each in listed] == ["first-admin", "anna"]
            assert gone.json()["revoked"]
            assert "Permissions Violation" not in api.said()
            assert "forbids" not in api.said()
            with pytest.raises(httpx.TransportError):
                httpx.get(f"http://{address}/v1/health")
            client.close()
        finally:
            for process in (api, policy):
                if process.process is not None and process.process.poll() is None:
                    process.end(signal.SIGKILL)
