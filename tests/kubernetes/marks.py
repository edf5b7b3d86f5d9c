"""Where the tests of this folder can run."""

from __future__ import annotations

import pytest

from mco.lab import checks

REAL = [
    pytest.mark.lab,
    pytest.mark.slow,
    pytest.mark.skipif(bool(checks.missing()), reason="no real machines here"),
    pytest.mark.timeout(900),
]
