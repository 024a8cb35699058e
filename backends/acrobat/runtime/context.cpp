#include "context.h"

#include <string>

#include "device.h"

namespace acrobat {

Context::Context(const Settings& settings)
    : Arenas(settings.memory_limit), memory_limit_(settings.memory_limit), executor_(settings.executor),
      plans_(settings.memory_planning && tracks()) {
    if (settings.checked) materialised = Owned(new Materialised(*this));
}

void Context::reset(const Unit* units, int count, int phases, int64_t static_levels) {
    host.reset();
    tensors.reset();
    if (materialised) materialised->reset();
    if (stages.empty()) {
        stages.resize(size_t(phases));
        for (Stage& s : stages) s.set_up(units, count, static_levels, memory_limit_);
    }
    for (Stage& s : stages) s.reset();
    stage = &stages[0];
    if (tracks()) tracking.reset(stages.size());
}

Tensor Context::scalar(double value) {
    const Room room = device->room(1);
    *room.values = float(value);
    return room.tensor;
}

int64_t Context::track(int unit, std::initializer_list<Tensor> operands, std::initializer_list<const List<Tensor>*> lists) {
    tracking.begin(int(stage - stages.data()), unit);
    for (const Tensor t : operands) tracking.operand(tensors.line_of(pointer(t)));
    for (const List<Tensor>* list : lists)
        for (const Tensor t : *list) tracking.operand(tensors.line_of(pointer(t)));
    // Where batches are formed later, all operations of a unit wait in one bucket.
    return stage->base() + (forms() ? 0 : tracking.level());
}

void Context::tracked(Tensor result, int64_t elements, int64_t row) {
    tracking.result(tensors.line_of(pointer(result)), (elements * 4 + 63) / 64, row);
}

void Context::row_out_of_range(int64_t index, int64_t rows) {
    throw InstanceError("index " + std::to_string(index) + " is out of range: the table has " + std::to_string(rows) + " rows");
}

void Context::require_computed(Tensor t) const {
    if (!materialised->has(now(t))) throw ScheduleError("an instance read a tensor before it was computed");
}

}  // namespace acrobat
