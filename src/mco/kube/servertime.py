"""What time it is for the API server.

Its clock stamps what is created, so that is the one to judge ages by: ours may be a day off.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime


class ServerTime:
    """As the Date of its last answer said, and so much later as time has passed since."""

    def __init__(self) -> None:
        self._date = ""
        self._heard = 0.0

    def hear(self, headers: Mapping[str, str]) -> None:
        """Notes an answer that has just come."""
        self._date = headers.get("Date", "")
        self._heard = asyncio.get_running_loop().time()

    def now(self) -> datetime | None:
        """None when it did not say."""
        try:
            moment = parsedate_to_datetime(self._date)
        except ValueError:
            return None
        passed = asyncio.get_running_loop().time() - self._heard
        return moment.replace(tzinfo=moment.tzinfo or UTC) + timedelta(seconds=passed)
