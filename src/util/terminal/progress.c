/* SPDX-License-Identifier: Apache-2.0 */
/* progress.c - see progress.h. */
#include "util/terminal/progress.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/mono_clock.h"
#include "util/terminal/terminal.h"

#define FIRST_DELAY_NS UINT64_C(500000000)
#define INTERVAL_NS    UINT64_C(100000000)
#define BAR_WIDTH      30
#define ERASE          "\r\033[K"

/* Signals that end the process while the bar is on the screen. A command with its own handler for
 * one of them must clear the bar itself. */
static const int fatal_signals[] = {SIGINT, SIGTERM, SIGHUP};
#define N_FATAL_SIGNALS (sizeof(fatal_signals) / sizeof(fatal_signals[0]))

static struct {
	bool allowed, never;
	bool drawn; /* the bar is on the screen */
	uint64_t begun_ns, next_ns;
	bool caught[N_FATAL_SIGNALS]; /* our handler is set until the bar is cleared */
} bar;

/* Erases the bar, so that the shell prompt does not appear behind it. SA_RESETHAND has restored the
 * default action already; it runs when this handler returns. */
static void on_fatal_signal(int sig)
{
	ssize_t n = write(2, ERASE, sizeof(ERASE) - 1);

	(void)n;
	raise(sig);
}

static void catch_signals(void)
{
	struct sigaction ours = {.sa_handler = on_fatal_signal, .sa_flags = (int)SA_RESETHAND}, was;

	sigemptyset(&ours.sa_mask);
	for (size_t i = 0; i < N_FATAL_SIGNALS; i++) {
		if (sigaction(fatal_signals[i], NULL, &was) == 0 && was.sa_handler == SIG_DFL)
			bar.caught[i] = sigaction(fatal_signals[i], &ours, NULL) == 0;
	}
}

static void restore_signals(void)
{
	for (size_t i = 0; i < N_FATAL_SIGNALS; i++) {
		if (bar.caught[i])
			signal(fatal_signals[i], SIG_DFL);
		bar.caught[i] = false;
	}
}

void hl_progress_enable(void)
{
	const char *ci = getenv("CI"), *term = getenv("TERM");

	bar.allowed = isatty(2) && term && strcmp(term, "dumb") != 0 && !(ci && *ci);
}

void hl_progress_disable(void)
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
		restore_signals();
	bar.drawn = false;
}

static void draw_bar(const char *what, uint64_t now, double share)
{
	double left = share > 0 ? (double)(now - bar.begun_ns) * (1 / share - 1) / 1e9 : 0;
	unsigned width = hl_term_width(2), full = (unsigned)(share * BAR_WIDTH + 0.5);
	char blocks[BAR_WIDTH + 1], line[160];

	memset(blocks, '.', BAR_WIDTH);
	memset(blocks, '#', full);
	blocks[BAR_WIDTH] = 0;
	snprintf(line, sizeof(line), "%.40s [%s] %3.0f%%, %.0f s left", what, blocks, share * 100,
		left);
	/* A line that wraps could not be erased. */
	if (width > 0 && strlen(line) >= width)
		snprintf(line, sizeof(line), "%3.0f%%", share * 100);
	if (!bar.drawn)
		catch_signals();
	fprintf(stderr, "\r%s\033[K", line);
	fflush(stderr);
	bar.drawn = true;
}

static void begin_bar(void)
{
	bar.begun_ns = hl_mono_ns();
	bar.next_ns = bar.begun_ns + FIRST_DELAY_NS;
}

static void update_bar(const char *what, uint64_t done, uint64_t total)
{
	uint64_t now = hl_mono_ns();

	if (now < bar.next_ns)
		return;
	bar.next_ns = now + INTERVAL_NS;
	draw_bar(what, now, done >= total ? 1 : (double)done / (double)total);
}

void hl_progress_show(void *arg, const char *what, uint64_t done, uint64_t total)
{
	if (!what)
		hl_progress_clear();
	else if (!bar.allowed || bar.never)
		return;
	else if (total == 0)
		begin_bar();
	else
		update_bar(what, done, total);
}
