"""Attention and the transformer (Vaswani et al. 2017), over sequences that keep their own lengths: there is no padding."""

import math

import torch
import torch.nn.functional as F

from backends.acrobat.library.elementwise import refuse_dropout
from backends.acrobat.library.words import is_fixed, refuse, unrolled


def scaled_dot_product_attention(
    query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False
):
    if enable_gqa:
        refuse("attention with `enable_gqa`", "repeat the keys and values")
    if dropout_p > 0:
        refuse("attention with dropout", "pass `dropout_p=0.0` in evaluation mode: `self.dropout if self.training else 0.0`")
    if is_causal and attn_mask is not None:
        refuse("attention with `is_causal` and a mask, which PyTorch does not take,", "make one mask of the two")
    if is_causal and query.dim() == 2:  # what comes later is not computed at all
        rows = []
        for i in range(query.size(0)):
            one = query[i].unsqueeze(0)
            rows.append(scaled_dot_product_attention(one, key[: i + 1], value[: i + 1], scale=scale)[0])
        return torch.stack(rows)
    if is_causal:
        attn_mask = torch.ones(query.size(-2), key.size(-2), dtype=torch.bool).tril()
    scores = query @ key.transpose(-2, -1) * (1.0 / math.sqrt(query.size(-1)) if scale is None else scale)
    if attn_mask is not None:
        scores = scores.masked_fill(~attn_mask, float("-inf")) if attn_mask.dtype == torch.bool else scores + attn_mask
    return torch.softmax(scores, -1) @ value


def masked(scores, mask):
    """The scores with a mask of MultiheadAttention: True in a mask of bools forbids attention, a mask of floats is added."""
    if mask is None:
        return scores
    return scores.masked_fill(mask, float("-inf")) if mask.dtype == torch.bool else scores + mask


def attended(self, query, key, value, attn_mask, key_padding_mask=None):
    """For query, key and value of shape (positions, features): the result, and the weights averaged over the heads."""
    refuse_dropout(self)
    w_in, b_in = self.in_proj_weight, self.in_proj_bias
    e = self.embed_dim
    q = F.linear(query, w_in[:e], None if b_in is None else b_in[:e])
    k = F.linear(key, w_in[e : 2 * e], None if b_in is None else b_in[e : 2 * e])
    v = F.linear(value, w_in[2 * e :], None if b_in is None else b_in[2 * e :])
    size = e // self.num_heads
    heads = ()
    shares = ()
    for head in unrolled(range(self.num_heads)):
        a, b = head * size, (head + 1) * size
        scores = q[:, a:b] @ k[:, a:b].t() * (1.0 / math.sqrt(size))
        scores = masked(masked(scores, attn_mask), key_padding_mask)
        share = torch.softmax(scores, -1)
        heads = heads + (share @ v[:, a:b],)
        shares = shares + (share,)
    average = shares[0]
    for share in shares[1:]:
        average = average + share
    return F.linear(torch.cat(heads, -1), self.out_proj.weight, self.out_proj.bias), average * (1.0 / self.num_heads)


def attended_each(self, queries, keys, values, attn_mask, key_padding_mask):
    """`attended` of each sequence of a batch."""
    count = len(queries)
    if len(keys) != count or len(values) != count:
        raise RuntimeError(f"{count} sequences attend to {len(keys)}, which have {len(values)} sequences of values")
    if attn_mask is not None and attn_mask.dim() != 2:
        refuse("MultiheadAttention of a batch with a mask for each sequence and head", "use a mask of two dimensions")
    if key_padding_mask is None:
        return [attended(self, q, k, v, attn_mask) for q, k, v in zip(queries, keys, values)]
    return [attended(self, queries[i], keys[i], values[i], attn_mask, key_padding_mask[i]) for i in range(count)]


def multihead_attention(
    self,
    query,
    key,
    value,
    key_padding_mask=None,
    need_weights=True,
    attn_mask=None,
    average_attn_weights=True,
    is_causal=False,
):
    if is_causal and attn_mask is None or need_weights and not average_attn_weights:
        refuse("MultiheadAttention with `is_causal` alone, or single heads' weights", "use `attn_mask`")
    if self.in_proj_weight is None or self.bias_k is not None or self.add_zero_attn:
        refuse("MultiheadAttention with `kdim`, `vdim`, `add_bias_kv` or `add_zero_attn`")
    if query.dim() == 2:
        out, share = attended(self, query, key, value, attn_mask, key_padding_mask)
        return out, share if need_weights else None
    batch = 0 if self.batch_first else 1
    if not is_fixed(query.size(batch)) or query.size(batch) != 1:
        pairs = attended_each(self, query.unbind(batch), key.unbind(batch), value.unbind(batch), attn_mask, key_padding_mask)
        share = torch.stack([share for _, share in pairs]) if need_weights else None
        return torch.stack([out for out, _ in pairs], batch), share
    padding = None if key_padding_mask is None else key_padding_mask.select(0, 0)
    out, share = attended(self, query.select(batch, 0), key.select(batch, 0), value.select(batch, 0), attn_mask, padding)
    return out.unsqueeze(batch), share.unsqueeze(0) if need_weights else None


def transformer_encoder_layer(self, src, src_mask=None, src_key_padding_mask=None, is_causal=False):
    x = src
    if self.norm_first:
        y = self.norm1(x)
        attention, _ = multihead_attention(self.self_attn, y, y, y, src_key_padding_mask, False, src_mask)
        x = x + self.dropout1(attention)
        return x + self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(self.norm2(x))))))
    attention, _ = multihead_attention(self.self_attn, x, x, x, src_key_padding_mask, False, src_mask)
    x = self.norm1(x + self.dropout1(attention))
    return self.norm2(x + self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(x))))))


def transformer_encoder(self, src, mask=None, src_key_padding_mask=None, is_causal=None):
    x = src
    for layer in self.layers:
        x = layer(x, mask, src_key_padding_mask)
    if self.norm is not None:
        x = self.norm(x)
    return x


def transformer_decoder_layer(
    self,
    tgt,
    memory,
    tgt_mask=None,
    memory_mask=None,
    tgt_key_padding_mask=None,
    memory_key_padding_mask=None,
    tgt_is_causal=False,
    memory_is_causal=False,
):
    x = tgt
    if self.norm_first:
        y = self.norm1(x)
        own, _ = multihead_attention(self.self_attn, y, y, y, tgt_key_padding_mask, False, tgt_mask)
        x = x + self.dropout1(own)
        y = self.norm2(x)
        other, _ = multihead_attention(self.multihead_attn, y, memory, memory, memory_key_padding_mask, False, memory_mask)
        x = x + self.dropout2(other)
        return x + self.dropout3(self.linear2(self.dropout(self.activation(self.linear1(self.norm3(x))))))
    own, _ = multihead_attention(self.self_attn, x, x, x, tgt_key_padding_mask, False, tgt_mask)
    x = self.norm1(x + self.dropout1(own))
    other, _ = multihead_attention(self.multihead_attn, x, memory, memory, memory_key_padding_mask, False, memory_mask)
    x = self.norm2(x + self.dropout2(other))
    return self.norm3(x + self.dropout3(self.linear2(self.dropout(self.activation(self.linear1(x))))))


def transformer_decoder(
    self,
    tgt,
    memory,
    tgt_mask=None,
    memory_mask=None,
    tgt_key_padding_mask=None,
    memory_key_padding_mask=None,
    tgt_is_causal=None,
    memory_is_causal=False,
):
    x = tgt
    for layer in self.layers:
        x = layer(x, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask)
    return x if self.norm is None else self.norm(x)


def transformer(self, src, tgt, src_mask=None, tgt_mask=None, memory_mask=None):
    return self.decoder(tgt, self.encoder(src, src_mask), tgt_mask, memory_mask)
