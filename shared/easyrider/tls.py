"""TLS as our clients speak it: 1.3 only, the server's name and signer checked, never plain text instead.

Files are read anew for each connection, so that a renewed certificate is shown without a restart.
"""

import ssl
from dataclasses import dataclass
from pathlib import Path

from easyrider.errors import EasyRiderError

_EXPIRED, _NOT_YET, _OTHER_NAME, _OTHER_ADDRESS = 10, 9, 62, 64


class PlainText(EasyRiderError, ConnectionError):
    """The server speaks plain text where TLS is asked for; nothing was said to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsFiles:
    """Whose signature is believed, None being the system's authorities; what is shown to a server that asks."""

    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None

    def context(self) -> ssl.SSLContext:
        """What the files hold at this moment. Raises `OSError` for a file that is missing or makes no sense."""
        context = ssl.create_default_context(cafile=None if self.ca is None else str(self.ca))
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        if self.certificate is not None:
            context.load_cert_chain(self.certificate, self.key)
        return context


def why_refused(fault: BaseException) -> str | None:
    """What was wrong with the other side, in one sentence; None where TLS had no part in it."""
    if isinstance(fault, PlainText):
        return str(fault)
    if isinstance(fault, ssl.SSLCertVerificationError):
        match fault.verify_code:
            case code if code == _EXPIRED:
                what = "its certificate has expired"
            case code if code == _NOT_YET:
                what = "its certificate is not valid yet: are the clocks right?"
            case code if code in (_OTHER_NAME, _OTHER_ADDRESS):
                what = f"its certificate is for another name ({fault.verify_message})"
            case _:
                what = f"its certificate is not signed by the authority in ca_file ({fault.verify_message})"
        return f"the server is not believed: {what}; nothing was said to it"
    if isinstance(fault, ssl.SSLError):
        reason = fault.reason or str(fault)
        return f"no TLS with the server: {reason.lower().replace('_', ' ')}"
    return None
