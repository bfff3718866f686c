/* SPDX-License-Identifier: GPL-2.0 */
/*
 * CPU hotplug for engines.
 */
#ifndef HTW_HOTPLUG_H
#define HTW_HOTPLUG_H

struct htw_engine;

int htw_hotplug_init(void);
void htw_hotplug_exit(void);
int htw_hotplug_add(struct htw_engine *engine);
void htw_hotplug_remove(struct htw_engine *engine);

#endif /* HTW_HOTPLUG_H */
