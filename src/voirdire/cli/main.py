"""The commands, and what goes wrong in one line with an exit code."""

from __future__ import annotations

import io
import os
import sys

import voirdire
from voirdire.cli.shell import Command, in_options, make_app, run_app
from voirdire.errors import RubricError, VoirdireError

__all__ = ["COMMANDS", "app", "run"]

HELP = "Judge responses by a rubric, examine judges against people, turn verdicts into rewards."
_PROMPT = {"--language": "`--prompt-language`"}
_REPORT = {"--language": "`--report-language`"}
COMMANDS = {
    "certify anchor": Command(
        summary="Compare a judge's answers to frozen items, then and now.",
        example="voirdire certify anchor --then certified.parquet --now today.parquet",
        usual="--then --now --question --only --tolerance --kind --json",
    ),
    "certify check": Command(
        summary="Check that a certificate still holds.",
        example="voirdire certify check certificate.json --humans labels.csv "
        "--judges verdicts.parquet",
        usual="--humans --judges --gold --rubric --epsilon --epsilon-reason --report --json",
    ),
    "demo": Command(
        summary="Judge bundled responses, examine the judge, fit a reward to its verdicts.",
        example="voirdire demo",
        gone=_REPORT,
    ),
    "distill": Command(
        summary="Make a local judge from verdicts or labels.",
        example="voirdire distill items.jsonl --labels verdicts.parquet -o judge.npz",
    ),
    "examine": Command(
        summary="Test whether judges may stand in for human annotators.",
        example="voirdire examine --humans labels.csv --judges verdicts.parquet --epsilon 0.1",
        usual="--humans --judges --judge-column --judge --gold --items --kind --question "
        "--alignment --epsilon --method --slice --gate --report --json",
        gone=_REPORT,
    ),
    "examine-reward": Command(
        summary="Examine what a reward does to the responses that it ranks.",
        example="voirdire examine-reward comparisons.jsonl --reward reward.json",
        usual="--reward --verdicts --only --from-classes --order --base --behavior "
        "--policy --bench --report --report-language --table --details --json",
        gone=_REPORT,
    ),
    "fit": Command(
        summary="Fit a reward to comparisons.",
        example="voirdire fit comparisons.jsonl --rubric safety -o reward.json",
        usual="--rubric --base --from-classes --behavior --output --certificate "
        "--require-certified --verdicts --only --judge --threshold --weights "
        "--l2 --resamples --json",
        gone=_PROMPT
        | {
            "--positive": "`--sign FEATURE=positive`",
            "--negative": "`--sign FEATURE=negative`",
        },
    ),
    "judge": Command(
        summary="Judge responses by a rubric.",
        example="voirdire judge items.jsonl --rubric safety -o verdicts.parquet",
        usual="--rubric --judge --threshold --behavior --output --layout --mode "
        "--probability --base-url --show-prompt --max-cost --concurrency "
        "--retry-failures --dry-run --json",
        gone=_PROMPT
        | {
            "--judges": "`--judge`, which takes a file of judges too",
            "--route": "`--behavior`, or a column `behavior` of the items: no model chooses one",
        },
    ),
    "power": Command(
        summary="Plan a study: how many items and annotators it needs.",
        example="voirdire power --human-noise 0.1 --judge-noise 0.1",
        usual="--human-noise --judge-noise --categories --prevalence --humans "
        "--judges --kind --items --annotators --power --epsilon --seed "
        "--plot --report --json",
        gone={"--judge": "`--only`: it chooses among the judges of the pilot"},
    ),
    "probe": Command(
        summary="Find out which influences move a judge's answers.",
        example="voirdire probe items.jsonl --judge openai/gpt-4o-mini",
        usual="--rubric --judge --only --without --items --humans --again --own "
        "--base-url --max-cost --dry-run --gate --plot --report --json",
        gone=_PROMPT,
    ),
    "rate": Command(
        summary="Estimate how often something holds, from verdicts and few labels.",
        example="voirdire rate --judges verdicts.parquet --humans labels.csv",
        usual="--judges --humans --items --question --only --label --by --labelled --method "
        "--probabilities --kind --report --json",
    ),
    "replay": Command(
        summary="Give a training run's completions another reward.",
        example="voirdire replay run/ --reward new.json -o rewards.jsonl",
        usual="--reward --judge --output --max-cost --store --dry-run --json",
        gone=_PROMPT,
    ),
    "replies": Command(
        summary="Show what language models replied, why calls failed, and what was sent.",
        example="voirdire replies voirdire-replies.sqlite",
    ),
    "report": Command(
        summary="Make a page of an examination or a training run.",
        example="voirdire report examination.json -o report.html",
        gone=_REPORT,
    ),
    "rubric list": Command(
        summary="List the rubrics that come with voirdire.",
        example="voirdire rubric list",
    ),
    "rubric show": Command(
        summary="Show a rubric: questions, demands, completion classes.",
        example="voirdire rubric show safety",
    ),
    "rubric check": Command(
        summary="Check rubric files, every problem with its place.",
        example="voirdire rubric check rubric.yaml",
    ),
    "rubric new": Command(
        summary="Write a rubric to start from.",
        example="voirdire rubric new rubric.yaml",
    ),
    "sample": Command(
        summary="Draw completions of a training run for people to label.",
        example="voirdire sample run/ -o sample/",
    ),
    "score": Command(
        summary="Give responses their rewards.",
        example="voirdire score items.jsonl --reward reward.json -o rewards.jsonl",
        usual="--reward --center --base --behavior --verdicts --only --judge --output "
        "--explain --base-url --max-cost --concurrency --json",
        gone=_PROMPT,
    ),
    "serve": Command(
        summary="Give rewards over HTTP.",
        example="voirdire serve --reward reward.json",
        usual="--reward --center --missing-reward --judge --base-url --concurrency "
        "--store --host --port --token-env --deadline --queue --record "
        "--reference",
        gone=_PROMPT,
    ),
    "synthesize": Command(
        summary="Have a model write completions to compare.",
        example="voirdire synthesize prompts.jsonl --model openai/gpt-4o-mini -o completions.jsonl",
        usual="--model --output --rubric --recipes --prompt-language --seed --judge "
        "--attempts --base-url --concurrency --price --max-cost "
        "--retry-failures --dry-run --json",
        gone=_PROMPT,
    ),
    "variance": Command(
        summary="Find where the spread of scores comes from, and what would halve their error.",
        example="voirdire variance scores.csv --score agrees --facet item --facet run",
    ),
    "view": Command(
        summary="Open a result in the browser: items, search, filters.",
        example="voirdire view examination.json",
    ),
}
app = make_app(
    "voirdire",
    COMMANDS,
    families={
        "certify": "Check that an examination still holds: its record, and its judge.",
        "rubric": "List, show, check and start rubrics: the questions that judges answer.",
    },
    help_text=HELP,
    version=f"voirdire {voirdire.__version__}",
)


def run() -> None:
    """Run the command line: exit 0 done, 1 our error in one line, 2 usage, 3 a gate not passed."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal without Greek letters is no error
            stream.reconfigure(errors="replace")
    try:
        run_app(app, COMMANDS, sys.argv[1:])
        sys.stdout.flush()
    except VoirdireError as error:
        message = " ".join(str(error).splitlines())
        if not isinstance(error, RubricError):  # that is about keys of a file, not about options
            message = in_options(message)
        sys.stderr.write(f"voirdire: {message}\n")
        sys.exit(1)
    except BrokenPipeError:
        _silence_output()  # whoever read our output has left
        sys.exit(1)
    except OSError as error:
        _silence_output()
        sys.stderr.write(f"voirdire: output cannot be written ({error.strerror}).\n")
        sys.exit(1)


def _silence_output() -> None:
    """Keep the interpreter from complaining at exit about what it could not write."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
