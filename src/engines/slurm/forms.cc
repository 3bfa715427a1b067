#include "engines/slurm/forms.h"

#include <algorithm>
#include <array>

#include "base/text/text.h"

namespace toprun::engines::slurm {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_number(std::string_view value) {
  return !value.empty() && std::ranges::all_of(value, is_digit);
}

// A digit, and nothing but digits and these after it.
bool is_of_digits_and(std::string_view others, std::string_view value) {
  return !value.empty() && is_digit(value.front()) &&
         std::ranges::all_of(value, [&](char c) { return is_digit(c) || others.contains(c); });
}

// 4, 2-4, 1k, and a list of sizes as 1,4-8:2.
bool is_node_count(std::string_view value) {
  return is_of_digits_and("-,:kKmM", value) && value.front() != '0';
}

// Of one kind or several: 2, a100:2, a100:2,v100:1.
bool is_gpu_count(std::string_view value) {
  return std::ranges::all_of(split(value, ','), [](std::string_view kind) {
    const std::size_t colon = kind.rfind(':');
    return is_number(colon == std::string_view::npos ? kind : kind.substr(colon + 1));
  });
}

// MiB, or with a unit: 64G, 64GB.
bool is_size(std::string_view value) {
  const std::size_t digits = std::min(value.find_first_not_of("0123456789"), value.size());
  const std::string unit = lower(value.substr(digits));
  constexpr std::array units = {"", "k", "m", "g", "t", "kb", "mb", "gb", "tb"};
  return digits > 0 && std::ranges::find(units, unit) != units.end();
}

// Minutes, M:S, H:M:S, D-H, D-H:M, D-H:M:S.
bool is_time(std::string_view value) {
  const std::string word = lower(value);
  if (word == "infinite" || word == "unlimited") return true;
  const std::size_t dash = value.find('-');
  const bool has_days = dash != std::string_view::npos;
  const auto parts = split(value.substr(has_days ? dash + 1 : 0), ':');
  return parts.size() <= 3 && (!has_days || is_number(value.substr(0, dash))) &&
         std::ranges::all_of(parts, is_number);
}

// Whether the first number is not higher than the second.
bool ascends(std::string_view first, std::string_view last) {
  const auto from = parse_int(first);
  const auto to = parse_int(last);
  return !from || !to || *from <= *to;
}

// 0-9, 1,3,5-7, 0-15:4, and at most so many at once: 0-9%2.
bool is_of_tasks(std::string_view value) {
  const std::size_t percent = value.find('%');
  if (percent != std::string_view::npos && !is_number(value.substr(percent + 1))) return false;
  return std::ranges::all_of(split(value.substr(0, percent), ','), [](std::string_view part) {
    const std::size_t dash = part.find('-');
    const std::size_t colon = part.find(':');
    if (dash == std::string_view::npos) return is_number(part);
    const bool has_step = colon != std::string_view::npos && colon > dash;
    const auto last = part.substr(dash + 1, has_step ? colon - dash - 1 : part.npos);
    return is_number(part.substr(0, dash)) && is_number(last) &&
           ascends(part.substr(0, dash), last) && (!has_step || is_number(part.substr(colon + 1)));
  });
}

// sbatch's events, in any case.
bool is_of_events(std::string_view value) {
  constexpr std::array events = {"none",           "begin",      "end",           "fail",
                                 "requeue",        "all",        "stageout",      "stage_out",
                                 "invalid_depend", "time_limit", "time_limit_90", "time_limit_80",
                                 "time_limit_50",  "array_tasks"};
  return std::ranges::all_of(split(value, ','), [&](std::string_view event) {
    return std::ranges::find(events, lower(event)) != events.end();
  });
}

struct Form {
  std::string_view option;
  bool (*fits)(std::string_view value);
  std::string_view wrong;
};
constexpr std::array forms = {
    Form{"--nodes", is_node_count, "must be a number of nodes, such as 4 or 2-4"},
    Form{"--gpus-per-node", is_gpu_count, "must be a number of GPUs, as 8 or a100:8"},
    Form{"--gpus", is_gpu_count, "must be a number of GPUs, as 8 or a100:8"},
    Form{"--cpus-per-task", is_number, "must be a number of CPUs, at least 1"},
    Form{"--mem", is_size, "must be a size, as 64G"},
    Form{"--mail-type", is_of_events,
         "must be events, as END,FAIL, of NONE, BEGIN, END, FAIL, REQUEUE, ALL, INVALID_DEPEND, "
         "STAGE_OUT, TIME_LIMIT, TIME_LIMIT_90, TIME_LIMIT_80, TIME_LIMIT_50, ARRAY_TASKS"},
    Form{"--array", is_of_tasks,
         "must be task numbers, each range from low to high, as 0-9, 1,3,5-7 or 0-9%2 (2 at once)"},
    Form{"--time", is_time, "must be a time, as 90 (minutes), 1:30:00 or 2-12:00:00"},
};

}  // namespace

std::string_view wrong_form(std::string_view option, std::string_view value) {
  const auto* const form = std::ranges::find(forms, option, &Form::option);
  return form == forms.end() || form->fits(value) ? std::string_view() : form->wrong;
}

bool has_form(std::string_view option) {
  return std::ranges::find(forms, option, &Form::option) != forms.end();
}

}  // namespace toprun::engines::slurm
