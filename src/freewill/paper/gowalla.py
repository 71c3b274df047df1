"""The Gowalla check-ins of SNAP, downloaded only when the user asks for it, and kept."""

import hashlib
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from freewill.core.cache import folder
from freewill.core.files import whole_file
from freewill.core.progress import progress
from freewill.core.texts import whole
from freewill.errors import FreewillError, several

URL = "https://snap.stanford.edu/data/loc-gowalla_totalCheckins.txt.gz"
SHA256: str | None = None
"""Checked where it is set; SNAP publishes no checksum of its own."""
_BLOCK = 1 << 18  # bytes between two looks at the bar
_SECONDS = 60  # without a byte, before the server counts as gone


def download(url: str = URL, target: Path | None = None, sha256: str | None = SHA256) -> Path:
    """Fetch the file once (about 100 MB), showing how far it got, and return where it is.

    It is written aside and renamed when it is whole, so that a broken download leaves nothing
    behind. With `sha256` the content is checked too.
    """
    path = target or folder() / url.rsplit("/", 1)[-1]
    if path.exists():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    digest, done = hashlib.sha256(), 0
    try:
        with (
            whole_file(path) as part,
            progress(f"downloading {path.name}") as show,
            urlopen(url, timeout=_SECONDS) as answer,
            part.open("wb") as file,
        ):
            size = whole(answer.headers.get("Content-Length") or "") or 0
            while block := answer.read(_BLOCK):
                file.write(block)
                digest.update(block)
                done += len(block)
                show(done / size if size else 0.0)
            if size and done != size:
                raise FreewillError(f"{url}: {done:,} of {several(size, 'byte')} came. Try again.")
            if sha256 is not None and digest.hexdigest() != sha256:
                raise FreewillError(
                    f"{url}: the content has the SHA-256 {digest.hexdigest()}, expected {sha256}. "
                    f"Fetch the file by hand and give it with --data."
                )
    except (URLError, TimeoutError) as error:
        raise FreewillError(
            f"{url} cannot be fetched ({error}). Fetch it by hand and give it with --data."
        ) from None
    return path
