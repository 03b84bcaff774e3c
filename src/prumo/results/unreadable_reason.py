"""Why a kept file cannot be read, in words that name the field."""

from pydantic import ValidationError


def unreadable_reason(error: OSError | ValidationError) -> str:
    """What the system says, or the first field that is wrong and what is wrong with it."""
    if isinstance(error, OSError):
        return str(error.strerror)
    first = error.errors()[0]
    return ": ".join(filter(None, [".".join(map(str, first["loc"])), first["msg"]]))
