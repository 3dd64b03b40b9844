"""Two small Transformers, which none of the studies had: an encoder as BERT's and a language model as GPT-2.

They fit the text that comes with Python, and train within minutes on two processor cores.
"""

from pytest_dlbench.model import (
    GELU,
    AdamW,
    Add,
    Attention,
    Branch,
    Dense,
    Dropout,
    Embedding,
    FirstStep,
    LayerNorm,
    Model,
    Positions,
    Recipe,
    SequenceCrossEntropy,
    SoftmaxCrossEntropy,
    Tanh,
    TiedDense,
    WarmUpCosine,
)


def _post_norm(features: int, heads: int, dropout: float, epsilon: float) -> Branch:
    """Attention and two dense layers, each normalised after its residual connection (Vaswani et al. 2017)."""
    attention = (Dense(3 * features), Attention(heads), Dense(features), Dropout(dropout))
    feed_forward = (Dense(4 * features), GELU(), Dense(features), Dropout(dropout))
    norm = LayerNorm(epsilon=epsilon)
    return (Add(attention, ()), norm, Add(feed_forward, ()), norm)


def _pre_norm(features: int, heads: int) -> Branch:
    """Causal attention and two dense layers, each normalised before them (Radford et al. 2019, section 2.3)."""
    attention = (LayerNorm(), Dense(3 * features), Attention(heads, causal=True), Dense(features))
    feed_forward = (LayerNorm(), Dense(4 * features), GELU(tanh=True), Dense(features))
    return (Add(attention, ()), Add(feed_forward, ()))


# BERT-Tiny (Turc et al. 2019: 2 layers of 128 features, 2 heads) as a classifier (Devlin et al. 2019, section 4.1: the
# first token, a dense layer with tanh), for the tokens of pydoc-topics150, trained from the start instead of tuned.
ENCODER = Model(
    name="transformer-encoder",
    family="transformer",
    input_shape=(150,),
    vocabulary=30_000,
    layers=(
        Embedding(30_000, 128, padding=0),
        Positions(),
        LayerNorm(epsilon=1e-12),
        Dropout(0.1),
        *_post_norm(128, 2, 0.1, 1e-12),
        *_post_norm(128, 2, 0.1, 1e-12),
        FirstStep(),
        Dense(128),
        Tanh(),
        Dropout(0.1),
        Dense(2),
    ),
    head=SoftmaxCrossEntropy(classes=2),
    recipe=Recipe(
        batch_size=32,
        epochs=5,
        optimizer=AdamW(1e-3, weight_decay=0.01),
        schedule=WarmUpCosine(0.1),
        clip_norm=1.0,
    ),
)

# GPT-2 with 4 layers of 128 features. Betas, decay, clipping and the last tenth of the rate are those of GPT-3 (Brown
# et al. 2020, appendix B).
GPT = Model(
    name="gpt",
    family="transformer",
    input_shape=(32,),
    vocabulary=10_000,
    layers=(
        Embedding(10_000, 128),
        Positions(),
        *(layer for _ in range(4) for layer in _pre_norm(128, 4)),
        LayerNorm(),
        TiedDense(10_000),
    ),
    head=SequenceCrossEntropy(classes=10_000),
    recipe=Recipe(
        batch_size=32,
        epochs=20,
        optimizer=AdamW(1e-3, beta2=0.95, weight_decay=0.1),
        schedule=WarmUpCosine(0.1, 0.1),
        clip_norm=1.0,
    ),
)

MODELS = (ENCODER, GPT)
