#include "cli/parse.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

#include "options/command_text.h"

namespace toprun::cli {
namespace {

TEST(CommandText, OfAVerbSaysWhatTheVerbTakes) {
  CLI::App app("What it is for.", "toprun topo order");
  std::string id;
  std::string format;
  bool all = false;
  app.add_option("ID", id, "which")->required()->type_name("ID");
  app.add_option("--format,--for_mat", format, "how")->type_name("table|json");
  app.add_flag("-a,--all", all, "everything");
  app.get_help_ptr()->description("this help");
  app.footer("Example: toprun topo order 17  # one\nFormats:\n  table   columns\nA note.");
  EXPECT_EQ(options::plain_text(command_text(app)),
            "usage: toprun topo order [OPTIONS] ID\n"
            "What it is for.\n"
            "\nExamples:\n"
            "  toprun topo order 17  one\n"
            "\nA note.\n"
            "\nArguments:\n"
            "  ID                          which\n"
            "\nOptions:\n"
            "  --format table|json         how\n"
            "  -a, --all                   everything\n"
            "  -h, --help                  this help\n"
            "\nFormats:\n"
            "  table                       columns\n"
            "\nExit codes:\n"
            "  0                           done\n"
            "  1                           it failed; one line on stderr says why\n"
            "  2                           the command line or a file that it names is wrong\n");
}

TEST(CommandText, AManualPageKeepsWhatRoffWouldTakeForItsOwn) {
  options::CommandText text;
  text.name = "toprun x";
  text.summary = ".sif, 'quoted' C:\\path";
  text.options = {{"Options", {{{"-a", "--all"}, "", false, "all"}}}};
  EXPECT_EQ(options::manual_section(text),
            ".SH toprun x\n.B toprun x\n"
            ".PP\n\\&.sif, \\(aqquoted\\(aq C:\\epath\n"
            ".PP\n.I Options\n.TP\n.B \\-a, \\-\\-all\nall\n");
}

}  // namespace
}  // namespace toprun::cli
