"""Certificates of a made-up run: one proposition of each state, in turn."""

STATES = ("passed", "failed", "none", "no_evidence", "other_judge", "other_rubric", "no_judge")


def made_certificates(propositions, *, states=STATES):
    """Give each proposition the next state."""
    return {name: states[place % len(states)] for place, name in enumerate(propositions)}
