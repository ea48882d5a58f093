#include "cli/build_info.h"

#if defined(__clang__)
#define ALIQUOT_COMPILER __VERSION__  // begins with its name
#else
#define ALIQUOT_COMPILER "g++ " __VERSION__
#endif

#if defined(__x86_64__)
#define ALIQUOT_PLATFORM "linux/amd64"
#elif defined(__aarch64__)
#define ALIQUOT_PLATFORM "linux/arm64"
#else
#define ALIQUOT_PLATFORM "linux/unknown"
#endif

namespace aliquot::cli {

BuildInfo GetBuildInfo() {
  static_assert(__cplusplus == 202002L);
  return {.version = ALIQUOT_VERSION,
          .revision = ALIQUOT_REVISION,
          .build_date = ALIQUOT_BUILD_DATE,
          .language = "C++20",
          .compiler = ALIQUOT_COMPILER,
          .platform = ALIQUOT_PLATFORM};
}

}  // namespace aliquot::cli
