// The interpreter: runs the bytecode of a model, with one computed jump for each instruction.
//
// `run` runs the code of a fiber until it ends, waits or forks (`fibers.cpp`).
#include "frames.h"

#include <algorithm>
#include <cmath>

#include "../numbers.h"

namespace acrobat::vm {

namespace {

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

// Tuples of the items of the lists in the registers `args`, up to the end of the shortest list.
Items zip(Arena& arena, const Register* r, const int32_t* args, int32_t count) {
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

Items enumerate(Arena& arena, const Items& list) {
    const Items out = make_list<Slot>(arena, list.size);
    for (int64_t i = 0; i < list.size; ++i) {
        Slot* tuple = arena.make<Slot>(2);
        tuple[0] = i;
        tuple[1] = list.data[i];
        out.data[i] = slot(tuple);
    }
    return out;
}

}  // namespace

Pause run(Session& s, Fiber& fiber) {
#define ACROBAT_LABEL(name) &&name,
    static const void* const labels[] = {ACROBAT_OPCODES(ACROBAT_LABEL)};
#undef ACROBAT_LABEL
    const Code& code = *s.model.code;
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
#define PUT_LIST(value, depth) r[i->to] = {boxed(arena, (value)), (depth)}
// An instruction that gives one value: a number, a list of a depth, or what else can be used from `depth` on.
#define GIVES(name, value) \
    name : {               \
        PUT(value);        \
        NEXT();            \
    }
#define GIVES_LIST(name, value, depth) \
    name : {                           \
        PUT_LIST(value, depth);        \
        NEXT();                        \
    }
#define GIVES_AT(name, value, depth)   \
    name : {                           \
        r[i->to] = {(value), (depth)}; \
        NEXT();                        \
    }
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
    // The first depth at which all operands can be used.
    const auto join = [&](const int32_t* args, int32_t count) {
        int64_t depth = 0;
        for (int32_t k = 0; k < count; ++k) depth = std::max(depth, r[args[k]].depth);
        return depth;
    };

    DISPATCH();

    GIVES(Const, code.constants[i->a])
    GIVES(Weight, cx.weights[size_t(i->a)])

Move:
    r[i->to] = r[i->a];
    NEXT();

    GIVES(Fresh, A)
    GIVES_AT(Start, 0, (i->a ? cx.stage->start(i->a) : cx.stage->start()) + i->b)
    GIVES_AT(Later, A, std::max(r[i->a].depth, r[i->b].depth))
    GIVES_AT(Padded, A, padded(r[i->a].depth, i->d))
    GIVES_AT(NextSegment, A, cx.stage->next(r[i->a].depth))
    GIVES_AT(View, A + i->d, r[i->a].depth)
    GIVES_AT(Component, slots(A)[i->b], i->tensors ? r[i->a].depth : 0)
    GIVES_AT(Field, slots(A)[1 + i->b], i->tensors ? r[i->a].depth : 0)

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

    GIVES_LIST(Table, constant_list(code.tables + i->a, i->b), 0)

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
    Frame* callee = enter(s, i->a, frame);
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

    GIVES_LIST(ListLike, make_list<Slot>(arena, items(A).size), 0)

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

    GIVES(Row, cx.row(B, A, i->c, i->d))

Lookup: {
    const int32_t* args = operands + i->c;
    r[i->to] = {cx.lookup(A, i->b, args[0], args[1], args[2]), r[i->a].depth};
    NEXT();
}

    GIVES(Scalar, cx.scalar(real(A)))
    GIVES(ReadInt, *reinterpret_cast<const int64_t*>(cx.computed(A)))
    GIVES(ReadFloat, slot(double(*cx.computed(A))))
    GIVES_LIST(ReadInts, read_ints(arena, cx.computed(A), i->b), 0)

ReadFloats: {
    const float* values = cx.computed(A);
    const Items list = make_list<Slot>(arena, i->b);
    for (int64_t k = 0; k < i->b; ++k) list.data[k] = slot(double(values[k]));
    PUT_LIST(list, 0);
    NEXT();
}

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
    UNARY(MathExp, double, math::exp(a))
    UNARY(MathExpm1, double, math::expm1(a))
    UNARY(MathLog, double, math::log(a))
    UNARY(MathLog1p, double, math::log1p(a))
    UNARY(MathLog2, double, math::log2(a))
    UNARY(MathLog10, double, math::log10(a))
    UNARY(MathSqrt, double, math::sqrt(a))
    UNARY(MathSin, double, math::sin(a))
    UNARY(MathCos, double, math::cos(a))
    UNARY(MathTan, double, math::tan(a))
    UNARY(MathAsin, double, math::asin(a))
    UNARY(MathAcos, double, math::acos(a))
    UNARY(MathAtan, double, math::atan(a))
    UNARY(MathSinh, double, math::sinh(a))
    UNARY(MathCosh, double, math::cosh(a))
    UNARY(MathTanh, double, math::tanh(a))
    UNARY(MathErf, double, math::erf(a))
    UNARY(MathErfc, double, math::erfc(a))
    UNARY(MathAsinh, double, math::asinh(a))
    UNARY(MathAcosh, double, math::acosh(a))
    UNARY(MathAtanh, double, math::atanh(a))
    UNARY(MathCbrt, double, math::cbrt(a))
    UNARY(MathExp2, double, math::exp2(a))
    BINARY(MathPow, double, math::pow(a, b))
    BINARY(MathHypot, double, math::hypot(a, b))
    BINARY(MathAtan2, double, math::atan2(a, b))
    BINARY(MathFmod, double, math::fmod(a, b))
    BINARY(MathRemainder, double, math::remainder(a, b))
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

    GIVES(Size, items(A).size)
    GIVES_AT(Get, acrobat::get(items(A), B), i->tensors ? r[i->a].depth : 0)
    GIVES_LIST(Slice, slice(items(A), B, r[i->c].value), r[i->a].depth)
    GIVES_LIST(Reverse, reverse(arena, items(A)), r[i->a].depth)
    GIVES_LIST(OrderInt, acrobat::order(arena, items(A), B), 0)
    GIVES_LIST(OrderFloat, acrobat::order(arena, items(A), B, [](Slot key) { return real(key); }), 0)
    GIVES_LIST(TopInt, acrobat::top(arena, items(A), B), 0)
    GIVES_LIST(TopFloat, acrobat::top(arena, items(A), B, [](Slot key) { return real(key); }), 0)
    GIVES_LIST(Concat, concat(arena, items(A), items(B)), std::max(r[i->a].depth, r[i->b].depth))
    GIVES_LIST(Append, append(arena, items(A), B), std::max(r[i->a].depth, r[i->b].depth))
    GIVES_LIST(Range, range(arena, A, B, r[i->c].value), 0)

Fail: {
    std::string values;
    for (int32_t k = 0; k < i->a; ++k) {
        const Slot value = r[operands[i->c + 2 * k]].value;
        const int32_t kind = operands[i->c + 2 * k + 1];
        values += kind == 1 ? shown(real(value)) : kind == 2 ? shown(value != 0) : shown(int64_t(value));
    }
    raised(values);
}

    GIVES_LIST(Zip, vm::zip(arena, r, operands + i->c, i->a), join(operands + i->c, i->a))
    GIVES_LIST(Enumerate, vm::enumerate(arena, items(A)), r[i->a].depth)
    GIVES_LIST(TextLetters, text_letters(s, A), 0)
    GIVES(TextJoined, text_joined(s, items(A)))
    GIVES(TextMethod, text_method(s, A, B))
    GIVES(TextInt, text_int(s, A))
    GIVES(TextFloat, slot(text_float(s, A)))
    GIVES(TextCode, text_code(s, A))
    GIVES(TextFromInt, text_from_int(s, A, B))
    GIVES(TextFromFloat, text_from_float(s, A, real(B)))
    GIVES(TextFromText, text_from_text(s, A, B))
    GIVES(TextPart, text_part(s, A, B, r[i->c].value))
    GIVES_LIST(TextSpans, text_spans(s, A, B, r[i->c].value, r[i->d].value), 0)
    GIVES(TextReplaced, text_replaced(s, A, B, r[i->c].value, r[i->d].value))

#undef UNARY
#undef MIXED
#undef BINARY
#undef GIVES_AT
#undef GIVES_LIST
#undef GIVES
#undef PUT_LIST
#undef PUT
#undef B
#undef A
#undef PAUSE
#undef NEXT
#undef DISPATCH
}

}  // namespace acrobat::vm
