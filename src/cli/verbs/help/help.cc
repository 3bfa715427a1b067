#include "cli/verbs/help/help.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "base/os/console.h"
#include "base/text/text.h"
#include "base/text/version.h"
#include "cli/options/command_lines.h"
#include "cli/verbs/run_verbs.h"
#include "cli/verbs/verbs.h"
#include "machine/fabric/profiles.h"
#include "observe/report/convert.h"
#include "observe/report/formats.h"

namespace toprun::cli {
namespace {

using Row = options::CommandText::Row;
using Table = options::CommandText::Table;

constexpr std::size_t most_short_examples = 5;

struct Heading {
  options::Group group;
  std::string_view title;
};
constexpr std::array headings = {
    Heading{options::Group::building, "What to build"},
    Heading{options::Group::allocation,
            "Resources of the job (Slurm's options, with Slurm's meaning)"},
    Heading{options::Group::submission, "How the job is submitted"},
    Heading{options::Group::pods, "Pods of Kubernetes and Run:AI"},
    Heading{options::Group::placement, "Processes, nodes and their order"},
    Heading{options::Group::rendezvous,
            "How the nodes find each other (not needed in Slurm or Kubernetes)"},
    Heading{options::Group::program, "What to run"},
    Heading{options::Group::container, "In a container"},
    Heading{options::Group::stopping, "Restarts, signals and the end"},
    Heading{options::Group::output, "Output"},
    Heading{options::Group::of_verb, "Options"},
    Heading{options::Group::general, "General"},
    Heading{options::Group::without_effect, "Accepted without effect"},
    Heading{options::Group::plugins, "Refused: options that make torchrun import Python code"},
};

options::CommandText::Option option_of(const options::Flag& flag, options::Command command) {
  options::CommandText::Option option;
  // If two options have the same letter, it belongs to the first.
  if (flag.letter != 0 && options::find_flag(flag.letter, command) == &flag) {
    option.names.push_back({'-', flag.letter});
  }
  if (!flag.name.empty()) option.names.emplace_back(flag.name);
  option.value = flag.value;
  option.value_optional = flag.value_optional;
  option.text = flag.help;
  return option;
}

std::string with_default_and_variable(const options::Flag& flag, options::Command command) {
  std::string out;
  if (flag.group == options::Group::without_effect) out = "Ignored: ";
  if (flag.group == options::Group::plugins) out = "Only the value `default` is accepted: ";
  out += flag.help;
  // The page that another one refers to does not refer to itself.
  const std::string other_page =
      fmt::format("`toprun help {}` lists the names", options::line_of(command).name);
  if (const auto found = out.find(other_page); found != out.npos) {
    out.replace(found, other_page.size(), "listed below");
  }
  std::string_view default_value = flag.default_value;
  if (command == options::Command::torchrun && flag.id == options::FlagId::nproc_per_node)
    default_value = "1";
  if (flag.repeatable) out += ". May be given several times";
  if (!default_value.empty()) out += fmt::format(" (default: {})", default_value);
  if (!flag.older_variable.empty()) {
    out += fmt::format(" [{}, {}]", flag.variable, flag.older_variable);
  } else if (!flag.variable.empty()) {
    out += fmt::format(" [{}]", options::variable_of(flag, command));
  }
  return out;
}

// They launch ranks of toprun's own, and have options for the measurement besides the launch's.
bool is_measurement(options::Command command) {
  return command == options::Command::bench || command == options::Command::bench_pairs;
}

// What starts or submits has many options; those of other verbs stand together.
bool has_sections(options::Command command) {
  return options::ends_at_first_operand(command) || is_measurement(command);
}

// Of a verb that also takes options of the launch, its own come first.
std::vector<Heading> headings_of(options::Command command) {
  std::vector<Heading> sorted(headings.begin(), headings.end());
  if (!options::ends_at_first_operand(command)) {
    std::ranges::stable_partition(
        sorted, [](const Heading& heading) { return heading.group == options::Group::of_verb; });
  }
  if (is_measurement(command)) sorted.front().title = "The measurement";
  return sorted;
}

std::vector<options::CommandText::Options> options_of(options::Command command) {
  std::vector<options::CommandText::Options> sections;
  for (const Heading& heading : headings_of(command)) {
    std::vector<options::CommandText::Option> options;
    for (const options::Flag& flag : options::all_flags()) {
      if (flag.group != heading.group || !options::knows(command, flag)) continue;
      options.push_back(option_of(flag, command));
      options.back().text = with_default_and_variable(flag, command);
    }
    if (options.empty()) continue;
    if (sections.empty() || has_sections(command)) {
      const auto title = has_sections(command) ? heading.title : "Options";
      sections.push_back({std::string(title), {}});
    }
    std::ranges::move(options, std::back_inserter(sections.back().options));
  }
  return sections;
}

const std::vector<Row>& pythons() {
  static const std::vector<Row> rows = {
      {"$PYTHON_EXEC", "if this variable is set, the Python that it names"},
      {"python3, python",
       "otherwise python3, or else python, from the first of these folders that has one: the "
       "folder of the toprun that was called, $VIRTUAL_ENV/bin, $CONDA_PREFIX/bin, the folders of "
       "$PATH"},
  };
  return rows;
}

// "[--] SCRIPT [ARGUMENTS...]", "[ID]", "ID...".
std::string words_of(const options::Operand& operand) {
  if (operand.count == options::Operand::Count::script) {
    return fmt::format("[--] {} [ARGUMENTS...]", operand.name);
  }
  const std::string word = fmt::format("{}{}", operand.name, operand.repeats() ? "..." : "");
  return operand.is_required() ? word : fmt::format("[{}]", word);
}

bool is_family(options::Command command) {
  return (options::of(command) & options::families) != 0;
}

std::string words_of(const options::CommandLine& line) {
  if (is_family(line.command)) return "VERB [OPTIONS]";
  std::string out = "[OPTIONS]";
  for (const options::Operand& operand : line.operands) out += ' ' + words_of(operand);
  return out;
}

std::vector<Row> verb_rows(std::string_view family) {
  std::vector<Row> rows;
  for (const Verb* verb : verbs_of(family)) {
    rows.push_back({std::string(trim(fmt::format("{} {}", last_word_of(*verb), verb->usage))),
                    std::string(verb->help)});
  }
  return rows;
}

// With the words that it may be. A form in capitals, such as ID|FILE, lists no such words.
std::string help_of(const options::Operand& operand) {
  const bool in_capitals = operand.form.starts_with("ID|");
  if (in_capitals || !operand.form.contains('|')) return std::string(operand.help);
  return fmt::format("{}: {}", operand.help, fmt::join(split(operand.form, '|'), ", "));
}

std::vector<Table> tables_before(const options::CommandLine& line) {
  if (line.command == options::Command::run) {
    Table verbs{"Verbs", verb_rows("")};
    verbs.rows.insert(verbs.rows.begin(),
                      {"[run] SCRIPT ...", "start SCRIPT in every process on every node"});
    return {std::move(verbs)};
  }
  if (is_family(line.command)) {
    return {
        {fmt::format("Verbs (toprun help {} VERB shows more)", line.name), verb_rows(line.name)}};
  }
  Table operands{"Arguments", {}};
  for (const options::Operand& operand : line.operands) {
    if (operand.help.empty()) continue;
    operands.rows.push_back({std::string(operand.name), help_of(operand)});
  }
  if (operands.rows.empty()) return {};
  return {std::move(operands)};
}

template <class Form>
Table forms_table(std::string_view title, std::span<const Form> forms) {
  Table table{std::string(title), {}};
  for (const Form& form : forms) {
    table.rows.push_back({std::string(form.name), std::string(form.help)});
  }
  return table;
}

std::vector<Table> tables_after(options::Command command) {
  using options::Command;
  if (is_family(command)) return {};
  std::vector<Table> tables;
  if (options::ends_at_first_operand(command) && command != Command::shell) {
    tables.push_back({"Which Python", pythons()});
  }
  if (command == Command::topo_order) {
    tables.push_back(forms_table("Formats", report::formats()));
  }
  if (command == Command::topo_convert) {
    tables.push_back(forms_table("Forms", report::network_forms()));
  }
  if (command == Command::net_show || command == Command::net_env) {
    Table fabrics{"Fabrics", {}};
    for (const fabric::Profile& profile : fabric::profiles()) {
      fabrics.rows.push_back({std::string(profile.name), std::string(profile.title)});
    }
    tables.push_back(std::move(fabrics));
  }
  tables.push_back({std::string(exit_codes_title), exit_code_rows(command)});
  return tables;
}

// The names of the verbs as the form of a value, from which completion knows them.
std::string verb_form(std::string_view family) {
  std::vector<std::string_view> names;
  if (family.empty()) names.emplace_back("run");
  for (const Verb* verb : verbs_of(family)) names.push_back(last_word_of(*verb));
  return fmt::format("{}", fmt::join(names, "|"));
}

std::vector<std::string> forms_of(const options::CommandLine& line) {
  const bool takes_verb =
      line.command == options::Command::help || line.command == options::Command::man;
  if (takes_verb) return {verb_form("")};
  if (is_family(line.command)) return {verb_form(line.name)};
  std::vector<std::string> forms;
  for (const options::Operand& operand : line.operands) forms.emplace_back(operand.form);
  return forms;
}

}  // namespace

std::vector<options::CommandText::Row> exit_code_rows(options::Command command) {
  std::vector<Row> rows;
  for (const ExitCode& row : exit_codes(command)) {
    rows.push_back({row.code, std::string(row.meaning)});
  }
  return rows;
}

options::CommandText command_text(options::Command command) {
  const options::CommandLine& line = options::line_of(command);
  return {options::full_name(line),
          words_of(line),
          std::string(line.summary),
          line.examples,
          {line.notes.begin(), line.notes.end()},
          tables_before(line),
          options_of(command),
          tables_after(command),
          forms_of(line)};
}

std::string short_help(options::Command command) {
  const options::CommandLine& line = options::line_of(command);
  const bool is_run = command == options::Command::run;
  options::CommandText text;
  text.name = options::full_name(line);
  text.words = words_of(line);
  std::string out = options::usage_line(text);
  if (is_run) out += "       toprun VERB [OPTIONS]\n";
  const auto examples =
      std::span(line.examples).first(std::min(line.examples.size(), most_short_examples));
  out += options::paragraph(line.summary) + "\nExamples:\n" + options::examples_table(examples);
  std::vector<Row> rows;
  for (const std::string_view name : line.most_used) {
    const options::Flag* const flag = options::find_flag(name, command);
    if (flag == nullptr) continue;
    rows.push_back({options::left_side(option_of(*flag, command)), std::string(flag->help)});
  }
  out += "\nMost used:\n" + options::table(rows);
  if (is_run)
    out += "\nVerbs (toprun help VERB shows more; run is the default verb):\n" +
           options::table(verb_rows(""));
  return out + fmt::format("\n{} --help shows all options.\n", text.name);
}

std::string option_help(std::string_view option, std::optional<Command> only) {
  option = option.substr(0, option.find('='));
  std::string bare(option.substr(std::min(option.find_first_not_of('-'), option.size())));
  std::ranges::replace(bare, '_', '-');
  const std::string name = (bare.size() == 1 ? "-" : "--") + bare;
  // Commands whose help on the option is the same.
  std::vector<std::pair<Row, std::vector<std::string>>> groups;
  const auto add = [&](Command command) {
    if (only && *only != command) return;
    for (const auto& section : options_of(command)) {
      for (const options::CommandText::Option& one : section.options) {
        if (std::ranges::find(one.names, name) == one.names.end()) continue;
        const Row row{options::left_side(one), one.text};
        auto group = std::ranges::find_if(groups, [&](const auto& each) {
          return each.first.left == row.left && each.first.text == row.text;
        });
        if (group == groups.end()) group = groups.insert(group, {row, {}});
        group->second.push_back(command_text(command).name);
      }
    }
  };
  add(Command::run);
  for (const Verb& verb : all_verbs()) add(verb.command);
  std::string out;
  for (const auto& [row, commands] : groups) {
    if (!out.empty()) out += '\n';
    out += options::paragraph(join(commands, ", ") + ":") + options::table(std::span(&row, 1));
  }
  return out;
}

std::string full_help(options::Command command) {
  return options::plain_text(command_text(command));
}

std::string version_text() {
  return fmt::format("toprun {}\n", version);
}

using options::FlagId;

Result<int> run_version(const options::Call& call) {
  if (call.has(FlagId::bill_of_materials)) return print_bytes(sbom(linked_libraries(), version));
  return print(call.has(FlagId::verbose) ? version_text() + version_details() : version_text());
}

}  // namespace toprun::cli
