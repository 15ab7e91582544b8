/**
 * The protocol between an inspector and its clients: JSON and server-sent events over HTTP. The page is one client of
 * it. docs/reference/inspector-protocol.md lists the requests.
 *
 * All times are milliseconds since 1970, by the clock of the server. In every string, control characters and invisible
 * characters are escaped; it may still come from a stranger, so show it as text.
 */
export type * from './protocol/calls.ts'
export type * from './protocol/events.ts'
export type * from './protocol/health.ts'
export type * from './protocol/policy.ts'
export type * from './protocol/sign-in.ts'
export type * from './protocol/tools.ts'
export type * from './protocol/waiting.ts'
