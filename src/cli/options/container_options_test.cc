#include "cli/options/container_options.h"

#include <gtest/gtest.h>

#include "base/text/text.h"
#include "cli/options/flags.h"
#include "machine/container/runtimes.h"

namespace toprun::options {
namespace {

using container::Request;

Result<Request> parse(std::string_view line, const Environment& environment,
                      std::vector<std::string>& notes) {
  std::vector<std::string> argv{"toprun"};
  for (const std::string_view word : words(line)) argv.emplace_back(word);
  argv.emplace_back("train.py");
  const auto parts = split(argv);
  if (!parts) return std::unexpected(parts.error());
  return container_options(*parts, environment, notes);
}

Request good_container(std::string_view line, const Environment& environment = {}) {
  std::vector<std::string> notes;
  const auto request = parse(line, environment, notes);
  EXPECT_TRUE(request) << line << ": " << (request ? "" : request.error().line());
  EXPECT_TRUE(notes.empty()) << join(notes, "\n");
  return request.value_or(Request{});
}

TEST(ContainerOptions, All) {
  const Request request = good_container(
      "--container a.sif --container-runtime apptainer --bind /data,/x:/y:ro --bind=z "
      "--container-workdir /job --container-env NCCL_*,LANG --container-env PATH "
      "--container-name kept-1 --container-root --writable --no-gpu");
  EXPECT_EQ(request.image, "a.sif");
  EXPECT_EQ(request.runtime, "apptainer");
  EXPECT_EQ(request.binds,
            (std::vector<container::Bind>{{"/data", "/data"}, {"/x", "/y", true}, {"z", "z"}}));
  EXPECT_EQ(request.workdir, "/job");
  EXPECT_EQ(request.host_wins, (std::vector<std::string>{"NCCL_*", "LANG", "PATH"}));
  EXPECT_EQ(request.name, "kept-1");
  EXPECT_TRUE(request.root && request.writable && !request.gpu);
}

TEST(ContainerOptions, LastCountsAndVariables) {
  EXPECT_EQ(good_container("--container a.sif --container b.sif").image, "b.sif");
  const Environment environment{{"TOPRUN_CONTAINER", "v.sif"}, {"TOPRUN_BIND", "/a,/b"}};
  EXPECT_EQ(good_container("", environment).image, "v.sif");
  EXPECT_EQ(good_container("", environment).binds.size(), 2u);
  EXPECT_EQ(good_container("--container c.sif --bind /c", environment).binds,
            (std::vector<container::Bind>{{"/c", "/c"}}));
  EXPECT_EQ(good_container("--environment torch").environment, "torch");
}

TEST(ContainerOptions, WordsReadBackTheSame) {
  for (const char* line :
       {"--container a.sif",
        "--container=docker://a/b:1 --container-runtime=podman --bind=/a:/b:ro --bind=/c:/c:rw "
        "--container-workdir=/w --container-env=A,B* --container-name=n --container-root "
        "--writable --no-gpu",
        "--environment=torch"}) {
    const Request request = good_container(line);
    EXPECT_EQ(container_words(good_container(join(container_words(request), " "))),
              container_words(request));
  }
}

TEST(ContainerOptions, WithoutAnImageANote) {
  std::vector<std::string> notes;
  const auto request = parse("--bind /a --no-gpu", {}, notes);
  ASSERT_TRUE(request);
  EXPECT_TRUE(request->empty() && request->binds.empty());
  EXPECT_EQ(notes,
            std::vector<std::string>{
                "without --container or --environment, this has no effect: --bind, --no-gpu"});
}

// The names that --container-runtime lists, and those that its help says were never tested.
TEST(ContainerOptions, TheHelpNamesTheRuntimes) {
  const Flag& flag = flag_of(FlagId::container_runtime);
  std::vector<std::string> forms{"auto"};
  const std::size_t marked = flag.help.find("The support for ");
  ASSERT_NE(marked, flag.help.npos);
  for (const container::Runtime* runtime : container::runtimes()) {
    forms.emplace_back(runtime->name());
    EXPECT_EQ(flag.help.substr(marked).contains(runtime->name()),
              runtime->tried() == container::Tried::parsed)
        << runtime->name();
  }
  EXPECT_EQ(join(forms, "|"), flag.value);
}

TEST(ContainerOptions, Errors) {
  struct Case {
    const char* line;
    const char* error;
  };
  const Case cases[] = {
      {"--container Python",
       "--container Python: names have only lower-case letters, and Python does not"},
      {"--container ftp://a", "--container ftp://a: ftp:// is not known"},
      {"--container a.sif --container-runtime podmen",
       "--container-runtime podmen: must be auto, pyxis"},
      {"--container a --bind /a:b",
       "--bind /a:b: the path inside must be absolute; the form is SRC[:DST[:ro|rw]]"},
      {"--container a --bind /a,,/b", "--bind /a,,/b: the folder to bind is missing"},
      {"--container a --container-workdir w",
       "--container-workdir w: must be the absolute path of a folder in the container"},
      {"--container a --container-env A=1",
       "--container-env A=1: 'A=1' is not the name of a variable; -e sets a variable"},
      {"--container a --container-env *", "--container-env *: '*' is not the name of a variable"},
      {"--container a --container-name ../x", "--container-name ../x: must consist of at most"},
      {"--container a --environment=", "--environment '': must not be empty"},
  };
  for (const Case& test : cases) {
    std::vector<std::string> notes;
    const auto request = parse(test.line, {}, notes);
    ASSERT_FALSE(request) << test.line;
    EXPECT_TRUE(request.error().line().starts_with(test.error)) << request.error().line();
    EXPECT_EQ(request.error()->exit_code, exit_usage);
  }
}

}  // namespace
}  // namespace toprun::options
