"""Keys of the bus and passwords of the store renewed in two steps: between them the former ones open too."""

import msgspec

from easyrider import store_acl
from easyrider.nats_config import public_nkey, renew_nkey
from easyrider_cli import init_material
from easyrider_cli.init_folder import SiteFolder
from easyrider_cli.init_former import FORMER_FILE, Former, former_of
from easyrider_cli.init_site import BadSite, Site


def rotate(folder: SiteFolder, site: Site) -> None:
    """A new key and password for everyone; both servers are to take the former ones too, until `retire`.

    Raises `BadSite` where that is under way already: whoever still shows a key of before it would be shut out.
    """
    if former_of(folder.root) is not None:
        raise BadSite(["keys are being renewed already: --retire-seeds ends that"])
    seeds = init_material.seed_files(folder, site)
    passwords = init_material.password_files(folder, site)
    former = Former(
        keys={name: public_nkey(file) for name, file in seeds.items()},
        passwords={name: store_acl.password_hash(file) for name, file in passwords.items()},
    )
    # what opens today comes first: stopped half way, nobody is shut out
    folder.write(".", FORMER_FILE, msgspec.json.format(msgspec.json.encode(former), indent=1) + b"\n")
    for file in seeds.values():
        renew_nkey(file, folder.group)
    for file in passwords.values():
        store_acl.renew_password(file, folder.group)
    init_material.write_servers(folder, site)


def retire(folder: SiteFolder, site: Site) -> None:
    """The former keys and passwords are to open nothing any more. Raises `BadSite` where there are none."""
    if former_of(folder.root) is None:
        raise BadSite(["there are no former keys: --rotate-seeds renews those in use"])
    (folder.root / FORMER_FILE).unlink()
    init_material.write_servers(folder, site)
