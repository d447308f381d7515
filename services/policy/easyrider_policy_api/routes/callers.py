"""Who may ask: the dependencies of routes, by the least role that suffices."""

from typing import Annotated

from fastapi import Depends

from easyrider_policy_api.core.access import Caller
from easyrider_policy_api.house import needs

Viewer = Annotated[Caller, Depends(needs("viewer"))]
Anyone = Annotated[Caller, Depends(needs("viewer", tenants=True))]
"""A viewer, and one who sees a tenant's jobs alone."""
Operator = Annotated[Caller, Depends(needs("operator"))]
Admin = Annotated[Caller, Depends(needs("admin"))]
