// Plays the files of a corpus to a fuzz target, without a fuzzer:
//   <target>_replay FOLDER...
// Ends with the number of files; a folder without any is a mistake.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "fuzz/fuzz.h"

int main(int argc, char** argv) {
  size_t played = 0;
  for (int i = 1; i < argc; ++i)
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      std::ifstream file(entry.path(), std::ios::binary);
      const std::string bytes{std::istreambuf_iterator<char>(file), {}};
      std::cerr << entry.path().string() << std::endl;  // the last one told is the culprit
      LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
      ++played;
    }
  std::cout << played << " inputs" << std::endl;
  return played > 0 ? 0 : 1;
}
