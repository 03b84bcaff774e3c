"""How photographs can be prepared. Light to import: options show these choices."""

from __future__ import annotations

from typing import Literal

Method = Literal["voets", "rim"]
Enhancement = Literal["none", "graham", "clahe"]
DEFAULT_SIZE = 299
DEFAULT_METHOD: Method = "rim"
DEFAULT_ENHANCEMENT: Enhancement = "none"
