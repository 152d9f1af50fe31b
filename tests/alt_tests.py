"""Several judges, or several margins, tested at once and given by name."""

import voirdire


def alt_tests(*, judges, humans, epsilon=0.2, question="label", clusters=None, **options):
    """Give by judge its result, or its results where `epsilon` is a sequence."""
    found = voirdire.examine(
        judges=judges,
        humans=humans,
        epsilon=epsilon,
        questions=[question],
        clusters=clusters or False,
        around=False,
        **options,
    )
    several = hasattr(epsilon, "__iter__")
    return {
        name: list(found.of_judge(name)) if several else found.of_judge(name)[0]
        for name in found.judges
    }
