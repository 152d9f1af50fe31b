"""The convex problem of a fit, and solvers that bound the distance to the optimum."""
