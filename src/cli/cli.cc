#include "aliquot/cli/cli.h"

#include <iostream>
#include <string>
#include <vector>

#include "cli/certs_command.h"
#include "cli/check_cluster_command.h"
#include "cli/cluster_command.h"
#include "cli/command.h"
#include "cli/completion_command.h"
#include "cli/config_command.h"
#include "cli/demo_command.h"
#include "cli/serve.h"
#include "cli/unlock_command.h"
#include "cli/version_command.h"

namespace aliquot::cli {

int Main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv, argv + argc);
  std::vector<Command> commands{ServeCommand(Serve), DemoCommand(),         ClusterCommand(),
                                ConfigCommand(),     CheckClusterCommand(), CertsCommand(),
                                UnlockCommand(),     VersionCommand()};
  commands.push_back(CompletionCommand(commands));
  return Dispatch(arguments, commands, {std::cout, std::cerr});
}

}  // namespace aliquot::cli
