import { WORKER_LIMITS } from '@bulkhead/contract'
import type { Fleet } from '../keys/fleet-file.ts'
import { digestOf, refused, type Ticket } from './ticket.ts'

/** What the ticket is checked against. */
export interface TicketCheck {
  /** The call that the store leased. */
  readonly id: string
  /** By the login of its caller at the store. */
  readonly tenant: string
  readonly epoch: number
  readonly body: Uint8Array
  readonly fleet: Pick<Fleet, 'callers'>
  readonly worker: { readonly labels: readonly string[]; readonly workspaces: readonly string[]; readonly major: number }
  /** Milliseconds since 1970. */
  readonly now: number
  readonly used: UsedTickets
}

/** By how much the clocks of two machines may differ. The store measures deadlines by one clock. */
const SKEW_MS = WORKER_LIMITS.skewMs

/** Whether the ticket, whose signature is that of its caller, allows this worker to run this call now. Throws WorkerRefused. */
export function checkTicket(ticket: Ticket, check: TicketCheck): void {
  const why = whyRefused(ticket, check)
  if (why !== undefined) throw refused(why)
}

function whyRefused(ticket: Ticket, { id, tenant, epoch, body, fleet, worker, now, used }: TicketCheck): string | undefined {
  const caller = fleet.callers.filter(({ key }) => key === ticket.caller)
  if (caller.length === 0) return 'this machine does not trust the key of its caller. `bulkhead worker trust caller` adds it'
  if (!caller.some((one) => one.tenant === undefined || one.tenant === ticket.tenant)) {
    return `its caller may not call for the tenant "${ticket.tenant}" here`
  }
  if (ticket.tenant !== tenant) return 'its ticket is for another tenant than the one that placed it'
  if (ticket.id !== id || ticket.epoch !== epoch) return 'its ticket is for another call'
  if (ticket.body !== digestOf(body)) return 'its arguments are not those of the ticket'
  if (ticket.major !== worker.major) {
    return `its caller has version ${ticket.major}, and this worker has version ${worker.major}. Update one of them`
  }
  const lacking = ticket.labels.filter((label) => !worker.labels.includes(label))
  if (lacking.length > 0) return `it is for workers with ${lacking.join(', ')}`
  if (ticket.workspace !== null && !worker.workspaces.includes(ticket.workspace)) {
    return `this worker has no workspace "${ticket.workspace}"`
  }
  if (now > ticket.issued + ticket.deadlineMs + SKEW_MS) return 'its ticket has expired'
  if (ticket.issued > now + SKEW_MS) return 'its ticket is from the future. Compare the clocks of the machines'
  if (!used.add(ticket)) return 'its ticket was used before'
  return undefined
}

/** The store redeems each ticket once. This remembers them besides, for a store that was changed by others. */
export class UsedTickets {
  readonly #until = new Map<string, number>()

  /** Returns whether it is new. */
  add({ caller, id, epoch, issued, deadlineMs }: Ticket): boolean {
    const now = Date.now()
    for (const [key, until] of this.#until) {
      if (until >= now) break
      this.#until.delete(key)
    }
    const key = `${caller} ${id} ${epoch}`
    if (this.#until.has(key)) return false
    this.#until.set(key, Math.max(now, issued + deadlineMs) + 2 * SKEW_MS)
    return true
  }
}

