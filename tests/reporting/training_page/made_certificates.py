"""Certificates of a made-up run: one proposition of each state, in turn."""

from voirdire.rewards.training.run import (
    CertifiedExamination,
    PropositionCertificate,
)

STATES = ("passed", "failed", "none", "no_evidence", "other_judge", "other_rubric", "no_judge")
MARK = "sha256:" + "0123456789abcdef" * 4


def examination(**figures):
    """Make an examination that passed."""
    plain = {
        "epsilon": 0.15,
        "alignment": "accuracy",
        "outcome": "passed",
        "winning_rate": 0.75,
        "advantage_probability": 0.91,
        "n_items": 1_200,
        "n_annotators": 4,
    }
    return CertifiedExamination(**(plain | figures))


def made_certificates(propositions, *, states=STATES, mark=MARK, **figures):
    """Give each proposition the next state."""
    found = {}
    for place, name in enumerate(propositions):
        state = states[place % len(states)]
        seen = state in ("passed", "failed", "no_evidence")
        own = {"outcome": state, "winning_rate": 0.75 if state == "passed" else 0.25}
        found[name] = PropositionCertificate(
            state=state,
            reason=f"{state} in words",
            certificate=None if state in ("none", "no_judge") else mark,
            examinations=(examination(**(own | figures)),) if seen else (),
        )
    return found
