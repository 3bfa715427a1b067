#include "measure/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "bench/statistics.h"
#include "measure/memory.h"
#include "measure/pattern.h"
#include "measure/schedule.h"

namespace toprun::measure {
namespace {

using bench::Collective;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Ranks outside a cell wait while it has its turn; if it fails, its ranks' failure ends the job.
constexpr std::chrono::hours turn_limit{1};
constexpr milliseconds connection_limit{30'000};
constexpr std::size_t turns_per_round = 5;
constexpr std::size_t most_stable_rounds = 20;  // of all iterations, with --stable

// Whether the collective can use one buffer for what it sends and receives.
bool runs_in_place(Collective collective) {
  return collective != Collective::alltoall && collective != Collective::sendrecv &&
         collective != Collective::barrier;
}

// One cell on one of its ranks.
class Runner {
 public:
  Runner(Group& group, const Request& request, const Cell& cell, std::size_t position)
      : group_(group), request_(request), cell_(cell) {
    place_.position = position;
    place_.size = cell.ranks.size();
    place_.root = cell.position_of(request.root).value_or(0);
  }

  const Place& place() const { return place_; }

  Result<void> connect() {
    Result<void> made = connect_for(request_.collective);
    if (made) made = connect_for(Collective::all_reduce);  // for times
    return made;
  }

  Result<void> run(const std::vector<Lane>& lanes, const Buffers& buffers) {
    keep_own(request_.collective, place_, buffers);
    const Combine combine = combine_of(request_.type, request_.op);
    auto done = transfer(lanes, combine, buffers.element, request_.stall_limit);
    if (done && request_.op == Op::avg && bench::facts_of(request_.collective).reduces) {
      const auto bytes = lengths(request_.collective, buffers.part, place_.size).receive;
      divide(request_.type, {buffers.receive, bytes}, place_.size);
    }
    return done;
  }

  // All ranks of the cell are here.
  Result<void> barrier() {
    std::vector<double> nothing(place_.size);
    return combine_over_all(nothing, Op::sum, turn_limit);
  }

  Result<void> combine_over_all(std::vector<double>& values, Op op, milliseconds limit) {
    const std::size_t bytes = values.size() * sizeof(double);
    auto* const data = reinterpret_cast<std::byte*>(values.data());
    const Buffers buffers{data, data, nullptr, bytes, sizeof(double)};
    return transfer(lanes_of(Collective::all_reduce, buffers, 1), combine_of(Type::float64, op),
                    sizeof(double), limit);
  }

  std::vector<Lane> lanes_of(Collective collective, const Buffers& buffers, std::size_t stripes) {
    std::vector<Lane> lanes;
    for (Planned& planned : plan(collective, place_, buffers, stripes)) {
      Lane& lane = planned.lane;
      if (planned.to < place_.size) bind(planned.to, planned.stripe, lane.out_socket, lane.to);
      if (planned.from < place_.size) {
        bind(planned.from, planned.stripe, lane.in_socket, lane.from);
      }
      lanes.push_back(std::move(lane));
    }
    return lanes;
  }

 private:
  void bind(std::size_t position, std::size_t stripe, int& socket, std::string& name) const {
    const std::size_t rank = cell_.ranks[position];
    socket = group_.mesh.socket(rank, stripe);
    name = group_.peers[rank].text();
  }

  Result<void> connect_for(Collective collective) {
    std::vector<std::size_t> ranks;
    for (const std::size_t position : peers(collective, place_)) {
      ranks.push_back(cell_.ranks[position]);
    }
    return group_.mesh.connect(ranks, request_.stripes, connection_limit);
  }

  Group& group_;
  const Request& request_;
  const Cell& cell_;
  Place place_;
};

// One size of one cell: its memory, and the times so far.
class Sizing {
 public:
  // What make() takes.
  static std::uint64_t memory(const Runner& runner, const Request& request, std::uint64_t wanted) {
    const std::size_t part = part_of(runner, request, own_size(runner, request, wanted));
    const Lengths need = lengths(request.collective, part, runner.place().size);
    return std::max(need.send, need.receive) + need.receive + need.scratch;
  }

  static Result<Sizing> make(Runner& runner, const Request& request, std::uint64_t wanted) {
    const std::size_t element = facts_of(request.type).bytes;
    const std::uint64_t bytes = own_size(runner, request, wanted);
    const std::size_t part = part_of(runner, request, bytes);
    const Lengths need = lengths(request.collective, part, runner.place().size);
    auto send = Memory::of(std::max(need.send, need.receive));
    if (!send) return std::unexpected(send.error());
    auto receive = Memory::of(need.receive);
    if (!receive) return std::unexpected(receive.error());
    auto scratch = Memory::of(need.scratch);
    if (!scratch) return std::unexpected(scratch.error());
    Sizing made(runner, request, bytes, *std::move(send), *std::move(receive), *std::move(scratch));
    made.lay(part, element);
    return made;
  }

  Result<void> warm_up() {
    for (std::size_t i = 0; i < request_.warmups; ++i) {
      if (auto done = once(false); !done) return done;
    }
    return {};
  }

  // Some iterations one directly after the other.
  Result<std::vector<double>> turn(bool in_place, std::size_t iterations) {
    if (auto there = runner_.barrier(); !there) return std::unexpected(there.error());
    std::vector<double> times;
    for (std::size_t i = 0; i < iterations; ++i) {
      const auto began = steady_clock::now();
      if (auto done = once(in_place); !done) return std::unexpected(done.error());
      const std::chrono::duration<double, std::micro> took = steady_clock::now() - began;
      times.push_back(took.count());
    }
    auto most = runner_.combine_over_all(times, Op::max, request_.stall_limit);
    if (!most) return std::unexpected(most.error());
    return times;
  }

  Result<std::optional<std::uint64_t>> count_wrong(bool in_place) {
    if (!request_.check || bytes_ == 0) return std::optional<std::uint64_t>();
    const Buffers& buffers = in_place ? inside_ : outside_;
    check().fill(buffers);
    if (auto done = once(in_place); !done) return std::unexpected(done.error());
    std::vector<double> wrong{static_cast<double>(check().wrong(buffers))};
    auto all = runner_.combine_over_all(wrong, Op::sum, request_.stall_limit);
    if (!all) return std::unexpected(all.error());
    return std::optional(static_cast<std::uint64_t>(wrong.front()));
  }

  bench::Row row() const {
    bench::Row row;
    const auto& facts = bench::facts_of(request_.collective);
    row.bytes = bytes_;
    row.count = outside_.part / outside_.element;
    row.type = facts_of(request_.type).name;
    row.redop = facts.reduces ? name_of(request_.op) : "none";
    row.root = facts.has_root ? static_cast<int>(request_.root) : -1;
    return row;
  }

  bench::Side side(std::span<const double> times, std::optional<std::uint64_t> wrong) const {
    bench::Side side;
    side.times = bench::times_of(times);
    constexpr double bytes_per_us_of_gb = 1e3;
    side.algbw = static_cast<double>(bytes_) / side.times.mean_us / bytes_per_us_of_gb;
    side.busbw = side.algbw * bench::bus_factor(request_.collective, runner_.place().size);
    side.wrong = wrong;
    return side;
  }

 private:
  Sizing(Runner& runner, const Request& request, std::uint64_t bytes, Memory send, Memory receive,
         Memory scratch)
      : runner_(runner),
        request_(request),
        bytes_(bytes),
        send_(std::move(send)),
        receive_(std::move(receive)),
        scratch_(std::move(scratch)) {}

  static std::uint64_t own_size(const Runner& runner, const Request& request,
                                std::uint64_t wanted) {
    if (request.collective == Collective::barrier) return 0;
    return bench::rounded_size(request.collective, wanted, facts_of(request.type).bytes,
                               runner.place().size);
  }
  static std::size_t part_of(const Runner& runner, const Request& request, std::uint64_t bytes) {
    const bool is_total = bench::facts_of(request.collective).size_is_total;
    return is_total ? bytes / runner.place().size : bytes;
  }

  void lay(std::size_t part, std::size_t element) {
    outside_ = {send_.get(), receive_.get(), scratch_.get(), part, element};
    const InPlace where = in_place(request_.collective, part, runner_.place());
    inside_ = outside_;
    inside_.send = send_.get() + where.send;
    inside_.receive = send_.get() + where.receive;
    lanes_outside_ = runner_.lanes_of(request_.collective, outside_, request_.stripes);
    lanes_inside_ = runner_.lanes_of(request_.collective, inside_, request_.stripes);
    // Pages that were never written are all the kernel's one page of zeros, which a processor's
    // cache holds: sending from them would be too fast.
    if (bytes_ > 0) check().fill(outside_);
  }

  Check check() const { return {request_.collective, request_.type, request_.op, runner_.place()}; }

  Result<void> once(bool in_place) {
    if (request_.collective == Collective::barrier) return runner_.barrier();
    return in_place ? runner_.run(lanes_inside_, inside_) : runner_.run(lanes_outside_, outside_);
  }

  Runner& runner_;
  const Request& request_;
  std::uint64_t bytes_;
  Memory send_;
  Memory receive_;
  Memory scratch_;
  Buffers outside_;
  Buffers inside_;
  std::vector<Lane> lanes_outside_;
  std::vector<Lane> lanes_inside_;
};

std::vector<double> flat(const std::vector<std::vector<double>>& turns) {
  std::vector<double> all;
  for (const auto& turn : turns) all.insert(all.end(), turn.begin(), turn.end());
  return all;
}

// One size over all cells: turn by turn out of place, then in place and checked.
class Round {
 public:
  Round(Group& group, const Request& request, std::span<const Cell> cells)
      : request_(request), cells_(cells), ranks_here_(group.ranks_here()) {
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (const auto position = cells[i].position_of(group.self.rank)) {
        runners_.push_back({i, Runner(group, request, cells[i], *position)});
      }
    }
  }

  Result<void> connect() {
    for (auto& [cell, runner] : runners_) {
      if (auto made = runner.connect(); !made) return made;
    }
    return {};
  }

  Result<void> measure(std::uint64_t bytes, const std::function<void(const CellRow&)>& show) {
    std::uint64_t memory = 0;
    for (const auto& [cell, runner] : runners_) memory += Sizing::memory(runner, request_, bytes);
    if (auto fits = check_memory(memory, ranks_here_); !fits) return fits;
    std::vector<Sizing> sizings;
    for (auto& [cell, runner] : runners_) {
      auto sizing = Sizing::make(runner, request_, bytes);
      if (!sizing) return std::unexpected(sizing.error());
      sizings.push_back(*std::move(sizing));
      if (auto warm = sizings.back().warm_up(); !warm) return warm;
    }
    std::vector<std::vector<std::vector<double>>> times(sizings.size());
    for (std::size_t round = 0; round == 0 || !is_stable(times, round); ++round) {
      if (auto done = take_turns(sizings, times); !done) return done;
    }
    for (std::size_t i = 0; i < sizings.size(); ++i) {
      auto finished = finish(sizings[i], std::move(times[i]));
      if (!finished) return std::unexpected(finished.error());
      finished->cell = runners_[i].cell;
      if (show) show(*finished);
    }
    return {};
  }

 private:
  struct OwnCell {
    std::size_t cell;
    Runner runner;
  };

  Result<void> take_turns(std::vector<Sizing>& sizings,
                          std::vector<std::vector<std::vector<double>>>& times) {
    for (std::size_t turn = 0; turn < turns_per_round; ++turn) {
      const std::size_t share = request_.iterations * (turn + 1) / turns_per_round -
                                request_.iterations * turn / turns_per_round;
      if (share == 0) continue;
      for (std::size_t i = 0; i < sizings.size(); ++i) {
        auto took = sizings[i].turn(false, share);
        if (!took) return std::unexpected(took.error());
        times[i].push_back(*std::move(took));
      }
    }
    return {};
  }

  // All ranks of a cell have the same times, so they decide alike; those of several cells need
  // not, so that --stable goes with one cell only.
  bool is_stable(const std::vector<std::vector<std::vector<double>>>& times,
                 std::size_t round) const {
    if (!request_.stable_cv || cells_.size() > 1 || round == most_stable_rounds) return true;
    if (times.empty()) return true;  // this rank is not in the cell
    const auto last =
        std::span(times.front()).last(std::min(turns_per_round, times.front().size()));
    return bench::times_of(flat({last.begin(), last.end()})).cv <= *request_.stable_cv;
  }

  Result<CellRow> finish(Sizing& sizing, std::vector<std::vector<double>> times) {
    CellRow measured;
    measured.row = sizing.row();
    const auto wrong = sizing.count_wrong(false);
    if (!wrong) return std::unexpected(wrong.error());
    measured.row.out_of_place = sizing.side(flat(times), *wrong);
    measured.turns = std::move(times);
    if (!runs_in_place(request_.collective)) return measured;
    const auto inside = sizing.turn(true, request_.iterations);
    if (!inside) return std::unexpected(inside.error());
    const auto wrong_inside = sizing.count_wrong(true);
    if (!wrong_inside) return std::unexpected(wrong_inside.error());
    measured.row.in_place = sizing.side(*inside, *wrong_inside);
    return measured;
  }

  const Request& request_;
  const std::span<const Cell> cells_;
  const std::size_t ranks_here_;
  std::vector<OwnCell> runners_;
};

}  // namespace

Result<void> measure(Group& group, const Request& request, std::span<const Cell> cells,
                     const std::function<void(const CellRow&)>& show) {
  const auto wanted = sizes(request);
  if (!wanted) return std::unexpected(wanted.error());
  Round round(group, request, cells);
  if (auto made = round.connect(); !made) return made;
  for (const std::uint64_t bytes : *wanted) {
    if (auto done = round.measure(bytes, show); !done) return done;
  }
  return {};
}

}  // namespace toprun::measure
