#include "cli/parse.h"

#include <CLI/CLI.hpp>

#include "base/print.h"
#include "base/text.h"
#include "cli/candidates.h"
#include "cli/help.h"
#include "options/exit_codes.h"
#include "options/split.h"

namespace toprun::cli {
namespace {

using Row = options::CommandText::Row;

constexpr std::string_view indentation = "  ";
constexpr std::string_view program = "toprun ";

// "INT:INT in [1 - 8]" is a form and its check.
std::string form_of(const CLI::Option& option) {
  if (option.get_items_expected_max() == 0) return {};
  const std::string type = option.get_type_name();
  return type.substr(0, type.find(':'));
}

options::CommandText::Option option_of(const CLI::Option& option) {
  options::CommandText::Option out;
  for (const std::string& name : option.get_snames()) out.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) {
    if (!name.contains('_')) out.names.push_back("--" + name);
  }
  out.value = form_of(option);
  out.value_optional = option.get_items_expected_min() == 0;
  out.text = option.get_description();
  return out;
}

// "ID", "[ID]", "ID...".
std::string words_of(const CLI::Option& positional) {
  constexpr int one = 1;
  std::string word = positional.get_name(true);
  if (positional.get_items_expected_max() > one) word += "...";
  return positional.get_required() ? word : "[" + word + "]";
}

// A line of a table: two columns, with `separator` or at least two blanks in between.
Row row_of(std::string_view line, std::string_view separator) {
  line = trim(line);
  const std::size_t end = line.find(separator);
  if (end == std::string_view::npos) return {std::string(line), {}};
  return {std::string(trim(line.substr(0, end))),
          std::string(trim(line.substr(end + separator.size())))};
}

void read_footer(std::string_view footer, options::CommandText& text) {
  constexpr std::string_view one_example = "Example: ";
  constexpr std::string_view before_note = "  # ";
  bool in_examples = false;
  for (const std::string_view line : toprun::split(footer, '\n')) {
    if (line.empty()) continue;
    if (line.starts_with(one_example)) {
      text.examples.push_back(row_of(line.substr(one_example.size()), before_note));
    } else if (line.starts_with(indentation) && in_examples) {
      text.examples.push_back(row_of(line, before_note));
    } else if (line.starts_with(indentation) && !text.after.empty()) {
      text.after.back().rows.push_back(row_of(line, indentation));
    } else if (in_examples = line == "Examples:"; in_examples) {
      continue;
    } else if (line.ends_with(':')) {
      text.after.push_back({std::string(line.substr(0, line.size() - 1)), {}});
    } else {
      text.notes.emplace_back(line);
    }
  }
}

// What toprun itself asks in place of the user. nullopt: it is the user who speaks.
template <class Described>
std::optional<int> answer(const Described& described, const std::vector<std::string>& arguments) {
  if (arguments.empty()) return std::nullopt;
  if (arguments.front() == ask_for_manual)
    return print(options::manual_section(command_text(described)));
  if (arguments.front() != ask_for_completion) return std::nullopt;
  return print_candidates(command_text(described), std::span(arguments).subspan(1));
}

}  // namespace

options::CommandText command_text(const CLI::App& app) {
  options::CommandText text;
  text.name = app.get_name();
  text.summary = app.get_description();
  options::CommandText::Options options{"Options", {}};
  options::CommandText::Table operands{"Arguments", {}};
  std::string positionals;
  for (const CLI::Option* option : app.get_options()) {
    if (option == app.get_help_ptr()) continue;  // it stands last
    if (option->nonpositional()) {
      options.options.push_back(option_of(*option));
    } else {
      positionals += " " + words_of(*option);
      text.positionals.push_back(form_of(*option));
      operands.rows.push_back({option->get_name(true), option->get_description()});
    }
  }
  if (const CLI::Option* help = app.get_help_ptr()) options.options.push_back(option_of(*help));
  text.words = "[OPTIONS]" + positionals;
  if (!operands.rows.empty()) text.before.push_back(std::move(operands));
  text.options.push_back(std::move(options));
  read_footer(app.get_footer(), text);
  const std::string title = "Exit codes";
  if (text.after.empty() || text.after.back().title != title) text.after.push_back({title, {}});
  std::vector<Row>& codes = text.after.back().rows;
  for (const options::ExitCode& row : options::exit_codes_of_other_verbs()) {
    codes.push_back({row.code, std::string(row.meaning)});
  }
  return text;
}

std::optional<int> parse(CLI::App& app, const std::vector<std::string>& arguments) {
  app.get_help_ptr()->description("this help");
  if (const auto code = answer(app, arguments)) return code;
  try {
    // CLI11 takes the arguments from the back.
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
    return std::nullopt;
  } catch (const CLI::CallForHelp&) {
    return print(options::plain_text(command_text(app)));
  } catch (const CLI::ParseError& error) {
    // Every line begins with "toprun: ".
    std::string_view verb = app.get_name();
    if (verb.starts_with(program)) verb.remove_prefix(program.size());
    return give_up(
        usage(std::string(verb), error.what(), fmt::format("see {}{} --help", program, verb))
            .error());
  }
}

std::expected<options::Split, int> parse(options::Dialect dialect,
                                         const std::vector<std::string>& arguments) {
  if (const auto code = answer(dialect, arguments)) return std::unexpected(*code);
  auto split = options::split_verb(arguments, dialect);
  if (!split) return std::unexpected(give_up(split.error()));
  if (split->options.empty()) return *std::move(split);
  switch (split->options.back().flag->id) {
    case options::FlagId::help_short:
      return std::unexpected(print(short_help(dialect)));
    case options::FlagId::help:
      return std::unexpected(print(full_help(dialect)));
    default:
      return *std::move(split);
  }
}

}  // namespace toprun::cli
