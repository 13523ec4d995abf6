"""Key pairs as `minisign -G -W` writes them."""

import base64
import hashlib

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


def write_keys(folder, seed=b"1" * 32):
    """Write key.sec and key.pub and return their paths."""
    public = Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw()
    number, both = hashlib.sha256(seed).digest()[:8], seed + public
    files = {
        "key.sec": b"Ed\0\0B2" + bytes(48) + number + both + bytes(32),
        "key.pub": b"Ed" + number + public,
    }
    folder.mkdir(exist_ok=True)
    for name, data in files.items():
        (folder / name).write_text(f"untrusted comment: minisign\n{base64.b64encode(data).decode()}\n")
    return folder / "key.sec", folder / "key.pub"
