/* SPDX-License-Identifier: Apache-2.0 */
/*
 * import.c - fuzz target: a file to import, compressed or not. The result must be a complete trace.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "import/import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int in = open(fuzz_file(data, size), O_RDONLY | O_CLOEXEC);
	int out = memfd_create("import", MFD_CLOEXEC), keep = dup(out);
	struct hl_import_result r;
	char path[64];

	FUZZ_MUST(in >= 0 && keep >= 0);
	if (hl_import(in, size, out, NULL, &r) == 0) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", keep);
		fuzz_ask_reader(path);
		fuzz_ask_model(path);
	} else {
		FUZZ_MUST(r.text[0]);
	}
	close(keep);
	close(in);
	return 0;
}
