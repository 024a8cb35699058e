#include "learning.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "owned.h"

namespace acrobat {

namespace {

// ED-Batch's constants.
constexpr double kRate = 0.4;         // the learning rate
constexpr double kExploreFirst = 0.5; // probability of a random choice, in the first trial
constexpr double kExploreLast = 0.05;
constexpr double kExploreDecay = 0.9;
constexpr size_t kSteps = 10;         // rewards in a return; the rest of the return is estimated by the table
constexpr int64_t kCheck = 50;        // trials between evaluations of the table
constexpr int64_t kPatience = 5;      // evaluations without a better table that end an encoding. (This one is not ED-Batch's.)
constexpr int64_t kMostWork = 1'000'000'000;  // of one encoding's trials, in edges times units

class Random {
   public:
    explicit Random(uint64_t seed) : state_(seed) {}
    // SplitMix64 (Steele, Lea and Flood 2014).
    uint64_t next() {
        uint64_t z = (state_ += 0x9e3779b97f4a7c15);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return z ^ (z >> 31);
    }
    double fraction() { return double(next() >> 11) * 0x1p-53; }
    size_t below(size_t n) { return size_t(next() % n); }

   private:
    uint64_t state_;
};

// A graph that every trial runs, with what the reward needs: by unit, how many operations that have not run depend on no other
// such operation of the unit, directly or through others. (The frontier of the unit's subgraph; ready operations are in it.)
class Lesson {
   public:
    explicit Lesson(const Graph& graph) : frontier(graph, true), graph_(graph), present_(size_t(graph.units), 0) {
        for (const int32_t u : graph.unit) present_[size_t(u)] = 1;
        before_.resize(size_t(graph.units));
        free_.assign(size_t(graph.units), 0);
        for (size_t u = 0; u < before_.size(); ++u) {
            if (!present_[u]) continue;
            std::vector<int32_t>& before = before_[u];
            before.assign(graph.size(), 0);
            for (size_t i = 0; i < graph.size(); ++i) {
                free_[u] += size_t(graph.unit[i]) == u && before[i] == 0;
                if (size_t(graph.unit[i]) == u || before[i] > 0)
                    for (int32_t k = graph.first[i]; k < graph.first[i + 1]; ++k) before[size_t(graph.users[size_t(k)])] += 1;
            }
        }
    }

    Frontier frontier;

    int64_t work() const {
        return int64_t(graph_.users.size() + graph_.size()) * std::count(present_.begin(), present_.end(), 1);
    }

    void restart() {
        frontier.restart();
        now_ = before_;
        now_free_ = free_;
    }

    // Runs the ready operations of a unit. Returns the reward: their share of the frontier of the unit's subgraph, minus 1. It
    // is 0 where no other order can put more of the unit into this batch; the choice is then optimal (a lemma of the paper).
    double run(int unit) {
        const size_t u = size_t(unit);
        const double all = double(now_free_[u]);
        const std::vector<int32_t>& batch = frontier.run(unit);
        now_free_[u] -= int64_t(batch.size());
        spread_.assign(batch.begin(), batch.end());
        std::vector<int32_t>& before = now_[u];
        while (!spread_.empty()) {
            const size_t i = size_t(spread_.back());
            spread_.pop_back();
            for (int32_t k = graph_.first[i]; k < graph_.first[i + 1]; ++k) {
                const int32_t user = graph_.users[size_t(k)];
                if (--before[size_t(user)] > 0) continue;
                if (graph_.unit[size_t(user)] == unit)
                    now_free_[u] += 1;
                else
                    spread_.push_back(user);
            }
        }
        return double(batch.size()) / all - 1;
    }

   private:
    const Graph& graph_;
    std::vector<char> present_;
    // By unit u and operation: how many operands are, or depend on, operations of u that have not run. `now_`: in this trial.
    std::vector<std::vector<int32_t>> before_, now_;
    std::vector<int64_t> free_, now_free_;
    std::vector<int32_t> spread_;
};

class Learner {
   public:
    Learner(std::vector<Owned<Lesson>>& lessons, Encoding encoding, uint64_t seed)
        : lessons_(lessons), encoding_(encoding), random_(seed) {}

    // Runs once through all graphs and updates the table.
    void trial() {
        for (const Owned<Lesson>& lesson : lessons_) {
            path_.clear();
            lesson->restart();
            while (!lesson->frontier.done()) {
                encode(encoding_, lesson->frontier, state_);
                Values& values = values_.try_emplace(state_, units_of(state_, encoding_).size(), 0.0).first->second;
                const size_t choice = random_.fraction() < explore_ ? random_.below(values.size()) : best(values);
                path_.push_back({&values, choice, lesson->run(units_of(state_, encoding_)[choice])});
            }
            // From the end, so that estimates of earlier states use what has just been learned about later ones.
            for (size_t i = path_.size(); i-- > 0;) {
                const size_t end = std::min(i + kSteps, path_.size());
                double value = end < path_.size() ? *std::max_element(path_[end].values->begin(), path_[end].values->end()) : 0;
                for (size_t k = i; k < end; ++k) value += path_[k].reward;
                double& old = (*path_[i].values)[path_[i].choice];
                old += kRate * (value - old);
            }
        }
        explore_ = std::max(kExploreLast, explore_ * kExploreDecay);
    }

    Policy policy() const {
        Policy policy;
        policy.encoding = encoding_;
        for (const auto& [state, values] : values_) policy.table[state] = units_of(state, encoding_)[best(values)];
        return policy;
    }

   private:
    using Values = std::vector<double>;  // estimated returns of running each unit of a state, in the state's order
    struct Step {
        Values* values;
        size_t choice;
        double reward;
    };

    static size_t best(const Values& values) { return size_t(std::max_element(values.begin(), values.end()) - values.begin()); }

    std::vector<Owned<Lesson>>& lessons_;
    Encoding encoding_;
    Random random_;
    double explore_ = kExploreFirst;
    std::unordered_map<State, Values> values_;  // its elements never move, so that `path_` can point to them
    std::vector<Step> path_;
    State state_;
};

// The policy that always runs the unit that the state names first: the one with the most or the most urgent ready operations.
Policy first_named(const std::vector<Owned<Lesson>>& lessons, Encoding encoding) {
    Policy policy;
    policy.encoding = encoding;
    State state;
    for (const Owned<Lesson>& lesson : lessons)
        for (lesson->frontier.restart(); !lesson->frontier.done(); lesson->frontier.run(policy.table[state])) {
            encode(encoding, lesson->frontier, state);
            policy.table[state] = state[1];
        }
    return policy;
}

int64_t batches(const std::vector<Owned<Lesson>>& lessons, const Policy& policy) {
    int64_t count = 0;
    State state;
    for (const Owned<Lesson>& lesson : lessons) {
        lesson->frontier.restart();
        for (; !lesson->frontier.done(); ++count) lesson->frontier.run(policy.choose(lesson->frontier, state));
    }
    return count;
}

}  // namespace

Learned learn(const std::vector<Graph>& graphs, int64_t trials, uint64_t seed, FunctionRef<void()> poll) {
    Learned learned;
    std::vector<Owned<Lesson>> lessons;
    int64_t work = 1;
    for (const Graph& g : graphs) {
        lessons.emplace_back(new Lesson(g));
        work += lessons.back()->work();
        learned.lower_bound += g.lower_bound();
    }
    learned.batches = learned.agenda = batches(lessons, learned.policy);
    const int64_t most = std::min(trials, std::max<int64_t>(1, kMostWork / work));
    for (int e = 0; e < kEncodings; ++e) {
        int64_t best = learned.agenda, since = 0;
        const auto consider = [&](Policy&& policy) {
            const int64_t count = batches(lessons, policy);
            since = count < best ? 0 : since + 1;
            best = std::min(best, count);
            if (count < learned.batches) learned.batches = count, learned.policy = std::move(policy);
        };
        if (most > 0 && Encoding(e) != Encoding::set) consider(first_named(lessons, Encoding(e)));
        Learner learner(lessons, Encoding(e), seed);
        for (int64_t trial = 1; trial <= most && since < kPatience && learned.batches > learned.lower_bound; ++trial) {
            poll();
            learner.trial();
            learned.trials += 1;
            if (trial % kCheck == 0 || trial == most) consider(learner.policy());
        }
    }
    return learned;
}

}  // namespace acrobat
