// Tests the executor without Python and without a compiled model. Instances are chains of additions of different lengths,
// recorded as generated code does it; some of them wait for values on the way. Usage: host MODULE CASE walk|launches. Exits with
// 0 if all results are right, else says what is wrong.
#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "../../execution.h"
#include "../executor.h"

using namespace acrobat;

namespace {

constexpr int64_t kElements = 5, kRow = 16;

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

// result = (a + b) + b, in two calls, of which the second reads the first's result. It is added first: `chain` gives the order.
void plan_twice(Device& device, Bucket& bucket) {
    cuda::Plan& plan = cuda::plan_of(device);
    const int64_t n = bucket.rows;
    const int64_t* a = plan.operand(bucket.operands[0].data, n, kElements);
    const int64_t* b = plan.operand(bucket.operands[1].data, n, kElements);
    const int64_t* b_table = plan.table(b, n);
    const Tensor sum = plan.rows(n * kRow);
    plan.count("add", "add", n, 0);
    plan.call(2, 1, (n + 7) / 8, Add{plan.base, n, nullptr, sum, kRow, b_table, kElements, plan.table(bucket.out.data, n), 0, 0});
    plan.count("add", "add", n, 0);
    plan.call(2, 0, (n + 7) / 8, Add{plan.base, n, plan.joined({{a, 0, 0}}, n), 0, 0, b_table, kElements, nullptr, sum, kRow});
}

const int kNoGroups[] = {0};
const Unit kUnits[] = {{"twice", 2, 0, 0, kNoGroups, kRow, plan_twice}};

[[noreturn]] void wrong(const std::string& what) {
    std::fprintf(stderr, "wrong: %s\n", what.c_str());
    std::exit(1);
}
void expect(bool fits, const char* what) {
    if (!fits) wrong(what);
}

struct Driver {
    void* library = dlopen(std::getenv("ACROBAT_CUDA_DRIVER"), RTLD_NOW);
    int64_t calls(const char* name) const { return reinterpret_cast<int64_t (*)(const char*)>(dlsym(library, "emulated_calls"))(name); }
    void fail(const char* name, int after, int code) const {
        reinterpret_cast<void (*)(const char*, int, int)>(dlsym(library, "emulated_fail"))(name, after, code);
    }
    void memory(uint64_t bytes) const { reinterpret_cast<void (*)(uint64_t)>(dlsym(library, "emulated_memory"))(bytes); }
    bool busy() const { return reinterpret_cast<int (*)()>(dlsym(library, "emulated_busy"))() != 0; }
    void pause_at_barriers() const { reinterpret_cast<void (*)()>(dlsym(library, "emulated_pause_at_barriers"))(); }
    void reset() const { reinterpret_cast<void (*)()>(dlsym(library, "emulated_reset"))(); }
};

struct Program {
    Context cx;
    cuda::CudaDevice device;
    bool walk;
    Driver driver;
    int64_t early = 0;  // how many values were read while the device had still work to do

    Program(const std::string& module, bool walks, bool emulated, bool gather_fusion = true, bool checked = false,
            int shared = 1024)
        : cx(settings(gather_fusion, checked)), device(cx, settings(gather_fusion, checked)), walk(walks) {
        cx.device = &device;
        cuda::Image image{module.data(), shared, 2, {}, {}};
        if (!walk) image.kernels = {"launch_copy_rows", "launch_tell_rows", "launch_add"}, image.shared = {0, 0, 0};
        device.open(0, walk, image, emulated);
        const float ones[kElements] = {1, 1, 1, 1, 1};
        const cuda::Pointer held = device.hold(ones, sizeof ones);
        cx.base = reinterpret_cast<float*>(held);
        cx.weights.push_back(cx.address(reinterpret_cast<void*>(held)));
    }
    static Settings settings(bool gather_fusion, bool checked) {
        return {1, size_t{1} << 30, checked, gather_fusion, true, 0, Executor::inline_depth, 1 << 20, false};
    }

    Tensor record(int64_t depth, Tensor a, Tensor b) {
        Bucket& bucket = cx.stage->bucket(depth, 0);
        const int64_t row = bucket.open();
        bucket.operands[0].data[row] = a;
        bucket.operands[1].data[row] = b;
        return bucket.out.data[row] = cx.place(kRow);
    }
    Tensor given(float first) {
        const Room room = device.room(kElements);
        for (int64_t k = 0; k < kElements; ++k) room.values[k] = first + float(k);
        return room.tensor;
    }
    void begin() {
        cx.reset(kUnits, 1, 1, 0);
        device.begin();
    }

    // Chain i has `length(i)` links, each of which adds the weight twice. With `waits`, the chain waits for its value after every
    // fourth link and adds a tensor of its own if the value is even.
    static int64_t length(int64_t i) { return 1 + i * 7 % 23; }
    std::vector<float> run(int64_t chains, float start, bool waits, void (*poll)() = [] {}) {
        cx.counters = {};
        cx.poll = poll;
        device.start();
        begin();
        Policy policy;  // not used, since depths are given
        Execution execution(cx, device, policy, kUnits, 1, true);
        std::vector<Tensor> state(static_cast<size_t>(chains));
        std::vector<int64_t> done(size_t(chains), 0), depth(size_t(chains), 0);
        for (int64_t i = 0; i < chains; ++i) state[size_t(i)] = given(start + float(i));
        for (;;) {
            std::vector<int64_t> waiting;
            int64_t end = 0;
            for (int64_t i = 0; i < chains; ++i) {
                const int64_t goal = waits ? std::min(length(i), done[size_t(i)] + 4) : length(i);
                int64_t& at = depth[size_t(i)];
                at = std::max(at, cx.stage->start());
                for (; done[size_t(i)] < goal; ++done[size_t(i)]) state[size_t(i)] = record(at++, state[size_t(i)], cx.weights[0]);
                if (goal == length(i)) continue;
                waiting.push_back(i);
                end = std::max(end, at);
            }
            if (waiting.empty()) break;
            std::stable_sort(waiting.begin(), waiting.end(), [&](int64_t a, int64_t b) { return depth[size_t(a)] < depth[size_t(b)]; });
            size_t required = 0;
            const auto require = [&](int64_t usable) {
                for (; required < waiting.size() && depth[size_t(waiting[required])] <= usable; ++required)
                    device.require(state[size_t(waiting[required])], 1 + waiting[required] % 2);
            };
            execution.execute(0, end, require);
            require(end);
            device.proceed();
            for (size_t n = 0; n < waiting.size(); ++n) {
                const int64_t i = waiting[n], elements = 1 + i % 2;
                const float* values = device.values(int64_t(n), state[size_t(i)], elements);
                early += driver.busy();
                expect(elements == 1 || values[1] > values[0], "the results: a second element");
                if (int64_t(values[0]) % 2 == 0) {
                    state[size_t(i)] = record(cx.stage->start(), state[size_t(i)], given(1));
                    depth[size_t(i)] = cx.stage->start() + 1;
                }
            }
        }
        execution.execute(0);
        std::vector<float> results(size_t(chains * kElements), -1);
        device.deliver(state, kElements, results.data());
        device.finish();
        return results;
    }
    static std::vector<float> expected(int64_t chains, float start, bool waits) {
        std::vector<float> results;
        for (int64_t i = 0; i < chains; ++i) {
            std::vector<float> v;
            for (int64_t k = 0; k < kElements; ++k) v.push_back(start + float(i + k));
            for (int64_t l = 1; l <= length(i); ++l) {
                for (float& x : v) x += 2;
                if (waits && l % 4 == 0 && l < length(i) && int64_t(v[0]) % 2 == 0)
                    for (int64_t k = 0; k < kElements; ++k) v[size_t(k)] += 2 * float(1 + k);
            }
            results.insert(results.end(), v.begin(), v.end());
        }
        return results;
    }
    void synchronise() {
        const cuda::Primary primary(0);
        const cuda::Current current(primary);
        cuda::Driver::get().cuCtxSynchronize();
    }
};

std::string read(const char* path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

template <class Error>
std::string message(auto&& body) {
    try {
        body();
    } catch (const Error& e) {
        return e.what();
    }
    wrong("there was no error");
}
void has(const std::string& text, const char* part) {
    if (text.find(part) == std::string::npos) wrong(text + " does not say: " + part);
}

void run(const std::string& module, const std::string& which, bool walk) {
    const Driver driver;
    const auto right = [](const std::vector<float>& got, int64_t chains, float start, bool waits) {
        expect(got == Program::expected(chains, start, waits), "the results");
    };
    if (which == "plain" || which == "explicit" || which == "checked") {
        Program p(module, walk, true, which != "explicit", which == "checked");
        driver.reset();
        for (const int64_t chains : {1, 40, 7}) {
            driver.reset();
            right(p.run(chains, 3, false), chains, 3, false);
            const Counters& c = p.cx.counters;
            double levels = 0;
            for (int64_t i = 0; i < chains; ++i) levels = std::max(levels, double(Program::length(i)));
            expect(c.launches == 2 * levels, "the number of calls");
            if (which == "explicit") continue;
            expect(c.steps == 2 * levels + 1, "the number of steps");
            expect(driver.calls("cuMemcpyHtoDAsync_v2") == 1 && c.uploaded_bytes > 0, "one upload");
            expect(c.device_launches == (walk ? 1 : c.steps), "the number of launches");
            expect(driver.calls("cuLaunchCooperativeKernel") == (walk ? 1 : 0), "one cooperative launch");
            expect(!walk || c.barriers == 2 * levels, "the number of barriers");
        }
        p.device.measure();
        expect(p.cx.counters.kernel_ms > 0, "the device's time");
    } else if (which == "waits") {
        Program p(module, walk, true);
        driver.reset();
        for (const int64_t chains : {40, 1, 3000}) {
            driver.reset();
            right(p.run(chains, 2, true), chains, 2, true);
            const int64_t executions = int64_t(p.cx.counters.executions);
            expect(driver.calls("cuMemcpyHtoDAsync_v2") <= executions + 2, "one upload for each execution");
            if (walk) expect(driver.calls("cuLaunchCooperativeKernel") == executions, "one launch for each execution");
            expect(driver.calls("cuStreamSynchronize") == 1, "no synchronisation but at the end");
        }
    } else if (which == "early") {
        // Chains wait at two depths. Those that wait for less go on while the device computes what the others wait for.
        Program p(module, walk, true);
        driver.reset();
        driver.pause_at_barriers();
        for (const int64_t chains : {40, 1, 300}) {
            p.early = 0;
            right(p.run(chains, 2, true), chains, 2, true);
            // Under AddressSanitizer each submission is waited for (`kGap`).
            expect(p.early > 0 || chains == 1 || kGap, "some values before the device has done all");
        }
        driver.reset();
    } else if (which == "behind") {
        // Nothing waits between mini-batches, which differ: what the host writes for one must leave the one before intact.
        Program p(module, walk, false);
        std::vector<std::vector<float>> results;
        for (int i = 0; i < 5; ++i) results.push_back(p.run(30, float(10 * i), i % 2 == 1));
        p.synchronise();
        for (int i = 0; i < 5; ++i) right(results[size_t(i)], 30, float(10 * i), i % 2 == 1);
    } else if (which == "streams") {
        Program p(module, walk, false);
        std::vector<std::vector<float>> results;
        int streams[3];
        for (int i = 0; i < 6; ++i) {
            p.device.use(&streams[i % 3]);
            results.push_back(p.run(30, float(i), false));
        }
        p.synchronise();
        for (int i = 0; i < 6; ++i) right(results[size_t(i)], 30, float(i), false);
    } else if (which == "errors") {
        Program p(module, walk, true);
        right(p.run(20, 1, true), 20, 1, true);
        const char* launch = walk ? "cuLaunchCooperativeKernel" : "cuLaunchKernel";
        for (const int after : {0, 2}) {
            driver.fail(launch, after, 1);
            has(message<DeviceError>([&] { p.run(20, 2, true); }), "invalid argument (1)");
            right(p.run(20, 3, true), 20, 3, true);
        }
        driver.fail("cuMemcpyHtoDAsync_v2", 1, 719);
        has(message<DeviceError>([&] { p.run(20, 2, true); }), "an upload failed: unspecified launch failure");
        right(p.run(20, 3, true), 20, 3, true);
        struct Interrupted {};
        try {
            p.run(20, 2, true, [] {
                static int polls = 0;
                if (++polls == 9) throw Interrupted{};
            });
            wrong("it went on");
        } catch (const Interrupted&) {
        }
        right(p.run(20, 4, true), 20, 4, true);
        driver.memory(12 << 20);
        has(message<ResourceError>([&] { p.run(40000, 2, false); }), "MiB are free");
        right(p.run(20, 4, true), 20, 4, true);
        driver.memory(size_t{4} << 30);
        right(p.run(20000, 2, false), 20000, 2, false);
        driver.fail("run", 1, 700);
        has(message<DeviceError>([&] { p.run(20, 2, true); }), "an illegal memory access was encountered (700)");
        driver.reset();
    } else if (which == "opening") {
        driver.fail("cuModuleLoadData", 0, 200);
        has(message<DeviceError>([&] { Program(module, walk, true); }), "loading the kernels failed: device kernel image is invalid");
        driver.memory(1 << 19);
        has(message<ResourceError>([&] { Program(module, walk, true); }), "MiB are free");
        driver.memory(size_t{4} << 30);
        Program p(module, walk, true);
        right(p.run(20, 4, true), 20, 4, true);
        Program large(module, walk, true, true, false, 150 << 10);  // of which only one block fits a multiprocessor
        right(large.run(20, 4, true), 20, 4, true);
    } else {
        wrong("there is no such case");
    }
}

}  // namespace

int main(int, char** arguments) {
    try {
        run(read(arguments[1]), arguments[2], arguments[3] == std::string("walk"));
    } catch (const std::exception& e) {
        wrong(e.what());
    }
}
