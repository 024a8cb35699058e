"""Attention and the transformer's encoder (Vaswani et al. 2017), over sequences of their own lengths without padding."""

import math

import torch
import torch.nn.functional as F

from backends.acrobat.library.words import refuse, unrolled


def scaled_dot_product_attention(
    query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False
):
    if enable_gqa:
        refuse("attention with `enable_gqa`", "repeat the keys and values")
    if is_causal:
        if query.dim() != 2 or attn_mask is not None:
            refuse("attention with `is_causal` of several sequences, or with a mask", "call it for each of them")
        rows = []
        for i in range(query.size(0)):
            one = query[i].unsqueeze(0)
            rows.append(scaled_dot_product_attention(one, key[: i + 1], value[: i + 1], None, dropout_p, False, scale)[0])
        return torch.stack(rows)
    scores = query @ key.transpose(-2, -1) * (1.0 / math.sqrt(query.size(-1)) if scale is None else scale)
    if attn_mask is not None:
        scores = scores + attn_mask
    return torch.softmax(scores, -1) @ value


def attended(self, query, key, value, attn_mask):
    """One sequence: (positions, features) of each. The result, and the weights averaged over the heads."""
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
        if attn_mask is not None:
            scores = scores + attn_mask
        share = torch.softmax(scores, -1)
        heads = heads + (share @ v[:, a:b],)
        shares = shares + (share,)
    average = shares[0]
    for share in shares[1:]:
        average = average + share
    return F.linear(torch.cat(heads, -1), self.out_proj.weight, self.out_proj.bias), average * (1.0 / self.num_heads)


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
    if key_padding_mask is not None or is_causal or not average_attn_weights:
        refuse("MultiheadAttention with `key_padding_mask`, `is_causal` or single heads' weights", "use `attn_mask`")
    if self.in_proj_weight is None or self.bias_k is not None or self.add_zero_attn:
        refuse("MultiheadAttention with `kdim`, `vdim`, `add_bias_kv` or `add_zero_attn`")
    if query.dim() == 2:
        out, share = attended(self, query, key, value, attn_mask)
        return out, share if need_weights else None
    batch = 0 if self.batch_first else 1
    if query.size(batch) != 1:
        refuse("MultiheadAttention of a batch", "an instance has one sequence")
    out, share = attended(self, query.select(batch, 0), key.select(batch, 0), value.select(batch, 0), attn_mask)
    return out.unsqueeze(batch), share.unsqueeze(0) if need_weights else None


def transformer_encoder_layer(self, src, src_mask=None, src_key_padding_mask=None, is_causal=False):
    if src_key_padding_mask is not None:
        refuse("`src_key_padding_mask`", "sentences have their own lengths here: no padding is needed")
    x = src
    if self.norm_first:
        y = self.norm1(x)
        attention, _ = multihead_attention(self.self_attn, y, y, y, None, False, src_mask)
        x = x + attention
        return x + self.linear2(self.activation(self.linear1(self.norm2(x))))
    attention, _ = multihead_attention(self.self_attn, x, x, x, None, False, src_mask)
    x = self.norm1(x + attention)
    return self.norm2(x + self.linear2(self.activation(self.linear1(x))))


def transformer_encoder(self, src, mask=None, src_key_padding_mask=None, is_causal=None):
    if src_key_padding_mask is not None:
        refuse("`src_key_padding_mask`", "sentences have their own lengths here: no padding is needed")
    x = src
    for layer in self.layers:
        x = layer(x, mask)
    if self.norm is not None:
        x = self.norm(x)
    return x
