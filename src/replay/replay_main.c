/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_main.c - heaplapse-replay: parses the options and prints the result.
 *
 * stdio would take buffers from the tested allocator, so the result is formatted in a local buffer
 * and written with write().
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "replay/replay_run.h"

#define EXIT_FAILED 1
#define EXIT_USAGE  2
#define EXIT_INPUT  3

static const char help[] =
	"usage: heaplapse-replay [options] FILE\n"
	"replays a script that was written by heaplapse export -f replay -o FILE app.hlt\n"
	"\n"
	"examples:\n"
	"  heaplapse-replay app.replay                              libc's malloc\n"
	"  LD_PRELOAD=libjemalloc.so.2 heaplapse-replay app.replay  another one\n"
	"\n"
	"options:\n"
	"      --loose      threads wait for each other only where one needs another's block;\n"
	"                   by default all calls are in recorded order, one at a time\n"
	"      --touch      write to each page of each block, as programs do\n"
	"      --real-time  make each call not earlier than it was recorded\n"
	"      --repeat=N   replay N times; remaining blocks are freed in between\n"
	"      --json       print one JSON object for each replay instead of lines\n"
	"  -h, --help       print this help\n"
	"      --version    print the version\n"
	"\n"
	"Exit status: 0 success, 1 an allocation failed, 2 wrong usage, 3 FILE cannot be\n"
	"replayed.\n";

struct options {
	struct hl_replay_run_options run;
	uint64_t repeat;
	bool json;
	const char *path;
};

struct result {
	struct hl_replay_run_result run;
	uint64_t user_us, system_us;
	uint64_t rss_before_kib, rss_peak_kib;
};

/* --- options --- */

static int print_usage_error(const char *what, const char *which)
{
	fprintf(stderr, "heaplapse-replay: %s%s%s\ntry: heaplapse-replay --help\n", what,
		which ? " " : "", which ? which : "");
	return EXIT_USAGE;
}

static bool parse_count(const char *s, uint64_t *n)
{
	char *end;

	errno = 0;
	*n = strtoull(s, &end, 10);
	return s[0] >= '0' && s[0] <= '9' && !*end && !errno && *n >= 1 && *n <= 1000000;
}

/* Returns 0 to go on, or an exit status plus 1. */
static int parse_options(int argc, char **argv, struct options *o)
{
	static const struct option long_options[] = {
		{"loose", no_argument, NULL, 'l'},
		{"touch", no_argument, NULL, 't'},
		{"real-time", no_argument, NULL, 'r'},
		{"repeat", required_argument, NULL, 'n'},
		{"json", no_argument, NULL, 'j'},
		{"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, 'v'},
		{0},
	};
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, ":h", long_options, NULL)) != -1) {
		switch (c) {
		case 'l':
			o->run.loose = true;
			break;
		case 't':
			o->run.touch = true;
			break;
		case 'r':
			o->run.real_time = true;
			break;
		case 'j':
			o->json = true;
			break;
		case 'n':
			if (!parse_count(optarg, &o->repeat))
				return 1 + print_usage_error(
						   "--repeat is a number from 1 to 1000000, not",
						   optarg);
			break;
		case 'h':
			fputs(help, stdout);
			return 1;
		case 'v':
			puts("heaplapse-replay " HL_VERSION);
			return 1;
		case ':':
			return 1 + print_usage_error("a value is missing after", argv[optind - 1]);
		default:
			return 1 + print_usage_error("unknown option", argv[optind - 1]);
		}
	}
	if (argc - optind != 1)
		return 1 +
		       print_usage_error(argc == optind ? "which file?" : "one file at a time, not",
			       argc == optind ? NULL : argv[optind + 1]);
	o->path = argv[optind];
	return 0;
}

/* --- resource usage --- */

/* Returns the value of a line such as "VmHWM:     1234 kB" in /proc/self/status; 0 if it is not
 * known. */
static uint64_t read_status_kib(const char *name)
{
	char text[8192];
	int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	const char *line;

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	line = strstr(text, name);
	return line ? strtoull(line + strlen(name), NULL, 10) : 0;
}

/* Resets the peak, so that it covers only what follows. */
static void reset_peak(void)
{
	int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	(void)!write(fd, "5", 1);
	close(fd);
}

static uint64_t timeval_us(const struct timeval *t)
{
	return (uint64_t)t->tv_sec * 1000000 + (uint64_t)t->tv_usec;
}

static void play_once(struct hl_replay_run *r, struct result *result)
{
	struct rusage before, after;

	reset_peak();
	result->rss_before_kib = read_status_kib("VmRSS:");
	getrusage(RUSAGE_SELF, &before);
	hl_replay_run_play(r, &result->run);
	getrusage(RUSAGE_SELF, &after);
	result->rss_peak_kib = read_status_kib("VmHWM:");
	result->user_us = timeval_us(&after.ru_utime) - timeval_us(&before.ru_utime);
	result->system_us = timeval_us(&after.ru_stime) - timeval_us(&before.ru_stime);
}

/* --- output --- */

struct row {
	const char *name;
	uint64_t value;
	bool seconds; /* the value is in microseconds, printed as seconds */
};

static void write_all(const char *p, size_t n)
{
	while (n > 0) {
		ssize_t done = write(STDOUT_FILENO, p, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			_exit(EXIT_INPUT);
		p += done;
		n -= (size_t)done;
	}
}

static void print_result(
	const struct options *o, const struct hl_replay_script *s, const struct result *r)
{
	const struct row rows[] = {
		{"allocations", r->run.allocations, false},
		{"frees", r->run.frees, false},
		{"bytes", r->run.bytes, false},
		/* If threads do not keep the recorded order, the peak may differ. */
		{o->run.loose ? "recorded_peak_bytes" : "peak_bytes", s->end.peak_bytes, false},
		{"failed", r->run.failed, false},
		{"threads", s->n_lanes, false},
		{"wall_s", r->run.wall_ns / 1000, true},
		{"user_s", r->user_us, true},
		{"system_s", r->system_us, true},
		{"rss_before_kib", r->rss_before_kib, false},
		{"rss_peak_kib", r->rss_peak_kib, false},
	};
	char text[1024];
	size_t n = 0;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t v = rows[i].value;

		n += (size_t)snprintf(text + n, sizeof(text) - n,
			o->json ? "%s\"%s\":" : "%s%-20s ",
			!o->json ? ""
			: i == 0 ? "{"
				 : ",",
			rows[i].name);
		if (rows[i].seconds)
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%" PRIu64 ".%06" PRIu64,
				v / 1000000, v % 1000000);
		else
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%" PRIu64, v);
		if (!o->json)
			text[n++] = '\n';
	}
	n += (size_t)snprintf(text + n, sizeof(text) - n, o->json ? "}\n" : "");
	write_all(text, n);
}

int main(int argc, char **argv)
{
	struct options o = {.repeat = 1};
	struct hl_replay_script script;
	struct hl_replay_run *run;
	uint64_t failed = 0;
	const char *error;
	int status = parse_options(argc, argv, &o);

	if (status)
		return status - 1;
	error = hl_replay_script_open(&script, o.path);
	if (!error)
		error = hl_replay_run_new(&run, &script, &o.run);
	if (error) {
		fprintf(stderr, "heaplapse-replay: %s: %s\n", o.path, error);
		return EXIT_INPUT;
	}
	for (uint64_t i = 0; i < o.repeat; i++) {
		struct result result;

		if (i > 0)
			hl_replay_run_clear(run);
		play_once(run, &result);
		if (!o.json && i > 0)
			write_all("\n", 1);
		print_result(&o, &script, &result);
		failed += result.run.failed;
	}
	return failed ? EXIT_FAILED : 0;
}
