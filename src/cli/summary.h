/* summary.h - the few lines at the end of `record`. */
#ifndef HL_CLI_SUMMARY_H
#define HL_CLI_SUMMARY_H

/* On stderr; a trace that cannot be read is said in one line. */
void hl_summary_print(const char *path);

#endif
