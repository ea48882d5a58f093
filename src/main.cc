#include <cstdio>

#include "aliquot/cli/cli.h"

int main(int argc, char** argv) {
#ifdef __x86_64__
  // What reads JSON is compiled for them (CMakeLists.txt).
  if (!__builtin_cpu_supports("sse4.2") || !__builtin_cpu_supports("pclmul")) {
    std::fputs("aliquot needs a processor with SSE4.2 and PCLMULQDQ\n", stderr);
    return 1;
  }
#endif
  return aliquot::cli::Main(argc, argv);
}
