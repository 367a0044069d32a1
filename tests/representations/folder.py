"""A folder as bytes."""


def files(folder):
    """Relative path to content of every file below."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
