/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Users, and how many timers each may hold in all files together.
 */
#ifndef HTW_USER_H
#define HTW_USER_H

#include <linux/types.h>
#include <linux/uidgid.h>

struct htw_user;

void htw_users_init(u64 max_timers);
struct htw_user *htw_user_get(kuid_t uid);
void htw_user_put(struct htw_user *user);
u64 htw_user_charge(struct htw_user *user, u64 nr);
void htw_user_uncharge(struct htw_user *user, u64 nr);
u64 htw_user_timers(const struct htw_user *user);
u64 htw_user_max_timers(void);

#endif /* HTW_USER_H */
