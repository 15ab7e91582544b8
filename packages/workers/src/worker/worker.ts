import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { BulkheadError, type ExtensionDescriptor, type WorkerInfo } from '@bulkhead/contract'
import { UsedTickets } from '../ticket/check-ticket.ts'
import { refused } from '../ticket/ticket.ts'
import { Compartments } from './compartments.ts'
import { runLeasedCall, type WorkerParts } from './worker-call.ts'
import type { WorkerOptions } from './worker-options.ts'

/** A worker that serves calls. */
export interface Worker {
  readonly info: WorkerInfo
  readonly load: number
  readonly isDraining: boolean
  /** Takes no further call. Resolves when the running ones have settled. */
  drain(): Promise<void>
  /** Gives up running calls. Idempotent. */
  close(): Promise<void>
}

/** Serves calls until `close`. Rejects with StoreUnavailable. */
export async function serveWorker(options: WorkerOptions): Promise<Worker> {
  const { placements, version, labels, capacity, workspaces } = options
  const info: WorkerInfo = {
    id: randomUUID(), labels: labels.toSorted(), version, machine: hostname(), pid: process.pid, capacity,
    workspaces: [...workspaces.keys()].toSorted(),
  }
  const compartments = new Compartments(options)
  const parts = {
    options, major: Number.parseInt(version, 10), used: new UsedTickets(), compartments, extension: admitted(options),
  }
  const running = new Set<Promise<void>>()
  let isDraining = false
  const seat = await placements.serve(info, (leased) => {
    const run = runLeasedCall(leased, parts).finally(() => running.delete(run))
    running.add(run)
  })
  return {
    info,
    get load() {
      return running.size
    },
    get isDraining() {
      return isDraining
    },
    async drain() {
      isDraining = true
      await seat.drain()
      await Promise.all(running)
    },
    async close() {
      isDraining = true
      await seat.close()
      await compartments.close()
    },
  }
}

/** Each package is verified once. What was refused is tried again. */
function admitted({ admit, placements }: WorkerOptions): WorkerParts['extension'] {
  const known = new Map<string, Promise<ExtensionDescriptor>>()
  return (digest, call) => {
    const found = known.get(digest)
    if (found) return found
    const admitting = admit(digest, () => placements.readPackage(digest, call)).catch((thrown: unknown) => {
      known.delete(digest)
      const { code, message } = BulkheadError.from(thrown)
      if (code === 'WorkerRefused' || code === 'StoreUnavailable') throw thrown
      throw refused(`it does not trust the package ${digest.slice(0, 16)}…: ${message.replace(/\.$/, '')}`)
    })
    known.set(digest, admitting)
    return admitting
  }
}
