"""voirdire over HTTP: a server that gives rewards."""
