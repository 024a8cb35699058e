// Fibers: one small coroutine for each does the waiting and forking between runs of the interpreter. The functions of an
// interpreted `Model` start and finish them.
#include "frames.h"

#include <algorithm>

#include "descriptors.h"
#include "interpreter.h"

namespace acrobat::vm {

namespace {

Task<Register> fiber(Session& s, Frame* frame);

Child child(Join&, Session& s, Frame* frame, Register* to) {
    *to = co_await fiber(s, frame);
}

Child item(Join&, Session& s, Frame* frame, Register* list, int64_t index) {
    const Register v = co_await fiber(s, frame);
    items(list->value).data[index] = v.value;
    list->depth = std::max(list->depth, v.depth);
}

// A frame for a forked child. Its first registers are copies of the parent's registers that it uses.
Frame* fork(Session& s, Frame* parent, const Branch& b) {
    const Code& code = *s.model.code;
    Frame* frame = enter(s, b.function, parent);
    for (int32_t k = 0; k < b.count; ++k) frame->registers()[k] = parent->registers()[code.operands[b.operands + k]];
    return frame;
}

Task<Register> fiber(Session& s, Frame* frame) {
    const Code& code = *s.model.code;
    Fiber f{frame};
    for (;;) {
        const Pause pause = run(s, f);
        if (pause == Pause::ended) co_return f.result;
        if (pause == Pause::waits) {
            const Instruction& i = f.top->at[-1];
            const Register& awaited = f.top->registers()[i.a];
            co_await s.waiting.wait(s.cx, awaited.depth, awaited.value, i.b);
            continue;
        }
        // Starting a child is a nested call, which needs stack.
        const Instruction& i = f.top->at[-1];
        const Branch* branch = code.branches + i.c;
        s.cx.guard(code.functions[branch->function].name);
        Register* r = f.top->registers();
        if (pause == Pause::forks) {
            Join join(i.d);
            for (int32_t k = 0; k < i.d; ++k)
                join.fork([&] { child(join, s, fork(s, f.top, branch[k]), r + branch[k].to); });
            co_await join;
        } else {
            const Items source = items(r[i.a].value);
            const int64_t depth = i.tensors ? r[i.a].depth : 0;
            r[i.to] = {boxed(s.cx.host, make_list<Slot>(s.cx.host, source.size)), 0};
            Join join(source.size);
            for (int64_t k = 0; k < source.size; ++k)
                join.fork([&] {
                    Frame* element = fork(s, f.top, *branch);
                    element->registers()[branch->count] = {source.data[k], depth};
                    item(join, s, element, r + i.to, k);
                });
            co_await join;
        }
    }
}

}  // namespace

void read_instance(Session& s, PyObject* o, void* instance) {
    *static_cast<Slot*>(instance) = read(s, s.model.code->types, s.model.code->instance, o);
}

void run_instance(Session& s, const void* instance, void* result) {
    Fiber f{enter(s, s.model.code->entry, nullptr)};
    f.top->registers()[0] = {*static_cast<const Slot*>(instance), 0};
    run(s, f);
    *static_cast<Register*>(result) = f.result;
}

std::coroutine_handle<> start_instance(Session& s, const void* instance) {
    Frame* frame = enter(s, s.model.code->entry, nullptr);
    frame->registers()[0] = {*static_cast<const Slot*>(instance), 0};
    return fiber(s, frame).release();
}

void finish_instance(void* frame, void* result) {
    Task<Register> task = Task<Register>::from_address(frame);
    *static_cast<Register*>(result) = task.result();
}

void collect_result(Session& s, std::vector<Outgoing>& out, const void* result) {
    collect(s, out, s.model.code->types, s.model.code->result, static_cast<const Register*>(result)->value);
}

PyObject* build_result(Session& s, std::vector<Outgoing>& out, const void* result) {
    return build(s, out, s.model.code->types, s.model.code->result, static_cast<const Register*>(result)->value);
}

}  // namespace acrobat::vm
