/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shim: nothing is exported.
 */
#ifndef SHIM_LINUX_EXPORT_H
#define SHIM_LINUX_EXPORT_H

#define EXPORT_SYMBOL_GPL(symbol)

#endif /* SHIM_LINUX_EXPORT_H */
