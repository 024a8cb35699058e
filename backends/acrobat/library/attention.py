"""Attention and the transformer (Vaswani et al. 2017), over sequences that keep their own lengths: there is no padding."""

import math

import torch
import torch.nn.functional as F

from backends.acrobat.library.elementwise import refuse_dropout
from backends.acrobat.library.words import has_dimensions, is_fixed, refuse, unrolled


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


def projected(self, query, key, value):
    """Query, key and value of all heads, each of shape (positions, features)."""
    e, bias = self.embed_dim, self.in_proj_bias
    if self.in_proj_weight is None:
        w_q, w_k, w_v = self.q_proj_weight, self.k_proj_weight, self.v_proj_weight
    else:
        w_q, w_k, w_v = self.in_proj_weight[:e], self.in_proj_weight[e : 2 * e], self.in_proj_weight[2 * e :]
    q = F.linear(query, w_q, None if bias is None else bias[:e])
    k = F.linear(key, w_k, None if bias is None else bias[e : 2 * e])
    v = F.linear(value, w_v, None if bias is None else bias[2 * e :])
    if self.bias_k is not None:
        k, v = torch.cat([k, self.bias_k.reshape(1, e)]), torch.cat([v, self.bias_v.reshape(1, e)])
    if self.add_zero_attn:
        k, v = torch.cat([k, torch.zeros(1, e)]), torch.cat([v, torch.zeros(1, e)])
    return q, k, v


def attended(self, query, key, value, attn_mask, key_padding_mask=None):
    """For query, key and value of shape (positions, features): the result, and each head's weights. A mask has two dimensions,
    or three: one mask for each head."""
    refuse_dropout(self)
    q, k, v = projected(self, query, key, value)
    if (self.bias_k is not None or self.add_zero_attn) and (attn_mask is not None or key_padding_mask is not None):
        refuse("MultiheadAttention with a mask and `add_bias_kv` or `add_zero_attn`", "leave these out")
    size = self.embed_dim // self.num_heads
    heads = ()
    shares = ()
    each_its_own = attn_mask is not None and has_dimensions(attn_mask) and attn_mask.dim() == 3
    for head in unrolled(range(self.num_heads)):
        a, b = head * size, (head + 1) * size
        scores = q[:, a:b] @ k[:, a:b].t() * (1.0 / math.sqrt(size))
        of_head = attn_mask[head] if each_its_own else attn_mask  # what compares two positions of one alone is a bool
        scores = masked(masked(scores, of_head), key_padding_mask)
        share = torch.softmax(scores, -1)
        heads = heads + (share @ v[:, a:b],)
        shares = shares + (share,)
    return F.linear(torch.cat(heads, -1), self.out_proj.weight, self.out_proj.bias), shares


def weights_of(shares, average):
    """The weights of all heads, or their mean."""
    if not average:
        return torch.stack(shares)
    total = shares[0]
    for share in shares[1:]:
        total = total + share
    return total * (1.0 / len(shares))


def attended_each(self, queries, keys, values, attn_mask, key_padding_mask, average):
    """The result and the weights for each sequence of a batch, which may have masks of its own for its heads."""
    count, heads = len(queries), self.num_heads
    if len(keys) != count or len(values) != count:
        raise RuntimeError(f"{count} sequences attend to {len(keys)}, which have {len(values)} sequences of values")
    results = []
    each_its_own = attn_mask is not None and has_dimensions(attn_mask) and attn_mask.dim() == 3
    for i in range(count):
        own = attn_mask[i * heads : (i + 1) * heads] if each_its_own else attn_mask
        padding = None if key_padding_mask is None else key_padding_mask[i]
        out, shares = attended(self, queries[i], keys[i], values[i], own, padding)
        results.append((out, weights_of(shares, average)))
    return results


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
    if is_causal and attn_mask is None:
        refuse("MultiheadAttention with `is_causal` alone, which PyTorch does not take,", "give it an `attn_mask`")
    if query.dim() == 2:
        out, shares = attended(self, query, key, value, attn_mask, key_padding_mask)
        return out, weights_of(shares, average_attn_weights) if need_weights else None
    batch = 0 if self.batch_first else 1
    if not is_fixed(query.size(batch)) or query.size(batch) != 1:
        sequences = query.unbind(batch), key.unbind(batch), value.unbind(batch)
        pairs = attended_each(self, *sequences, attn_mask, key_padding_mask, average_attn_weights)
        share = torch.stack([share for _, share in pairs]) if need_weights else None
        out = torch.stack([out for out, _ in pairs], batch)
        return out.narrow(batch, 0, query.size(batch)) if is_fixed(query.size(batch)) else out, share
    padding = None if key_padding_mask is None else key_padding_mask[0]
    one = query.select(batch, 0), key.select(batch, 0), value.select(batch, 0)
    out, shares = attended(self, *one, attn_mask, padding)
    return out.unsqueeze(batch), weights_of(shares, average_attn_weights).unsqueeze(0) if need_weights else None


def residual(x, norm_first, norm, part):
    """`x` with what `part` makes of it added; the norm is taken before that, or of the sum."""
    return x + part(norm(x)) if norm_first else norm(x + part(x))


def attending(attention, query, memory, key_padding_mask, attn_mask):
    out, _ = multihead_attention(attention, query, memory, memory, key_padding_mask, False, attn_mask)
    return out


def fed_forward(self, x):
    return self.linear2(self.dropout(self.activation(self.linear1(x))))


def transformer_encoder_layer(self, src, src_mask=None, src_key_padding_mask=None, is_causal=False):
    masks = src_key_padding_mask, src_mask
    x = residual(src, self.norm_first, self.norm1, lambda y: self.dropout1(attending(self.self_attn, y, y, *masks)))
    return residual(x, self.norm_first, self.norm2, lambda y: self.dropout2(fed_forward(self, y)))


def transformer_encoder(self, src, mask=None, src_key_padding_mask=None, is_causal=None):
    x = src
    for layer in self.layers:
        x = layer(x, mask, src_key_padding_mask)
    return x if self.norm is None else self.norm(x)


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
    own, other = (tgt_key_padding_mask, tgt_mask), (memory_key_padding_mask, memory_mask)
    x = residual(tgt, self.norm_first, self.norm1, lambda y: self.dropout1(attending(self.self_attn, y, y, *own)))
    x = residual(x, self.norm_first, self.norm2, lambda y: self.dropout2(attending(self.multihead_attn, y, memory, *other)))
    return residual(x, self.norm_first, self.norm3, lambda y: self.dropout3(fed_forward(self, y)))


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


def transformer(
    self,
    src,
    tgt,
    src_mask=None,
    tgt_mask=None,
    memory_mask=None,
    src_key_padding_mask=None,
    tgt_key_padding_mask=None,
    memory_key_padding_mask=None,
    src_is_causal=None,
    tgt_is_causal=None,
    memory_is_causal=False,
):
    memory = self.encoder(src, src_mask, src_key_padding_mask)
    return self.decoder(tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask)
