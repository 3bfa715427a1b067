#include "machine/container/edf.h"

#include <gtest/gtest.h>

#include <map>

#include "base/text/text.h"
#include "machine/container/environment.h"

namespace toprun::container {
namespace {

const Environment environment{{"USER", "ada"}, {"SCRATCH", "/scratch"}, {"HOME", "/home/ada"}};

using Files = std::map<std::string, std::string>;

Result<std::vector<std::string>> joined(Request& request, const Files& files,
                                        const Environment& with = environment) {
  return apply_edf(request, with, [&](const std::string& path) -> Result<std::string> {
    const auto found = files.find(path);
    if (found == files.end()) return fail(path, "No such file or directory");
    return found->second;
  });
}

TEST(Edf, AllKeys) {
  const auto edf = parse_edf(R"(
base_environment = ["a", "b"]
image = "nvcr.io#nvidia/pytorch:24.06-py3"
workdir = "/jobs/${USER}"
entrypoint = true
writable = false
mounts = ["${SCRATCH}/x:/x", "./data:/data:ro+private", "/a:/b:rw"]
[env]
A = "1"
PATH = "${PATH}:/custom/bin"
[annotations.com.hooks.ssh]
enabled = "true"
authorize_ssh_key = "${SCRATCH}/key"
)",
                             "e.toml", environment);
  ASSERT_TRUE(edf) << edf.error().line();
  EXPECT_EQ(edf->bases, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(edf->image, "docker://nvcr.io#nvidia/pytorch:24.06-py3");
  EXPECT_EQ(edf->workdir, "/jobs/ada");
  EXPECT_EQ(edf->writable, false);
  EXPECT_EQ(edf->mounts,
            (std::vector<Bind>{{"/scratch/x", "/x"}, {"data", "/data", true}, {"/a", "/b"}}));
  EXPECT_EQ(edf->env[1].second, "${PATH}:/custom/bin");
  EXPECT_EQ(edf->annotations.size(), 2u);
  EXPECT_EQ(edf->annotations[0].first, "com.hooks.ssh.authorize_ssh_key");
  EXPECT_EQ(edf->annotations[0].second, "/scratch/key");
  EXPECT_EQ(join(edf->notes, "\n"),
            "e.toml:5:14: entrypoint has no effect, because toprun starts its own program\n"
            "e.toml:7:30: mount flag private has no effect");
}

TEST(Edf, Images) {
  struct Case {
    const char* image;
    const char* taken;
  };
  const Case cases[] = {{"library/ubuntu:24.04", "docker://library/ubuntu:24.04"},
                        {"/a/b.squashfs", "/a/b.squashfs"},
                        {"./b.sqsh", "./b.sqsh"},
                        {"docker://a/b", "docker://a/b"}};
  for (const Case& test : cases) {
    const auto edf = parse_edf(fmt::format("image = '{}'", test.image), "e", {});
    ASSERT_TRUE(edf) << edf.error().line();
    EXPECT_EQ(edf->image, test.taken);
  }
}

TEST(Edf, Errors) {
  struct Case {
    const char* text;
    const char* error;
  };
  const Case cases[] = {
      {"imge = 'a'", "e.toml:1:1: unknown key imge; did you mean image?"},
      {"image = 1", "e.toml:1:9: image must be a text in quotes"},
      {"image = 'A b'", "e.toml:1:9: container image A b: names have only lower-case letters"},
      {"\nimage = '${NOT_SET}'", "e.toml:2:9: ${NOT_SET}: is not set; set it, or write"},
      {"image = '${USER'", "e.toml:1:9: ${USER: it has no closing brace"},
      {"workdir = 'a'", "e.toml:1:11: workdir must be an absolute path"},
      {"writable = 'yes'", "e.toml:1:12: writable must be true or false"},
      {"mounts = '/a:/b'", "e.toml:1:10: mounts must be an array of"},
      {"mounts = ['/a']", "e.toml:1:11: mounts must be SOURCE:DESTINATION[:FLAGS]"},
      {"mounts = ['/a:b']", "e.toml:1:11: the path inside must be absolute"},
      {"env = 1", "e.toml:1:7: env must be a table of texts"},
      {"[env]\nA = 1", "e.toml:2:5: env.A must be a text in quotes"},
      {"[env]\nA = '${B-c}'", "e.toml:2:5: ${B-c}: must be ${NAME} or ${NAME:-WORD}"},
      {"annotations = 1", "e.toml:1:15: annotations must be a table of texts"},
      {"[annotations]\na.b = true", "e.toml:2:7: a.b must be a text in quotes"},
      {"base_environment = ['']", "e.toml:1:21: base_environment must be a name or a path"},
      {"image = ", "e.toml:1:"},
  };
  for (const Case& test : cases) {
    const auto edf = parse_edf(test.text, "e.toml", environment);
    ASSERT_FALSE(edf) << test.text;
    EXPECT_TRUE(edf.error().line().starts_with(test.error)) << edf.error().line();
    EXPECT_EQ(edf.error()->exit_code, exit_usage);
  }
}

TEST(Edf, InheritsInOrderAndTheCommandLineGoesBefore) {
  const Files files{
      {"/home/ada/.edf/base.toml", "image = 'a/base'\nmounts = ['/a:/a']\n[env]\nX='1'\nY='1'"},
      {"/home/ada/.edf/more.toml", "workdir = '/w'\nmounts = ['/b:/b']\n[env]\nY='2'"},
      {"/home/ada/.edf/torch.toml",
       "base_environment = ['base', 'more']\nmounts = ['/c:/c']\n[env]\nX='3'"},
      {"./here.toml", "base_environment = 'torch'\nwritable = false"}};
  Request request{.environment = "torch"};
  ASSERT_TRUE(joined(request, files));
  EXPECT_EQ(request.image, "docker://a/base");
  EXPECT_EQ(request.workdir, "/w");
  EXPECT_TRUE(request.writable);
  EXPECT_EQ(request.binds, (std::vector<Bind>{{"/a", "/a"}, {"/b", "/b"}, {"/c", "/c"}}));
  EXPECT_EQ(request.variables,
            (std::vector<std::pair<std::string, std::string>>{{"Y", "2"}, {"X", "3"}}));

  Request reported{.environment = "./here.toml", .image = "b.sif", .workdir = "/t"};
  reported.binds = {{"/d", "/d"}};
  ASSERT_TRUE(joined(reported, files));
  EXPECT_EQ(reported.image + reported.workdir, "b.sif/t");
  EXPECT_FALSE(reported.writable);
  EXPECT_EQ(reported.binds.size(), 4u);
  EXPECT_EQ(reported.binds.back().source, "/d");
}

TEST(Edf, WhereItIsLookedFor) {
  Files files;
  files["/two/torch.toml"] = "image = 'two'";
  files["x.toml"] = "image = 'x'";
  Request request{.environment = "torch"};
  ASSERT_TRUE(joined(request, files, {{"EDF_PATH", "/one::/two"}}));
  EXPECT_EQ(request.image, "docker://two");
  Request file{.environment = "x.toml"};
  ASSERT_TRUE(joined(file, files));
  const auto error = [&](const char* name, const Environment& with) {
    Request none{.environment = name};
    const auto done = joined(none, files, with);
    return done ? "" : done.error().line();
  };
  EXPECT_EQ(error("none", {{"EDF_PATH", "/one:/two"}}),
            "--environment none: there is no none.toml in /one, /two; "
            "write the file's path with a '/', or set EDF_PATH");
  EXPECT_TRUE(error("none", environment).contains("in /home/ada/.edf;"));
  EXPECT_EQ(error("./none.toml", {}), "--environment ./none.toml: No such file or directory");
}

TEST(Edf, ChainsThatDoNotEnd) {
  Files files;
  files["a.toml"] = "base_environment = 'b.toml'";
  files["b.toml"] = "base_environment = 'a.toml'";
  Request request{.environment = "a.toml"};
  EXPECT_TRUE(
      joined(request, files).error().line().starts_with("a.toml: this file inherits from itself"));
  for (int i = 0; i < 20; ++i) {
    files[fmt::format("{}.toml", i)] = fmt::format("base_environment = '{}.toml'", i + 1);
  }
  Request deep{.environment = "0.toml"};
  EXPECT_TRUE(joined(deep, files).error().line().contains("more than 10 levels"));
  for (int i = 0; i < 9; ++i) {
    files[fmt::format("w{}.toml", i)] =
        fmt::format("base_environment = ['w{0}.toml', 'w{0}.toml']", i + 1);
  }
  files["w9.toml"] = "";
  Request wide{.environment = "w0.toml"};
  EXPECT_TRUE(joined(wide, files).error().line().contains("or more than 100 files"));
  files["i.toml"] = "workdir = '/w'";
  Request none{.environment = "i.toml"};
  EXPECT_TRUE(joined(none, files).error().line().contains("the file does not name an image"));
}

TEST(Edf, VariablesSeeTheImagesFirst) {
  Request request;
  request.variables = {{"PATH", "${PATH}:/custom"},
                       {"NODE", "${HOSTNAME:-none}"},
                       {"GONE", ""},
                       {"COST", "$$5 ${USER}"},
                       {"NOT", "${NOWHERE}"}};
  const Environment out =
      inside({{"PATH", "/bin"}, {"GONE", "x"}}, {{"PATH", "/host"}, {"USER", "ada"}}, request);
  EXPECT_EQ(out.get("PATH"), "/bin:/custom");
  EXPECT_EQ(out.get("NODE"), "none");
  EXPECT_FALSE(out.has("GONE"));
  EXPECT_EQ(out.get("COST"), "$5 ada");
  EXPECT_EQ(out.get("NOT"), "");
}

}  // namespace
}  // namespace toprun::container
