import { mkdirSync, readFileSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { BulkheadError } from '@bulkhead/contract'
import { errorCode, messageOf } from '@bulkhead/kit/error-message'
import { isJsonObject, parseJson, type Json } from '@bulkhead/kit/json'
import { writePrivateFile } from '@bulkhead/kit/private-file'
import { isPublicKey } from './machine-key.ts'

/** Of whom a machine accepts calls, results and packages. */
export interface TrustedKey {
  readonly name: string
  readonly key: string
  /** Only calls of this tenant. Absent: of any. */
  readonly tenant?: string
}

export interface TrustedPackage {
  readonly name: string
  /** Lower-case hex sha512, as `bulkhead verify` shows it. */
  readonly digest: string
}

export interface Fleet {
  /** The hosts whose calls a worker of this machine runs. */
  readonly callers: readonly TrustedKey[]
  /** The workers whose results a host of this machine accepts. */
  readonly workers: readonly TrustedKey[]
  /** Packages that a worker of this machine runs although no pinned identity has signed them. */
  readonly packages: readonly TrustedPackage[]
}

export const FLEET_KINDS = ['caller', 'worker', 'package'] as const
export type FleetKind = (typeof FLEET_KINDS)[number]

const LISTS = { caller: 'callers', worker: 'workers', package: 'packages' } as const satisfies Record<FleetKind, keyof Fleet>
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/
const DIGEST = /^[0-9a-f]{128}$/
const NOBODY: Fleet = { callers: [], workers: [], packages: [] }

/** Without a file, no one is trusted. Throws ConfigInvalid: a file that cannot be read trusts no one either. */
export function readFleet(file: string): Fleet {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return NOBODY
    throw invalid(file, `cannot be read: ${messageOf(error)}`)
  }
  const { mode } = statSync(file)
  if (process.platform !== 'win32' && (mode & 0o022) !== 0) throw invalid(file, 'can be changed by other users')
  const parsed = parseJson(text)
  if (!parsed.ok) throw invalid(file, parsed.fault.message)
  return fleetOf(parsed.value, file)
}

function fleetOf(value: Json, file: string): Fleet {
  if (!isJsonObject(value)) throw invalid(file, 'is not an object')
  const { callers = [], workers = [], packages = [], ...others } = value
  const [unknown] = Object.keys(others)
  if (unknown !== undefined) throw invalid(file, `has the unknown key "${unknown}"`)
  return {
    callers: listOf(callers, '/callers', file, isTrustedKey), workers: listOf(workers, '/workers', file, isTrustedKey),
    packages: listOf(packages, '/packages', file, isTrustedPackage),
  }
}

function listOf<Trusted extends { readonly name: string }>(
  value: Json, path: string, file: string, fits: (entry: unknown) => entry is Trusted,
): readonly Trusted[] {
  if (!Array.isArray(value)) throw invalid(file, `has no list at ${path}`)
  const wrong = (value as readonly Json[]).findIndex((entry) => !fits(entry))
  if (wrong >= 0) throw invalid(file, `has an entry at ${path}/${wrong} that is not understood`)
  return value as unknown as readonly Trusted[]
}

const hasOnly = (entry: object, names: readonly string[]): boolean =>
  Object.keys(entry).every((name) => names.includes(name))
const isNamed = (entry: unknown): entry is { readonly name: string } =>
  isJsonObject(entry) && typeof entry['name'] === 'string' && NAME.test(entry['name'])
const isTrustedKey = (entry: unknown): entry is TrustedKey => isNamed(entry) && hasOnly(entry, ['name', 'key', 'tenant'])
  && isPublicKey((entry as { key?: unknown }).key)
  && ['string', 'undefined'].includes(typeof (entry as { tenant?: unknown }).tenant)
const isTrustedPackage = (entry: unknown): entry is TrustedPackage => isNamed(entry)
  && hasOnly(entry, ['name', 'digest']) && DIGEST.test(String((entry as { digest?: unknown }).digest))

/** Adds or replaces the entry of this name. Throws ConfigInvalid. */
export function addToFleet(file: string, kind: FleetKind, name: string, value: string, tenant?: string): Fleet {
  if (!NAME.test(name)) throw new BulkheadError('ConfigInvalid', `"${name}" is not a name of letters, digits, . _ or -.`)
  if (kind === 'package' ? !DIGEST.test(value) : !isPublicKey(value)) {
    const form = kind === 'package' ? 'a package digest: 128 hexadecimal digits, as `bulkhead verify` shows it'
      : 'a public key. `bulkhead worker key` prints that of a machine'
    throw new BulkheadError('ConfigInvalid', `The value is not ${form}.`)
  }
  const entry = kind === 'package' ? { name, digest: value } : { name, key: value, ...(tenant !== undefined && { tenant }) }
  return change(file, kind, (others) => [...others, entry], name)
}

/** Throws ConfigInvalid if there is none. */
export function removeFromFleet(file: string, kind: FleetKind, name: string): Fleet {
  const known = readFleet(file)[LISTS[kind]]
  if (known.some((entry) => entry.name === name)) return change(file, kind, (others) => others, name)
  const names = known.map((entry) => entry.name).join(', ')
  throw new BulkheadError('ConfigInvalid', `No trusted ${kind} is named "${name}". ${names === '' ? 'There are none.' : `There are: ${names}.`}`)
}

type Entry = TrustedKey | TrustedPackage

function change(file: string, kind: FleetKind, next: (others: readonly Entry[]) => readonly Entry[], name: string): Fleet {
  const fleet = readFleet(file)
  const others: readonly Entry[] = fleet[LISTS[kind]]
  const changed = { ...fleet, [LISTS[kind]]: next(others.filter((entry) => entry.name !== name)) } as Fleet
  mkdirSync(dirname(file), { recursive: true })
  writePrivateFile(file, `${JSON.stringify(changed, null, 2)}\n`)
  return changed
}

const invalid = (file: string, what: string): BulkheadError => new BulkheadError(
  'ConfigInvalid', `${file} ${what}. Correct it, or remove it and add the keys again with \`bulkhead worker trust\`.`,
)
