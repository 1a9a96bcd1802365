/* progress.c - see progress.h. */
#include "util/progress.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "util/terminal.h"

#define FIRST_NS UINT64_C(500000000)
#define EVERY_NS UINT64_C(100000000)
#define BAR      30
#define ERASE    "\r\033[K"

/* What ends us while the line is on the screen; whoever has an own handler of it clears the line.
 */
static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
#define N_ENDS (sizeof(ends) / sizeof(ends[0]))

static struct {
	bool allowed, never;
	bool drawn; /* the line is on the screen */
	unsigned depth;
	const char *what;
	uint64_t begun_ns, next_ns;
	bool caught[N_ENDS]; /* ours until the line is gone */
} bar;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* The prompt must not come behind the bar. The default action is back already (SA_RESETHAND): it
 * follows when we return. */
static void on_end(int sig)
{
	ssize_t n = write(2, ERASE, sizeof(ERASE) - 1);

	(void)n;
	raise(sig);
}

static void catch_ends(void)
{
	struct sigaction ours = {.sa_handler = on_end, .sa_flags = (int)SA_RESETHAND}, was;

	sigemptyset(&ours.sa_mask);
	for (size_t i = 0; i < N_ENDS; i++) {
		if (sigaction(ends[i], NULL, &was) == 0 && was.sa_handler == SIG_DFL)
			bar.caught[i] = sigaction(ends[i], &ours, NULL) == 0;
	}
}

static void release_ends(void)
{
	for (size_t i = 0; i < N_ENDS; i++) {
		if (bar.caught[i])
			signal(ends[i], SIG_DFL);
		bar.caught[i] = false;
	}
}

void hl_progress_allow(void)
{
	const char *ci = getenv("CI"), *term = getenv("TERM");

	bar.allowed = isatty(2) && term && strcmp(term, "dumb") != 0 && !(ci && *ci);
}

void hl_progress_never(void)
{
	hl_progress_clear();
	bar.never = true;
}

void hl_progress_clear(void)
{
	if (bar.drawn)
		fputs(ERASE, stderr);
	fflush(stderr);
	if (bar.drawn)
		release_ends();
	bar.drawn = false;
}

void hl_progress_begin(const char *what)
{
	if (bar.depth++ > 0)
		return;
	bar.what = what;
	bar.begun_ns = now_ns();
	bar.next_ns = bar.begun_ns + FIRST_NS;
}

static void draw(uint64_t now, double share)
{
	double left = share > 0 ? (double)(now - bar.begun_ns) * (1 / share - 1) / 1e9 : 0;
	unsigned width = hl_term_width(2), full = (unsigned)(share * BAR + 0.5);
	char blocks[BAR + 1], line[160];

	memset(blocks, '.', BAR);
	memset(blocks, '#', full);
	blocks[BAR] = 0;
	snprintf(line, sizeof(line), "%.40s [%s] %3.0f%%, %.0f s left", bar.what, blocks,
		share * 100, left);
	/* A line that wraps could not be taken away again. */
	if (width > 0 && strlen(line) >= width)
		snprintf(line, sizeof(line), "%3.0f%%", share * 100);
	if (!bar.drawn)
		catch_ends();
	fprintf(stderr, "\r%s\033[K", line);
	fflush(stderr);
	bar.drawn = true;
}

void hl_progress_tick(uint64_t done, uint64_t total)
{
	uint64_t now;

	if (!bar.allowed || bar.never || bar.depth != 1 || total == 0)
		return;
	now = now_ns();
	if (now < bar.next_ns)
		return;
	bar.next_ns = now + EVERY_NS;
	draw(now, done >= total ? 1 : (double)done / (double)total);
}

void hl_progress_end(void)
{
	if (bar.depth > 0 && --bar.depth == 0)
		hl_progress_clear();
}
