"""What is wrong with a file, in words."""

from otoscope.errors import InputError


class ContainerError(InputError, ValueError):
    """A file that cannot be read as a whole; the message says why, without its name."""


READ = "WAV, FLAC, Ogg, MP3, AIFF, AU, CAF, W64 or NIST"
OTHER_KINDS = {
    b"version https://git-lfs": "a pointer of Git LFS, not the file (`git lfs pull` gets it)",
    b"<": "a web page or XML, perhaps an error that was saved in place of the file",
    b"{": "JSON, perhaps an error that was saved in place of the file",
    b"\x1aE\xdf\xa3": "Matroska or WebM",
    b"PK\3\4": "a ZIP archive",
    b"\x1f\x8b": "a gzip archive",
}


def unknown(data: bytes) -> ContainerError:
    """A file of a format whose length nothing can check."""
    if not data:
        return ContainerError("holds no samples: an empty file")
    kind = next((OTHER_KINDS[magic] for magic in OTHER_KINDS if data.startswith(magic)), "")
    kind = "MP4, M4A or MOV" if data[4:8] == b"ftyp" else kind
    what = f"; it is {kind}" if kind else ""
    return ContainerError(f"not readable as audio: none of {READ}{what}; convert it to one")


def cut_short(n_bytes: int) -> ContainerError:
    """A file that ends too early."""
    return ContainerError(f"cut short, at least {n_bytes} bytes of audio are missing")


def uncounted(n_bytes: int, where: str) -> ContainerError:
    """Bytes that the header does not count, so that a reader would pass over them."""
    return ContainerError(
        f"{n_bytes} bytes after {where} are neither audio that its header counts nor a tag; the "
        "header is wrong or something was appended: write the file anew with another program"
    )


def joined(at: int) -> ContainerError:
    """Two files one after the other."""
    return ContainerError(
        f"another file of the same kind begins at byte {at}, and readers stop before it; split "
        "them, or join them with an audio editor"
    )
