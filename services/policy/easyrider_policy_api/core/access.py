"""Who may do what."""

from dataclasses import dataclass

from easyrider.tokens import ROLES, Role


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Whoever showed a token that opens."""

    token: str  # its id
    name: str
    role: Role
    tenant: str = ""


def allows(caller: Caller, needed: Role, *, tenants: bool = False) -> bool:
    """Whether the role suffices. `tenants`: also for one who may see the jobs of a tenant alone."""
    if caller.tenant and not tenants:
        return False
    return ROLES.index(caller.role) >= ROLES.index(needed)
