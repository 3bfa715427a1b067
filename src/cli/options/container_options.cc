#include "cli/options/container_options.h"

#include <algorithm>
#include <filesystem>

#include "base/os/files.h"
#include "base/text/text.h"
#include "cli/options/call.h"
#include "cli/options/run_draft.h"
#include "machine/container/container.h"
#include "machine/container/edf.h"
#include "machine/container/image.h"

namespace toprun::options {
namespace {

using container::Request;

constexpr std::size_t max_container_name = 128;

bool is_word_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

std::string bind_word(const container::Bind& bind) {
  return fmt::format("{}:{}:{}", bind.source, bind.target, bind.read_only ? "ro" : "rw");
}

}  // namespace

Result<std::string> parse_image_option(const Argument& argument) {
  const auto image = container::parse_image(argument.value);
  if (image) return argument.value;
  return usage(argument.label(), image.error()->why, image.error()->fix);
}

Result<std::string> parse_workdir(const Argument& argument) {
  if (argument.value.starts_with('/') && is_printable(argument.value)) return argument.value;
  return usage(argument.label(), "must be the absolute path of a folder in the container");
}

// The name becomes a folder's name and the name of a runtime's container.
Result<std::string> parse_container_name(const Argument& argument) {
  const std::string& name = argument.value;
  const bool good = !name.empty() && name.size() <= max_container_name &&
                    is_word_character(name.front()) && std::ranges::all_of(name, [](char c) {
                      return is_word_character(c) || c == '.' || c == '-';
                    });
  if (good) return name;
  return usage(argument.label(), fmt::format("must consist of at most {} letters, digits, '_', '.' "
                                             "and '-', and begin with a letter, a digit or '_'",
                                             max_container_name));
}

Result<void> add_container_variables(RunDraft& draft, const Flag&, const Argument& argument) {
  for (const std::string_view name : toprun::split(argument.value, ',')) {
    const std::string_view stem = name.ends_with('*') ? name.substr(0, name.size() - 1) : name;
    const bool good = !stem.empty() && !(stem.front() >= '0' && stem.front() <= '9') &&
                      std::ranges::all_of(stem, is_word_character);
    if (!good) {
      return usage(argument.label(),
                   fmt::format("'{}' is not the name of a variable", printable(name)),
                   name.contains('=') ? "-e sets a variable" : "");
    }
    draft.container.host_wins.emplace_back(name);
  }
  return {};
}

Result<void> add_binds(RunDraft& draft, const Flag&, const Argument& argument) {
  for (const std::string_view text : toprun::split(argument.value, ',')) {
    auto bind = container::parse_bind(text);
    if (!bind) return usage(argument.label(), bind.error()->why, bind.error()->fix);
    draft.container.binds.push_back(*std::move(bind));
  }
  return {};
}

Result<Request> container_options(const Split& split, const Environment& environment,
                                  std::vector<std::string>& notes) {
  RunDraft draft;
  std::vector<std::string> sources;
  for (const Flag& flag : all_flags()) {
    if (flag.group != Group::container) continue;
    const std::vector<Argument> all = all_arguments(flag, split, environment);
    for (const Argument& argument : all) {
      TRY(flag.set(draft, flag, argument));
    }
    if (!all.empty()) sources.push_back(all.back().source);
  }
  Request& request = draft.container;
  if (!request.image.empty() || !request.environment.empty() || sources.empty()) {
    return std::move(request);
  }
  notes.push_back(fmt::format("without --container or --environment, this has no effect: {}",
                              fmt::join(sources, ", ")));
  return Request{};
}

Result<void> complete(Request& request, const Environment& environment,
                      std::vector<std::string>& notes) {
  if (!request.environment.empty()) {
    auto without_effect =
        TRY(container::apply_edf(request, environment, [](const std::string& path) {
          return read_file(path, container::max_edf_bytes);
        }));
    std::ranges::move(without_effect, std::back_inserter(notes));
  }
  if (request.empty()) return {};
  std::error_code error;
  const std::filesystem::path here = std::filesystem::current_path(error);
  if (error)
    return fail("cannot find the working directory", error.message(),
                "change to another directory");
  container::make_absolute(request, here.native());
  return {};
}

std::vector<std::string> container_words(const Request& request) {
  std::vector<std::string> words;
  const auto add = [&](FlagId flag, const std::string& value) {
    if (!value.empty()) words.push_back(fmt::format("{}={}", flag_of(flag).name, value));
  };
  const auto add_switch = [&](FlagId flag, bool on) {
    if (on) words.emplace_back(flag_of(flag).name);
  };
  add(FlagId::container, request.image);
  add(FlagId::container_environment, request.environment);
  if (request.runtime != Request{}.runtime) add(FlagId::container_runtime, request.runtime);
  for (const container::Bind& bind : request.binds) add(FlagId::bind, bind_word(bind));
  add(FlagId::container_workdir, request.workdir);
  add(FlagId::container_env, join(request.host_wins, ","));
  add(FlagId::container_name, request.name);
  add_switch(FlagId::container_root, request.root);
  add_switch(FlagId::writable, request.writable);
  add_switch(FlagId::no_gpu, !request.gpu);
  return words;
}

}  // namespace toprun::options
