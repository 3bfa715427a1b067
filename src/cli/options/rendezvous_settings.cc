#include "cli/options/rendezvous_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "base/text/text.h"

namespace toprun::options {
namespace {

enum class Form { truth, store, count, seconds, positive_seconds };

// What torchrun's backends read: c10d by its own code and by the dynamic rendezvous around it.
struct Key {
  std::string_view name;
  Form form;
  std::string_view backend;
};
constexpr std::array rendezvous_keys = {
    Key{"is_host", Form::truth, "c10d"},
    Key{"store_type", Form::store, "c10d"},
    Key{"timeout", Form::seconds, "static"},
    Key{"join_timeout", Form::positive_seconds, "c10d"},
    Key{"last_call_timeout", Form::positive_seconds, "c10d"},
    Key{"close_timeout", Form::positive_seconds, "c10d"},
    Key{"read_timeout", Form::positive_seconds, "c10d"},
    Key{"heartbeat_timeout", Form::positive_seconds, "c10d"},
    Key{"keep_alive_interval", Form::seconds, "c10d"},
    Key{"keep_alive_max_attempt", Form::count, "c10d"},
};
constexpr std::int64_t max_setting = 1'000'000'000;
constexpr std::int64_t max_python_seconds = 86'399'999'999'999;  // datetime.timedelta.max

// A whole number as Python's int() reads it: with a sign, and single underscores between digits; of
// any length, but here at most as large as the type can hold.
std::optional<std::int64_t> python_int(std::string_view text) {
  const bool is_negative = text.starts_with('-');
  if (is_negative || text.starts_with('+')) text.remove_prefix(1);
  std::string digits;
  bool was_digit = false;
  for (const char c : text) {
    const bool is_digit = c >= '0' && c <= '9';
    if (!is_digit && (c != '_' || !was_digit)) return std::nullopt;
    if (is_digit) digits += c;
    was_digit = is_digit;
  }
  if (!was_digit) return std::nullopt;
  const auto number = parse_int(digits).value_or(std::numeric_limits<std::int64_t>::max());
  return is_negative ? -number : number;
}

struct Read {
  std::string value;    // empty: this value has no effect
  std::string trouble;  // why torchrun would refuse it; empty: it would not
  std::string fix;
};

Read read_number(const Key& key, std::string_view text) {
  const auto number = python_int(text);
  if (!number) return {{}, "must be a whole number", {}};
  if (key.form == Form::positive_seconds && *number < 1) {
    return {{}, "must be a whole number of at least 1", {}};
  }
  if (key.form != Form::count && std::abs(*number) > max_python_seconds) {
    return {{}, "is too large", {}};
  }
  if (*number < 1) return {};
  return {fmt::to_string(std::min(*number, max_setting)), {}, {}};
}

Read read(const Key& key, std::string_view text) {
  switch (key.form) {
    case Form::truth: {
      const auto truth = truth_of(text);
      if (!truth) return {{}, "must be 1 or 0", {}};
      return {*truth ? "1" : "0", {}, {}};
    }
    case Form::store:
      if (lower(text) == "tcp") return {"tcp", {}, {}};
      return {{}, "is not supported", "use store_type=tcp or leave it out"};
    case Form::count:
    case Form::seconds:
    case Form::positive_seconds:
      break;
  }
  return read_number(key, text);
}

// A hint for a key that no backend has.
std::string advice_on(const std::string& name) {
  if (name == "rank") return "--node-rank gives the rank of this node";
  std::vector<std::string> names;
  for (const Key& key : rendezvous_keys) names.emplace_back(key.name);
  const auto near = did_you_mean(name, names);
  return near ? fmt::format("did you mean {}?", *near) : "the known keys are " + join(names, ", ");
}

// Settings without effect, and what to do about the first of them.
class Idle {
 public:
  void add(std::string entry, std::string advice) {
    if (entries_.empty()) advice_ = std::move(advice);
    entries_.push_back(std::move(entry));
  }
  std::string note(const Argument& argument) const {
    if (entries_.empty()) return {};
    return fmt::format("{}: {} {} no effect; {}", argument.source, join(entries_, ", "),
                       entries_.size() == 1 ? "has" : "have", advice_);
  }

 private:
  std::vector<std::string> entries_;
  std::string advice_;
};

using Values = std::vector<std::pair<std::string, std::string>>;

// In their order; of a key that is given twice the last value.
Result<Values> values_of(const Argument& argument) {
  Values values;
  if (trim(argument.value).empty()) return values;
  for (const std::string_view part : toprun::split(argument.value, ',')) {
    const std::size_t equals = std::min(part.find('='), part.size());
    std::string name(trim(part.substr(0, equals)));
    std::string value(trim(part.substr(std::min(equals + 1, part.size()))));
    if (name.empty() || value.empty()) {
      return usage(argument.label(), fmt::format("\"{}\" is not KEY=VALUE", trim(part)));
    }
    const auto found = std::ranges::find(values, name, &Values::value_type::first);
    if (found == values.end()) {
      values.emplace_back(std::move(name), std::move(value));
    } else {
      found->second = std::move(value);
    }
  }
  return values;
}

}  // namespace

Result<RendezvousSettings> parse_rendezvous_settings(const Argument& argument,
                                                     std::string_view backend) {
  const auto values = TRY(values_of(argument));
  RendezvousSettings settings;
  Idle idle;
  for (const auto& [name, value] : values) {
    const auto key = std::ranges::find(rendezvous_keys, name, &Key::name);
    if (key == rendezvous_keys.end()) {
      idle.add(name, advice_on(name));
      continue;
    }
    Read found = read(*key, value);
    const std::string entry = fmt::format("{}={}", name, value);
    if (!found.trouble.empty() && key->backend == backend) {
      return usage(argument.label(), fmt::format("{} {}", entry, found.trouble), found.fix);
    }
    if (found.value.empty()) {
      idle.add(entry,
               "the value " + (found.trouble.empty() ? "must be at least 1" : found.trouble));
    } else {
      settings.known[name] = std::move(found.value);
    }
  }
  settings.note = idle.note(argument);
  return settings;
}

}  // namespace toprun::options
