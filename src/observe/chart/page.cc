#include "observe/chart/page.h"

#include <array>
#include <cmath>
#include <span>

#include "base/os/style.h"
#include "base/text/text.h"

namespace toprun::chart {
namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";  // U+FFFD

constexpr std::array light = {"#0072b2", "#d55e00", "#009e73", "#b0508a", "#8a6d00", "#3b3b8f"};
constexpr std::array dark = {"#56b4e9", "#ff9a4d", "#3ddbab", "#f0a3d0", "#f0e442", "#b3b3ff"};
constexpr std::array dashes = {"", "8 4", "2 4", "10 4 2 4"};

// Paths around 0 0.
constexpr std::array markers = {"M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z",
                                "M-3.5 -3.5h7v7h-7z",
                                "M0 -5l5 5l-5 5l-5 -5z",
                                "M0 -5l5 8.5h-10z",
                                "M0 5l5 -8.5h-10z",
                                "M-4 -1h3v-3h2v3h3v2h-3v3h-2v-3h-3z"};
static_assert(light.size() == dark.size() && light.size() == markers.size());

struct Scheme {
  std::string_view paper, ink, faint, axis, grid, frame;
};
constexpr Scheme light_scheme = {"#ffffff", "#1c2430", "#4b5563", "#6b7280", "#e2e6eb", "#d0021b"};
constexpr Scheme dark_scheme = {"#14181f", "#e8ecf2", "#aab4c2", "#8b96a5", "#2e3641", "#ff5c6c"};

std::string style_of(const Scheme& scheme, std::span<const char* const> colours) {
  std::string out = fmt::format(
      ".paper{{fill:{0}}}.ink{{fill:{1}}}.faint{{fill:{2}}}.axis{{stroke:{3};fill:none}}"
      ".grid{{stroke:{4}}}.rule{{stroke:{0}}}.frame{{stroke:{5};fill:none}}",
      scheme.paper, scheme.ink, scheme.faint, scheme.axis, scheme.grid, scheme.frame);
  for (std::size_t i = 0; i < colours.size(); ++i) {
    out += fmt::format(".c{}{{stroke:{};fill:{}}}", i, colours[i], colours[i]);
  }
  return out;
}

std::string_view anchor_attribute(Page::Anchor anchor) {
  switch (anchor) {
    case Page::Anchor::middle:
      return " text-anchor=\"middle\"";
    case Page::Anchor::end:
      return " text-anchor=\"end\"";
    case Page::Anchor::start:
      break;
  }
  return "";
}

}  // namespace

double width_px(std::string_view text, double size_px) {
  constexpr double width_per_font_px = 0.6;
  return static_cast<double>(columns_of(text)) * width_per_font_px * size_px;
}

std::string coordinate(double value) {
  const double rounded = std::round(value * 10) / 10;
  return fmt::format("{:g}", rounded == 0 ? 0 : rounded);
}

Page::Page(std::string_view title, std::string_view description, double height, double width) {
  add("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" aria-labelledby=\"title desc\" "
      "width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" font-family=\"sans-serif\" "
      "font-size=\"{2}\">\n<title id=\"title\">{3}</title>\n<desc id=\"desc\">{4}</desc>\n"
      "<style>{5}\n@media (prefers-color-scheme: dark){{{6}}}</style>\n"
      "<rect class=\"paper\" width=\"{0}\" height=\"{1}\"/>\n",
      coordinate(width), coordinate(height), coordinate(font_px), xml_text(clean_text(title)),
      xml_text(clean_text(description)), style_of(light_scheme, light),
      style_of(dark_scheme, dark));
}

void Page::text(double x, double y, std::string_view text, Anchor anchor,
                std::string_view attributes) {
  add("<text x=\"{}\" y=\"{}\" {}{}>{}</text>\n", coordinate(x), coordinate(y), attributes,
      anchor_attribute(anchor), xml_text(clean_text(text)));
}

void Page::line(double x1, double y1, double x2, double y2, std::string_view attributes) {
  add("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" {}/>\n", coordinate(x1), coordinate(y1),
      coordinate(x2), coordinate(y2), attributes);
}

void Page::series_line(std::size_t style, std::string_view points) {
  add("<path class=\"c{}\" style=\"fill:none\" stroke-width=\"2\" stroke-linejoin=\"round\" "
      "stroke-dasharray=\"{}\" d=\"{}\"/>\n",
      style % light.size(),
      *dashes[style % dashes.size()] == 0 ? "none" : dashes[style % dashes.size()], points);
}

void Page::series_bar(std::size_t style, std::string_view points) {
  add("<path class=\"c{}\" style=\"fill:none\" stroke-width=\"1.5\" d=\"{}\"/>\n",
      style % light.size(), points);
}

void Page::marker(std::size_t style, double x, double y) {
  add("<path class=\"c{}\" stroke=\"none\" transform=\"translate({} {})\" d=\"{}\"/>\n",
      style % light.size(), coordinate(x), coordinate(y), markers[style % markers.size()]);
}

std::string Page::end() && {
  out_ += "</svg>\n";
  return std::move(out_);
}

std::string clean_text(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const Character character = first_character(text);
    text.remove_prefix(character.bytes.size());
    if (character.bytes.size() == 1 && character.valid) {
      out += printable(character.bytes);
    } else {
      out += is_harmless(character) ? character.bytes : replacement;
    }
  }
  return out;
}

std::string xml_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string dot_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
    if (c == '&') out += "amp;";
  }
  return out;
}

}  // namespace toprun::chart
