// SPDX-License-Identifier: GPL-2.0
/*
 * Private engines: an engine of a context's own, of any design, shape and tick, on a clock that
 * runs by itself or on one that is moved by hand; and the table that says what there is.
 *
 * Anybody may have one. So what a design can cost is bounded here: one whose operations may look at
 * all timers gets few of them, and the memory is charged to who asks (queue/slots.c, engine.c).
 */
#include <linux/log2.h>
#include <linux/string.h>

#include "private.h"

#define PRIVATE_MIN_TICK_NS	(1ULL << HTW_MIN_TICK_SHIFT)
#define PRIVATE_MAX_TICK_NS	(1ULL << HTW_MAX_TICK_SHIFT)

/**
 * htw_private_wanted() - does a SETUP ask for a private engine?
 * @setup: the choices
 *
 * Context: any.
 * Return: whether it does.
 */
bool htw_private_wanted(const struct htwheel_setup *setup)
{
	return setup->flags & HTWHEEL_SETUP_PRIVATE || setup->clock == HTWHEEL_CLOCK_MANUAL;
}

/**
 * htw_private_absent() - are the fields for private engines empty?
 * @setup: the choices
 *
 * Context: any.
 * Return: whether they are.
 */
bool htw_private_absent(const struct htwheel_setup *setup)
{
	return !setup->tick_ns && !setup->start_ns && !setup->levels &&
	       !memchr_inv(setup->design, 0, sizeof(setup->design)) &&
	       !memchr_inv(setup->radix, 0, sizeof(setup->radix));
}

/* A name is filled up with zeros, of which there is at least one. */
static bool private_name_valid(const char *name, size_t size)
{
	size_t length = strnlen(name, size);

	return length < size && !memchr_inv(name + length, 0, size - length);
}

static int private_choose_design(const struct htwheel_setup *setup,
				 struct htw_engine_config *config)
{
	if (!private_name_valid(setup->design, sizeof(setup->design)))
		return -EINVAL;
	if (setup->design[0]) {
		config->design = htw_design_find(setup->design);
		if (!config->design)
			return -EINVAL;
		config->geometry = htw_design_default(config->design);
	}
	return 0;
}

static int private_choose_shape(const struct htwheel_setup *setup,
				struct htw_engine_config *config)
{
	struct htw_geometry geometry = { .levels = setup->levels };

	static_assert(sizeof(geometry.radix) == sizeof(setup->radix));
	memcpy(geometry.radix, setup->radix, sizeof(geometry.radix));
	if (!setup->levels)
		return memchr_inv(setup->radix, 0, sizeof(setup->radix)) ? -EINVAL : 0;
	if (!htw_design_fits(config->design, &geometry, 64 - config->tick_shift))
		return -EINVAL;
	config->geometry = geometry;
	return 0;
}

static int private_choose_tick(const struct htwheel_setup *setup, struct htw_engine_config *config)
{
	bool manual = setup->clock == HTWHEEL_CLOCK_MANUAL;

	if (!setup->tick_ns)
		return 0;
	/* On a live clock each tick may be a wake-up. */
	if (setup->tick_ns < (manual ? 1 : PRIVATE_MIN_TICK_NS) ||
	    setup->tick_ns > PRIVATE_MAX_TICK_NS || !is_power_of_2(setup->tick_ns))
		return -EINVAL;
	config->tick_shift = ilog2(setup->tick_ns);
	return 0;
}

/**
 * htw_private_config() - what the private engine is to be that a SETUP asks for
 * @setup: the choices
 * @shared: the engine that it stands for; what is not chosen is as there
 * @config: receives the answer; its clock is left to the caller if it is a manual one
 *
 * Context: any.
 * Return: 0 or -EINVAL.
 */
int htw_private_config(const struct htwheel_setup *setup, const struct htw_engine *shared,
		       struct htw_engine_config *config)
{
	int err;

	*config = shared->config;
	config->one_base = setup->clock == HTWHEEL_CLOCK_MANUAL;
	if (setup->start_ns && !config->one_base)
		return -EINVAL;
	if (setup->start_ns >= HTWHEEL_NEVER_NS)
		return -EINVAL;
	err = private_choose_design(setup, config);
	if (!err)
		err = private_choose_tick(setup, config);
	if (!err)
		err = private_choose_shape(setup, config);
	return err;
}

/**
 * htw_private_max_timers() - how many timers a private engine may have
 * @config: the engine
 * @ceiling: how many the module allows
 *
 * Context: any.
 * Return: the limit.
 */
u64 htw_private_max_timers(const struct htw_engine_config *config, u64 ceiling)
{
	if (config->design->flags & HTW_DESIGN_LINEAR)
		return min_t(u64, ceiling, HTW_MAX_LINEAR);
	return ceiling;
}

static u32 design_properties(const struct htw_design *design, const struct htw_geometry *geometry,
			     const struct htw_engine_config *shared)
{
	u32 properties = 0;

	if (!design->granule)
		properties |= HTWHEEL_DESIGN_EXACT;
	if (design->flags & HTW_DESIGN_FIFO)
		properties |= HTWHEEL_DESIGN_FIFO;
	if (design->flags & HTW_DESIGN_LINEAR)
		properties |= HTWHEEL_DESIGN_LINEAR;
	if (design == shared->design && !memcmp(geometry, &shared->geometry, sizeof(*geometry)))
		properties |= HTWHEEL_DESIGN_SHARED;
	return properties;
}

/**
 * htw_private_row() - HTWHEEL_IOC_DESIGN
 * @row: in and out
 * @shared: a shared engine
 *
 * Context: any.
 * Return: 0, -EINVAL, -ENOENT.
 */
int htw_private_row(struct htwheel_design *row, const struct htw_engine *shared)
{
	const struct htw_design *design;
	struct htw_geometry geometry;
	u32 index = row->index;

	if (row->flags)
		return -EINVAL;
	design = htw_design_row(index, &geometry);
	if (!design)
		return -ENOENT;
	*row = (struct htwheel_design){
		.size		= row->size,
		.index		= index,
		.properties	= design_properties(design, &geometry, &shared->config),
		.levels		= geometry.levels,
		.windows	= design->windows,
	};
	memcpy(row->radix, geometry.radix, sizeof(row->radix));
	strscpy(row->name, design->name, sizeof(row->name));
	strscpy(row->costs, design->costs, sizeof(row->costs));
	strscpy(row->about, design->about, sizeof(row->about));
	return 0;
}
