// The command line: `aliquot <command> [arguments]`. Under the name `scheduler`
// the program is `aliquot serve`, as existing charts call it.
#pragma once

namespace aliquot::cli {

// Runs the command that the arguments name; the exit status. Call once, from
// main, before any thread.
int Main(int argc, char** argv);

}  // namespace aliquot::cli
