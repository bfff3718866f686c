/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The commands of htwheelctl: one file each. A command gets its own name as argv[0] and returns the
 * program's exit code.
 */
#ifndef HTWHEELCTL_COMMANDS_H
#define HTWHEELCTL_COMMANDS_H

int command_compare(int argc, char **argv);
int command_demo(int argc, char **argv);
int command_designs(int argc, char **argv);
int command_info(int argc, char **argv);
int command_record(int argc, char **argv);
int command_replay(int argc, char **argv);
int command_stats(int argc, char **argv);

#endif /* HTWHEELCTL_COMMANDS_H */
