#include "cli/version_command.h"

#include "cli/build_info.h"

namespace aliquot::cli {

Command VersionCommand() {
  const auto help = [](std::string_view program) {
    return "Usage: " + std::string(program) +
           "\n\nPrints version, revision, build date, language, compiler and platform to standard "
           "error.\n";
  };
  const auto run = [](const Invocation& invocation) {
    if (!invocation.args.empty()) return UsageError(invocation, "takes no arguments");
    const BuildInfo info = GetBuildInfo();
    invocation.io.err << "version: " << info.version << "\n"
                      << "revision: " << info.revision << "\n"
                      << "build date: " << info.build_date << "\n"
                      << "language: " << info.language << "\n"
                      << "compiler: " << info.compiler << "\n"
                      << "platform: " << info.platform << "\n";
    return kExitOk;
  };
  return {"version", "print the version", help, run};
}

}  // namespace aliquot::cli
