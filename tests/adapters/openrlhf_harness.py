"""OpenRLHF's own executor with everything real but the engine, which needs a GPU."""

import asyncio
import sys
import types
from contextlib import contextmanager
from types import SimpleNamespace

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers
from transformers import PreTrainedTokenizerFast

END = "<|im_end|>"
SPECIAL = ["<|im_start|>", END, "<|endoftext|>"]
TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}"
    "<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def byte_tokenizer():
    """Make a tokenizer whose tokens are bytes: it gives back every text as it was."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: place for place, token in enumerate(alphabet)}
    bare = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    bare.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bare.decoder = decoders.ByteLevel()
    return _dressed(bare)


def word_tokenizer(texts):
    """Make a tokenizer whose tokens are words: white space and forms of characters are lost."""
    words = sorted({word for text in texts for word in text.split()})
    bare = Tokenizer(
        models.WordLevel(
            {word: place for place, word in enumerate(["[UNK]", *words])}, unk_token="[UNK]"
        )
    )
    bare.normalizer = normalizers.NFC()
    bare.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return _dressed(bare)


def _dressed(bare):
    made = PreTrainedTokenizerFast(tokenizer_object=bare, clean_up_tokenization_spaces=False)
    made.add_special_tokens(
        {"eos_token": END, "pad_token": "<|endoftext|>", "additional_special_tokens": SPECIAL}
    )
    made.chat_template = TEMPLATE
    return made


class Engine:
    """Stands for vLLM: says what it is told to, token by token, with the end of the turn."""

    def __init__(self, tokenizer, said, *, end=END):
        self._tokenizer = tokenizer
        self._said = list(said)
        self._end = end

    async def generate(self, prompt_token_ids, sampling_params, multi_modal_data=None):
        await asyncio.sleep(0)
        text = self._said.pop(0) + self._end
        ids = self._tokenizer(text=text, add_special_tokens=False)["input_ids"]
        done = SimpleNamespace(token_ids=ids, text=text, finish_reason="stop", logprobs=None)
        return SimpleNamespace(outputs=[done])


def executed(url, responses, *, prompts, labels, tokenizer=None, max_length=10**7):
    """Have OpenRLHF's executor generate and reward responses, all at once."""
    from openrlhf.utils.agent import SingleTurnAgentExecutor

    tokenizer = byte_tokenizer() if tokenizer is None else tokenizer
    executor = SingleTurnAgentExecutor(url)
    parameters = SimpleNamespace(max_tokens=8, logprobs=None)

    async def all_of_them():
        # a request reaches the executor with its own engine, which answers it and no other
        return await asyncio.gather(
            *(
                executor.execute(
                    prompt=prompt,
                    label=label,
                    sampling_params=parameters,
                    max_length=max_length,
                    hf_tokenizer=tokenizer,
                    llm_engine=Engine(tokenizer, [response]),
                )
                for response, prompt, label in zip(responses, prompts, labels, strict=True)
            )
        )

    return asyncio.run(all_of_them())


def chat(prompt, tokenizer=None):
    """Put a prompt into the template, as OpenRLHF's dataset does."""
    tokenizer = byte_tokenizer() if tokenizer is None else tokenizer
    told = [{"role": "user", "content": prompt}]
    return tokenizer.apply_chat_template(told, tokenize=False, add_generation_prompt=True)


@contextmanager
def samples_generator():
    """Give OpenRLHF's class that takes responses over; vLLM, which it imports, is a stand-in."""
    stand_ins = {
        "vllm": {"SamplingParams": object, "__version__": "0"},
        "vllm.inputs": {"TokensPrompt": dict},
        "vllm.utils": {"random_uuid": str},
    }
    absent = [name for name in stand_ins if name not in sys.modules]
    for name in absent:
        sys.modules[name] = types.ModuleType(name)
        vars(sys.modules[name]).update(stand_ins[name])
    try:
        from openrlhf.trainer.ppo_utils.samples_generator import SamplesGenerator

        yield SamplesGenerator.__new__(SamplesGenerator)
    finally:
        for name in absent:
            del sys.modules[name]


def experience_of(outputs):
    """Have OpenRLHF make one batch of experience of what its executor gave."""
    from openrlhf.trainer.ppo_utils.experience import Experience

    with samples_generator() as generator:
        each = [generator._process_response_into_experience(row, max_len=4096) for row in outputs]
    return Experience.concat_experiences(each, pad_token_id=0)
