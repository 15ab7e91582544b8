import type { OpenCall, Seat, SeatListener, Work } from '@bulkhead/contract'

export const CALL: OpenCall = {
  callId: 'c', terms: {
    sessionId: 's', tool: 'echo', effects: 'once',
    origin: { layer: 'global', extension: 'sample', version: '1.0.0', digest: 'd' },
  },
}

const SILENT: SeatListener = { onGate() {}, onRevision() {}, onLost() {}, onGone() {}, onFault() {} }

/** A seat of this process. */
export const join = (work: Work, id: string, listener: Partial<SeatListener> = {}): Promise<Seat> => work.join(
  { id, pid: process.pid, machine: 'here', version: '1.0.0', workspace: '/a', rules: 'r' }, { ...SILENT, ...listener },
)
