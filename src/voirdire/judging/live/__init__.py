"""Keeps a judge in service: while a model trains, or for the clients of a server."""
