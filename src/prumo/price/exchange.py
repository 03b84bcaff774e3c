"""What one currency is worth in another, on a date."""

from datetime import date
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from prumo.errors import InputError
from prumo.message import Message
from prumo.quantity import Quantity

LETTERS_OF_CURRENCY = 3


class Exchange(BaseModel):
    """A dated rate: one unit of `base` is worth `rate` units of `currency`."""

    model_config = ConfigDict(frozen=True)

    base: str = "USD"
    currency: str
    rate: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    as_of: date
    source: str = ""

    def of(self, amount: float) -> float:
        """An amount of the base, in the other currency."""
        return amount * self.rate

    def message(self) -> Message:
        """The rate and its date."""
        return Message(
            "{one} = {other} on {date}",
            {
                "one": Quantity(1.0, self.base),
                "other": Quantity(self.rate, self.currency),
                "date": self.as_of.isoformat(),
            },
        )


def currency_code(text: str) -> str:
    """A currency as three capital letters, however it was typed."""
    code = text.strip().upper()
    if len(code) != LETTERS_OF_CURRENCY or not code.isascii() or not code.isalpha():
        raise InputError(f"'{text}' is not a currency; give three letters such as USD or BRL")
    return code
