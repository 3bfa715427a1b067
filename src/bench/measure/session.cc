#include "bench/measure/session.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text/clock.h"
#include "bench/tables/figures.h"
#include "bench/tables/live_table.h"
#include "bench/tables/statistics.h"

namespace toprun::measure {
namespace {

using bench::Collective;

// Ranks outside a cell wait while it has its turn; if it fails, its ranks' failure ends the job.
constexpr std::chrono::hours turn_limit{1};
constexpr std::size_t turns_per_round = 5;
constexpr std::size_t most_per_turn = 400;      // iterations, if least_time asks for more
constexpr std::size_t most_stable_rounds = 20;  // of all iterations, with --stable

// Of a size's time: the rest is the same in place, and the checks.
constexpr double share_out_of_place = 0.5;

// Its time, in bytes: even the smallest message takes as long as so many bytes.
double cost_of(std::uint64_t bytes) {
  constexpr double least = 256 << 10;
  return static_cast<double>(bytes) + least;
}

// Whether the collective can use one buffer for what it sends and receives.
bool runs_in_place(Collective collective) {
  return collective != Collective::alltoall && collective != Collective::sendrecv &&
         collective != Collective::barrier;
}

RingPosition position_in(const Cell& cell, std::size_t position, std::size_t root) {
  return {position, cell.ranks.size(), cell.position_of(root).value_or(0)};
}

// One cell on one of its ranks.
struct OwnCell {
  std::size_t cell;
  CellMesh mesh;
  std::unique_ptr<Backend> backend;
};

// What one rank of a cell sends or receives for a size of the request.
struct Extent {
  std::uint64_t bytes = 0;  // the table's size
  std::size_t part = 0;

  static Extent of(const Request& request, std::uint64_t requested, std::size_t ranks) {
    if (request.collective == Collective::barrier) return {};
    const std::uint64_t bytes =
        bench::rounded_size(request.collective, requested, facts_of(request.type).bytes, ranks);
    const bool is_total = bench::facts_of(request.collective).size_is_total;
    return {bytes, is_total ? bytes / ranks : bytes};
  }
};

// One size of one cell.
class Sizing {
 public:
  static Result<Sizing> make(const OwnCell& own, const Request& request, Extent extent) {
    auto work = TRY(own.backend->work(extent.part));
    // Pages that were never written are all the kernel's one page of zeros, which a processor's
    // cache holds: sending from them would be too fast.
    if (extent.bytes > 0) {
      TRY(work->fill(false));
    }
    return Sizing(own, request, extent, std::move(work));
  }

  Result<void> warm_up() {
    TRY(work_->run(false, request_.warmups, request_.aggregated));
    return {};
  }

  // Some iterations: the time of each, as the request averages those of the ranks.
  Result<std::vector<double>> turn(bool in_place, std::size_t iterations) {
    TRY(mesh_.barrier(turn_limit));
    auto times = TRY(work_->run(in_place, iterations, request_.aggregated));
    TRY(combine(times));
    return times;
  }

  Result<std::optional<std::uint64_t>> count_wrong(bool in_place) {
    if (!request_.check || extent_.bytes == 0) return std::optional<std::uint64_t>();
    TRY(work_->fill(in_place));
    TRY(work_->run(in_place, 1, 1));
    const auto own = TRY(work_->wrong(in_place));
    std::vector<double> wrong{static_cast<double>(own)};
    TRY(mesh_.combine_over_all(wrong, Op::sum, request_.stall_limit));
    return std::optional(static_cast<std::uint64_t>(wrong.front()));
  }

  bench::Row row() const {
    bench::Row row;
    const auto& facts = bench::facts_of(request_.collective);
    row.bytes = extent_.bytes;
    row.count = extent_.part / facts_of(request_.type).bytes;
    row.type = facts_of(request_.type).name;
    row.redop = facts.reduces ? name_of(request_.op) : "none";
    row.root = facts.has_root ? static_cast<int>(request_.root) : -1;
    return row;
  }

  bench::Side side(std::span<const double> times, std::optional<std::uint64_t> wrong) const {
    bench::Side side;
    side.times = bench::times_of(times);
    bench::set_bandwidths(side, request_.collective, extent_.bytes, mesh_.ring().size);
    side.wrong = wrong;
    return side;
  }

 private:
  Result<void> combine(std::vector<double>& times) {
    const auto over_all = [&](Op op) {
      return mesh_.combine_over_all(times, op, request_.stall_limit);
    };
    switch (request_.average) {
      case Average::most:
        return over_all(Op::max);
      case Average::least:
        return over_all(Op::min);
      case Average::first_rank:
        if (mesh_.ring().position != 0) std::ranges::fill(times, 0);
        return over_all(Op::sum);
      case Average::mean:
        for (double& time : times) time /= static_cast<double>(mesh_.ring().size);
        return over_all(Op::sum);
    }
    return {};
  }

  Sizing(const OwnCell& own, const Request& request, Extent extent, std::unique_ptr<Work> work)
      : mesh_(own.mesh), request_(request), extent_(extent), work_(std::move(work)) {}

  const CellMesh& mesh_;
  const Request& request_;
  Extent extent_;
  std::unique_ptr<Work> work_;
};

std::vector<double> flat(const std::vector<std::vector<double>>& turns) {
  std::vector<double> all;
  for (const auto& turn : turns) all.insert(all.end(), turn.begin(), turn.end());
  return all;
}

// One size over all cells: turn by turn out of place, then in place and checked.
class Round {
 public:
  Round(Group& group, const Request& request, std::span<const Cell> cells, const MakeBackend& make,
        const Callbacks& reported)
      : request_(request), cells_(cells), reported_(reported), ranks_here_(group.ranks_here()) {
    own_.reserve(cells.size());  // backends refer to the meshes beside them
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const auto position = cells[i].position_of(group.self.rank);
      if (!position) continue;
      OwnCell& own = own_.emplace_back(
          i, CellMesh(group, cells[i], position_in(cells[i], *position, request.root)), nullptr);
      own.backend = make(group, request, i, own.mesh);
    }
  }

  Result<void> connect() {
    for (OwnCell& own : own_) {
      // Times and counts go over TCP whatever the backend.
      TRY(own.mesh.connect(Collective::all_reduce, 1));
      TRY(own.backend->connect());
    }
    return {};
  }

  // `tell` gets the share of the size that is done.
  Result<void> measure(std::uint64_t bytes, const std::function<void(double)>& tell) {
    std::uint64_t memory = 0;
    for (const OwnCell& own : own_) {
      const std::size_t ranks = own.mesh.ring().size;
      memory += memory_of(request_.collective, Extent::of(request_, bytes, ranks).part, ranks);
    }
    for (const OwnCell& own : own_) {
      TRY(own.backend->check_memory(memory, ranks_here_));
    }
    std::vector<Sizing> sizings;
    for (const OwnCell& own : own_) {
      auto sizing =
          TRY(Sizing::make(own, request_, Extent::of(request_, bytes, own.mesh.ring().size)));
      sizings.push_back(std::move(sizing));
      if (auto warm = sizings.back().warm_up(); !warm) return warm;
    }
    std::vector<std::vector<std::vector<double>>> times(sizings.size());
    for (std::size_t round = 0; round == 0 || !is_stable(times, round); ++round) {
      if (auto done = take_turns(sizings, times, tell); !done) return done;
    }
    for (std::size_t i = 0; i < sizings.size(); ++i) {
      auto finished = TRY(finish(sizings[i], std::move(times[i])));
      finished.cell = own_[i].cell;
      if (reported_.row) reported_.row(finished);
    }
    return {};
  }

 private:
  Result<void> take_turns(std::vector<Sizing>& sizings,
                          std::vector<std::vector<std::vector<double>>>& times,
                          const std::function<void(double)>& tell) {
    for (std::size_t turn = 0; turn < turns_per_round; ++turn) {
      const std::size_t share = request_.iterations * (turn + 1) / turns_per_round -
                                request_.iterations * turn / turns_per_round;
      if (share == 0) continue;
      for (std::size_t i = 0; i < sizings.size(); ++i) {
        auto took = TRY(sizings[i].turn(false, std::max(share, enough_for_a_turn(times[i]))));
        times[i].push_back(std::move(took));
      }
      tell(share_out_of_place * static_cast<double>(turn + 1) / turns_per_round);
    }
    return {};
  }

  // The iterations of one more turn of a cell, from the times of its earlier turns; 0: unknown. All
  // ranks of a cell have the same times, so they decide alike.
  std::size_t enough_for_a_turn(const std::vector<std::vector<double>>& turns) const {
    if (request_.least_time.count() == 0 || turns.empty()) return 0;
    const double usual_us = bench::median(flat(turns));
    const std::chrono::duration<double, std::micro> of_a_turn =
        request_.least_time / static_cast<double>(turns_per_round);
    if (usual_us * most_per_turn <= of_a_turn.count()) return most_per_turn;
    return static_cast<std::size_t>(of_a_turn.count() / usual_us);
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
    const auto wrong = TRY(sizing.count_wrong(false));
    const std::vector<double> all = flat(times);
    measured.row.out_of_place = sizing.side(all, wrong);
    measured.turns = std::move(times);
    if (!runs_in_place(request_.collective)) return measured;
    const auto inside = TRY(sizing.turn(true, all.size()));
    const auto wrong_inside = TRY(sizing.count_wrong(true));
    measured.row.in_place = sizing.side(inside, wrong_inside);
    return measured;
  }

  const Request& request_;
  const std::span<const Cell> cells_;
  const Callbacks& reported_;
  const std::size_t ranks_here_;
  std::vector<OwnCell> own_;
};

}  // namespace

constexpr std::chrono::seconds least_reported{1};

std::optional<std::string> ProgressLines::at(const Progress& progress, Time now) {
  if (now - last_ < interval || progress.done >= progress.total) return std::nullopt;
  const std::chrono::duration<double> since = now - last_;
  const double rest = progress.total - progress.done;
  const double newly = progress.done - done_;
  last_ = now;
  done_ = progress.done;
  if (newly <= 0) return progress.what;
  const std::chrono::duration<double> left = since * (rest / newly);
  if (left < least_reported) return progress.what;
  const auto seconds = std::chrono::round<std::chrono::seconds>(left);
  return fmt::format("{}, about {} left", progress.what,
                     seconds < std::chrono::minutes(1) ? fmt::format("{} s", seconds.count())
                                                       : duration_text(seconds));
}

Result<void> measure(Group& group, const Request& request, std::span<const Cell> cells,
                     const MakeBackend& make, const Callbacks& reported) {
  const auto requested = TRY(sizes(request));
  Round round(group, request, cells, make, reported);
  if (auto made = round.connect(); !made) return made;
  Progress progress;
  for (const std::uint64_t bytes : requested) progress.total += cost_of(bytes);
  double before = 0;
  for (const std::uint64_t bytes : requested) {
    progress.what = bench::size_text(bytes);
    const auto tell = [&](double share) {
      progress.done = before + share * cost_of(bytes);
      if (reported.progress) reported.progress(progress);
    };
    if (auto done = round.measure(bytes, tell); !done) return done;
    before += cost_of(bytes);
  }
  return {};
}

}  // namespace toprun::measure
