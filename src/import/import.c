/*
 * import.c - which format it is, and what all formats do alike; see import.h.
 */
#include "import/import.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "import/import_internal.h"
#include "util/progress.h"

/* Beyond all addresses of user space. */
#define ODD_OFFSETS (UINT64_C(1) << 63)

int hl_import_fail(struct hl_import *im, int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(im->result->text, sizeof(im->result->text), fmt, ap);
	va_end(ap);
	return err;
}

int hl_import_input_failed(struct hl_import *im, int err)
{
	return hl_import_fail(im, err, "%s", im->in.error);
}

int hl_import_write_failed(struct hl_import *im, int err)
{
	if (err == -EOVERFLOW)
		return hl_import_fail(im, err, "it has more stacks or modules than a trace can");
	return hl_import_fail(im, err, "the trace cannot be written: %s", strerror(-err));
}

int hl_import_take(struct hl_import *im, uint64_t bytes)
{
	im->taken += bytes;
	if (im->taken <= hl_input_budget(&im->in))
		return 0;
	return hl_import_fail(im, -EFBIG,
		"its tables need %llu MiB, more than a file of %llu bytes can have use for",
		(unsigned long long)(im->taken >> 20), (unsigned long long)im->in.packed);
}

int hl_import_begin(struct hl_import *im, const struct hl_meta *meta)
{
	int err = hl_writer_open(&im->writer, im->out, meta);

	if (!err)
		im->out = -1; /* the writer's */
	if (!err)
		err = hl_writer_add_thread(im->writer, 0);
	return err ? hl_import_write_failed(im, err) : 0;
}

static void turn_around(struct hl_name_frame *names, size_t n)
{
	for (size_t i = 0; i < n / 2; i++) {
		struct hl_name_frame f = names[i];

		names[i] = names[n - 1 - i];
		names[n - 1 - i] = f;
	}
	for (size_t i = 0; i < n; i++)
		names[i].inlined = i > 0;
}

int hl_import_place(struct hl_import *im, uint32_t module, uint64_t address,
	struct hl_name_frame *names, size_t n, uint64_t *offset)
{
	struct hl_named_site site = {.module = module, .frames = names, .n_frames = n};
	int err = hl_import_take(im, 2 * sizeof(struct hl_map_slot));

	if (err)
		return err;
	*offset = address;
	if (hl_map_get(&im->places, module, address) != HL_MAP_NONE)
		*offset = ODD_OFFSETS + im->n_odd++;
	else
		err = hl_map_put(&im->places, module, address, 0);
	turn_around(names, n);
	site.offset = *offset;
	if (!err)
		err = hl_writer_add_names(im->writer, &site);
	return err ? hl_import_write_failed(im, err) : 0;
}

void hl_import_tick(struct hl_import *im)
{
	if (im->total)
		hl_progress_tick(im->in.packed, im->total);
}

static bool begins_with(const uint8_t *head, size_t n, const char *what)
{
	return n >= strlen(what) && !memcmp(head, what, strlen(what));
}

static int read_head(struct hl_import *im, uint8_t *head, size_t *n)
{
	size_t got = 1;
	int err = 0;

	*n = 0;
	while (!err && got > 0 && *n < HL_IMPORT_HEAD) {
		err = hl_input_read(&im->in, head + *n, HL_IMPORT_HEAD - *n, &got);
		*n += got;
	}
	return err;
}

static int import_any(struct hl_import *im)
{
	uint8_t head[HL_IMPORT_HEAD];
	size_t n;
	int err = read_head(im, head, &n);

	if (err)
		return hl_import_input_failed(im, err);
	if (n == 0)
		return hl_import_fail(im, -EBADMSG, im->in.cut ? "it is cut off" : "it is empty");
	if (begins_with(head, n, "v ") && n > 2 && isxdigit(head[2]))
		return hl_import_heaptrack(im, head, n);
	if (begins_with(head, n, "\x89HLT"))
		return hl_import_fail(im, -EBADMSG, "it is a trace already: heaplapse report");
	if (begins_with(head, n, "heap_v2"))
		return hl_import_fail(im, -EBADMSG,
			"it is a heap profile of jemalloc as text, a format that is not read");
	if (begins_with(head, n, "--- "))
		return hl_import_fail(im, -EBADMSG,
			"it is what pprof --raw writes, a format that is not read; of the profile "
			"that "
			"it was made from, pprof -proto may make a pprof file");
	if (begins_with(head, n, "heap profile:"))
		return hl_import_fail(im, -EBADMSG,
			"it is a heap profile as text; make a pprof file of it with pprof -proto");
	return hl_import_pprof(im, head, n);
}

int hl_import(int in, uint64_t total, int out, struct hl_import_result *result)
{
	struct hl_import im = {.total = total, .out = out, .result = result};
	int err;

	*result = (struct hl_import_result){0};
	hl_progress_begin("importing");
	err = hl_input_open(&im.in, in);
	err = err ? hl_import_input_failed(&im, err) : import_any(&im);
	hl_progress_end();
	result->cut = im.in.cut || result->cut;
	if (im.writer)
		result->bytes = hl_writer_bytes(im.writer);
	hl_writer_close(im.writer);
	if (im.out >= 0)
		close(im.out);
	hl_input_close(&im.in);
	hl_map_fini(&im.places);
	return err;
}
