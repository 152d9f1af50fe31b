#!/bin/sh
# What `voirdire demo` did, command by command, from the files in this folder.
cd -- "$(dirname -- "$0")" || exit

# Judge the responses, and examine the judge against the annotators.
voirdire judge responses.jsonl --rubric safety -o verdicts.parquet
voirdire examine --humans response_annotations.jsonl --judges verdicts.parquet --kind boolean \
  --epsilon 0.2 --weights imbalance --items responses.jsonl --slice language \
  --report judge.html --certificate certificate.json

# Fit a reward to the verdicts, score the responses with it, and examine it.
voirdire fit comparisons_of_fit.jsonl --rubric safety \
  --order 'ideal > less_good > unacceptable, illogical > disallowed; less_good > nonsense' \
  --certificate certificate.json --resamples 100 --name demo -o reward.json
voirdire score comparisons.jsonl --reward reward.json --verdicts verdicts.parquet -o rewards.jsonl
voirdire examine-reward comparisons.jsonl --reward reward.json --verdicts verdicts.parquet \
  --report reward.html

# Examine the simulated judges of short texts, one question after the other.
voirdire examine --humans annotations.jsonl --judges judges.jsonl --question needs_review \
  --kind boolean --epsilon 0.2 --items texts.jsonl --slice language --report texts.html
