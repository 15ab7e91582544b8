/** unknown: not connected, and its tools were never listed. known: not connected, and its list of tools is cached. */
export type ServerState = 'unknown' | 'known' | 'connecting' | 'connected' | 'unavailable'
export type ConnectionSignal = 'connect' | 'opened' | 'failed' | 'lost'

/** The states of a connection. An absent cell is a transition that cannot happen. */
export const CONNECTION = {
  unknown: { connect: 'connecting' },
  known: { connect: 'connecting' },
  connecting: { opened: 'connected', failed: 'unavailable' },
  connected: { lost: 'unavailable' },
  unavailable: { connect: 'connecting' },
} as const satisfies Record<ServerState, Partial<Record<ConnectionSignal, ServerState>>>
