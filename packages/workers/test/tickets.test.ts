import { BulkheadError, DEFAULT_LIMITS, NO_GRANT } from '@bulkhead/contract'
import { expect, it } from 'vitest'
import { newMachineKey } from '../src/keys/machine-key.ts'
import { limitsIn, readBody, writeBody } from '../src/ticket/body.ts'
import { checkTicket, type TicketCheck, UsedTickets } from '../src/ticket/check-ticket.ts'
import { digestOf, readTicket, signTicket, type Ticket } from '../src/ticket/ticket.ts'

const caller = newMachineKey()
const body = Buffer.from('{"args":{}}')
const NOW = 1_800_000_000_000
const MINUTE = 60_000

const ticket = (of: Partial<Ticket> = {}): Ticket => ({
  version: 1, caller: caller.publicKey, id: 'call-1', epoch: 1, session: 's', call: 'c', tenant: 'acme',
  labels: ['gpu'], workspace: null, major: 1, tool: 'render', package: 'p', definition: 'd', body: digestOf(body),
  grant: NO_GRANT,
  issued: NOW, deadlineMs: MINUTE, idempotencyKey: null, ...of,
})
const signed = (of: Partial<Ticket> = {}) => signTicket(ticket(of), caller)

const check = (text: string, of: Partial<TicketCheck> = {}): string => {
  try {
    checkTicket(readTicket(text), {
      id: 'call-1', tenant: 'acme', epoch: 1, body, fleet: { callers: [{ name: 'c', key: caller.publicKey }] },
      worker: { labels: ['gpu', 'region=eu'], workspaces: ['shop'], major: 1 }, now: NOW,
      used: new UsedTickets(), ...of,
    })
    return 'accepted'
  } catch (error) {
    expect(BulkheadError.is(error) && error.code).toBe('WorkerRefused')
    return (error as Error).message
  }
}

it('a worker accepts the ticket of a caller that it trusts', () => {
  expect(check(signed())).toBe('accepted')
})

it('a forged ticket is refused: another key has signed it, or nobody', () => {
  const forger = newMachineKey()
  expect(check(signTicket(ticket(), forger))).toMatch(/not signed by its caller/)
  expect(check(`AAAA.${signed().split('.').slice(1).join('.')}`)).toMatch(/not signed by its caller/)
  expect(check(signTicket(ticket({ caller: forger.publicKey }), forger))).toMatch(/does not trust the key/)
  expect(check('nonsense')).toMatch(/not understood/)
})

it('a widened ticket is refused: its signature covers the grant, the pool and the deadline', () => {
  for (const [from, to] of [
    [/"hosts":\[\]/, '"hosts":["*"]'], [/"labels":\["gpu"\]/, '"labels":[]'],
    [/"deadlineMs":\d+/, '"deadlineMs":99999999'],
    [/"tool":"render"/, '"tool":"delete"'], [/"package":"p"/, '"package":"q"'],
  ] as const) {
    const edited = signed().replace(from, to)
    expect(edited).not.toBe(signed())
    expect(check(edited)).toMatch(/not signed by its caller|not understood/)
  }
})

it('a ticket is good once, for its own call and attempt', () => {
  const used = new UsedTickets()
  expect(check(signed(), { used })).toBe('accepted')
  expect(check(signed(), { used })).toMatch(/used before/)
  expect(check(signed({ epoch: 2 }), { used, epoch: 2 })).toBe('accepted')
  expect(check(signed(), { id: 'call-2' })).toMatch(/another call/)
  expect(check(signed(), { epoch: 2 })).toMatch(/another call/)
})

it('edited arguments are refused', () => {
  expect(check(signed(), { body: Buffer.from('{"args":{"path":"/"}}') })).toMatch(/arguments/)
})

it('a ticket for another pool, workspace or version is refused', () => {
  expect(check(signed({ labels: ['gpu', 'region=us'] }))).toMatch(/workers with region=us/)
  expect(check(signed({ workspace: 'shop' }))).toBe('accepted')
  expect(check(signed({ workspace: 'bank' }))).toMatch(/no workspace "bank"/)
  expect(check(signed({ major: 2 }))).toMatch(/caller has version 2, and this worker has version 1/)
})

it('a caller that is trusted for one tenant calls for no other', () => {
  const callers = [{ name: 'c', key: caller.publicKey, tenant: 'globex' }]
  expect(check(signed(), { fleet: { callers } })).toMatch(/tenant "acme"/)
  expect(check(signed({ tenant: 'globex' }), { tenant: 'globex', fleet: { callers } })).toBe('accepted')
})

it('a ticket for another tenant than the one whose login placed the call is refused, for any caller', () => {
  expect(check(signed({ tenant: 'globex' }))).toMatch(/another tenant than the one that placed it/)
  expect(check(signed({ tenant: '' }))).toMatch(/another tenant/)
  expect(check(signed(), { tenant: '' })).toMatch(/another tenant/)
})

it('an expired ticket is refused, and clocks may differ by a minute', () => {
  expect(check(signed(), { now: NOW + 7 * MINUTE })).toMatch(/expired/)
  expect(check(signed(), { now: NOW - 6 * MINUTE })).toMatch(/future/)
  for (const now of [NOW - MINUTE, NOW + MINUTE]) expect(check(signed(), { now })).toBe('accepted')
})

it('what a newer caller says and this version does not know refuses the call: it could be a restriction', () => {
  for (const name of ['most', '']) {
    const text = new RegExp(`ticket has "${name}", which this worker does not know. Update the worker`)
    expect(check(signed({ [name]: 1 } as Partial<Ticket>))).toMatch(text)
  }
  const call = {
    args: {}, config: {}, limits: DEFAULT_LIMITS, confinement: null, isApproved: false, wall: null, commandMs: null,
    reverts: null,
  }
  expect(readBody(writeBody(call))).toMatchObject({ limits: DEFAULT_LIMITS })
  const limits = { ...DEFAULT_LIMITS, newer: 1 }
  expect(limitsIn(readBody(writeBody({ ...call, limits })))).toEqual(DEFAULT_LIMITS)
  expect(() => readBody(writeBody({ ...call, quiet: true } as never))).toThrow(/description has "quiet"/)
})
