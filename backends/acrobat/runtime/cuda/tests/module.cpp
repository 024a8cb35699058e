// A module for the emulated driver, written by hand without the kernels' headers: it states a second time what the runtime
// and a walker agree on. Between two barriers it runs the steps, and the tiles of a step, in reverse order, so that a
// missing barrier makes the results wrong.
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace {

struct Step {
    int32_t kernel, barrier, first, tiles;
    int64_t args, words;
};
struct CopyRows {
    float* base;
    int64_t rows;
    const int64_t* from;
    int64_t by, elements;
    float* to;
    int64_t stride;
};
struct TellRows {
    float* base;
    int64_t rows;
    const int64_t* from;
    int64_t elements;
    int64_t* to;
    int64_t tag;
};
// out[i] = a[i] + b[i], in tiles of 8 rows. Rows of `a` and `out` are in a table or, if that is null, at start + i * stride.
struct Add {
    float* base;
    int64_t rows;
    const int64_t* a;
    int64_t a_start, a_stride;
    const int64_t* b;
    int64_t elements;
    const int64_t* out;
    int64_t out_start, out_stride;
};

void tile(const Step& step, int t) {
    switch (step.kernel) {
        case 0: {
            const CopyRows& c = *reinterpret_cast<const CopyRows*>(step.args);
            for (int64_t i = 8 * t; i < 8 * t + 8 && i < c.rows; ++i)
                std::memcpy(c.to + i * c.stride, c.base + c.from[i] + c.by, size_t(c.elements) * 4);
            return;
        }
        case 1: {
            const TellRows& c = *reinterpret_cast<const TellRows*>(step.args);
            for (int64_t i = 8 * t; i < 8 * t + 8 && i < c.rows; ++i)
                for (int64_t k = c.elements; k-- > 0;) {
                    uint32_t word;
                    std::memcpy(&word, c.base + c.from[i] + k, 4);
                    c.to[i * c.elements + k] = int64_t(uint64_t(c.tag) << 32 | word);
                }
            return;
        }
        default: {
            const Add& c = *reinterpret_cast<const Add*>(step.args);
            for (int64_t i = 8 * t; i < 8 * t + 8 && i < c.rows; ++i) {
                const float* a = c.base + (c.a ? c.a[i] : c.a_start + i * c.a_stride);
                float* out = c.base + (c.out ? c.out[i] : c.out_start + i * c.out_stride);
                for (int64_t k = 0; k < c.elements; ++k) out[k] = a[k] + (c.base + c.b[i])[k];
            }
        }
    }
}

void run(const Step& step) {
    for (int t = step.tiles; t-- > 0;) tile(step, t);
}

}  // namespace

extern "C" {

void (*acrobat_pause)() = nullptr;  // set by the driver

void emulated_walk(int, int, size_t, void** parameters) {
    const Step* steps = *static_cast<const Step**>(parameters[0]);
    const int64_t count = *static_cast<int64_t*>(parameters[1]);
    for (int64_t begin = 0; begin < count;) {
        int64_t end = begin;
        while (end < count - 1 && !steps[end].barrier) ++end;
        for (int64_t i = end; i >= begin; --i) run(steps[i]);
        begin = end + 1;
        if (acrobat_pause && begin < count) acrobat_pause();
    }
}

static void launch(int kernel, void** parameters) {
    run({kernel, 0, 0, int32_t(*static_cast<int64_t*>(parameters[1])), *static_cast<int64_t*>(parameters[0])});
}
void emulated_launch_copy_rows(int, int, size_t, void** parameters) { launch(0, parameters); }
void emulated_launch_tell_rows(int, int, size_t, void** parameters) { launch(1, parameters); }
void emulated_launch_add(int, int, size_t, void** parameters) { launch(2, parameters); }
}
