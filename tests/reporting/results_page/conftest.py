"""Pages whose figures are not looked at, unless a test says so."""

from sketched_figures import drawn, sketched_figures  # noqa: F401  # fixtures
