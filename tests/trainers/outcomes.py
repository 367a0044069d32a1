"""The output of a command, after checking its exit code."""


def output_of(result):
    """The output of a command that succeeded."""
    assert result.exit_code == 0, result.output + str(result.exception)
    return result.output


def error_of(result):
    """The one-line error of a command that ended with code 2."""
    assert result.exit_code == 2, result.output + str(result.exception)
    assert "Traceback" not in result.output
    return result.output
