#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "bench/measure/cells.h"
#include "bench/measure/request.h"
#include "bench/tables/compare.h"
#include "cli/options/call.h"
#include "cli/options/values.h"

namespace toprun::benchmark {

inline constexpr int most_iterations = 1'000'000;
inline constexpr int most_connections = 256;
inline constexpr int longest_stall_s = 86'400;

// Reads options one by one. After an invalid option, it ignores the rest, and done() returns the
// error.
class OptionReader {
 public:
  explicit OptionReader(const options::Call& call) : call_(call) {}

  Result<void> done() const { return result_; }

  // Calls `read` with the option's value, and stores the result of `read` in `target`.
  template <class T, class Read>
  OptionReader& take(options::FlagId id, T& target, Read read) {
    const auto argument = call_.argument(id);
    if (!result_ || !argument) return *this;
    auto value = read(*argument);
    if (value) {
      target = *std::move(value);
    } else {
      result_ = std::unexpected(value.error());
    }
    return *this;
  }

  template <class T>
  OptionReader& number(options::FlagId id, T& target, int least, int most) {
    return take(id, target, [=](const options::Argument& argument) -> Result<T> {
      constexpr bool is_time = requires {
        typename T::period;
      };
      const auto value =
          TRY(options::parse_number(argument, least, most, is_time ? " of seconds" : ""));
      return static_cast<T>(value);
    });
  }

 private:
  const options::Call& call_;
  Result<void> result_;
};

// A value that --backend accepts.
struct Backend {
  std::string_view name;
  std::string_view program;  // the program that contains the backend, in toprun's folder; empty:
                             // toprun itself
  bool is_on_gpus = false;
};
inline constexpr std::array known_backends = {
    Backend{"tcp", ""}, Backend{"gloo", "toprun-bench-gloo"}, Backend{"nccl", "toprun-bench", true},
    Backend{"rccl", "toprun-bench", true}};
// Returns the element of known_backends with this name. This row must exist.
const Backend& backend_of(std::string_view name);
bool is_on_gpus(std::string_view backend);

// What `toprun bench` measures, and how it shows the results.
struct BenchRequest {
  measure::Request measured;
  std::string format;  // a word of --format
  std::optional<std::string> save;
  std::optional<std::string> plot;
  bool history = false;
  bool bisect = false;
  std::optional<bench::Expectation> expected;
  measure::Rates rates;
};

Result<double> positive(const options::Argument& argument);  // a number above 0

// Returns a warning if the user set size options that the collective ignores; otherwise nullopt.
std::optional<std::string> unused_size(const options::Call& call, bench::Collective collective);
// Parses the options of `toprun bench`, before any rank is started. Error (exit_usage): an invalid
// value.
Result<BenchRequest> bench_request(const options::Call& call);

}  // namespace toprun::benchmark
