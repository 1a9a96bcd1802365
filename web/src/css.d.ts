// SPDX-License-Identifier: Apache-2.0
// css.d.ts - style sheets that are imported for the bundle.
declare module '*.css';
