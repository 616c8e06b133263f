/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens and host names of requests. */
#include "ui/serve/access.h"

#include <arpa/inet.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

bool access_token(const char *given, const char *token)
{
	if (!given)
		return false;
	size_t length = strlen(given), want = strlen(token);
	volatile unsigned char difference = length != want;
	for (size_t i = 0; i < length; i++)
		difference |= (unsigned char)(given[i] ^ token[want ? i % want : 0]);
	return !difference && want;
}

const char *access_bearer(const char *authorization)
{
	static const char scheme[] = "Bearer ";
	if (!authorization || strncasecmp(authorization, scheme, sizeof(scheme) - 1) != 0)
		return NULL;
	authorization += sizeof(scheme) - 1;
	return authorization + strspn(authorization, " ");
}

bool access_is_loopback(const char *address)
{
	struct in_addr four;
	struct in6_addr six;
	if (inet_pton(AF_INET, address, &four) == 1)
		return ntohl(four.s_addr) >> 24 == 127;
	return inet_pton(AF_INET6, address, &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}

static bool is_port(const char *text)
{
	return !*text || (*text == ':' && text[1 + strspn(text + 1, "0123456789")] == '\0');
}

bool access_is_local(const char *host)
{
	static const char name[] = "localhost";
	char address[64];
	if (!host)
		return false;
	if (!strncasecmp(host, name, sizeof(name) - 1))
		return is_port(host + sizeof(name) - 1);
	const char *begin = host + (*host == '[');
	size_t length = strcspn(begin, *host == '[' ? "]" : ":");
	if (!length || length >= sizeof(address))
		return false;
	memcpy(address, begin, length);
	address[length] = '\0';
	begin += length;
	if (*host == '[' && *begin++ != ']')
		return false;
	/* Only IPv6 stands in brackets. */
	if ((*host == '[') != (strchr(address, ':') != NULL))
		return false;
	return access_is_loopback(address) && is_port(begin);
}
