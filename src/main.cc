#include "aliquot/cli/cli.h"

int main(int argc, char** argv) { return aliquot::cli::Main(argc, argv); }
