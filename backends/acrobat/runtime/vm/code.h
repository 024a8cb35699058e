// The tables of an interpreted model: types, instructions, functions. The interpreter is a register machine on the runtime that
// compiled models use too, so that the two differ in their host code only (paper: AOT compilation against the Relay VM).
// Kernels, and the functions that record calls of units, are compiled in both cases.
//
// Every value takes one slot; descriptors of types say what the slot contains.
#pragma once

#include <bit>
#include <cstdint>

#include "../python/varying.h"

namespace acrobat::vm {

// A scalar itself (a float by its bits), a tensor's address, or the address of
//   a list:             an `Items`
//   a tuple:            its components' slots
//   a case of a union:  a slot with the number of the case, then its fields' slots.
using Slot = int64_t;
using Items = List<Slot>;

inline Slot* slots(Slot v) { return reinterpret_cast<Slot*>(v); }
inline Items& items(Slot v) { return *reinterpret_cast<Items*>(v); }
inline Slot slot(const void* p) { return reinterpret_cast<Slot>(p); }
inline Slot slot(double v) { return std::bit_cast<Slot>(v); }
inline double real(Slot v) { return std::bit_cast<double>(v); }
inline Slot boxed(Arena& arena, const Items& list) {
    Items* box = arena.make<Items>(1);
    *box = list;
    return slot(box);
}

enum class Kind : int32_t {
    Int, Bool, Float, Tensor, List, Tuple, Optional, Union,
    Symbol, Nothing, Identity,  // a number for a string; the value None; the number of an object
    Rows, Ints, Bools, Floats,  // lists of parts of a tensor whose extents vary
    Dict, Set, VaryingTuple,
    Mixed,  // a union whose cases are types of Python's own, such as str and tuple; a case has the value as its one part
};

struct Type {
    Kind kind;
    bool tensors;        // whether values of the type contain tensors
    int32_t first;       // tensor: its first extent; list, set, tuple whose length varies, optional: the item's type; tuple, dict: its first part; union,
                         // mixed: its first case; where extents vary: its `Varying`
    int32_t count;       // how many of these there are; where extents vary: how many do
    int32_t index;       // tensors: their `Outgoing`; optional: the full case's number; union: 1 if `id` tells objects apart
    const char* expected;  // union, mixed: what messages say was expected; dict: see `read_dict`
};
struct Part {
    int32_t type;
    const char* path;  // of a field: with the dot; of a tuple's component: null
};
struct Case {
    int32_t cls;  // in `Session::classes`
    int32_t first, count;  // its parts
};
struct Types {
    const Type* types;
    const Part* parts;
    const Case* cases;
    const int64_t* extents;
    const Varying* varying;
};

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
    X(Table) /* the list of the b constants of `Code::tables` from a on */                                     \
    X(Construct) /* of case b */                                                                               \
    /* control */                                                                                              \
    X(Jump) /* by d */                                                                                         \
    X(JumpUnless) /* a, by d */                                                                                \
    X(Switch) /* by the operand at c for the case of a */                                                      \
    X(Call) /* to = function a of the operands at c */                                                         \
    X(Return) /* a */                                                                                          \
    X(Phase) /* a starts */                                                                                    \
    /* waiting */                                                                                              \
    X(Wait) /* until tensor a of b elements is there */                                                        \
    X(Fork) /* d branches, from branch c on */                                                                 \
    X(ForkMap) /* to = the results of branch c for each item of a */                                           \
    /* loops */                                                                                                \
    X(Next) /* to = item ++b of a, or by d if there is none */                                                 \
    X(ListLike) /* to = a list as long as a */                                                                 \
    X(Store) /* item b of to = a */                                                                            \
    /* tensors */                                                                                              \
    X(Launch) /* to = a row of unit b for a operands at c (of which the last may be a Start), at static depth d unless that is -1 */              \
    X(Row) /* to = row a of the weight b, which has c rows of d elements */                                     \
    X(Lookup) /* to = what stands for row a of weight b in another: sizes and weight at c */                   \
    X(Scalar) /* to = a tensor of a */                                                                         \
    X(ReadInt) /* to = the value of tensor a */                                                                \
    X(ReadFloat)                                                                                               \
    X(ReadInts) /* to = the list of the b values of tensor a */                                                \
    X(ReadFloats)                                                                                              \
    /* numbers: to = a op b */                                                                                 \
    X(AddInt) X(SubInt) X(MulInt) X(FloorDivInt) X(ModInt) X(NegInt) X(AbsInt) X(MinInt) X(MaxInt)             \
    X(AddFloat) X(SubFloat) X(MulFloat) X(DivInt) X(DivFloat) X(FloorDivFloat) X(ModFloat) X(NegFloat)         \
    X(SquareFloat) X(AbsFloat) X(MinFloat) X(MaxFloat) X(BitAnd) X(BitOr) X(BitXor) X(ShiftLeft)               \
    X(ShiftRight) X(Not) X(ToInt) X(ToFloat) X(Float32OfInt) X(Float32)                                       \
    X(MathExp) X(MathExpm1) X(MathLog) X(MathLog1p) X(MathLog2) X(MathLog10)                                   \
    X(MathSqrt) X(MathSin) X(MathCos) X(MathTan) X(MathAsin) X(MathAcos)                                       \
    X(MathAtan) X(MathSinh) X(MathCosh) X(MathTanh) X(MathErf) X(MathErfc) X(MathAsinh) X(MathAcosh)         \
    X(MathAtanh) X(MathCbrt) X(MathExp2) X(MathPow) X(MathHypot) X(MathAtan2) X(MathFmod) X(MathRemainder)     \
    X(FromStart) X(EqInt) X(NeInt)                                                                             \
    X(LtInt) X(LeInt) X(EqFloat) X(NeFloat) X(LtFloat) X(LeFloat) X(EqMixed) X(NeMixed) X(LtMixed)             \
    X(LeMixed) X(GtMixed) X(GeMixed)                                                                           \
    /* lists */                                                                                                \
    X(Size) /* to = the length of a */                                                                         \
    X(Get) /* to = a[b] */                                                                                     \
    X(Slice) /* to = a[b:c] */                                                                                 \
    X(Reverse)                                                                                                 \
    X(OrderInt) /* to = where the items of a stand when they are sorted, from the highest on if b */           \
    X(OrderFloat)                                                                                              \
    X(TopInt) /* to = where the b highest items of a stand, the highest first */                               \
    X(TopFloat)                                                                                                \
    X(Concat) /* to = a + b */                                                                                 \
    X(Append) /* to = a + [b] */                                                                               \
    X(Range) /* to = range(a, b, c) */                                                                         \
    X(Fail) /* with a values at c, of each the kind after it: 0 an int, 1 a float, 2 a bool */                 \
    X(Zip) /* of a lists at c */                                                                               \
    X(Enumerate)                                                                                               \
    /* strings, as numbers: see python/texts.h */                                                              \
    X(TextLetters) X(TextJoined) X(TextMethod) X(TextInt) X(TextFloat) X(TextCode)                      \
    X(TextFromInt) X(TextFromFloat) X(TextFromText) X(TextPart) X(TextSpans) X(TextReplaced)

enum class Opcode : uint16_t {
#define ACROBAT_OPCODE(name) name,
    ACROBAT_OPCODES(ACROBAT_OPCODE)
#undef ACROBAT_OPCODE
};

struct Instruction {
    Opcode op;
    uint16_t tensors;  // for an instruction that takes a part out of a value: whether the part holds tensors
    int32_t to, a, b, c, d;
};

struct Function {
    const char* name;
    int32_t first;      // index of its first instruction
    int32_t registers;
    int32_t params;     // how many parameters there are, in the first registers
    int32_t tensors;    // how many parameters hold tensors: the first ones
};
// A forked child: runs a function on copies of registers of the parent; the result goes to the parent's register `to`.
struct Branch {
    int32_t function;
    int32_t operands, count;
    int32_t to;
};
// Records a call of a unit; `args` has the numbers of the registers with its operands. Returns the address of the result row.
using Record = Tensor (*)(Context& cx, int64_t depth, const Register* r, const int32_t* args);

struct Code {
    const Instruction* instructions;
    const int32_t* operands;
    const Slot* constants;
    const Slot* tables;  // constants that are elements of lists
    const Function* functions;
    const Branch* branches;
    const Record* record;  // of each unit
    Types types;
    int32_t entry;             // the number of a function
    int32_t instance, result;  // the numbers of their types
};

}  // namespace acrobat::vm
