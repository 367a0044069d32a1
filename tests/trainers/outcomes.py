"""What a command said, once it went as it should."""


def said(result):
    """The command's output, once it went well."""
    assert result.exit_code == 0, result.output + str(result.exception)
    return result.output


def refusal(result):
    """What the command says when it refuses: one line."""
    assert result.exit_code == 2, result.output + str(result.exception)
    assert "Traceback" not in result.output
    return result.output
