"""Recurrent cells and the networks made of them (PyTorch's documentation of torch.nn.LSTM, GRU and RNN has the equations).

A cell takes a vector or a batch of rows. A network takes a sequence without a batch, (time, features), or with one: (time,
batch, features), or (batch, time, features) if `batch_first` is set. The number of time steps may vary between instances.
"""

import torch
import torch.nn.functional as F

from backends.acrobat.library.elementwise import refuse_dropout
from backends.acrobat.library.words import is_fixed, is_packed, is_packed_list, packed, steps_of, unrolled

# ---- one time step; `x` is the product of the input with its weights, bias included, for all gates


def rnn_step(x, h, w_hh, b_hh, nonlinearity):
    total = x + F.linear(h, w_hh, b_hh)
    return torch.tanh(total) if nonlinearity == "tanh" else torch.relu(total)


def gru_step(x, h, w_hh, b_hh):
    xr, xz, xn = x.chunk(3, -1)
    hr, hz, hn = F.linear(h, w_hh, b_hh).chunk(3, -1)
    r = torch.sigmoid(xr + hr)
    z = torch.sigmoid(xz + hz)
    new = torch.tanh(xn + r * hn)
    return new + z * (h - new)


def lstm_step(x, h, c, w_hh, b_hh):
    i, f, g, o = (x + F.linear(h, w_hh, b_hh)).chunk(4, -1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


# ---- cells


def initial(x, size):
    """A state of zeros that fits one time step `x`, a vector or a batch of rows."""
    return torch.zeros(size) if x.dim() == 1 else torch.zeros(x.size(0), size)


def as_many_rows(x, other):
    """The rows `x`, of which there are as many as in `other`: a number that varies, as in `tokens[-1:]`, is 1 where that of the
    other one is."""
    if x.dim() == 2 and other.dim() == 2 and not is_fixed(x.size(0)) and is_fixed(other.size(0)):
        return x.squeeze(0).unsqueeze(0) if other.size(0) == 1 else x
    return x


def rnn_cell(self, input, hx=None):
    h = initial(input, self.hidden_size) if hx is None else as_many_rows(hx, input)
    input = as_many_rows(input, h)
    return rnn_step(F.linear(input, self.weight_ih, self.bias_ih), h, self.weight_hh, self.bias_hh, self.nonlinearity)


def gru_cell(self, input, hx=None):
    h = initial(input, self.hidden_size) if hx is None else as_many_rows(hx, input)
    input = as_many_rows(input, h)
    return gru_step(F.linear(input, self.weight_ih, self.bias_ih), h, self.weight_hh, self.bias_hh)


def lstm_cell(self, input, hx=None):
    if hx is None:
        h = initial(input, self.hidden_size)
        c = initial(input, self.hidden_size)
    else:
        h, c = hx
        h, c = as_many_rows(h, input), as_many_rows(c, input)
    input = as_many_rows(input, h)
    return lstm_step(F.linear(input, self.weight_ih, self.bias_ih), h, c, self.weight_hh, self.bias_hh)


# ---- networks


def weights(self, k, direction):
    """The weights of layer `k`, forwards (0) or backwards (1): of the input, of the state, and the two biases or None."""
    end = f"_l{k}" + ("_reverse" if direction else "")
    b_ih = getattr(self, "bias_ih" + end) if self.bias else None
    b_hh = getattr(self, "bias_hh" + end) if self.bias else None
    return getattr(self, "weight_ih" + end), getattr(self, "weight_hh" + end), b_ih, b_hh


def run_rnn(steps, h, w_hh, b_hh, nonlinearity):
    out = []
    for x in steps:
        h = rnn_step(x, h, w_hh, b_hh, nonlinearity)
        out.append(h)
    return out, h


def run_gru(steps, h, w_hh, b_hh):
    out = []
    for x in steps:
        h = gru_step(x, h, w_hh, b_hh)
        out.append(h)
    return out, h


def run_lstm(steps, h, c, w_hh, b_hh, w_hr):
    """An LSTM's steps. `w_hr` projects the state `h`, or is None."""
    out = []
    for x in steps:
        h, c = lstm_step(x, h, c, w_hh, b_hh)
        if w_hr is not None:
            h = F.linear(h, w_hr)
        out.append(h)
    return out, h, c


def start_of(input, hx, at, time, size):
    """The initial state number `at`, counted over layers and directions: that of `hx`, or `size` zeros if `hx` is None.
    Dimension `time` of `input` has the time steps."""
    if hx is not None:
        return hx[at]
    return torch.zeros(size) if input.dim() == 2 else torch.zeros(input.size(1 - time), size)


def run_layers(self, sequence, h0, c0):
    """All layers over a sequence, which may be packed, from the initial states `h0` and, of an LSTM, `c0`, or zeros for None.
    Returns the outputs of all time steps and the last states of each layer and direction: a tuple for `h`, and one for `c`,
    which is empty but for an LSTM."""
    if self.num_layers > 1:
        refuse_dropout(self)
    input = steps_of(sequence) if is_packed(sequence) else sequence
    time = 1 if self.batch_first and input.dim() == 3 and not is_packed(sequence) else 0
    steps = list(input.unbind(time))
    hidden = ()
    cells = ()
    for k in unrolled(range(self.num_layers)):
        outs = ()
        for direction in unrolled(range(2 if self.bidirectional else 1)):
            w_ih, w_hh, b_ih, b_hh = weights(self, k, direction)
            h = start_of(input, h0, len(hidden), time, self.proj_size or self.hidden_size)
            projected = [F.linear(x, w_ih, b_ih) for x in steps]
            if direction:
                projected = projected[::-1]
            if self.mode == "LSTM":
                c = start_of(input, c0, len(hidden), time, self.hidden_size)
                w_hr = getattr(self, f"weight_hr_l{k}" + ("_reverse" if direction else "")) if self.proj_size else None
                out, h, c = run_lstm(projected, h, c, w_hh, b_hh, w_hr)
                cells = cells + (c,)
            elif self.mode == "GRU":
                out, h = run_gru(projected, h, w_hh, b_hh)
            else:
                out, h = run_rnn(projected, h, w_hh, b_hh, "tanh" if self.mode == "RNN_TANH" else "relu")
            if direction:
                out = out[::-1]
            outs = outs + (out,)
            hidden = hidden + (h,)
        if self.bidirectional:
            forwards, backwards = outs
            steps = [torch.cat((f, b), -1) for f, b in zip(forwards, backwards)]
        else:
            (steps,) = outs
    if is_fixed(input.size(time)) and input.size(time) == 1:  # a decoder's step, whose result has that extent too
        output = steps[0].unsqueeze(time)
    else:
        output = torch.stack(steps, time)
    return packed(output) if is_packed(sequence) else output, hidden, cells


def simple(self, input, hx=None):
    """An `nn.RNN` or `nn.GRU`, whose state is one tensor. Returns the outputs of all time steps and the last states."""
    if is_packed_list(input):
        outputs_and_states = [simple(self, x, h) for x, h in zip(steps_of(input), states_of(steps_of(input), hx))]
        return packed([out for out, _ in outputs_and_states]), torch.stack([h for _, h in outputs_and_states], 1)
    out, hidden, _ = run_layers(self, input, hx, None)
    return out, torch.stack(hidden)


def lstm(self, input, hx=None):
    h0, c0 = (None, None) if hx is None else hx
    if is_packed_list(input):
        sequences = steps_of(input)
        hs, cs = states_of(sequences, h0), states_of(sequences, c0)
        outputs_and_states = [lstm(self, x, None if hx is None else (h, c)) for x, h, c in zip(sequences, hs, cs)]
        h, c = torch.stack([h for _, (h, _) in outputs_and_states], 1), torch.stack([c for _, (_, c) in outputs_and_states], 1)
        return packed([out for out, _ in outputs_and_states]), (h, c)
    out, hidden, cells = run_layers(self, input, h0, c0)
    return out, (torch.stack(hidden), torch.stack(cells))


def states_of(sequences, states):
    """For each of several sequences the initial states of its layers, of which dimension 1 of `states` counts the sequences, or
    None."""
    if states is None:
        return [None for _ in sequences]
    if states.size(1) != len(sequences):
        raise RuntimeError(f"{states.size(1)} initial states are given for {len(sequences)} sequences")
    return states.unbind(1)


# ---- packed sequences: one of its own, or a list of several


def pack_padded_sequence(input, lengths, batch_first=False, enforce_sorted=True):
    steps = input.transpose(0, 1) if batch_first else input
    count = steps.size(1)
    if len(lengths) != count:
        raise RuntimeError(f"{len(lengths)} lengths are given for {count} sequences")
    sizes = [int(size) for size in lengths]
    for size in sizes:
        if size <= 0 or size > len(steps):
            raise RuntimeError(f"a sequence of length {size} is packed, and {len(steps)} steps are there")
    if is_fixed(count) and count == 1:
        return packed(steps[: sizes[0]])
    return packed_list(
        [row[:size] for row, size in zip(input if batch_first else input.transpose(0, 1), sizes)], enforce_sorted
    )


def packed_list(sequences, enforce_sorted):
    """Several sequences packed together. Their order stays as it is, also where PyTorch sorts them and its results back."""
    if enforce_sorted:
        for i in range(1, len(sequences)):
            if len(sequences[i]) > len(sequences[i - 1]):
                raise RuntimeError("the lengths of packed sequences are not in decreasing order: pass `enforce_sorted=False`")
    return packed(sequences)


def pad_packed_sequence(sequence, batch_first=False, padding_value=0.0, total_length=None):
    if is_packed_list(sequence):
        sequences = steps_of(sequence)
        sizes = [len(x) for x in sequences]
        size = max(sizes) if total_length is None else total_length
        if size < max(sizes):
            raise ValueError(f"total_length {size} is less than the {max(sizes)} steps of a sequence")
        rows = [padded(x, size, padding_value) for x in sequences]
        return torch.stack(rows, 0 if batch_first else 1), torch.tensor(sizes)
    steps = steps_of(sequence)
    size = len(steps)
    if total_length is not None:
        if total_length < size:
            raise ValueError(f"total_length {total_length} is less than the {size} steps of the sequence")
        steps = padded(steps, total_length, padding_value)
    return steps.transpose(0, 1) if batch_first else steps, torch.tensor([size])


def pack_sequence(sequences, enforce_sorted=True):
    if is_fixed(len(sequences)) and len(sequences) == 1:
        return packed(sequences[0].unsqueeze(1))
    return packed_list(list(sequences), enforce_sorted)


def pad_sequence(sequences, batch_first=False, padding_value=0.0, padding_side="right"):
    if is_fixed(len(sequences)) and len(sequences) == 1:
        return sequences[0].unsqueeze(0 if batch_first else 1)
    longest = max([len(sequence) for sequence in sequences])
    left = padding_side == "left"
    return torch.stack([padded(sequence, longest, padding_value, left) for sequence in sequences], 0 if batch_first else 1)


def unpad_sequence(padded_sequences, lengths, batch_first=False):
    rows = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [row[: int(size)] for row, size in zip(rows, lengths)]


def padded(sequence, size, value, left=False):
    """A sequence with as many steps more, before it if `left` is set, as make `size` in all."""
    more = size - len(sequence)
    if sequence.dtype == torch.int64:
        filler = [int(value)] * more
        return torch.tensor(filler + sequence.tolist() if left else sequence.tolist() + filler)
    filler = torch.full((more, *sequence.shape[1:]), float(value))
    return torch.cat([filler, sequence] if left else [sequence, filler])
