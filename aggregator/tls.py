"""TLS with certificates that are exchanged while the server runs."""

import ssl
from pathlib import Path

from aggregator.errors import Mistake
from aggregator.settings import Tls


class Certificates:
    """One context for all connections; what is loaded into it holds for the next handshakes."""

    def __init__(self, tls: Tls) -> None:
        self.tls = tls
        self._seen = self._stamps()
        self.context = _context(tls)

    def changed(self) -> bool:
        """Return whether a file is another one than when it was loaded last; reads the disk."""
        return self._stamps() != self._seen

    def reload(self) -> None:
        """Load the files again; broken ones are refused and the last good ones go on.

        A client authority that was added holds at once, one that was taken away at a restart.
        """
        stamps = self._stamps()
        _context(self.tls)
        self.context.load_cert_chain(self.tls.certificate, self.tls.key)
        if self.tls.client_ca is not None:
            self.context.load_verify_locations(self.tls.client_ca)
        self._seen = stamps

    def _stamps(self) -> tuple[tuple[int, int] | None, ...]:
        paths = (self.tls.certificate, self.tls.key, self.tls.client_ca)
        return tuple(_stamp(path) for path in paths if path is not None)


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        seen = path.stat()
    except OSError:
        return None
    return seen.st_mtime_ns, seen.st_ino


def _context(tls: Tls) -> ssl.SSLContext:
    """Return a context with the files loaded, or say which file is wrong."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(tls.certificate, tls.key)
    except (OSError, ssl.SSLError) as problem:
        raise Mistake(
            f"tls: {tls.certificate} with {tls.key}: {problem}",
            "give PEM files that belong together",
        ) from None
    if tls.client_ca is not None:
        try:
            context.load_verify_locations(tls.client_ca)
        except (OSError, ssl.SSLError) as problem:
            raise Mistake(
                f"tls: client_ca: {tls.client_ca}: {problem}", "give a PEM file of authorities"
            ) from None
        context.verify_mode = ssl.CERT_REQUIRED
    return context
