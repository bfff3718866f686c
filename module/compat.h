/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Names of linux 7.3 for older kernels, so that the rest of the module is written against one
 * kernel.
 *
 * Distributions backport, so a version says little. Kbuild looks into the headers of the kernel
 * that is built for and defines HTW_HAVE_... for each name it finds.
 */
#ifndef HTW_COMPAT_H
#define HTW_COMPAT_H

#include <linux/hrtimer.h>
#include <linux/mm.h>

#ifndef HTW_HAVE_HRTIMER_SETUP
/* Since 6.13; hrtimer_init() and the assignment of ->function went away later. */
static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*function)(struct hrtimer *timer),
				 clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = function;
}
#endif

#ifndef HTW_HAVE_VM_FLAGS_SET
/* Since 6.3. */
static inline void vm_flags_set(struct vm_area_struct *vma, vm_flags_t flags)
{
	vma->vm_flags |= flags;
}

static inline void vm_flags_clear(struct vm_area_struct *vma, vm_flags_t flags)
{
	vma->vm_flags &= ~flags;
}
#endif

#endif /* HTW_COMPAT_H */
