/* SPDX-License-Identifier: Apache-2.0 */
/*
 * import.c - detects the format, and the functions that all formats share; see import.h.
 */
#include "import/import.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "import/import_internal.h"
#include "util/work/work.h"

/* Beyond all addresses of user space. */
#define SYNTHETIC_OFFSETS (UINT64_C(1) << 63)

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

int hl_import_count_memory(struct hl_import *im, uint64_t bytes)
{
	im->memory_used += bytes;
	if (im->memory_used <= hl_import_input_budget(&im->in))
		return 0;
	return hl_import_fail(im, -EFBIG,
		"its tables need %llu MiB, too much for a file of %llu bytes",
		(unsigned long long)(im->memory_used >> 20), (unsigned long long)im->in.packed);
}

int hl_import_open_writer(struct hl_import *im, const struct hl_meta *meta)
{
	int err = hl_writer_open(&im->writer, im->out, meta);

	if (!err)
		im->out = -1; /* the writer owns it now */
	if (!err)
		err = hl_writer_add_thread(im->writer, 0);
	return err ? hl_import_write_failed(im, err) : 0;
}

static void reverse_frames(struct hl_name_frame *names, size_t n)
{
	for (size_t i = 0; i < n / 2; i++) {
		struct hl_name_frame f = names[i];

		names[i] = names[n - 1 - i];
		names[n - 1 - i] = f;
	}
	for (size_t i = 0; i < n; i++)
		names[i].inlined = i > 0;
}

int hl_import_add_location(struct hl_import *im, uint32_t module, uint64_t address,
	struct hl_name_frame *names, size_t n, uint64_t *offset)
{
	struct hl_named_site site = {.module = module, .frames = names, .n_frames = n};
	int err = hl_import_count_memory(im, 2 * sizeof(struct hl_pair_map_slot));

	if (err)
		return err;
	*offset = address;
	if (hl_pair_map_get(&im->addresses, module, address) != HL_PAIR_MAP_NONE)
		*offset = SYNTHETIC_OFFSETS + im->n_synthetic++;
	else
		err = hl_pair_map_put(&im->addresses, module, address, 0);
	reverse_frames(names, n);
	site.offset = *offset;
	if (!err)
		err = hl_writer_add_names(im->writer, &site);
	return err ? hl_import_write_failed(im, err) : 0;
}

int hl_import_tick(struct hl_import *im)
{
	int err = hl_work_tick(im->work, im->in.packed, im->total);

	return err ? hl_import_fail(im, err, "the import was stopped") : 0;
}

static bool has_prefix(const uint8_t *head, size_t n, const char *prefix)
{
	return n >= strlen(prefix) && !memcmp(head, prefix, strlen(prefix));
}

static int read_head(struct hl_import *im, uint8_t *head, size_t *n)
{
	size_t got = 1;
	int err = 0;

	*n = 0;
	while (!err && got > 0 && *n < HL_IMPORT_HEAD) {
		err = hl_import_input_read(&im->in, head + *n, HL_IMPORT_HEAD - *n, &got);
		*n += got;
	}
	return err;
}

static int detect_and_import(struct hl_import *im)
{
	uint8_t head[HL_IMPORT_HEAD];
	size_t n;
	int err = read_head(im, head, &n);

	if (err)
		return hl_import_input_failed(im, err);
	if (n == 0)
		return hl_import_fail(
			im, -EBADMSG, im->in.truncated ? "it is truncated" : "it is empty");
	if (has_prefix(head, n, "v ") && n > 2 && isxdigit(head[2]))
		return hl_import_heaptrack(im, head, n);
	if (has_prefix(head, n, "\x89HLT"))
		return hl_import_fail(im, -EBADMSG, "it is a trace already; use heaplapse report");
	if (has_prefix(head, n, "heap_v2"))
		return hl_import_fail(im, -EBADMSG,
			"it is a jemalloc heap profile in text format, which is not supported");
	if (has_prefix(head, n, "--- "))
		return hl_import_fail(im, -EBADMSG,
			"it is the output of pprof --raw, which is not supported; convert the "
			"original profile with pprof -proto");
	if (has_prefix(head, n, "heap profile:"))
		return hl_import_fail(im, -EBADMSG,
			"it is a heap profile in text format; convert it with pprof -proto");
	return hl_import_pprof(im, head, n);
}

int hl_import(
	int in, uint64_t total, int out, struct hl_work *work, struct hl_import_result *result)
{
	struct hl_import im = {.total = total, .work = work, .out = out, .result = result};
	int err;

	*result = (struct hl_import_result){0};
	hl_work_begin(work, HL_WORK_PASS, "importing");
	err = hl_import_input_open(&im.in, in);
	err = err ? hl_import_input_failed(&im, err) : detect_and_import(&im);
	hl_work_end(work, HL_WORK_PASS);
	result->truncated = im.in.truncated || result->truncated;
	if (im.writer)
		result->bytes = hl_writer_bytes(im.writer);
	hl_writer_close(im.writer);
	if (im.out >= 0)
		close(im.out);
	hl_import_input_close(&im.in);
	hl_pair_map_fini(&im.addresses);
	return err;
}
