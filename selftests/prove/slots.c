// SPDX-License-Identifier: GPL-2.0
/*
 * Proof of the search for an occupied slot, which the proofs of the designs take for granted: a
 * ring of RING slots, anywhere among WORDS words of any content.
 */
#include "queue/slots.h"

#define BITS_IN_ALL	(64 * WORDS)

u64 nondet_u64(void);

#define PROVE(_condition, _text)	__CPROVER_assert(_condition, _text)
#define PROVE_ASSUME(_condition)	__CPROVER_assume(_condition)

void ahead(void)
{
	unsigned long map[WORDS];
	struct htw_slots slots = { .nr = BITS_IN_ALL, .map = map };
	unsigned int ring = nondet_u64(), at = nondet_u64(), k = nondet_u64(), found, i;

	for (i = 0; i < WORDS; i++)
		map[i] = nondet_u64();
	PROVE_ASSUME(ring <= BITS_IN_ALL - RING && at < RING && k < RING);
	found = htw_slots_ahead(&slots, ring, RING, at);
	PROVE(found <= RING, "it ends within the ring");
	if (found < RING)
		PROVE(test_bit(ring + (at + found) % RING, map), "what is found is occupied");
	if (k < found)
		PROVE(!test_bit(ring + (at + k) % RING, map), "what comes before is not");
}
