#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace toprun::chart {

inline constexpr double page_width = 900;
inline constexpr double font_px = 13;
inline constexpr double title_px = 18;
inline constexpr double line_px = 18;  // distance between lines of text
inline constexpr double margin_px = 16;
inline constexpr std::size_t most_title = 72;  // columns that fit at size title_px

// Returns the approximate width of a text in common sans-serif fonts, in pixels.
double width_px(std::string_view text, double size_px);

// Rounds a coordinate to a tenth of a pixel, which is enough for screens: "12", "12.5".
std::string coordinate(double value);

// The number of styles for series. Each style is a combination of colour, dashes and marker.
inline constexpr std::size_t styles = 12;

// An SVG picture, page_width wide by default. It contains the <svg> element, the styles for the
// reader's light or dark scheme, and the shapes. The constructor and text() escape texts.
//
// CSS classes: ink (text), faint (text), axis, grid, rule (lines), frame (lines around important
// parts), c0 … c5 (colours of series).
class Page {
 public:
  enum class Anchor { start, middle, end };

  Page(std::string_view title, std::string_view description, double height,
       double width = page_width);

  void text(double x, double y, std::string_view text, Anchor anchor = Anchor::start,
            std::string_view attributes = "class=\"ink\"");
  void line(double x1, double y1, double x2, double y2, std::string_view attributes);
  // Adds any SVG element. Texts in the element must come from clean_text() and xml_text().
  template <class... T>
  void add(fmt::format_string<T...> format, T&&... values) {
    out_ += fmt::format(format, std::forward<T>(values)...);
  }
  // Adds a series' line without its markers; `points` is the attribute "d" of an SVG path.
  void series_line(std::size_t style, std::string_view points);
  // Adds a bar in the series' colour, without dashes.
  void series_bar(std::size_t style, std::string_view points);
  void marker(std::size_t style, double x, double y);

  std::string end() &&;

 private:
  std::string out_;
};

// Names of hosts and domains come from files and networks and may contain any bytes. These
// functions convert such names to text for a picture.

// Returns UTF-8 in one line. Control characters are replaced as in printable(). Invalid UTF-8,
// characters that XML forbids, and characters that reverse the text direction become U+FFFD.
std::string clean_text(std::string_view text);

// Escapes clean_text() output for XML text or attributes.
std::string xml_text(std::string_view text);

// Escapes clean_text() output for a quoted Graphviz label; \N, \l … and &name; become plain text.
std::string dot_text(std::string_view text);

}  // namespace toprun::chart
