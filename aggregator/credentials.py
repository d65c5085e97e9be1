"""Credentials: `gpudiag_<id>_<secret>`, 256 random bits of which only the SHA-256 is kept.

A slow hash protects what people choose; nobody guesses 256 random bits, and a fast one keeps a
fleet's heartbeats cheap.
"""

import hashlib
import hmac
import re
import secrets

from aggregator.store.records import Role, Token

FORM = re.compile(r"gpudiag_([0-9a-f]{12})_([A-Za-z0-9_-]{43})", re.ASCII)
NODE_S = 30 * 86_400.0
ROTATE_S = NODE_S / 2
GRACE_S = 120.0


def make(
    role: Role,
    name: str,
    now: float,
    seconds: float,
    *,
    node: str | None = None,
    machine: str | None = None,
    supersedes: str | None = None,
    uses_per_node: int = 1,
) -> tuple[Token, str]:
    """Return a credential and its text, which is shown once and kept by nobody here."""
    token_id, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    token = Token(
        id=token_id,
        digest=digest(secret),
        role=role,
        name=name,
        node=node,
        machine=machine,
        created=now,
        expires=now + seconds,
        supersedes=supersedes,
        uses_per_node=uses_per_node,
    )
    return token, f"gpudiag_{token_id}_{secret}"


def digest(secret: str) -> bytes:
    """Return what is kept of a secret."""
    return hashlib.sha256(secret.encode()).digest()


def split(text: str) -> tuple[str, str] | None:
    """Return id and secret of a credential's text."""
    found = FORM.fullmatch(text)
    return (found[1], found[2]) if found else None


def right(token: Token, secret: str) -> bool:
    """Return whether the secret is the token's, in a time that tells nothing."""
    return hmac.compare_digest(token.digest, digest(secret))
