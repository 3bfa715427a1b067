#pragma once

#include <string>
#include <string_view>

namespace toprun::web {

// A file of the page's own, of src/observe/web/page/.
struct File {
  std::string_view path;
  std::string_view content_type;
  std::string text;
};

// nullptr: there is none at this path.
const File* find_file(std::string_view path);

// A finished job's report (toprun.report/1) as one HTML file that needs nothing else: the same page
// with the report in it. Nothing in the report can end or change the page around it.
std::string report_page(const std::string& report_json);

}  // namespace toprun::web
