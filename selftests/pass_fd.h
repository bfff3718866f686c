/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Open files that travel through a socket.
 */
#ifndef HTWHEEL_PASS_FD_H
#define HTWHEEL_PASS_FD_H

#include <sys/socket.h>

#include "common.h"

union control {
	char		bytes[CMSG_SPACE(sizeof(int))];
	struct cmsghdr	align;
};

static inline void make_message(struct msghdr *msg, struct iovec *iov, union control *control)
{
	memset(control, 0, sizeof(*control));
	*msg = (struct msghdr){
		.msg_iov	= iov,
		.msg_iovlen	= 1,
		.msg_control	= control->bytes,
		.msg_controllen	= sizeof(control->bytes),
	};
}

static inline int send_fd(int socket, int fd)
{
	union control control;
	char byte = 0;
	struct iovec iov = { &byte, 1 };
	struct cmsghdr *cmsg;
	struct msghdr msg;

	make_message(&msg, &iov, &control);
	cmsg = CMSG_FIRSTHDR(&msg);
	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(cmsg), &fd, sizeof(fd));
	return sendmsg(socket, &msg, 0) == 1 ? 0 : -errno;
}

static inline int receive_fd(int socket)
{
	union control control;
	char byte;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg;
	int fd;

	make_message(&msg, &iov, &control);
	if (recvmsg(socket, &msg, MSG_CMSG_CLOEXEC) != 1 || !CMSG_FIRSTHDR(&msg))
		return -1;
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
	return fd;
}

#endif /* HTWHEEL_PASS_FD_H */
