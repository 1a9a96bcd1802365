/* SPDX-License-Identifier: Apache-2.0 */
/* embed_trace.c - see embed_trace.h. */
#include "cli/files/embed_trace.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "util/terminal/progress.h"
#include "util/work/work.h"

/* Called for each module; arg is the result. */
static void on_module(void *arg, const struct hl_embedded *module)
{
	struct hl_embed_result *r = arg;

	if (!module->error_text)
		return;
	r->left_out++;
	hl_cli_error("skipped %s: %s", module->path, module->error_text);
}

/* The file replaces the trace, so it gets the trace's owner and mode as far as our permissions
 * allow. */
static void keep_owner(int fd, const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return;
	if (fchown(fd, st.st_uid, st.st_gid) == 0)
		(void)fchmod(fd, st.st_mode & 0777);
}

static int write_trace(struct hl_model *m, const char *path, struct hl_atomic_file *to,
	bool in_place, struct hl_embed_result *result)
{
	int fd, err, status = hl_atomic_file_open(to);

	if (status)
		return status;
	if (in_place)
		keep_owner(to->fd, path);
	fd = fcntl(to->fd, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return hl_atomic_file_discard(to, -errno);
	err = hl_model_embed(m, fd, &result->done);
	if (!err && result->done.files == 0 && in_place) {
		hl_atomic_file_discard(to, 0); /* nothing is new: the trace is not replaced */
		return 0;
	}
	if (!err)
		return hl_atomic_file_commit(to);
	if (err == -EBUSY)
		hl_cli_error(
			"%s is still being written; embed the files after the recording has ended",
			path);
	else if (err == -EBADMSG)
		hl_cli_error("%s is damaged and was not changed: %s", path, hl_model_error(m));
	return hl_atomic_file_discard(to, err == -EBUSY || err == -EBADMSG ? 0 : err);
}

int hl_embed(struct hl_model *m, const char *path, struct hl_atomic_file *to, bool quiet,
	struct hl_embed_result *result)
{
	bool in_place = !to->path;
	char *real = in_place ? realpath(path, NULL)
			      : NULL; /* the target of a link, never the link itself */
	int status;

	*result = (struct hl_embed_result){.done = {.module = on_module, .arg = result}};
	if (in_place && !real) {
		hl_cli_error("%s: %s", path, strerror(errno));
		return HL_EXIT_IO;
	}
	if (in_place) {
		to->path = real;
		to->overwrite = true;
	}
	if (quiet)
		result->done.module = NULL;
	status = write_trace(m, path, to, in_place, result);
	to->path = in_place ? NULL : to->path;
	free(real);
	return status;
}

int hl_embed_recorded(const char *path, bool quiet)
{
	struct hl_atomic_file to = {
		.allow_unsafe_dir = true}; /* the trace is in that directory already */
	struct hl_reader_refusal why = {0};
	struct hl_embed_result result;
	struct hl_model *m;
	int status;

	if (hl_model_open(&m, path, &why)) {
		hl_cli_error("no files embedded: %s", why.text);
		return HL_EXIT_IO;
	}
	hl_model_work(m)->progress = hl_progress_show;
	status = hl_embed(m, path, &to, quiet, &result);
	hl_model_close(m);
	return status;
}
