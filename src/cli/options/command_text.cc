#include "cli/options/command_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/os/style.h"
#include "base/text/text.h"

namespace toprun::options {
namespace {

using Row = CommandText::Row;

constexpr std::size_t indent = 2;
constexpr std::size_t gap = 2;
constexpr std::size_t text_column = 30;     // start of the right side of a table
constexpr std::size_t widest_example = 42;  // a wider example has a line of its own
constexpr std::size_t width = help_columns;

// `text` wrapped between words. New lines start at column `from`; `at` columns of the first line
// are already used.
std::string broken(std::string_view text, std::size_t from, std::size_t at) {
  std::string out;
  bool at_start = true;
  for (const std::string_view word : words(text)) {
    if (!at_start && at + 1 + columns_of(word) > width) {
      out += '\n';
      at = 0;
      at_start = true;
    }
    const std::size_t blanks = at_start ? from - std::min(at, from) : 1;
    out.append(blanks, ' ');
    out += word;
    at += blanks + columns_of(word);
    at_start = false;
  }
  return out + '\n';
}

// The left side of a row; if too long for a line, broken after a | or, with a backslash as in a
// shell, at a blank.
std::string left_text(std::string_view left) {
  std::string out(indent, ' ');
  std::string next = std::string(indent + gap, ' ');
  while (indent + gap + columns_of(left) > width) {
    const std::size_t end = left.find_last_of("| ", width - indent - 2 * gap);
    if (end == std::string_view::npos) break;
    const bool at_blank = left[end] == ' ';
    out += fmt::format("{}{}\n{}", left.substr(0, end + 1), at_blank ? "\\" : "", next);
    left.remove_prefix(end + 1);
  }
  return out + std::string(left);
}

std::string row_text(const Row& row, std::size_t right) {
  std::string out = left_text(row.left);
  std::size_t at = columns_of(std::string_view(out).substr(out.rfind('\n') + 1));
  if (row.text.empty()) return out + '\n';
  if (at + gap > right) {
    out += '\n';
    at = 0;
  }
  return out + broken(row.text, right, at);
}

std::vector<Row> rows_of(const CommandText::Options& section) {
  std::vector<Row> rows;
  for (const auto& option : section.options) rows.push_back({left_side(option), option.text});
  return rows;
}

// Escapes characters with a meaning in roff (groff_char(7)); others than ASCII by their code, so
// that the encoding of the page does not matter.
std::string roff_of(const Character& character) {
  struct Escape {
    std::string_view plain, roff;
  };
  constexpr std::array<Escape, 7> escapes = {{{"\\", "\\e"},
                                              {"-", "\\-"},
                                              {"'", "\\(aq"},
                                              {"`", "\\(ga"},
                                              {"^", "\\(ha"},
                                              {"~", "\\(ti"},
                                              {"\"", "\\(dq"}}};
  const auto* const escape = std::ranges::find(escapes, character.bytes, &Escape::plain);
  if (escape != escapes.end()) return std::string(escape->roff);
  if (character.bytes.size() == 1) return std::string(character.bytes);
  return fmt::format("\\[u{:04X}]", static_cast<std::uint32_t>(character.code));
}

std::string roff(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const Character character = first_character(text);
    out += roff_of(character);
    text.remove_prefix(character.bytes.size());
  }
  return out.starts_with('.') ? "\\&" + out : out;
}

std::string roff_rows(std::string_view title, std::span<const Row> rows) {
  return fmt::format(".PP\n.I {}\n{}", roff(title), manual_rows(rows));
}

}  // namespace

std::string left_side(const CommandText::Option& option) {
  std::string out = join(option.names, ", ");
  if (option.value.empty()) return out;
  return out + (option.value_optional ? fmt::format("[={}]", option.value) : " " + option.value);
}

std::string usage_line(const CommandText& command) {
  return std::string(trim(fmt::format("usage: {} {}", command.name, command.words))) + '\n';
}

std::string paragraph(std::string_view text) {
  return broken(text, 0, 0);
}

std::string table(std::span<const Row> rows) {
  std::string out;
  for (const Row& row : rows) out += row_text(row, text_column);
  return out;
}

std::string examples_table(std::span<const Row> examples) {
  std::size_t left = 0;
  for (const Row& row : examples) {
    if (columns_of(row.left) <= widest_example) left = std::max(left, columns_of(row.left));
  }
  std::string out;
  for (const Row& row : examples) out += row_text(row, indent + left + gap);
  return out;
}

std::string plain_text(const CommandText& command) {
  std::string out = usage_line(command);
  if (!command.summary.empty()) out += paragraph(command.summary);
  if (!command.examples.empty()) out += "\nExamples:\n" + examples_table(command.examples);
  for (const std::string& note : command.notes) out += '\n' + paragraph(note);
  for (const auto& each : command.before)
    out += fmt::format("\n{}:\n", each.title) + table(each.rows);
  for (const auto& section : command.options) {
    out += fmt::format("\n{}:\n", section.title) + table(rows_of(section));
  }
  for (const auto& each : command.after)
    out += fmt::format("\n{}:\n", each.title) + table(each.rows);
  return out;
}

std::string manual_synopsis(const CommandText& command) {
  std::string out = fmt::format(".B {}\n", roff(command.name));
  return command.words.empty() ? out : out + roff(command.words) + '\n';
}

std::string manual_paragraph(std::string_view text) {
  return fmt::format(".PP\n{}\n", roff(text));
}

std::string manual_rows(std::span<const Row> rows) {
  std::string out;
  for (const Row& row : rows)
    out += fmt::format(".TP\n.B {}\n{}\n", roff(row.left), roff(row.text));
  return out;
}

std::string manual_text(const CommandText& command) {
  std::string out;
  if (!command.summary.empty()) out += manual_paragraph(command.summary);
  if (!command.examples.empty()) out += roff_rows("Examples", command.examples);
  for (const std::string& note : command.notes) out += manual_paragraph(note);
  for (const auto& each : command.before) out += roff_rows(each.title, each.rows);
  for (const auto& section : command.options) out += roff_rows(section.title, rows_of(section));
  for (const auto& each : command.after) out += roff_rows(each.title, each.rows);
  return out;
}

}  // namespace toprun::options
