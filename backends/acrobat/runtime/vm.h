// The interpreter: a register machine over the runtime that compiled models use, so that the two differ in their host code
// alone (paper: AOT compilation against the Relay VM). One native dispatch per instruction; kernels and what records calls of
// them are compiled as ever.
//
// Call frames come from the pool of coroutine frames, so recursion needs no stack. The code of a fiber (an instance or a forked
// branch of one) runs until it ends, waits or forks; around it stands one small coroutine, which does the waiting and forking.
#pragma once

#include <algorithm>
#include <cmath>

#include "descriptors.h"

namespace acrobat::vm {

// A value and the depth from which its tensors can be used (0 if it holds none).
struct Register {
    Slot value;
    int64_t depth;
};

// `to`, a, b, c name registers unless an instruction says otherwise; jumps count from their own instruction.
#define ACROBAT_OPCODES(X)                                                                                     \
    /* moves */                                                                                                \
    X(Const) /* to = constant a */                                                                             \
    X(Weight) /* to = weight a */                                                                              \
    X(Move) /* to = a */                                                                                       \
    X(Fresh) /* to = a, which is there from the start */                                                       \
    X(Start) /* to = nothing, at the depth where work begins in segment a after b levels */                    \
    X(Later) /* to = a, at the depth of b if that is later */                                                  \
    X(Padded) /* to = a, d levels later */                                                                     \
    X(NextSegment) /* to = a, at the beginning of the segment after its depth */                               \
    X(View) /* to = the tensor d elements into a */                                                            \
    X(Component) /* to = component b of the tuple a */                                                         \
    X(Field) /* to = field b of the case a */                                                                  \
    /* construction, from a operands at c */                                                                   \
    X(Tuple)                                                                                                   \
    X(ListOf)                                                                                                  \
    X(Construct) /* of case b */                                                                               \
    /* control */                                                                                              \
    X(Jump) /* by d */                                                                                         \
    X(JumpUnless) /* a, by d */                                                                                \
    X(Switch) /* by the operand at c for the case of a */                                                      \
    X(Call) /* to = function a of the operands at c */                                                         \
    X(Return) /* a */                                                                                          \
    X(Phase) /* a starts */                                                                                    \
    /* waiting */                                                                                              \
    X(Wait) /* until tensor a is there */                                                                      \
    X(Fork) /* d branches, from branch c on */                                                                 \
    X(ForkMap) /* to = the results of branch c for each item of a */                                           \
    /* loops */                                                                                                \
    X(Next) /* to = item ++b of a, or by d if there is none */                                                 \
    X(ListLike) /* to = a list as long as a */                                                                 \
    X(Store) /* item b of to = a */                                                                            \
    /* tensors */                                                                                              \
    X(Launch) /* to = a row of unit b for a operands at c (of which the last may be a Start), at static depth d unless that is -1 */              \
    X(Row) /* to = row a of weight b, which has c rows of d elements */                                        \
    X(Lookup) /* to = what stands for row a of weight b in another: sizes and weight at c */                   \
    X(Scalar) /* to = a tensor of a */                                                                         \
    X(ReadInt) /* to = the value of tensor a */                                                                \
    X(ReadFloat)                                                                                               \
    /* numbers: to = a op b */                                                                                 \
    X(AddInt) X(SubInt) X(MulInt) X(FloorDivInt) X(ModInt) X(NegInt) X(AbsInt) X(MinInt) X(MaxInt)             \
    X(AddFloat) X(SubFloat) X(MulFloat) X(DivInt) X(DivFloat) X(FloorDivFloat) X(ModFloat) X(NegFloat)         \
    X(SquareFloat) X(AbsFloat) X(MinFloat) X(MaxFloat) X(BitAnd) X(BitOr) X(BitXor) X(ShiftLeft)               \
    X(ShiftRight) X(Not) X(ToInt) X(ToFloat) X(Float32OfInt) X(Float32) X(FromStart) X(EqInt) X(NeInt)         \
    X(LtInt) X(LeInt) X(EqFloat) X(NeFloat) X(LtFloat) X(LeFloat) X(EqMixed) X(NeMixed) X(LtMixed)             \
    X(LeMixed) X(GtMixed) X(GeMixed)                                                                           \
    /* lists */                                                                                                \
    X(Size) /* to = the length of a */                                                                         \
    X(Get) /* to = a[b] */                                                                                     \
    X(Slice) /* to = a[b:c] */                                                                                 \
    X(Reverse)                                                                                                 \
    X(Concat) /* to = a + b */                                                                                 \
    X(Append) /* to = a + [b] */                                                                               \
    X(Range) /* to = range(a, b, c) */                                                                         \
    X(Zip) /* of a lists at c */                                                                               \
    X(Enumerate)

enum class Opcode : uint16_t {
#define ACROBAT_OPCODE(name) name,
    ACROBAT_OPCODES(ACROBAT_OPCODE)
#undef ACROBAT_OPCODE
};

struct Instruction {
    Opcode op;
    uint16_t tensors;  // of what takes a part out of a value: whether the part holds any
    int32_t to, a, b, c, d;
};

struct Function {
    const char* name;
    int32_t first;      // its instructions start there
    int32_t registers;
    int32_t params;     // the first registers
    int32_t tensors;    // the first params: those that hold tensors
};
// What a forked child runs: a function on registers of the parent, whose result goes to a register of the parent.
struct Branch {
    int32_t function;
    int32_t operands, count;
    int32_t to;
};
// Records a call of a unit on registers named by `args`.
using Record = Tensor (*)(Context& cx, int64_t depth, const Register* r, const int32_t* args);

struct Code {
    const Instruction* instructions;
    const int32_t* operands;
    const Slot* constants;
    const Function* functions;
    const Branch* branches;
    const Record* record;  // of each unit
    Types types;
    int32_t entry;             // a function
    int32_t instance, result;  // types
};

struct Frame {
    Frame* caller;
    const Instruction* at;  // where it goes on
    int32_t to;             // the caller's register for the result
    int32_t calls;          // how many frames are below
    size_t bytes;

    Register* registers() { return reinterpret_cast<Register*>(this + 1); }
};

constexpr int32_t kDeepest = 1 << 17;

template <const Code& code>
Frame* enter(Session& s, int32_t function, Frame* below) {
    const Function& f = code.functions[function];
    const int32_t calls = below ? below->calls + 1 : 0;
    if (calls == kDeepest) [[unlikely]]
        throw ResourceError(std::string(f.name) + " is nested too deeply, in " + std::to_string(kDeepest) +
                            " calls: the recursion may not end, or the instance may contain itself");
    const size_t bytes = sizeof(Frame) + size_t(f.registers) * sizeof(Register);
    Frame* frame = static_cast<Frame*>(s.frames.take(bytes));
    *frame = {nullptr, code.instructions + f.first, 0, calls, bytes};
    return frame;
}

enum class Pause { ended, waits, forks, maps };

// What runs until it pauses; then `top` goes on at its `at`, or `result` is there.
struct Fiber {
    Frame* top;
    Register result{};
};

template <class T>
T as(Slot v) {
    if constexpr (std::is_same_v<T, double>) return real(v);
    else return v;
}
template <class T>
Slot as_slot(T v) {
    if constexpr (std::is_same_v<T, double>) return slot(v);
    else return Slot(v);
}

// The lists at `args` item by item, up to the shortest's end.
inline Items zip(Arena& arena, const Register* r, const int32_t* args, int32_t count) {
    int64_t size = items(r[args[0]].value).size;
    for (int32_t k = 1; k < count; ++k) size = std::min(size, items(r[args[k]].value).size);
    const Items out = make_list<Slot>(arena, size);
    for (int64_t i = 0; i < size; ++i) {
        Slot* tuple = arena.make<Slot>(size_t(count));
        for (int32_t k = 0; k < count; ++k) tuple[k] = items(r[args[k]].value).data[i];
        out.data[i] = slot(tuple);
    }
    return out;
}

inline Items enumerate(Arena& arena, const Items& list) {
    const Items out = make_list<Slot>(arena, list.size);
    for (int64_t i = 0; i < list.size; ++i) {
        Slot* tuple = arena.make<Slot>(2);
        tuple[0] = i;
        tuple[1] = list.data[i];
        out.data[i] = slot(tuple);
    }
    return out;
}

template <const Code& code>
Pause run(Session& s, Fiber& fiber) {
#define ACROBAT_LABEL(name) &&name,
    static const void* const labels[] = {ACROBAT_OPCODES(ACROBAT_LABEL)};
#undef ACROBAT_LABEL
    Context& cx = s.cx;
    Arena& arena = cx.host;
    Frame* frame = fiber.top;
    Register* r = frame->registers();
    const Instruction* i = frame->at;

#define DISPATCH() goto* labels[size_t(i->op)]
#define NEXT() \
    do {       \
        ++i;   \
        DISPATCH(); \
    } while (0)
#define PAUSE(reason)      \
    do {                   \
        frame->at = i + 1; \
        fiber.top = frame; \
        return reason;     \
    } while (0)
#define A r[i->a].value
#define B r[i->b].value
#define PUT(value) r[i->to] = {(value), 0}
#define PUT_FLOAT(value) r[i->to] = {slot(double(value)), 0}
#define PUT_LIST(value, depth) r[i->to] = {boxed(arena, (value)), (depth)}
#define BINARY(name, type, expression)              \
    name : {                                        \
        const type a = as<type>(A), b = as<type>(B); \
        PUT(as_slot(expression));                   \
        NEXT();                                     \
    }
#define MIXED(name, expression)    \
    name : {                       \
        const int64_t a = A;       \
        const double b = real(B);  \
        PUT(as_slot(expression));  \
        NEXT();                    \
    }
#define UNARY(name, type, expression) \
    name : {                          \
        const type a = as<type>(A);   \
        PUT(as_slot(expression));     \
        NEXT();                       \
    }
    const int32_t* const operands = code.operands;
    // The depth at which all of the operands are there.
    const auto join = [&](const int32_t* args, int32_t count) {
        int64_t depth = 0;
        for (int32_t k = 0; k < count; ++k) depth = std::max(depth, r[args[k]].depth);
        return depth;
    };

    DISPATCH();

Const:
    PUT(code.constants[i->a]);
    NEXT();
Weight:
    PUT(cx.weights[size_t(i->a)]);
    NEXT();
Move:
    r[i->to] = r[i->a];
    NEXT();
Fresh:
    PUT(A);
    NEXT();
Start:
    r[i->to] = {0, (i->a ? cx.stage->start(i->a) : cx.stage->start()) + i->b};
    NEXT();
Later:
    r[i->to] = {A, std::max(r[i->a].depth, r[i->b].depth)};
    NEXT();
Padded:
    r[i->to] = {A, padded(r[i->a].depth, i->d)};
    NEXT();
NextSegment:
    r[i->to] = {A, cx.stage->next(r[i->a].depth)};
    NEXT();
View:
    r[i->to] = {A + i->d, r[i->a].depth};
    NEXT();
Component:
    r[i->to] = {slots(A)[i->b], i->tensors ? r[i->a].depth : 0};
    NEXT();
Field:
    r[i->to] = {slots(A)[1 + i->b], i->tensors ? r[i->a].depth : 0};
    NEXT();

Tuple: {
    const int32_t* args = operands + i->c;
    Slot* tuple = arena.make<Slot>(size_t(i->a));
    for (int32_t k = 0; k < i->a; ++k) tuple[k] = r[args[k]].value;
    r[i->to] = {slot(tuple), join(args, i->a)};
    NEXT();
}
ListOf: {
    const int32_t* args = operands + i->c;
    const Items list = make_list<Slot>(arena, i->a);
    for (int32_t k = 0; k < i->a; ++k) list.data[k] = r[args[k]].value;
    PUT_LIST(list, join(args, i->a));
    NEXT();
}
Construct: {
    const int32_t* args = operands + i->c;
    Slot* value = arena.make<Slot>(size_t(1 + i->a));
    value[0] = i->b;
    for (int32_t k = 0; k < i->a; ++k) value[1 + k] = r[args[k]].value;
    r[i->to] = {slot(value), join(args, i->a)};
    NEXT();
}

Jump:
    if (i->d < 0) cx.tick();
    i += i->d;
    DISPATCH();
JumpUnless:
    i += A ? 1 : i->d;
    DISPATCH();
Switch:
    i += operands[i->c + slots(A)[0]];
    DISPATCH();
Call: {
    const Function& f = code.functions[i->a];
    const int32_t* args = operands + i->c;
    Frame* callee = enter<code>(s, i->a, frame);
    callee->caller = frame;
    callee->to = i->to;
    Register* params = callee->registers();
    const int64_t depth = join(args, f.tensors);
    for (int32_t k = 0; k < f.tensors; ++k) params[k] = {r[args[k]].value, depth};
    for (int32_t k = f.tensors; k < f.params; ++k) params[k] = {r[args[k]].value, 0};
    frame->at = i + 1;
    frame = callee;
    r = params;
    i = frame->at;
    DISPATCH();
}
Return: {
    const Register result = r[i->a];
    Frame* caller = frame->caller;
    const int32_t to = frame->to;
    s.frames.give(frame, frame->bytes);
    if (!caller) {
        fiber.result = result;
        return Pause::ended;
    }
    frame = caller;
    r = frame->registers();
    r[to] = result;
    i = frame->at;
    DISPATCH();
}
Phase:
    cx.stage = &cx.stages[size_t(i->a)];
    NEXT();

Wait:
    PAUSE(Pause::waits);
Fork:
    PAUSE(Pause::forks);
ForkMap:
    PAUSE(Pause::maps);

Next: {
    const Items& list = items(A);
    const int64_t at = ++B;
    if (at >= list.size) {
        i += i->d;
        DISPATCH();
    }
    r[i->to] = {list.data[at], i->tensors ? r[i->a].depth : 0};
    NEXT();
}
ListLike:
    PUT_LIST(make_list<Slot>(arena, items(A).size), 0);
    NEXT();
Store:
    items(r[i->to].value).data[B] = A;
    r[i->to].depth = std::max(r[i->to].depth, r[i->a].depth);
    NEXT();

Launch: {
    const int32_t* args = operands + i->c;
    const int64_t depth = i->d >= 0 ? cx.stage->at(i->d) : std::max(cx.stage->start(), join(args, i->a));
    r[i->to] = {code.record[i->b](cx, depth, r, args), depth + 1};
    NEXT();
}
Row:
    PUT(cx.row(i->b, A, i->c, i->d));
    NEXT();
Lookup: {
    const int32_t* args = operands + i->c;
    r[i->to] = {cx.lookup(A, i->b, args[0], args[1], args[2]), r[i->a].depth};
    NEXT();
}
Scalar:
    PUT(cx.scalar(real(A)));
    NEXT();
ReadInt:
    PUT(*reinterpret_cast<const int64_t*>(cx.computed(A)));
    NEXT();
ReadFloat:
    PUT_FLOAT(*cx.computed(A));
    NEXT();

    BINARY(AddInt, int64_t, acrobat::add(a, b))
    BINARY(SubInt, int64_t, acrobat::sub(a, b))
    BINARY(MulInt, int64_t, acrobat::mul(a, b))
    BINARY(FloorDivInt, int64_t, floordiv(a, b))
    BINARY(ModInt, int64_t, mod(a, b))
    UNARY(NegInt, int64_t, neg(a))
    UNARY(AbsInt, int64_t, acrobat::abs(a))
    BINARY(MinInt, int64_t, std::min({a, b}))
    BINARY(MaxInt, int64_t, std::max({a, b}))
    BINARY(AddFloat, double, a + b)
    BINARY(SubFloat, double, a - b)
    BINARY(MulFloat, double, a * b)
    BINARY(DivInt, int64_t, acrobat::div(a, b))
    BINARY(DivFloat, double, acrobat::div(a, b))
    BINARY(FloorDivFloat, double, floordiv(a, b))
    BINARY(ModFloat, double, mod(a, b))
    UNARY(NegFloat, double, -a)
    UNARY(SquareFloat, double, square(a))
    UNARY(AbsFloat, double, std::abs(a))
    BINARY(MinFloat, double, std::min({a, b}))
    BINARY(MaxFloat, double, std::max({a, b}))
    BINARY(BitAnd, int64_t, a & b)
    BINARY(BitOr, int64_t, a | b)
    BINARY(BitXor, int64_t, a ^ b)
    BINARY(ShiftLeft, int64_t, shl(a, b))
    BINARY(ShiftRight, int64_t, shr(a, b))
    UNARY(Not, int64_t, !a)
    UNARY(ToInt, double, to_int(a))
    UNARY(ToFloat, int64_t, double(a))
    UNARY(Float32OfInt, int64_t, to_float32(a))
    UNARY(Float32, double, to_float32(a))
    UNARY(FromStart, int64_t, from_start(a))
    BINARY(EqInt, int64_t, a == b)
    BINARY(NeInt, int64_t, a != b)
    BINARY(LtInt, int64_t, a < b)
    BINARY(LeInt, int64_t, a <= b)
    BINARY(EqFloat, double, a == b)
    BINARY(NeFloat, double, a != b)
    BINARY(LtFloat, double, a < b)
    BINARY(LeFloat, double, a <= b)
    MIXED(EqMixed, eq(a, b))
    MIXED(NeMixed, ne(a, b))
    MIXED(LtMixed, lt(a, b))
    MIXED(LeMixed, le(a, b))
    MIXED(GtMixed, gt(a, b))
    MIXED(GeMixed, ge(a, b))

Size:
    PUT(items(A).size);
    NEXT();
Get:
    r[i->to] = {acrobat::get(items(A), B), i->tensors ? r[i->a].depth : 0};
    NEXT();
Slice:
    PUT_LIST(slice(items(A), B, r[i->c].value), r[i->a].depth);
    NEXT();
Reverse:
    PUT_LIST(reverse(arena, items(A)), r[i->a].depth);
    NEXT();
Concat:
    PUT_LIST(concat(arena, items(A), items(B)), std::max(r[i->a].depth, r[i->b].depth));
    NEXT();
Append:
    PUT_LIST(append(arena, items(A), B), std::max(r[i->a].depth, r[i->b].depth));
    NEXT();
Range:
    PUT_LIST(range(arena, A, B, r[i->c].value), 0);
    NEXT();
Zip:
    PUT_LIST(vm::zip(arena, r, operands + i->c, i->a), join(operands + i->c, i->a));
    NEXT();
Enumerate:
    PUT_LIST(vm::enumerate(arena, items(A)), r[i->a].depth);
    NEXT();

#undef UNARY
#undef MIXED
#undef BINARY
#undef PUT_LIST
#undef PUT_FLOAT
#undef PUT
#undef B
#undef A
#undef PAUSE
#undef NEXT
#undef DISPATCH
}

// ---- fibers

template <const Code& code>
Task<Register> fiber(Session& s, Frame* frame);

template <const Code& code>
Child child(Join&, Session& s, Frame* frame, Register* to) {
    *to = co_await fiber<code>(s, frame);
}

template <const Code& code>
Child item(Join&, Session& s, Frame* frame, Register* list, int64_t index) {
    const Register v = co_await fiber<code>(s, frame);
    items(list->value).data[index] = v.value;
    list->depth = std::max(list->depth, v.depth);
}

// The frame of a child, which has the parent's registers that it needs as its own first ones.
template <const Code& code>
Frame* fork(Session& s, Frame* parent, const Branch& b) {
    Frame* frame = enter<code>(s, b.function, parent);
    for (int32_t k = 0; k < b.count; ++k) frame->registers()[k] = parent->registers()[code.operands[b.operands + k]];
    return frame;
}

template <const Code& code>
Task<Register> fiber(Session& s, Frame* frame) {
    Fiber f{frame};
    for (;;) {
        const Pause pause = run<code>(s, f);
        if (pause == Pause::ended) co_return f.result;
        if (pause == Pause::waits) {
            co_await s.waiting.wait(s.cx, f.top->registers()[f.top->at[-1].a].depth);
            continue;
        }
        // Children start on this thread's stack.
        const Instruction& i = f.top->at[-1];
        const Branch* branch = code.branches + i.c;
        s.cx.guard(code.functions[branch->function].name);
        Register* r = f.top->registers();
        if (pause == Pause::forks) {
            Join join(i.d);
            for (int32_t k = 0; k < i.d; ++k)
                join.fork([&] { child<code>(join, s, fork<code>(s, f.top, branch[k]), r + branch[k].to); });
            co_await join;
        } else {
            const Items source = items(r[i.a].value);
            const int64_t depth = i.tensors ? r[i.a].depth : 0;
            r[i.to] = {boxed(s.cx.host, make_list<Slot>(s.cx.host, source.size)), 0};
            Join join(source.size);
            for (int64_t k = 0; k < source.size; ++k)
                join.fork([&] {
                    Frame* element = fork<code>(s, f.top, *branch);
                    element->registers()[branch->count] = {source.data[k], depth};
                    item<code>(join, s, element, r + i.to, k);
                });
            co_await join;
        }
    }
}

// The part of a generated `Model` that is the same for all.
template <const Code& code, bool may_wait>
struct Interpreted {
    using Instance = Slot;
    using Result = Register;

    static Slot read(Session& s, PyObject* o) { return vm::read(s, code.types, code.instance, o); }
    static std::conditional_t<may_wait, Task<Register>, Register> forward(Session& s, const Slot& instance) {
        Frame* frame = enter<code>(s, code.entry, nullptr);
        frame->registers()[0] = {instance, 0};
        if constexpr (may_wait) {
            return fiber<code>(s, frame);
        } else {
            Fiber f{frame};
            run<code>(s, f);
            return f.result;
        }
    }
    static void collect(Session& s, std::vector<Outgoing>& out, const Register& r) { vm::collect(s, out, code.types, code.result, r.value); }
    static PyObject* build(Session& s, std::vector<Outgoing>& out, const Register& r) {
        return vm::build(s, out, code.types, code.result, r.value);
    }
};

}  // namespace acrobat::vm
