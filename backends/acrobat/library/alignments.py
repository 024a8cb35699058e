"""Connectionist temporal classification (Graves et al. 2006): the probability of all ways to spread labels over time."""

import math

import torch

from backends.acrobat.library.words import less, refuse

NEVER = -1e30
"""The logarithm of a probability of 0, as a number from which others can be taken off."""


def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction="mean", zero_infinity=False):
    """`torch.nn.functional.ctc_loss` of (time, classes) or (time, batch, classes)."""
    if reduction not in ("mean", "sum", "none"):
        refuse("a `reduction` but mean, sum and none")
    if log_probs.dim() == 2:
        labels = targets.tolist() if targets.dim() == 1 else targets[0].tolist()
        labels = labels[: only(target_lengths)]
        loss = of_sequence(log_probs[: only(input_lengths)], labels, blank, zero_infinity)
        return loss / max(len(labels), 1) if reduction == "mean" else loss
    sequences = log_probs.unbind(1)
    sizes, steps = [int(n) for n in target_lengths], [int(n) for n in input_lengths]
    losses = []
    begin = 0
    for i in range(len(sequences)):
        labels = targets[i].tolist() if targets.dim() == 2 else targets.tolist()[begin:]
        labels = labels[: sizes[i]]
        begin = begin + sizes[i]
        loss = of_sequence(sequences[i][: steps[i]], labels, blank, zero_infinity)
        losses.append(loss / max(sizes[i], 1) if reduction == "mean" else loss)
    if reduction == "none":
        return torch.stack(losses)
    return torch.stack(losses).sum() if reduction == "sum" else torch.stack(losses).mean()


def only(length):
    """The length of one sequence, which may be a number, or a tuple or tensor of one."""
    return (
        length if isinstance(length, int) else int(length[0] if isinstance(length, (list, tuple)) or length.dim() else length)
    )


def of_sequence(log_probs, labels, blank, zero_infinity):
    """The loss of one sequence of shape (time, classes). A state stands for a label, or for a blank before, between or behind
    labels; `alpha` has the probabilities of all ways to be in each after so many steps."""
    states = [blank]
    for label in labels:
        states = states + [label, blank]
    skips = [0.0 if i > 1 and states[i] != blank and states[i] != states[i - 2] else NEVER for i in range(len(states))]
    skipped, never = torch.tensor(skips), torch.full((2,), NEVER)
    alpha = torch.tensor([0.0 if i == 0 else NEVER for i in range(len(states))])
    for row in log_probs:
        around = torch.cat([never, alpha])
        one, two = around[1:-1], around[:-2] + skipped
        highest = torch.maximum(torch.maximum(alpha, one), two)
        total = torch.exp(alpha - highest) + torch.exp(one - highest) + torch.exp(two - highest)
        alpha = highest + torch.log(total) + torch.maximum(row[states], torch.full((), NEVER))
    ends = alpha[-2:]
    loss = -ends.logsumexp(0)
    return torch.where(less(-0.5 * NEVER, loss), 0.0 if zero_infinity else math.inf, loss)
