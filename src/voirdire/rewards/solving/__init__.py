"""The convex problem behind a reward, and solvers that prove how close they come."""
