#include "engines/slurm/patterns.h"

#include <algorithm>

#include "base/net/hostlist.h"
#include "base/text/text.h"

namespace toprun::engines::slurm {
namespace {

// The script runs on the first node; only the name up to the first dot counts.
std::string first_host(const Job& job) {
  std::string name = job.batch_host;
  if (name.empty()) {
    const auto nodes = hosts::parse_hostlist(job.node_list);
    if (nodes && !nodes->empty()) name = nodes->front();
  }
  return name.substr(0, name.find('.'));
}

std::string padded(std::string text, std::size_t width) {
  const bool number = text.find_first_not_of("0123456789") == std::string::npos;
  if (number && text.size() < width) text.insert(0, width - text.size(), '0');
  return text;
}

// nullopt: not a symbol of Slurm.
std::optional<std::string> value_of(char symbol, const Job& job) {
  const std::string task = job.task.empty()         ? std::string(no_task)
                           : has_several_tasks(job) ? "*"
                                                    : job.task;
  switch (symbol) {
    case '%':
      return "%";
    case 'A':
      return job.array.empty() ? job.number : job.array;
    case 'a':
      return task;
    case 'b': {
      const auto number = parse_int(task);
      return number ? fmt::to_string(*number % 10) : task;
    }
    case 'J':
    case 'j':
      return job.number;
    case 'N':
      return first_host(job);
    case 'n':
    case 't':
      return "0";
    case 'r':
      return fmt::to_string(job.restarts);
    case 's':
      return "batch";
    case 'u':
      return job.user;
    case 'x':
      return job.name;
    default:
      return std::nullopt;
  }
}

}  // namespace

std::string expand(std::string_view pattern, const Job& job) {
  std::string out;
  if (pattern.contains('\\')) {
    std::ranges::copy_if(pattern, std::back_inserter(out), [](char c) { return c != '\\'; });
    return out.substr(0, max_file_name_bytes);
  }
  for (std::size_t i = 0; i < pattern.size() && out.size() < max_file_name_bytes; ++i) {
    if (pattern[i] != '%') {
      out += pattern[i];
      continue;
    }
    std::size_t symbol = i + 1;
    while (symbol < pattern.size() && pattern[symbol] >= '0' && pattern[symbol] <= '9') ++symbol;
    const auto width = parse_int(pattern.substr(i + 1, symbol - i - 1)).value_or(0);
    const auto value = symbol < pattern.size() ? value_of(pattern[symbol], job) : std::nullopt;
    if (!value) {
      out += '%';
      continue;
    }
    out += padded(*value, std::min(static_cast<std::size_t>(width), max_padding));
    i = symbol;
  }
  return out.substr(0, max_file_name_bytes);
}

}  // namespace toprun::engines::slurm
