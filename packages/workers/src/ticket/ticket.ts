import { createHash } from 'node:crypto'
import { BulkheadError, type Power } from '@bulkhead/contract'
import { canonicalJson, isJsonObject, parseJson, type Json, type JsonObject } from '@bulkhead/kit/json'
import { isPublicKey, isSignedBy, type MachineKey } from '../keys/machine-key.ts'

/** What a caller allows one worker to do, once. */
export interface Ticket {
  readonly version: 1
  /** The public key of the caller. */
  readonly caller: string
  /** The placed call and its attempt. */
  readonly id: string
  readonly epoch: number
  readonly session: string
  readonly call: string
  readonly tenant: string
  /** The pool: a worker must have all of them. */
  readonly labels: readonly string[]
  readonly workspace: string | null
  /** The major version of the caller. */
  readonly major: number
  readonly tool: string
  /** Digests: sha512 in hex of the package and the definition, as the loader makes them; sha256 of the body. */
  readonly package: string
  readonly definition: string
  readonly body: string
  /** The effective grant, without paths of the caller's machine. */
  readonly grant: Power
  /** Milliseconds since 1970, by the clock of the caller. The store measures the deadline by its own. */
  readonly issued: number
  readonly deadlineMs: number
  readonly idempotencyKey: string | null
}

const PURPOSE = 'bulkhead ticket 1'
const FORMS: { readonly [Name in keyof Ticket]: (value: Json | undefined) => boolean } = {
  version: (value) => value === 1, caller: isPublicKey, id: isText, epoch: isCount, session: isText, call: isText,
  tenant: isText, labels: (value) => Array.isArray(value) && value.every(isText),
  workspace: (value) => value === null || isText(value), major: isCount, tool: isText, package: isText,
  definition: isText, body: isText, grant: isPower, issued: isCount, deadlineMs: isCount,
  idempotencyKey: (value) => value === null || isText(value),
}

function isText(value: Json | undefined): value is string {
  return typeof value === 'string' && value.length <= 4_096
}

function isCount(value: Json | undefined): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

/** Enough for `localPower` and `narrowPower`, which compare texts. */
function isPower(value: Json | undefined): boolean {
  if (!isJsonObject(value)) return false
  const { fs, net, shell, capabilities, env, secrets, state, ceilings = [] } = value
  const texts = (list: Json | undefined): boolean => Array.isArray(list) && list.every(isText)
  return isJsonObject(fs) && texts(fs['read']) && texts(fs['write']) && isJsonObject(net) && texts(net['hosts'])
    && Array.isArray(shell) && shell.every((command) => isJsonObject(command) && isText(command['cmd']))
    && texts(capabilities) && texts(env) && texts(state)
    && Array.isArray(secrets) && secrets.every((secret) =>
      isJsonObject(secret) && isText(secret['name']) && texts(secret['hosts']) && texts(secret['commands']))
    && Array.isArray(ceilings) && ceilings.length <= 64 && ceilings.every(isPower)
}

export const digestOf = (bytes: Uint8Array | string): string => createHash('sha256').update(bytes).digest('hex')

/** The text of a signed ticket: the signature, a point and the ticket. */
export function signTicket(ticket: Ticket, key: MachineKey): string {
  const text = canonicalJson(ticket as unknown as Json)
  return `${key.sign(PURPOSE, Buffer.from(text)).toString('base64url')}.${text}`
}

/**
 * The ticket, if the key that it names has signed it. Whether that key is trusted is another question. Throws
 * WorkerRefused.
 */
export function readTicket(signed: string): Ticket {
  const end = signed.indexOf('.')
  const text = signed.slice(end + 1)
  const parsed = parseJson(text)
  if (parsed.ok && isJsonObject(parsed.value)) refuseUnknown('ticket', parsed.value, Object.keys(FORMS))
  if (end < 0 || !parsed.ok || !isTicket(parsed.value)) throw refused('its ticket is not understood')
  const ticket = parsed.value as unknown as Ticket
  const signature = Buffer.from(signed.slice(0, end), 'base64url')
  if (!isSignedBy(ticket.caller, PURPOSE, Buffer.from(text), signature)) throw refused('its ticket is not signed by its caller')
  return ticket
}

/** A caller may be newer. What this version does not know could be a restriction. Throws WorkerRefused. */
export function refuseUnknown(what: 'ticket' | 'description', value: JsonObject, names: readonly string[]): void {
  const unknown = Object.keys(value).find((name) => !names.includes(name))
  if (unknown === undefined) return
  throw refused(`its ${what} has "${unknown.slice(0, 100)}", which this worker does not know. Update the worker`)
}

const isTicket = (value: Json): boolean => isJsonObject(value) && Object.entries(FORMS).every(([name, fits]) => fits(value[name]))

/** Continues "A worker refused the call: ". */
export const refused = (why: string): BulkheadError =>
  new BulkheadError('WorkerRefused', `The worker refused the call: ${why}.`)
