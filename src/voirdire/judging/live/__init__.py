"""A judge that is asked again and again: while a model trains, or by the clients of a server."""
