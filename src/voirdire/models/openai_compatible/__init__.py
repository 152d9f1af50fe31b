"""Models behind OpenAI's chat completions over HTTP, the dialect that most servers speak.

A call passes through the files in this order: `wire` makes the request, `connection` sends it,
`errors` places what is no reply, `replies` reads what is one. `model` holds them together.
"""
