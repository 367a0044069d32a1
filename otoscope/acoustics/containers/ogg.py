"""Ogg: pages in order, and the links of a chain.

Source: RFC 3533.
"""

import zlib
from collections.abc import Iterator
from typing import NamedTuple

from otoscope.acoustics.containers.damage import ContainerError, cut_short, uncounted
from otoscope.acoustics.containers.tags import after_tags

MAGIC = b"OggS"
FIRST_PAGE, LAST_PAGE = 2, 4
NO_GRANULE = -1
REVERSED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))


class Page(NamedTuple):
    """A page: where it begins and ends, its flags, its position in samples, stream and number."""

    start: int
    end: int
    flags: int
    granule: int
    serial: int
    number: int


def links(data: bytes) -> list[bytes]:
    """The links of a chain, each a file of its own; one for most files.

    libsndfile reads only the first.

    Raises:
        ContainerError: A page is missing, cut short or damaged, a stream has no end, or its last
            page counts fewer samples than the one before.
    """
    starts, last, seen = [0], Page(0, 0, FIRST_PAGE, NO_GRANULE, 0, 0), dict[int, Page]()
    for page in _pages(data):
        if page.flags & FIRST_PAGE and not last.flags & FIRST_PAGE:
            _validate_end(last)
            starts.append(page.start)
            seen.clear()
        before = seen.get(page.serial)
        if before and page.number != (before.number + 1) % 2**32:
            raise ContainerError(f"damaged: pages are missing before byte {page.start}")
        # a page on which no packet ends has no position
        if page.granule == NO_GRANULE:
            page = page._replace(granule=before.granule if before else 0)
        if before and page.granule < before.granule:
            raise ContainerError(
                f"damaged: the page at byte {page.start} counts {page.granule} samples, the one "
                f"before it {before.granule}"
            )
        seen[page.serial] = last = page
    _validate_end(last)
    return [data[a:b] for a, b in zip(starts, [*starts[1:], last.end], strict=True)]


def _pages(data: bytes) -> Iterator[Page]:
    at = 0
    while at < len(data):
        header = data[at : at + 27]
        if not header.startswith(MAGIC):
            end = after_tags(data, at)
            if end < len(data) and data.find(MAGIC, at) >= 0:
                raise ContainerError(f"damaged: no page begins at byte {at}, but others follow")
            if end < len(data):
                raise uncounted(len(data) - end, "its last page")
            return
        if len(header) < 27:
            raise cut_short(27 - len(header))
        body = at + 27 + header[26]
        end = body + sum(data[at + 27 : body])
        if max(body, end) > len(data):
            raise cut_short(max(body, end) - len(data))
        if _crc(data[at : at + 22] + bytes(4) + data[at + 26 : end]) != header[22:26]:
            raise ContainerError(f"damaged: the page at byte {at} has another checksum")
        granule = int.from_bytes(header[6:14], "little", signed=True)
        serial, number = (int.from_bytes(header[k : k + 4], "little") for k in (14, 18))
        yield Page(at, end, header[5], granule, serial, number)
        at = end


def _crc(data: bytes) -> bytes:
    """A page's checksum: zlib's polynomial, without its inversions and with the other bit first."""
    crc = zlib.crc32(data.translate(REVERSED), 0xFFFF_FFFF) ^ 0xFFFF_FFFF
    return crc.to_bytes(4, "big").translate(REVERSED)


def _validate_end(last: Page) -> None:
    if not last.flags & LAST_PAGE:
        raise cut_short(1)  # of the page that marks the end
