/* summary.h - the few lines at the end of `record`. */
#ifndef HL_CLI_SUMMARY_H
#define HL_CLI_SUMMARY_H

#include <stdint.h>

/* On stderr; a trace that cannot be read is said in one line. */
void hl_summary_print(const char *path);
/* Mode tags: there is no trace, but counters that the program with this pid has written itself. */
void hl_summary_print_tags(const char *program, uint64_t pid);

#endif
