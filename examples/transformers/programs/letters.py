"""A tiny GPT-2, freshly initialised, learns to predict the next letter; the Trainer has the loop."""

import torch
from inputs import LENGTH, SYMBOLS, Text, windows
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments, set_seed

BATCH = 32


def next_letters(outputs, labels, num_items_in_batch=None):
    """The mean loss of predicting each letter from those before it."""
    scores = outputs.logits[:, :-1].flatten(0, 1)
    return torch.nn.functional.cross_entropy(scores, labels[:, 1:].flatten())


def network():
    config = GPT2Config(
        vocab_size=len(SYMBOLS),
        n_positions=LENGTH,
        n_embd=64,
        n_layer=2,
        n_head=4,
        # So few steps memorise nothing.
        embd_pdrop=0,
        attn_pdrop=0,
        resid_pdrop=0,
        bos_token_id=0,
        eos_token_id=0,
    )
    return GPT2LMHeadModel(config)


def settings(run):
    return TrainingArguments(
        output_dir=run.folder,
        use_cpu=run.device == "cpu",
        learning_rate=run.parameters["rate"],
        lr_scheduler_type="constant",
        per_device_train_batch_size=BATCH,
        max_steps=run.total_steps,
        seed=run.seed,
        save_strategy="no",
        logging_strategy="no",
        report_to="none",
        disable_tqdm=True,
    )


def main(run):
    set_seed(run.seed)
    torch.set_num_threads(run.threads)
    train, test = windows()
    model = network()
    Trainer(
        model=model,
        args=settings(run),
        train_dataset=Text(train),
        compute_loss_func=next_letters,
        callbacks=[run.callback("transformers")],
    ).train()
    model.eval()
    with torch.no_grad():
        found = model(test.to(model.device)).logits[:, :-1].argmax(-1).cpu()
    following = test[:, 1:]
    accuracy = (found == following).float().mean()
    # What a model reaches that always says the commonest symbol, the space.
    commonest = following.unique(return_counts=True)[1].max() / following.numel()
    run.report(accuracy=accuracy, advantage=accuracy - commonest)
