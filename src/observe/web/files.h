#pragma once

#include <string>
#include <string_view>

namespace toprun::web {

// One of the page's own files, in src/observe/web/page/.
struct File {
  std::string_view path;
  std::string_view content_type;
  std::string text;
};

// Returns the file with this path; nullptr: no such file.
const File* find_file(std::string_view path);

// Returns a finished job's --report file (toprun.report/1) as one self-contained HTML file: the
// page's own files with the report in them. Text in the report cannot change the page around it.
std::string report_page(const std::string& report_json);

}  // namespace toprun::web
