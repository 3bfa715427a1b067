#include "cli/options/command_text.h"

#include <gtest/gtest.h>

namespace toprun::options {
namespace {

TEST(CommandText, IsPlainForATerminal) {
  CommandText text;
  text.name = "toprun topo order";
  text.words = "[OPTIONS] ID";
  text.summary = "What it is for.";
  text.examples = {{"toprun topo order 17", "one"}};
  text.notes = {"A note."};
  text.before = {{"Arguments", {{"ID", "which"}}}};
  text.options = {{"Options",
                   {{{"--format"}, "table|json", false, "how"},
                    {{"-a", "--all"}, "", false, "everything"},
                    {{"--explain"}, "HOST", true, "why"}}}};
  text.after = {{"Formats", {{"table", "columns"}}}};
  EXPECT_EQ(plain_text(text),
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
            "  --explain[=HOST]            why\n"
            "\nFormats:\n"
            "  table                       columns\n");
}

TEST(CommandText, AManualPageKeepsWhatRoffWouldTakeForItsOwn) {
  CommandText text;
  text.name = "toprun x";
  text.summary = ".sif, 'quoted' C:\\path …";
  text.options = {{"Options", {{{"-a", "--all"}, "", false, "all"}}}};
  EXPECT_EQ(manual_synopsis(text), ".B toprun x\n");
  EXPECT_EQ(manual_text(text),
            ".PP\n\\&.sif, \\(aqquoted\\(aq C:\\epath \\[u2026]\n"
            ".PP\n.I Options\n.TP\n.B \\-a, \\-\\-all\nall\n");
}

}  // namespace
}  // namespace toprun::options
