// Data-structure linearisation: the elements of a mini-batch become nodes with numbers, such that a wavefront is a range of numbers
// and the leaves are all numbers from `inner` on; and children and words become tables of addresses.
#pragma once

#include <cstdint>
#include <vector>

#include "structures.h"

namespace cortex {

// What is known of a recursion when it is compiled.
struct Recursion {
    int slots = 0;         // children in fixed places; 0: any number
    bool reverse = false;  // the second recursion over sequences, which goes backwards
    bool batching = true;
    bool unroll = false;
    int64_t row = 0;       // 4-byte elements of a node's states
    struct Child {
        int slot;
        int64_t at;  // where the state starts in the node's row
    };
    std::vector<Child> child;      // tables of addresses of children's states
    std::vector<int64_t> each;     // the same for states of every child
    struct Word {
        const float* table;
        int64_t width, rows;
    };
    std::vector<Word> word;
};

struct Linear {
    int64_t nodes = 0, inner = 0;      // nodes from `inner` on are leaves
    std::vector<int32_t> number;       // by element
    std::vector<int32_t> element;      // by number
    std::vector<int64_t> waves;        // the first node of each wavefront, then the end of the last one; leaves are in none
    std::vector<std::vector<int64_t>> child, each, word;
    std::vector<int64_t> starts;       // with any number of children: where the children of each node begin in `each`
    std::vector<int64_t> below;        // unrolled: by node of an upper wavefront, where its children in the lower one begin
    std::vector<int64_t> rest;         // unrolled: by pair, where the lower one's nodes without a parent in the upper begin

    // `states` is the address of node 0's row, `outside` that of the row that takes the place of missing children.
    void build(const Recursion& r, const Elements& e, int64_t states, int64_t outside, const float* base) {
        order(r, e);
        child.resize(r.child.size());
        for (size_t t = 0; t < r.child.size(); ++t) {
            const auto [slot, at] = r.child[t];
            child[t].resize(size_t(inner));
            // In a recursion that goes the other way the child is the element after.
            for (int64_t n = 0; n < inner; ++n) {
                const int32_t i = element[size_t(n)];
                const int32_t c = r.reverse ? (e.behind[size_t(i)] ? i + 1 : -1) : e.child[size_t(i) * r.slots + slot];
                child[t][size_t(n)] = (c < 0 ? outside : states + number[size_t(c)] * r.row) + at;
            }
        }
        if (!r.slots) {
            starts.resize(size_t(inner) + 1);
            starts[0] = 0;
            for (int64_t n = 0; n < inner; ++n) {
                const size_t i = size_t(element[size_t(n)]);
                starts[size_t(n) + 1] = starts[size_t(n)] + e.first[i + 1] - e.first[i];
            }
            each.resize(r.each.size());
            for (size_t t = 0; t < r.each.size(); ++t) {
                each[t].resize(size_t(starts.back()));
                int64_t* to = each[t].data();
                for (int64_t n = 0; n < inner; ++n) {
                    const size_t i = size_t(element[size_t(n)]);
                    for (int32_t k = e.first[i]; k < e.first[i + 1]; ++k) *to++ = states + number[size_t(e.child[size_t(k)])] * r.row + r.each[t];
                }
            }
        }
        word.resize(r.word.size());
        for (size_t t = 0; t < r.word.size(); ++t) {
            const Recursion::Word& from = r.word[t];
            const int64_t table = from.table - base;
            word[t].resize(size_t(nodes));
            for (int64_t n = 0; n < nodes; ++n) {
                const int64_t given = e.word[size_t(element[size_t(n)])];
                word[t][size_t(n)] = table + (given < 0 ? given + from.rows : given) * from.width;
            }
        }
    }

   private:
    void order(const Recursion& r, const Elements& e) {
        const std::vector<int32_t>& height = r.reverse ? e.behind : e.height;
        const bool tree = !e.parent.empty();
        nodes = e.size();
        int32_t highest = -1;
        for (int32_t h : height) highest = std::max(highest, h);
        // Leaves of trees are the elements of height 0; in a sequence or a grid there are none.
        count_.assign(size_t(highest) + 2, 0);
        for (int32_t h : height) count_[size_t(h)] += 1;
        const int64_t leaves = tree && highest >= 0 ? count_[0] : 0;
        inner = nodes - leaves;
        waves.assign(1, 0);
        int64_t at = 0;
        for (int32_t h = tree ? 1 : 0; h <= highest; ++h) {
            const int64_t n = count_[size_t(h)];
            count_[size_t(h)] = at;
            at += n;
            if (r.batching) waves.push_back(at);
        }
        if (!r.batching)
            for (int64_t n = 1; n <= inner; ++n) waves.push_back(n);
        if (tree && highest >= 0) count_[0] = inner;
        number.resize(size_t(nodes));
        element.resize(size_t(nodes));
        if (r.unroll && tree) return pairs(e, highest);
        for (int64_t i = 0; i < nodes; ++i) put(i, count_[size_t(height[size_t(i)])]++);
    }

    void put(int64_t element_, int64_t number_) {
        number[size_t(element_)] = int32_t(number_);
        element[size_t(number_)] = int32_t(element_);
    }

    // Numbers nodes of odd height in the order of their parents in the next wavefront; nodes without a parent there come last.
    void pairs(const Elements& e, int32_t highest) {
        for (int64_t i = 0; i < nodes; ++i)
            if (e.height[size_t(i)] % 2 == 0) put(i, count_[size_t(e.height[size_t(i)])]++);
        below.assign(size_t(inner) + 1, 0);
        rest.clear();
        std::vector<int64_t> children(size_t(inner), 0);  // by node of an upper wavefront: how many it has in the lower one
        const auto above = [&](int64_t i) -> int64_t {
            const int32_t p = e.parent[size_t(i)];
            return p >= 0 && e.height[size_t(p)] == e.height[size_t(i)] + 1 ? p : -1;
        };
        for (int64_t i = 0; i < nodes; ++i)
            if (e.height[size_t(i)] % 2 == 1)
                if (const int64_t p = above(i); p >= 0) children[size_t(number[size_t(p)])] += 1;
        for (int32_t h = 2; h <= highest; h += 2) {
            int64_t at = waves[size_t(h) - 2];
            for (int64_t n = waves[size_t(h) - 1]; n < waves[size_t(h)]; ++n) {
                below[size_t(n)] = at;
                at += children[size_t(n)];
            }
            rest.push_back(count_[size_t(h) - 1] = at);
        }
        std::vector<int64_t> next(below.begin(), below.end());
        for (int64_t i = 0; i < nodes; ++i)
            if (e.height[size_t(i)] % 2 == 1) {
                const int64_t p = above(i);
                put(i, p >= 0 ? next[size_t(number[size_t(p)])]++ : count_[size_t(e.height[size_t(i)])]++);
            }
    }

    std::vector<int64_t> count_;
};

}  // namespace cortex
