/* SPDX-License-Identifier: Apache-2.0 */
/*
 * traces.c - the files that are served, and their models.
 *
 * A file stays open, and all its models are opened through its descriptor: a trace that is deleted
 * is served on, and all models are of one file. If another file has the path, that one is served
 * from then on. Clients name traces by number, never by path.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/read/byte_source.h"
#include "views/web/web_internal.h"

int hl_web_traces_init(struct hl_web *w)
{
	const struct hl_web_options *o = w->options;

	w->traces = calloc(o->n_files + 1, sizeof(*w->traces));
	if (!w->traces)
		return -ENOMEM;
	for (size_t i = 0; i < o->n_files; i++) {
		struct hl_web_trace *t = &w->traces[i];
		const char *slash;

		t->id = (unsigned)i + 1;
		t->fd = t->link_fd = -1;
		t->path = strdup(o->files[i]);
		if (!t->path)
			return -ENOMEM;
		slash = strrchr(t->path, '/');
		t->name = slash ? slash + 1 : t->path;
		pthread_mutex_init(&t->lock, NULL);
		w->n_traces++;
	}
	hl_web_sessions_find(w);
	return 0;
}

static void close_file(struct hl_web_trace *t)
{
	hl_model_close(t->cheap.m);
	t->cheap = (struct hl_web_model){0};
	if (t->fd >= 0)
		close(t->fd);
	t->fd = -1;
}

void hl_web_traces_fini(struct hl_web *w)
{
	for (size_t i = 0; i < w->n_traces; i++) {
		close_file(&w->traces[i]);
		free(w->traces[i].path);
		pthread_mutex_destroy(&w->traces[i].lock);
	}
	free(w->traces);
	w->traces = NULL;
	w->n_traces = 0;
}

struct hl_web_trace *hl_web_trace_find(struct hl_web *w, unsigned id)
{
	return id >= 1 && id <= w->n_traces ? &w->traces[id - 1] : NULL;
}

/* Why a file cannot be opened, in the words of the reader. */
static int refuse_path(struct hl_web_trace *t, int err)
{
	struct hl_byte_source *source = NULL;
	struct hl_reader_refusal why = {0};

	if (hl_byte_source_open(&source, t->path, &why) == 0)
		hl_byte_source_close(source);
	snprintf(t->problem, sizeof(t->problem), "%s", why.text[0] ? why.text : strerror(-err));
	return err;
}

static int open_file(struct hl_web_trace *t)
{
	int fd = open(t->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0)
		return refuse_path(t, -errno);
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		return refuse_path(t, -EINVAL);
	}
	t->fd = fd;
	t->dev = st.st_dev;
	t->ino = st.st_ino;
	t->deleted = false;
	t->generation++;
	return 0;
}

/* Notices a file that was deleted or replaced. */
static int check_path(struct hl_web_trace *t)
{
	struct stat st;

	if (t->fd < 0)
		return open_file(t);
	if (stat(t->path, &st) < 0) {
		t->deleted = true;
		return 0;
	}
	t->deleted = false;
	if (st.st_dev == t->dev && st.st_ino == t->ino)
		return 0;
	close_file(t);
	return open_file(t);
}

int hl_web_trace_open(struct hl_web *w, struct hl_web_trace *t, bool for_people,
	struct hl_model **m, struct hl_reader_refusal *why)
{
	const struct hl_web_options *o = w->options;
	struct hl_byte_source *source;
	char link[64];
	int err;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", t->fd);
	err = hl_byte_source_open(&source, link, why);
	if (err) {
		/* The sentence begins with the name of the file. */
		char rest[sizeof(why->text)];

		snprintf(rest, sizeof(rest), "%s",
			why->text + (strncmp(why->text, link, strlen(link)) ? 0 : strlen(link)));
		snprintf(why->text, sizeof(why->text), "%.200s%.300s", t->path, rest);
		return err;
	}
	err = hl_model_open_source(m, source, t->path, why);
	if (!err && o->configure && (err = o->configure(o->arg, *m, for_people)) != 0) {
		hl_model_close(*m);
		snprintf(why->text, sizeof(why->text), "%s", strerror(-err));
	}
	return err;
}

bool hl_web_model_refresh(struct hl_web_model *m, bool *changed)
{
	int err;

	*changed = false;
	if (!hl_model_is_running(m->m))
		return false;
	err = hl_model_refresh(m->m, changed);
	if (*changed)
		m->verified = false;
	if (!err || err == -ENOENT)
		return false;
	hl_model_close(m->m);
	*m = (struct hl_web_model){0};
	return true;
}

/* Requires the lock. */
static int prepare(struct hl_web *w, struct hl_web_trace *t)
{
	struct hl_reader_refusal why = {0};
	unsigned generation = t->generation;
	bool changed = false;
	int err = check_path(t);

	if (!err && t->cheap.m)
		changed = hl_web_model_refresh(&t->cheap, &changed) || changed;
	t->changes += changed || generation != t->generation;
	if (!err && !t->cheap.m) {
		err = hl_web_trace_open(w, t, false, &t->cheap.m, &why);
		if (err) {
			t->cheap.m = NULL;
			snprintf(t->problem, sizeof(t->problem), "%s", why.text);
			close_file(t); /* it is tried again: the file may be replaced */
		}
	}
	if (!err)
		t->problem[0] = '\0';
	return err;
}

int hl_web_trace_enter(struct hl_web *w, struct hl_web_trace *t)
{
	pthread_mutex_lock(&t->lock);
	return prepare(w, t);
}

int hl_web_trace_try_enter(struct hl_web *w, struct hl_web_trace *t)
{
	int err;

	if (pthread_mutex_trylock(&t->lock))
		return -EBUSY;
	err = prepare(w, t);
	return err == -EBUSY ? -EIO : err;
}

void hl_web_trace_leave(struct hl_web_trace *t)
{
	pthread_mutex_unlock(&t->lock);
}
