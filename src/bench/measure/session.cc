#include "bench/measure/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

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
constexpr std::size_t most_stable_rounds = 20;  // of all iterations, with --until-cv

// Iterations run in batches, and rank 0 may print its progress only between two of them. The ranks
// meet there, so a batch is long; its first has no times yet to tell how long it is.
constexpr double batch_us = 2e6;
constexpr std::size_t first_batch = 20;

// Of a size's time: the rest is the same in place, and the checks.
constexpr double share_out_of_place = 0.5;

// Its time, in bytes: even the smallest message takes as long as so many bytes.
double cost_of(std::uint64_t bytes) {
  constexpr double least = 256 << 10;
  return static_cast<double>(bytes) + least;
}

// Tells rank 0 which share of a part of a size is done.
struct Tell {
  const std::function<void(double)>& share_of_size;
  double begin = 0;
  double width = 1;

  void operator()(double share) const { share_of_size(begin + width * share); }
  Tell part(std::size_t index, std::size_t of) const {
    const double part = width / static_cast<double>(of);
    return {share_of_size, begin + part * static_cast<double>(index), part};
  }
};

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
  Result<std::vector<double>> turn(bool in_place, std::size_t iterations, const Tell& tell) {
    std::vector<double> all;
    while (all.size() < iterations) {
      TRY(mesh_.barrier(turn_limit));
      const std::size_t batch = std::min(iterations - all.size(), batch_);
      auto times = TRY(work_->run(in_place, batch, request_.aggregated));
      TRY(combine(times));
      batch_ = next_batch(times);
      all.insert(all.end(), times.begin(), times.end());
      tell(static_cast<double>(all.size()) / static_cast<double>(iterations));
    }
    return all;
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
  // All ranks have the same times, so they decide alike.
  std::size_t next_batch(std::span<const double> last) const {
    const double sum_us = std::accumulate(last.begin(), last.end(), 0.0);
    const double one_us = sum_us * static_cast<double>(request_.aggregated) / double(last.size());
    constexpr double most = 1e9;
    return static_cast<std::size_t>(std::clamp(batch_us / std::max(one_us, 1e-3), 1.0, most));
  }

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
  std::size_t batch_ = first_batch;  // iterations
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
      if (auto done = take_turns(sizings, times, {tell, 0, share_out_of_place}); !done) return done;
    }
    if (reported_.remark && !times.empty()) remark_unstable(bytes, times.front());
    for (std::size_t i = 0; i < sizings.size(); ++i) {
      const Tell rest{tell, share_out_of_place, 1 - share_out_of_place};
      auto finished = TRY(finish(sizings[i], std::move(times[i]), rest.part(i, sizings.size())));
      finished.cell = own_[i].cell;
      if (reported_.row) reported_.row(finished);
    }
    return {};
  }

 private:
  Result<void> take_turns(std::vector<Sizing>& sizings,
                          std::vector<std::vector<std::vector<double>>>& times, const Tell& tell) {
    for (std::size_t turn = 0; turn < turns_per_round; ++turn) {
      const std::size_t share = request_.iterations * (turn + 1) / turns_per_round -
                                request_.iterations * turn / turns_per_round;
      if (share == 0) continue;
      for (std::size_t i = 0; i < sizings.size(); ++i) {
        auto took = TRY(sizings[i].turn(false, std::max(share, enough_for_a_turn(times[i])),
                                        tell.part(turn, turns_per_round).part(i, sizings.size())));
        times[i].push_back(std::move(took));
      }
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

  // Of the last round of all iterations.
  static double last_cv(const std::vector<std::vector<double>>& turns) {
    const auto last = std::span(turns).last(std::min(turns_per_round, turns.size()));
    return bench::times_of(flat({last.begin(), last.end()})).cv;
  }

  // All ranks of a cell have the same times, so they decide alike; those of several cells need
  // not, so that --until-cv goes with one cell only.
  bool is_stable(const std::vector<std::vector<std::vector<double>>>& times,
                 std::size_t round) const {
    if (!request_.stable_cv || cells_.size() > 1 || round == most_stable_rounds) return true;
    if (times.empty()) return true;  // this rank is not in the cell
    return last_cv(times.front()) <= *request_.stable_cv;
  }

  void remark_unstable(std::uint64_t bytes, const std::vector<std::vector<double>>& turns) const {
    if (!request_.stable_cv || cells_.size() > 1) return;
    const double cv = last_cv(turns);
    if (cv <= *request_.stable_cv) return;
    reported_.remark(
        fmt::format("--until-cv {:g}: {}: toprun stopped after {} rounds ({} iterations); the "
                    "times of the last round still vary by {:.3g} %",
                    100 * *request_.stable_cv, bench::size_text(bytes), most_stable_rounds,
                    flat(turns).size(), 100 * cv));
  }

  Result<CellRow> finish(Sizing& sizing, std::vector<std::vector<double>> times, const Tell& tell) {
    CellRow measured;
    measured.row = sizing.row();
    const auto wrong = TRY(sizing.count_wrong(false));
    const std::vector<double> all = flat(times);
    measured.row.out_of_place = sizing.side(all, wrong);
    measured.turns = std::move(times);
    if (!runs_in_place(request_.collective)) return measured;
    const auto inside = TRY(sizing.turn(true, all.size(), tell));
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

// Drops the sizes that leave a rank's part empty in a cell, and returns the largest of these sizes;
// 0: none. A requested size of 0 stays.
std::uint64_t drop_empty(std::vector<std::uint64_t>& sizes, const Request& request,
                         std::span<const Cell> cells) {
  if (request.collective == Collective::barrier) return 0;
  std::uint64_t largest = 0;
  std::erase_if(sizes, [&](std::uint64_t bytes) {
    const bool is_empty = bytes > 0 && std::ranges::any_of(cells, [&](const Cell& cell) {
                            return Extent::of(request, bytes, cell.ranks.size()).bytes == 0;
                          });
    if (is_empty) largest = std::max(largest, bytes);
    return is_empty;
  });
  return largest;
}

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
  auto requested = TRY(sizes(request));
  if (const std::uint64_t largest = drop_empty(requested, request, cells); largest > 0) {
    const std::string which = fmt::format(
        "{}: sizes up to {}", bench::facts_of(request.collective).name, bench::size_text(largest));
    constexpr std::string_view why = "each rank's part would be empty";
    if (requested.empty()) return usage(which, std::string(why), "measure larger messages");
    if (reported.remark) reported.remark(fmt::format("{} are left out: {}", which, why));
  }
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
