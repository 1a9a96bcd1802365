/*
 * main.c - heaplapse-replay: the options, and what came of it.
 *
 * stdio would ask the allocator for buffers, so the answer is put together here and written.
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

#include "replay/run.h"

#define EXIT_FAILED 1
#define EXIT_USAGE  2
#define EXIT_INPUT  3

static const char help[] =
	"usage: heaplapse-replay [options] FILE\n"
	"does the calls of a script again: heaplapse export -f replay -o FILE app.hlt\n"
	"\n"
	"examples:\n"
	"  heaplapse-replay app.replay                              libc's malloc\n"
	"  LD_PRELOAD=libjemalloc.so.2 heaplapse-replay app.replay  another one\n"
	"\n"
	"options:\n"
	"      --loose      threads wait for each other only where one needs another's block;\n"
	"                   else all calls are in recorded order, one at a time\n"
	"      --touch      write to each page of each block, as programs do\n"
	"      --real-time  not sooner than it was recorded\n"
	"      --repeat=N   play it N times; what is left is freed in between\n"
	"      --json       one JSON object for each time instead of lines\n"
	"  -h, --help       this\n"
	"      --version    which version\n"
	"\n"
	"Exit status: 0 fine, 1 an allocation failed, 2 wrong usage, 3 a file that cannot be\n"
	"played.\n";

struct options {
	struct hl_run_options run;
	uint64_t repeat;
	bool json;
	const char *path;
};

struct result {
	struct hl_run_result run;
	uint64_t user_us, system_us;
	uint64_t rss_before_kib, rss_peak_kib;
};

/* --- options --- */

static int wrong_usage(const char *what, const char *which)
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

/* 0, or an exit status plus 1. */
static int parse(int argc, char **argv, struct options *o)
{
	static const struct option longs[] = {
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
	while ((c = getopt_long(argc, argv, ":h", longs, NULL)) != -1) {
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
				return 1 +
				       wrong_usage("--repeat is a number from 1 to 1000000, not",
					       optarg);
			break;
		case 'h':
			fputs(help, stdout);
			return 1;
		case 'v':
			puts("heaplapse-replay " HL_VERSION);
			return 1;
		case ':':
			return 1 + wrong_usage("a value is missing after", argv[optind - 1]);
		default:
			return 1 + wrong_usage("there is no option", argv[optind - 1]);
		}
	}
	if (argc - optind != 1)
		return 1 + wrong_usage(argc == optind ? "which file?" : "one file at a time, not",
				   argc == optind ? NULL : argv[optind + 1]);
	o->path = argv[optind];
	return 0;
}

/* --- what it took --- */

/* A line of /proc/self/status: "VmHWM:     1234 kB". 0: not known. */
static uint64_t status_kib(const char *name)
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

/* The peak is that of what comes. */
static void forget_peak(void)
{
	int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	(void)!write(fd, "5", 1);
	close(fd);
}

static uint64_t us_of(const struct timeval *t)
{
	return (uint64_t)t->tv_sec * 1000000 + (uint64_t)t->tv_usec;
}

static void play(struct hl_run *r, struct result *result)
{
	struct rusage before, after;

	forget_peak();
	result->rss_before_kib = status_kib("VmRSS:");
	getrusage(RUSAGE_SELF, &before);
	hl_run_play(r, &result->run);
	getrusage(RUSAGE_SELF, &after);
	result->rss_peak_kib = status_kib("VmHWM:");
	result->user_us = us_of(&after.ru_utime) - us_of(&before.ru_utime);
	result->system_us = us_of(&after.ru_stime) - us_of(&before.ru_stime);
}

/* --- the answer --- */

struct row {
	const char *name;
	uint64_t value;
	bool seconds; /* of microseconds */
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

static void print(const struct options *o, const struct hl_script *s, const struct result *r)
{
	const struct row rows[] = {
		{"allocations", r->run.allocations, false},
		{"frees", r->run.frees, false},
		{"bytes", r->run.bytes, false},
		/* Where threads do not keep the order it may be another. */
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
	struct hl_script script;
	struct hl_run *run;
	uint64_t failed = 0;
	const char *wrong;
	int status = parse(argc, argv, &o);

	if (status)
		return status - 1;
	wrong = hl_script_open(&script, o.path);
	if (!wrong)
		wrong = hl_run_new(&run, &script, &o.run);
	if (wrong) {
		fprintf(stderr, "heaplapse-replay: %s: %s\n", o.path, wrong);
		return EXIT_INPUT;
	}
	for (uint64_t i = 0; i < o.repeat; i++) {
		struct result result;

		if (i > 0)
			hl_run_clear(run);
		play(run, &result);
		if (!o.json && i > 0)
			write_all("\n", 1);
		print(&o, &script, &result);
		failed += result.run.failed;
	}
	return failed ? EXIT_FAILED : 0;
}
