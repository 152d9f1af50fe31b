"""The golden runs: every argument list stands here and nowhere else.

{inputs} is the folder that `inputs.py` writes, {written} holds files that were written once,
{training} is a training run that is recorded first, {shared} the public data sets, {server} the
address of a scripted model. A run stands in an empty folder of its own. After a change of a
command's spelling only this file changes; its goldens stay.
"""

from golden.runs import Run

JUDGED = "--rubric {inputs}/tiny.yaml --judge openai/test --base-url {server}"
ORDERS = "--order refuse=good>poor>bad --order chat=good>poor"
FITTED = (
    "{inputs}/comparisons.jsonl --rubric {written}/tiny.yaml --verdicts {written}/verdicts.parquet"
)
CHOICES = "examine --humans {inputs}/humans.csv --judges {inputs}/judges.csv"
DEMO = "examine --humans {written}/demo_annotations.parquet --judges {written}/demo_judges.parquet"
EXAMINED = ("examinations", "pooled", "dropped")


def _of_the_paper(data: str, kind: str = "") -> list[Run]:
    """Examine one of the data sets of the alt-test paper: whole at one ε, briefly at others."""
    folder = f"{{shared}}/data/alttest/{data}"
    humans, judges = (f"{folder}/{who}_annotations.json" for who in ("human", "llm"))
    files = f"--humans {humans} --judges {judges} {kind}"
    more = "--epsilon .0 --epsilon .1 --epsilon .15 --epsilon-mode multiplicative"
    return [
        Run(f"examine_{data}", f"examine {files} --epsilon .2 --resamples 0 --json"),
        Run(
            f"examine_{data}_epsilons",
            f"examine {files} {more} --resamples 0 --json",
            keep=EXAMINED,
        ),
    ]


EXAMINE = [
    *_of_the_paper("wax"),
    *_of_the_paper("framing"),
    *_of_the_paper("lgbteen"),
    *_of_the_paper("cebab_stars", "--kind choice"),
    Run(
        "examine_stars_as_numbers",
        "examine --humans {shared}/data/alttest/cebab_stars/human_annotations.json"
        " --judges {shared}/data/alttest/cebab_stars/llm_annotations.json"
        " --alignment neg_rmse --epsilon .1 --resamples 0 --json",
        keep=EXAMINED,
    ),
    # the bundled demo
    Run(
        "examine_demo_sets",
        f"{DEMO} --question toxicity --alignment jaccard --alignment jaccard_slots"
        " --alignment hamming --epsilon .1 --epsilon .2 --resamples 0 --json",
        keep=EXAMINED,
    ),
    Run(
        "examine_demo_severity",
        f"{DEMO} --question severity --alignment neg_rmse --epsilon .1 --epsilon .2"
        " --resamples 0 --json",
    ),
    Run(
        "examine_demo_responses",
        "examine --humans {written}/demo_response_annotations.parquet"
        " --judges {written}/demo_verdicts.parquet --kind boolean --weights imbalance"
        " --resamples 0 --json",
        keep=EXAMINED,
    ),
    # made-up choices with clusters, Failures and a judge that always says the same
    Run("examine_choices", f"{CHOICES} --resamples 0 --json", quick=True),
    Run(
        "examine_epsilons",
        f"{CHOICES} --epsilon 0 --epsilon .05 --epsilon .3 --epsilon-mode multiplicative"
        " --resamples 0 --json",
        keep=EXAMINED,
    ),
    Run("examine_weights", f"{CHOICES} --weights imbalance --resamples 0 --json", keep=EXAMINED),
    Run(
        "examine_gold", f"{CHOICES} --gold {{inputs}}/gold.csv --resamples 0 --json", keep=EXAMINED
    ),
    Run("examine_expert", f"{CHOICES} --expert ann --resamples 0 --json", keep=EXAMINED),
    Run(
        "examine_quality",
        f"{CHOICES} --quality ann=4 --quality bob=3 --quality cy=2 --quality dee=1"
        " --resamples 0 --json",
        keep=EXAMINED,
    ),
    Run("examine_clusters", f"{CHOICES} --cluster source --resamples 0 --json", quick=True),
    Run(
        "examine_clusters_weights",
        f"{CHOICES} --cluster source --weights imbalance --min-items 20 --resamples 0 --json",
        keep=EXAMINED,
    ),
    Run(
        "examine_min_items",
        f"{CHOICES} --min-items 60 --min-annotators 3 --false-discovery-rate .1"
        " --resamples 0 --json",
        keep=EXAMINED,
    ),
    Run(
        "examine_slices",
        f"{CHOICES} --items {{inputs}}/known.csv --slice language --resamples 0 --json",
        keep=("questions",),
    ),
    Run(
        "examine_one_judge",
        f"{CHOICES} --question tone --only near --resamples 0 --json",
        keep=EXAMINED,
    ),
    Run("examine_seeded", f"{CHOICES} --resamples 1000 --json", keep=EXAMINED, n_draws=1000),
    Run(
        "examine_seeded_clusters",
        f"{CHOICES} --cluster source --confidence-level .9 --json",
        keep=EXAMINED,
        n_draws=1000,
    ),
    Run(
        "examine_scale",
        "examine --humans {inputs}/scale_humans.csv --judges {inputs}/scale_judges.csv"
        " --alignment neg_rmse --resamples 0 --json",
        quick=True,
    ),
    Run(
        "examine_sets",
        "examine --humans {inputs}/sets_humans.jsonl --judges {inputs}/sets_judges.jsonl"
        " --alignment jaccard --alignment jaccard_macro --alignment jaccard_slots"
        " --alignment hamming --resamples 0 --json",
        keep=EXAMINED,
    ),
    Run(
        "examine_texts",
        "examine --humans {inputs}/texts_humans.jsonl --judges {inputs}/texts_judges.jsonl"
        " --alignment similarity --resamples 0 --json",
        keep=EXAMINED,
    ),
    Run(
        "examine_booleans",
        "examine --humans {inputs}/boolean_humans.csv"
        " --judges {inputs}/boolean_judges.csv --kind boolean --threshold .6 --resamples 0 --json",
    ),
    # stored verdicts, a gate, a certificate, pages
    Run(
        "examine_verdicts",
        "examine --humans {inputs}/item_labels.csv --judges {written}/long.parquet"
        " --kind boolean --min-items 20 --resamples 0 --certificate made.json --json",
        keep=EXAMINED,
        documents=("made.json",),
    ),
    Run("examine_gate_not_passed", f"{CHOICES} --only same --gate --json", status=3, keep=()),
    Run("examine_without_judges", "examine --humans {inputs}/humans.csv", status=2),
    Run(
        "examine_missing_file",
        "examine --humans nowhere.csv --judges {inputs}/judges.csv",
        status=1,
    ),
    Run(
        "examine_page_en",
        f"{CHOICES} --resamples 0 --report page.html --report-language en --json",
        keep=(),
        pages=("page.html",),
    ),
    Run(
        "examine_page_zh",
        f"{CHOICES} --resamples 0 --report page.html --report-language zh --json",
        keep=(),
        pages=("page.html",),
    ),
]

JUDGE = [
    Run(
        "judge_local",
        "judge {written}/demo_comparisons.parquet --rubric safety --judge local"
        " -o out.parquet --json",
        tables=("out.parquet",),
    ),
    *(
        Run(
            f"judge_{rubric}_{mode}_{source}",
            f"judge {{inputs}}/items.jsonl --rubric {{inputs}}/{rubric}.yaml --judge openai/test"
            f" --base-url {{server}} --mode {mode} --probability {source} -o out.parquet --json",
            quick=(rubric, mode, source) == ("tiny", "joint", "logprob"),
            tables=("out.parquet",),
        )
        for rubric in ("tiny", "kinds")
        for mode in ("joint", "single")
        for source in ("logprob", "stated", "vote")
    ),
    Run(
        "judge_pairs",
        "judge {inputs}/pairs.jsonl --rubric {inputs}/pairs.yaml --judge openai/test"
        " --base-url {server} -o out.parquet --json",
        tables=("out.parquet",),
    ),
    Run(
        "judge_criteria_by_rules",
        "judge {inputs}/criteria.jsonl --rubric criteria --judge rules -o out.parquet --json",
        tables=("out.parquet",),
    ),
    Run(
        "judge_wide",
        f"judge {{inputs}}/items.jsonl {JUDGED} --layout wide -o out.csv --json",
        tables=("out.csv",),
    ),
    Run(
        "judge_dry_run",
        f"judge {{inputs}}/items.jsonl {JUDGED} --price 1,4 -o out.csv --dry-run --json",
        status=0,
    ),
    Run(
        "judge_distilled",
        "judge {inputs}/items.jsonl --rubric {written}/tiny.yaml"
        " --judge {written}/local.npz -o out.parquet --json",
        tables=("out.parquet",),
    ),
    Run(
        "judge_several",
        "judge {inputs}/items.jsonl --rubric {written}/tiny.yaml --judge judges.yaml -o out --json",
        tables=("out/whole.parquet", "out/each.parquet"),
    ),
    Run(
        "judge_cascade",
        "judge {inputs}/items.jsonl --rubric {written}/tiny.yaml --judge cascade.yaml"
        " -o out.parquet --json",
        tables=("out.parquet",),
    ),
    Run(
        "judge_unknown_rubric",
        "judge {inputs}/items.jsonl --rubric nowhere.yaml -o out.csv",
        status=1,
    ),
    Run(
        "distill",
        "distill {inputs}/comparisons.jsonl --labels {written}/verdicts.parquet"
        " --rubric {written}/tiny.yaml -o made.npz --folds 3 --json",
        fits=True,
    ),
]

FIT = [
    Run(
        "fit",
        f"fit {FITTED} {ORDERS} --l2 .01 --resamples 0 -o made.json --json",
        quick=True,
        fits=True,
        documents=("made.json",),
    ),
    Run(
        "fit_without_penalty",
        f"fit {FITTED} {ORDERS} --l2 0 --resamples 0 -o made.json --json",
        fits=True,
    ),
    Run(
        "fit_chosen_penalty",
        f"fit {FITTED} {ORDERS} --resamples 0 --folds 3 -o made.json --json",
        fits=True,
    ),
    Run(
        "fit_constraints",
        f"fit {FITTED} {ORDERS} --l2 .01 --sign sorry=positive --sign rude=negative"
        " --fixed asks=.25 --no-base --resamples 0 -o made.json --json",
        fits=True,
    ),
    Run(
        "fit_margins",
        f"fit {FITTED} {ORDERS} --l2 .01 --margin-of good=2 --margin .5 --equal-prompts"
        " --orientation demanded --resamples 0 -o made.json --json",
        fits=True,
    ),
    Run(
        "fit_seeded",
        f"fit {FITTED} {ORDERS} --l2 .01 --resamples 200 -o made.json --json",
        fits=True,
        n_draws=200,
    ),
    Run(
        "fit_pairs",
        "fit {inputs}/chosen.jsonl --rubric {written}/tiny.yaml"
        " --verdicts {written}/chosen.parquet --l2 .01 --resamples 0 -o made.json --json",
        fits=True,
    ),
    Run(
        "fit_weights",
        "fit --weights {inputs}/weights.json --rubric {inputs}/tiny.yaml -o made.json --json",
    ),
    Run(
        "fit_demo",
        "fit {written}/demo_comparisons.parquet --verdicts {written}/demo_verdicts.parquet"
        " --l2 .01 --resamples 0 -o made.json --json",
        fits=True,
    ),
    Run("fit_unordered", f"fit {FITTED} -o made.json", status=1),
]

SCORE = [
    Run(
        "score",
        "score {inputs}/comparisons.jsonl --reward {written}/reward.json"
        " --verdicts {written}/verdicts.parquet -o out.jsonl --explain --json",
        quick=True,
        tables=("out.jsonl",),
    ),
    Run(
        "score_centred",
        "score {inputs}/comparisons.jsonl --reward {written}/reward.json --center"
        " --verdicts {written}/verdicts.parquet -o out.parquet --json",
        tables=("out.parquet",),
    ),
    Run(
        "score_by_a_model",
        "score {inputs}/items.jsonl --reward {written}/first.json --judge openai/test"
        " --base-url {server} -o out.csv --json",
        tables=("out.csv",),
    ),
    Run(
        "examine_reward",
        "examine-reward {inputs}/comparisons.jsonl --reward {written}/reward.json"
        " --verdicts {written}/verdicts.parquet --resamples 0 --json",
    ),
    Run(
        "examine_reward_bench",
        "examine-reward --reward {written}/reward.json --bench {inputs}/chosen.jsonl"
        " --bench-verdicts {written}/chosen.parquet --resamples 0 --json",
    ),
    Run(
        "examine_reward_seeded",
        "examine-reward {inputs}/comparisons.jsonl --reward {written}/reward.json"
        " --verdicts {written}/verdicts.parquet --resamples 400 --json",
        n_draws=400,
    ),
    Run(
        "examine_reward_page_en",
        "examine-reward {inputs}/comparisons.jsonl --reward {written}/reward.json"
        " --verdicts {written}/verdicts.parquet --resamples 0 --report page.html",
        pages=("page.html",),
    ),
    Run(
        "examine_reward_page_zh",
        "examine-reward {inputs}/comparisons.jsonl --reward {written}/reward.json"
        " --verdicts {written}/verdicts.parquet --resamples 0"
        " --report page.html --report-language zh",
        pages=("page.html",),
    ),
]

OTHERS = [
    Run(
        "power_noise",
        "power --human-noise .2 --judge-noise .2 --categories 3 --items 30,60,90"
        " --annotators 3 --simulations 400 --json",
        quick=True,
        n_draws=400,
    ),
    Run(
        "power_pilot",
        "power --humans {inputs}/humans.csv --judges {inputs}/judges.csv --only near"
        " --question tone --items 40,80 --simulations 400 --json",
        n_draws=400,
    ),
    Run(
        "synthesize",
        "synthesize {inputs}/prompts.jsonl --rubric {inputs}/tiny.yaml --model openai/writer"
        " --recipes {inputs}/recipes.yaml --base-url {server} --judge judge.yaml --concurrency 1"
        " --attempts 6 -o out.jsonl --json",
        shapes=("out.jsonl",),
    ),
    Run(
        "score_run",
        "score {training} --reward {written}/second.json -o out.parquet --json",
        quick=True,
        tables=("out.parquet",),
    ),
    Run("score_run_itself", "score {training} --reward {written}/first.json -o out.csv --json"),
    Run("sample", "sample {training} -o out --number 20 --json"),
    Run("view_training_en", "view {training} -o page.html", pages=("page.html",)),
    Run(
        "view_training_zh",
        "view {training} -o page.html --report-language zh",
        pages=("page.html",),
    ),
    Run("rubric_list", "rubric list --json"),
    Run("rubric_show", "rubric show safety --json"),
    Run("rubric_show_tiny", "rubric show {inputs}/tiny.yaml --json", quick=True),
    Run("rubric_check", "rubric check {inputs}/tiny.yaml {inputs}/kinds.yaml --json"),
    Run("rubric_check_broken", "rubric check {inputs}/broken.yaml --json", status=1),
    Run("rubric_check_rows", "rubric check {inputs}/criteria.jsonl --json"),
    Run(
        "rubric_check_by_model",
        "rubric check {inputs}/criteria.jsonl --judge openai/test --base-url {server}"
        " --store replies.sqlite -o kept.jsonl --json",
        tables=("kept.jsonl",),
    ),
    Run("rubric_new", "rubric new made.yaml --kind scale", shapes=("made.yaml",)),
]

# files that were written once, opened
OPENED = [
    *(
        Run(
            f"opened_long_{kind}",
            f"examine --humans {{inputs}}/item_labels.csv --judges {{written}}/long.{kind}"
            " --kind boolean --min-items 20 --resamples 0 --json",
            keep=EXAMINED,
        )
        for kind in ("parquet", "jsonl", "csv")
    ),
    *(
        Run(
            f"opened_wide_{kind}",
            "score {inputs}/items.jsonl --reward {written}/first.json"
            f" --verdicts {{written}}/wide.{kind} -o out.jsonl --json",
            tables=("out.jsonl",),
        )
        for kind in ("parquet", "jsonl", "csv")
    ),
    Run(
        "opened_certificate",
        f"fit {FITTED} {ORDERS} --l2 .01 --resamples 0 --certificate {{written}}/judged.json"
        " -o made.json --json",
        fits=True,
        documents=("made.json",),
    ),
    Run(
        "opened_judges",
        "judge {inputs}/items.jsonl --rubric {written}/tiny.yaml --judge {written}/judges.yaml"
        " -o out --dry-run --json",
    ),
    Run(
        "opened_cascade",
        "judge {inputs}/items.jsonl --rubric {written}/tiny.yaml --judge {written}/cascade.yaml"
        " -o out.parquet --dry-run --json",
    ),
    Run("opened_rubric", "rubric show {written}/tiny.yaml --json"),
]

STORED = (
    "judge {inputs}/items.jsonl --rubric {written}/tiny.yaml --judge openai/test"
    " --base-url http://127.0.0.1:48123/v1 --store replies.sqlite -o out.parquet --json"
)
"""Asks the model whose replies were stored; nobody answers at its address any more."""

RUNS = [*EXAMINE, *JUDGE, *FIT, *SCORE, *OTHERS, *OPENED]
