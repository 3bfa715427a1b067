#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace toprun::options {

inline constexpr int help_columns = 80;

// The description of one command. Help, manual page and completion are all generated from this
// description, so that they cannot differ.
struct CommandText {
  // A row with two columns: an option and its effect, or an exit code and its meaning.
  struct Row {
    std::string left;
    std::string text;
  };
  // An option, with its names ("-t, --tee") separate from the placeholder of its value.
  struct Option {
    std::vector<std::string> names;
    std::string value;  // "FILE"; empty: a switch
    bool value_optional = false;
    std::string text;
  };
  struct Options {
    std::string title;
    std::vector<Option> options;
  };
  struct Table {
    std::string title;
    std::vector<Row> rows;
  };

  std::string name;   // "toprun topo order"
  std::string words;  // "[OPTIONS] ID"
  std::string summary;
  std::vector<Row> examples;  // a command and its purpose
  std::vector<std::string> notes;
  std::vector<Table> before;  // tables that appear before the options
  std::vector<Options> options;
  std::vector<Table> after;
  std::vector<std::string> positionals;  // placeholders: "ID", "FILE"
};

// Returns an option as in the help: "-t, --tee STREAMS".
std::string left_side(const CommandText::Option& option);

// Returns complete lines of at most help_columns columns, for a terminal.
std::string plain_text(const CommandText& command);
// These functions return parts of a manual page in the macros of man(7). manual_text() returns
// everything about a command except the synopsis.
std::string manual_synopsis(const CommandText& command);
std::string manual_text(const CommandText& command);
std::string manual_paragraph(std::string_view text);
std::string manual_rows(std::span<const CommandText::Row> rows);

// These functions return parts of the texts for the terminal and for the manual page.
std::string usage_line(const CommandText& command);
std::string paragraph(std::string_view text);
std::string table(std::span<const CommandText::Row> rows);
std::string examples_table(std::span<const CommandText::Row> examples);

}  // namespace toprun::options
