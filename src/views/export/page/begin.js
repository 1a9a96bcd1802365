// SPDX-License-Identifier: Apache-2.0
"use strict";
// The script of a report's page, see ../html.c. Its parts are joined in the order of meson.build; the page's data was
// made by ../html_data.c. Text of the trace becomes text nodes and attributes, never markup.
(() => {
