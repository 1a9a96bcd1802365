/* SPDX-License-Identifier: Apache-2.0 */
/* late_plugin.c - a plugin in C that needs a library in C++. */
int inner_work(void);
int plugin_work(void);

int plugin_work(void)
{
	return inner_work();
}
