# Writes a source file with the texts of deploy/examples/*.yaml and deploy/device-config.yaml.
#   cmake -D DEPLOY=<folder> -D OUTPUT=<file> -P embed_examples.cmake

set(delimiter embedded)  # stands in none of the texts

function(read_literal file result)
  file(READ "${file}" text)
  if(text MATCHES "[)]${delimiter}\"")
    message(FATAL_ERROR "${file}: holds the delimiter )${delimiter}\"")
  endif()
  set(${result} "R\"${delimiter}(${text})${delimiter}\"" PARENT_SCOPE)
endfunction()

file(GLOB examples "${DEPLOY}/examples/*.yaml")  # ascending by name
set(entries "")
foreach(example IN LISTS examples)
  get_filename_component(name "${example}" NAME_WLE)
  read_literal("${example}" literal)
  string(APPEND entries "    {\"${name}\", ${literal}},\n")
endforeach()
read_literal("${DEPLOY}/device-config.yaml" device_config)

file(WRITE "${OUTPUT}" "// Made by embed_examples.cmake.
#include \"cli/examples.h\"

namespace aliquot::cli {
namespace {

constexpr Example kExamples[] = {
${entries}};

}  // namespace

std::span<const Example> Examples() { return kExamples; }

std::string_view ExampleDeviceConfig() {
  return ${device_config};
}

}  // namespace aliquot::cli
")
