"""The one base class of errors that whoever called can mend."""


class InputError(Exception):
    """Input, an option or a file that cannot be used; the message names it and the way out.

    Commands print it as one line and exit with code 2. Anything else is a bug, and is a traceback.
    """
