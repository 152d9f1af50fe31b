"""Talks to models over HTTP by OpenAI's chat completions, which most servers offer.

A call passes through the files in this order: `wire` makes the request, `connection` sends it,
`errors` classifies errors, `replies` reads replies. `model` uses all of them.
"""
