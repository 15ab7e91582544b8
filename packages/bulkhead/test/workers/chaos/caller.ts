import { openPostgresStore } from '@bulkhead/store-postgres'
import { createHost } from '../../../src/index.ts'
import { insist } from '../../postgres/chaos/patience.ts'
import type { HostOutcome } from '../../postgres/chaos/chaos-work.ts'
import { CONFIG, FLEET_TIMES, type FleetCall, homeOf } from './fleet-work.ts'

export interface CallerTerms {
  readonly url: string
  /** Where tools tell what they do. */
  readonly ledger: string
  /** How far its clock is from that of the server. */
  readonly clockMs?: number
}

const SESSIONS = 4

/** A caller of the chaos test, in this process. */
export async function openCaller(folder: string, cache: string, { url, ledger }: CallerTerms): Promise<{
  call(call: FleetCall): Promise<HostOutcome>
  close(): Promise<void>
}> {
  const store = await insist(() => openPostgresStore({ url }, FLEET_TIMES))
  const host = await insist(() => createHost({
    workspace: folder, home: homeOf(folder, 'callers'), cache, store, trust: 'declined', env: {}, config: CONFIG,
  }))
  const sessions = await Promise.all(Array.from({ length: SESSIONS }, (_, index) =>
    insist(() => host.openSession({ principal: { id: `p${index}` }, mode: 'yolo' }))))
  return {
    // What only looks needs no key.
    call: ({ id, tool, n }) => sessions[n % SESSIONS]!.call({
      id, name: tool, arguments: { n, url: ledger }, ...(tool !== 'looks' && { idempotencyKey: `key-${n}` }),
    }),
    close: async () => void await host.close(),
  }
}
