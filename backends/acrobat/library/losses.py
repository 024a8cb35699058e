"""The modules of losses: each calls the function of its name."""

import torch.nn.functional as F


def cross_entropy_module(self, input, target):
    return F.cross_entropy(
        input,
        target,
        self.weight,
        ignore_index=self.ignore_index,
        reduction=self.reduction,
        label_smoothing=self.label_smoothing,
    )


def nll_module(self, input, target):
    return F.nll_loss(input, target, self.weight, ignore_index=self.ignore_index, reduction=self.reduction)


def binary_cross_entropy_module(self, input, target):
    return F.binary_cross_entropy(input, target, self.weight, reduction=self.reduction)


def binary_cross_entropy_with_logits_module(self, input, target):
    return F.binary_cross_entropy_with_logits(input, target, self.weight, reduction=self.reduction, pos_weight=self.pos_weight)


def mse_module(self, input, target):
    return F.mse_loss(input, target, reduction=self.reduction)


def l1_module(self, input, target):
    return F.l1_loss(input, target, reduction=self.reduction)


def smooth_l1_module(self, input, target):
    return F.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


def huber_module(self, input, target):
    return F.huber_loss(input, target, reduction=self.reduction, delta=self.delta)


def kl_div_module(self, input, target):
    return F.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)
