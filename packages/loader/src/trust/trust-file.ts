import { closeSync, constants, fstatSync, fsyncSync, openSync, readSync, writeSync, type Stats } from 'node:fs'
import { dirname } from 'node:path'
import { BulkheadError, TRUST_DECISIONS, type TrustRecord } from '@bulkhead/contract'
import { errorCode, messageOf } from '@bulkhead/kit/error-message'
import { isAbsent, makeFolder } from '@bulkhead/kit/folders'
import { isJsonObject } from '@bulkhead/kit/json'
import { findOwnershipFault, LEADS_NOWHERE, readDescriptor } from '../files/read-file.ts'
import { parseStrictJson } from '../files/json-file.ts'

/** In the folder of the global layer. */
export const TRUST_FILE = 'trust.jsonl'
const MAX_BYTES = 16 * 1024 * 1024
const LF = 0x0a

export interface BrokenLine {
  /** From 1. */
  readonly line: number
  readonly message: string
}

export interface TrustLines {
  readonly lines: readonly (TrustEntry | BrokenLine)[]
  /** Why the file could not be read. Continues a sentence that starts with its name. */
  readonly unavailable?: string
}

export const isBroken = (line: TrustEntry | BrokenLine): line is BrokenLine => 'line' in line

/** All lines in order; none for a missing file. Contract: never throws. */
export function readTrustFile(file: string): TrustLines {
  let descriptor: number
  try {
    descriptor = openSync(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
  } catch (error) {
    if (errorCode(error) === 'ENOENT') {
      return isAbsent(file) ? { lines: [] } : { lines: [], unavailable: LEADS_NOWHERE }
    }
    return { lines: [], unavailable: `cannot be opened: ${messageOf(error)}` }
  }
  try {
    const ownership = findOwnershipFault(fstatSync(descriptor))
    if (ownership !== undefined) return { lines: [], unavailable: ownership }
    const read = readDescriptor(descriptor, MAX_BYTES)
    return read.ok ? { lines: split(read.bytes) } : { lines: [], unavailable: read.message }
  } catch (error) {
    return { lines: [], unavailable: `cannot be read: ${messageOf(error)}` }
  } finally {
    closeSync(descriptor)
  }
}

/** Appends one line atomically. Throws TrustStoreUnavailable. */
export function appendTrustEntry(file: string, entry: TrustEntry): void {
  try {
    makeFolder(dirname(file), 0o700)
    const descriptor = openSync(file, constants.O_RDWR | constants.O_APPEND | constants.O_CREAT, 0o600)
    try {
      const stat = fstatSync(descriptor)
      const ownership = findOwnershipFault(stat)
      if (ownership !== undefined) throw new Error(`it ${ownership}`)
      // One append, so lines of concurrent writers do not mix.
      const line = Buffer.from((endsInLine(descriptor, stat) ? '' : '\n') + writeEntry(entry))
      if (writeSync(descriptor, line) < line.length) throw new Error('only part of the line was written')
      fsyncSync(descriptor)
    } finally {
      closeSync(descriptor)
    }
  } catch (error) {
    throw new BulkheadError(
      'TrustStoreUnavailable', `The trust file "${file}" cannot be written: ${messageOf(error)}.`, { cause: error },
    )
  }
}

/** A truncated last line, after a full disk or a crash, must not damage the next one. */
function endsInLine(descriptor: number, { size }: Stats): boolean {
  const last = new Uint8Array(1)
  return size === 0 || (readSync(descriptor, last, 0, 1, size - 1) === 1 && last[0] === LF)
}

function split(bytes: Uint8Array): readonly (TrustEntry | BrokenLine)[] {
  const lines: (TrustEntry | BrokenLine)[] = []
  let line = 1
  for (let start = 0; start < bytes.length; line++) {
    const end = bytes.indexOf(LF, start)
    const text = bytes.subarray(start, end < 0 ? bytes.length : end)
    start += text.length + 1
    if (text.length === 0) continue
    const entry = end < 0 ? 'is truncated' : parseEntry(text)
    lines.push(typeof entry === 'string' ? { line, message: entry } : entry)
  }
  return lines
}

/** One line of the file. `used`: the start with this id consumed a decision for one start. */
export interface TrustEntry extends Omit<TrustRecord, 'decision'> {
  readonly decision: TrustRecord['decision'] | 'used'
  readonly id: string
}

const VERSION = 1
const DECISIONS: ReadonlySet<unknown> = new Set([...TRUST_DECISIONS, 'used'])
const KEYS: ReadonlySet<string> = new Set(['version', 'id', 'path', 'decision', 'decidedAt', 'digest'])

export const isDigest = (value: unknown): value is string => typeof value === 'string' && /^[0-9a-f]{128}$/.test(value)

const writeEntry = ({ id, path, decision, decidedAt, digest }: TrustEntry): string =>
  `${JSON.stringify({ version: VERSION, id, path, decision, decidedAt, digest })}\n`

/** The entry, or the fault of the line. */
function parseEntry(line: Uint8Array): TrustEntry | string {
  const parsed = parseStrictJson(line)
  if (!parsed.ok) return parsed.message
  if (!isJsonObject(parsed.value)) return 'is not an object'
  const { version, id, path, decision, decidedAt, digest } = parsed.value
  if (version !== VERSION) return `does not have version ${VERSION}`
  const unknown = Object.keys(parsed.value).find((key) => !KEYS.has(key))
  if (unknown !== undefined) return 'has an unknown key'
  if (typeof id !== 'string' || id === '') return 'has no id'
  if (typeof path !== 'string' || path === '') return 'has no path'
  if (!DECISIONS.has(decision)) return 'has an unknown decision'
  if (typeof decidedAt !== 'string' || Number.isNaN(Date.parse(decidedAt))) return 'has no date'
  if (digest !== null && !isDigest(digest)) return 'has no digest'
  // Trust must be bound to content, not to a path alone.
  if (digest === null && (decision === 'trusted' || decision === 'once')) return 'trusts a project without a digest'
  return { id, path, decision: decision as TrustEntry['decision'], decidedAt, digest }
}

/** The latest decision about one project. */
export interface LatestDecision {
  readonly record: TrustRecord
  /** The id of the start that consumed a decision for one start. */
  readonly usedBy?: string
}

/**
 * Later lines override earlier ones. An unreadable line may have revoked trust, so earlier trust is void; declined
 * projects stay declined.
 */
export function latestDecisions(lines: TrustLines['lines']): ReadonlyMap<string, LatestDecision> {
  const decisions = new Map<string, LatestDecision>()
  for (const line of lines) {
    if (isBroken(line)) {
      for (const [path, { record }] of decisions) if (record.decision !== 'declined') decisions.delete(path)
    } else {
      const decision = follow(decisions.get(line.path), line)
      if (decision !== undefined) decisions.set(line.path, decision)
    }
  }
  return decisions
}

function follow(
  before: LatestDecision | undefined, { decision, path, decidedAt, digest, id }: TrustEntry,
): LatestDecision | undefined {
  if (decision !== 'used') return { record: Object.freeze({ path, decision, decidedAt, digest }) }
  // The first start to consume it wins.
  if (before?.record.decision !== 'once' || before.usedBy !== undefined) return before
  return { ...before, usedBy: id }
}
