"""Looks up, plans, calls, stores and combines, for runs and for judges in service."""
