"""The one error that a user sees as a line of text."""


class VclusterError(Exception):
    """What failed and where, why, what to do: in one line."""
