/* SPDX-License-Identifier: Apache-2.0 */
/*
 * web_session.c - the sessions that the served traces belong to, and their processes.
 *
 * Which traces belong together is found once, when the server starts. A process counts with the
 * largest of its programs, as in `report --group process`. Each process is a query of its own, with
 * the model of its trace, so that no trace is locked while others are read.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "model/session/session.h"
#include "views/json/json.h"
#include "views/web/web_internal.h"

/* --- which traces belong together --- */

static struct hl_web_trace *find_trace(struct hl_web *w, const char *path)
{
	struct stat a, b;

	if (stat(path, &a) < 0)
		return NULL;
	for (size_t i = 0; i < w->n_traces; i++) {
		struct hl_web_trace *t = &w->traces[i];

		if (strcmp(t->path, path) == 0)
			return t;
	}
	for (size_t i = 0; i < w->n_traces; i++) {
		struct hl_web_trace *t = &w->traces[i];

		if (stat(t->path, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino)
			return t;
	}
	return NULL;
}

static void mark_session(
	struct hl_web *w, const struct hl_session_list *s, const char *path, unsigned number)
{
	for (size_t i = 0; i < s->files.len; i++) {
		struct hl_web_trace *t = find_trace(w, s->files.data[i].path);

		if (!t || t->session)
			continue;
		t->session = number;
		t->session_path = path;
	}
}

void hl_web_sessions_find(struct hl_web *w)
{
	unsigned n = 0;

	for (size_t i = 0; i < w->n_traces; i++) {
		struct hl_session_list *s;

		if (w->traces[i].session || hl_session_list_open(&s, w->traces[i].path))
			continue;
		if (s->files.len > 1)
			mark_session(w, s, w->traces[i].path, ++n);
		hl_session_list_free(s);
	}
}

/* --- processes --- */

/* Asks the report of one process, as a document. */
static int ask_process(struct hl_web_query *q, struct hl_web_query *sub, char **text)
{
	const char *allowed;
	unsigned trace;
	size_t len;
	int err;

	sub->web = q->web;
	sub->endpoint =
		hl_web_endpoint_find("GET", "/api/traces/1/report", &trace, sub->word, &allowed);
	sub->is_gone = q->is_gone;
	sub->gone_arg = q->gone_arg;
	for (size_t i = 0; i < q->pairs.len; i++) {
		const struct hl_web_pair *p = &q->pairs.data[i];
		struct hl_web_pair copy = {strdup(p->key), p->value ? strdup(p->value) : NULL};

		if (!copy.key || (p->value && !copy.value) || hl_vec_push(&sub->pairs, copy)) {
			free(copy.key);
			free(copy.value);
			return -ENOMEM;
		}
	}
	if (hl_vec_push(&sub->pairs, ((struct hl_web_pair){strdup("group"), strdup("process")})))
		return -ENOMEM;
	err = hl_web_query_begin(sub);
	if (err)
		return err;
	sub->out = open_memstream(text, &len);
	if (!sub->out)
		return -ENOMEM;
	err = hl_web_query_run(sub);
	if (fclose(sub->out))
		err = err ? err : -ENOMEM;
	return err;
}

/* A part that was stopped is an error here: the sum would be wrong. */
static void put_values(
	struct hl_web_query *q, struct hl_json *j, struct hl_web_trace *t, struct hl_value *sum)
{
	struct hl_web_query *sub = calloc(1, sizeof(*sub));
	char *text = NULL;
	int err = -ENOMEM;

	if (sub) {
		sub->trace = t;
		err = ask_process(q, sub, &text);
	}
	hl_json_key(j, "answer");
	if (err || sub->status) {
		hl_json_string(j, NULL);
		hl_json_key_string(j, "error",
			sub && sub->error[0] ? sub->error : "it was not answered in time");
	} else {
		text[strcspn(text, "\n")] = '\0';
		fputs(text, j->out);
		j->comma = true;
		hl_json_key_string(j, "error", NULL);
		hl_value_add(sum, &sub->parts_total);
	}
	free(text);
	if (sub)
		hl_web_query_fini(sub);
	free(sub);
}

static void put_process(struct hl_web_query *q, struct hl_json *j, const struct hl_session_list *s,
	size_t process, struct hl_value *sum)
{
	const struct hl_session_file *f = hl_session_largest(s, process);
	struct hl_web_trace *t = find_trace(q->web, f->path);

	hl_json_key_u64_or_null(j, "id", t ? t->id : UINT64_MAX);
	hl_json_key_string(j, "program", f->program);
	hl_json_key_u64(j, "pid", f->pid);
	hl_json_key_u64(j, "parent_pid", f->parent_pid);
	hl_json_key_u64(j, "start_unix_ns", f->start_unix_ns);
	hl_json_key_bool(j, "running", hl_session_last(s, process)->end.kind == HL_END_RUNNING);
	hl_json_key_bool(j, "forked", f->forked);
	hl_json_key_u64(j, "programs", s->processes.data[process].n_files);
	hl_json_key_u64(j, "peak_bytes", f->peak_bytes);
	hl_json_key_u64(j, "resident_bytes", f->resident_bytes);
	hl_json_key_u64(j, "allocations", f->allocations);
	if (t)
		put_values(q, j, t, sum);
	else
		hl_json_key_string(j, "answer", NULL);
}

static int put_processes(struct hl_web_query *q, const struct hl_session_list *s)
{
	size_t *order = hl_session_by_peak(s);
	struct hl_row_limit rows;
	struct hl_value sum = {0};
	struct hl_json j;

	if (!order)
		return -ENOMEM;
	hl_row_limit_init(&rows, &q->request.budget);
	hl_json_init(&j, q->out);
	hl_json_begin_object(&j);
	hl_json_key_u64(&j, "schema", 1);
	hl_json_key_u64_or_null(&j, "session", q->trace->session ? q->trace->session : UINT64_MAX);
	hl_json_key(&j, "processes");
	hl_json_begin_array(&j);
	for (size_t i = 0; i < s->processes.len && !hl_web_query_is_over(q); i++) {
		bool comma = j.comma;

		if (!hl_row_begin(&rows, q->out, NULL))
			continue;
		hl_json_begin_object(&j);
		put_process(q, &j, s, order[i], &sum);
		hl_json_end_object(&j);
		if (!hl_row_end(&rows))
			j.comma = comma;
	}
	hl_json_end_array(&j);
	if (rows.omitted)
		hl_json_key_u64(&j, "left_out", rows.omitted);
	hl_json_value(&j, "total", &sum);
	hl_json_end_object(&j);
	putc('\n', q->out);
	free(order);
	return 0;
}

/* The parameters are those of the report of each process. */
int hl_web_finish_processes(struct hl_web_query *q)
{
	struct hl_request_error why = {0};
	struct hl_notes notes = hl_web_notes(q);
	int err;

	q->request.one_view = true;
	err = hl_request_set(&q->request, "group", "process", &why);
	if (!err)
		err = hl_request_finish(&q->request, &notes, &why);
	return err ? hl_web_refuse(q, err, &why) : 0;
}

int hl_web_run_processes(struct hl_web_query *q)
{
	struct hl_session_list *s = NULL;
	const struct hl_web_trace *t = q->trace;
	int err = hl_session_list_open(&s, t->session_path ? t->session_path : t->path);

	if (!err)
		err = hl_session_list_read(s);
	if (err) {
		q->status = err == -ENOENT ? 422 : 500;
		snprintf(q->error, sizeof(q->error), "the session of the trace cannot be read: %s",
			strerror(-err));
	} else {
		err = put_processes(q, s);
	}
	hl_session_list_free(s);
	return err;
}
