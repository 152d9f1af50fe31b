"""Models behind OpenAI's chat completions over HTTP, the dialect that most servers speak.

A call passes through the files in this order: `body` makes the request, `connection` sends it,
`refusals` places what is no reply, `wire` and `replies` read what is one, `steps` keeps the
log-probabilities that matter. `model` holds them together.
"""
