#include "cli/subverbs.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/print.h"
#include "base/text.h"
#include "cli/candidates.h"
#include "cli/parse.h"
#include "config/config_file.h"

namespace toprun::cli {
namespace {

using Arguments = std::vector<std::string>;

options::CommandText text_of(const Family& family) {
  options::CommandText text;
  text.name = fmt::format("toprun {}", family.verb);
  text.words = "VERB [OPTIONS]";
  text.summary = family.summary;
  text.examples = {{std::string(family.example), std::string(family.example_note)}};
  options::CommandText::Table verbs{
      fmt::format("Verbs (toprun help {} VERB tells more)", family.verb), {}};
  for (const Subverb& verb : family.verbs) {
    verbs.rows.push_back({std::string(verb.name), std::string(verb.help)});
  }
  text.before.push_back(std::move(verbs));
  return text;
}

const Subverb* find(const Family& family, std::string_view name) {
  const auto verb = std::ranges::find(family.verbs, name, &Subverb::name);
  return verb == family.verbs.end() ? nullptr : &*verb;
}

int print_manual(const Family& family, const Environment& environment) {
  if (const int code = print(options::manual_section(text_of(family))); code != 0) return code;
  for (const Subverb& verb : family.verbs) {
    if (const int code = verb.run({std::string(ask_for_manual)}, environment); code != 0)
      return code;
  }
  return 0;
}

int complete(const Family& family, const Arguments& words, const Environment& environment) {
  if (words.size() == 1) {
    return print(candidate_lines(text_of(family).before.front().rows, {}, words.front()));
  }
  const Subverb* const verb = words.empty() ? nullptr : find(family, words.front());
  if (verb == nullptr) return 0;
  Arguments rest = {std::string(ask_for_completion)};
  rest.insert(rest.end(), words.begin() + 1, words.end());
  return verb->run(rest, environment);
}

}  // namespace

int run_subverb(const Family& family, const Arguments& arguments, const Environment& environment) {
  std::vector<std::string> names;
  for (const Subverb& verb : family.verbs) names.emplace_back(verb.name);
  if (arguments.empty()) {
    return give_up(usage(std::string(family.verb), "it needs a verb",
                         fmt::format("there are {}", join(names, ", ")))
                       .error());
  }
  const std::string& name = arguments.front();
  const Arguments rest(arguments.begin() + 1, arguments.end());
  if (name == "-h" || name == "--help") return print(options::plain_text(text_of(family)));
  if (name == ask_for_manual) return print_manual(family, environment);
  if (name == ask_for_completion) return complete(family, rest, environment);
  if (const Subverb* const verb = find(family, name)) return verb->run(rest, environment);
  return give_up(usage(fmt::format("{} {}", family.verb, name), "there is no such verb",
                       config::nearest_or_all(name, names))
                     .error());
}

}  // namespace toprun::cli
