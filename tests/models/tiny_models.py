"""A tiny language model with random weights, and a tokenizer, made in the test."""

import asyncio
import contextlib

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from voirdire.models import ChatRequest, TransformersModel
from voirdire.records import Message

TEMPLATE = (
    "{% for message in messages %}<|{{ message.role }}|>{{ message.content }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
_CORPUS = ['{"apology":true,"refusal": false}', "Is this an apology? true or false"] * 20
_SPECIAL = ["<|end|>", "<|system|>", "<|user|>", "<|assistant|>"]


def tiny_tokenizer(*, template=TEMPLATE, **options):
    """Make a byte-level BPE tokenizer: any text, and a few words as single tokens."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=330,
        special_tokens=_SPECIAL,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(_CORPUS, trainer)
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token="<|end|>", **options
    )
    fast.chat_template = template
    return fast


def sentencepiece_tokenizer():
    """Make a tokenizer of Llama's first family: marked spaces, and bytes for what is unknown."""
    words = ["▁true", "true", "▁", *"aefrltsu"]
    names = ["<unk>", *(f"<0x{byte:02X}>" for byte in range(256)), *words]
    vocabulary = {name: i for i, name in enumerate(names)}
    merges = [("t", "r"), ("u", "e"), ("tr", "ue"), ("▁", "true")]
    vocabulary |= {name: len(names) + i for i, name in enumerate(("tr", "ue"))}
    tokenizer = Tokenizer(
        models.BPE(vocabulary, merges, unk_token="<unk>", byte_fallback=True, fuse_unk=True)
    )
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    tokenizer.decoder = decoders.Sequence(
        [
            decoders.Replace("▁", " "),
            decoders.ByteFallback(),
            decoders.Fuse(),
            decoders.Strip(" ", 1, 0),
        ]
    )
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="<unk>")
    fast.chat_template = TEMPLATE
    return fast


def tiny_model(tokenizer, *, seed=0, n_positions=2_048):
    """Make a Llama of two layers, its weights large enough for choices that differ."""
    torch.manual_seed(seed)
    config = transformers.LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=n_positions,
        initializer_range=0.3,
        eos_token_id=tokenizer.eos_token_id,
        bos_token_id=None,
    )
    return transformers.LlamaForCausalLM(config).eval()


def rendered(request):
    """Write a request as the template does."""
    said = "".join(f"<|{m.role}|>{m.content}<|end|>" for m in request.messages)
    return f"{said}<|assistant|>{request.prefill}"


@contextlib.contextmanager
def wishing(model, tokens, *, n_prompt):
    """Make a model wish, above all, to go on from its prompt with these tokens."""
    n_read = 0

    def count(module, given, out):
        nonlocal n_read
        n_read += given[0].numel()

    def prefer(module, given, logits):
        place = n_read - n_prompt
        if 0 <= place < len(tokens):
            logits[..., tokens[place]] += 1_000
        return logits

    counting = model.get_input_embeddings().register_forward_hook(count)
    preferring = model.get_output_embeddings().register_forward_hook(prefer)
    try:
        yield
    finally:
        counting.remove()
        preferring.remove()


class Speaker:
    """A model in this process that says what it is told, as far as it may."""

    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self._llama = tiny_model(tokenizer, n_positions=8_192)
        self.model = TransformersModel(self._llama, tokenizer=tokenizer)

    def ids(self, text):
        """Give the tokens of a text."""
        return self.tokenizer.encode(text, add_special_tokens=False)

    def say(self, tokens, **fields):
        """Ask for something, and wish to hear these tokens."""
        usual = {"messages": (Message(role="user", content="?"),), "max_tokens": len(tokens)}
        request = ChatRequest(**(usual | fields))
        with self.wishing(tokens, request):
            return asyncio.run(self.model.reply(request))

    def wishing(self, tokens, request):
        """Make it wish to answer a request so."""
        return wishing(self._llama, tokens, n_prompt=len(self.ids(rendered(request))))
