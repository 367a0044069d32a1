"""What is wrong with a file, in words."""

from otoscope.errors import InputError


class ContainerError(InputError, ValueError):
    """A file that cannot be read as a whole; the message says why, without its name."""


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
