import { lstatSync, readdirSync, readFileSync, statSync, type Stats } from 'node:fs'
import { join } from 'node:path'
import { CONFIG_FILE, LOCK_FILE } from '@bulkhead/contract'
import { errorCode, messageOf } from '@bulkhead/kit/error-message'
import { isAbsent } from '@bulkhead/kit/folders'
import { parseJson } from '@bulkhead/kit/json'
import { hasProcessEnded } from '@bulkhead/kit/processes'
import { createLoader, findOwnershipFault, parseTrustRoot, TRUST_FILE } from '@bulkhead/loader'
import { readGuidance, readKits } from '@bulkhead/tools-bundled'
import {
  accountName, cacheFolder, changesFolder, guidanceFolder, kitFolder, signInFolder, storeFile,
} from '../../facade/folders.ts'
import { loaderOptions, TRUST_ROOT_FILE, userFolder } from '../../facade/loader-options.ts'
import { ok, problem, type Check } from './doctor-check.ts'
import { postgresPackage, type StoreChoice } from '../../facade/store-choice.ts'
import { storeHere, type StorePlace } from '../host-options.ts'
import type { Inspection } from '../inspect.ts'

/** Authorities of sigstore are replaced about once a year. */
const OLD_DAYS = 365

export async function trustRootCheck(home: string, { place: { report: { trustRoot } } }: Inspection): Promise<Check> {
  const name = 'trust root'
  const own = join(home, TRUST_ROOT_FILE)
  try {
    if (!isAbsent(own)) await parseTrustRoot(readFileSync(own, 'utf8'))
  } catch (error) {
    const { found, ...rest } = problem(name, error, 'Every signature is refused.')
    return { ...rest, found: `${own}: ${found}`, cure: 'bulkhead trust-root --reset' }
  }
  const age = trustRoot?.ageDays ?? null
  const found = `${trustRoot?.source}${age === null ? '' : `, ${age} days old`}`
  if (age === null || age <= OLD_DAYS) return ok(name, found)
  const cost = 'Signatures of newer authorities are refused, and withdrawn ones are accepted.'
  return { status: 'warning', name, found, cost, cure: 'bulkhead trust-root --refresh' }
}

/** The store with the record of changes and the journals of calls. */
export async function storeChecks(place: StorePlace): Promise<readonly Check[]> {
  let chosen: StoreChoice
  try {
    chosen = await storeHere(place)
  } catch (error) {
    return [problem('store', error, 'No command finds its records.')]
  }
  if (chosen.kind === 'postgres') return [await postgresCheck(chosen.url)]
  const { tryStore } = await import('@bulkhead/store')
  const { file } = chosen
  const { audit, faults } = await tryStore(file)
  if (faults.length > 0) {
    const cost = 'Calls fail, or with --no-store leave no approvals, state and audit, and cannot be undone.'
    return faults.map((error) => problem('store', error, cost))
  }
  return [ok('store', audit === undefined ? `${file} does not exist; the first call creates it`
    : `${file} opens; ${Math.max(0, audit.last - audit.first + 1)} audit records`)]
}

/** Whether the server answers and is fit for use. Changes nothing. */
async function postgresCheck(url: string): Promise<Check> {
  try {
    const { url: shown, server, schema, known } = await (await postgresPackage()).postgresStatus(url)
    const found = `${shown} answers; PostgreSQL ${server}; tables of version ${schema}`
    return schema === known ? ok('store', found) : {
      status: 'warning', name: 'store', found, cost: `The first host brings them to version ${known}, if its role may.`,
      cure: 'bulkhead store migrate',
    }
  } catch (error) {
    return problem('store', error, 'Calls fail: what must be recorded cannot be.')
  }
}

/** What another user could write would run as you, or decide for you. */
export function permissionChecks(home: string): readonly Check[] {
  const names = [CONFIG_FILE, LOCK_FILE, TRUST_ROOT_FILE, TRUST_FILE, 'tools']
  const faults = [home, storeFile(home), ...names.map((name) => join(home, name))].flatMap((path) => {
    const fault = ownershipFault(path)
    return fault === undefined ? [] : [{
      status: 'problem' as const, name: 'permissions', found: `${path} ${fault}`,
      cost: 'Another user can change your settings, tools, decisions or approvals.',
      cure: `Make it yours alone: chown ${accountName()} ${path}; chmod go-w ${path}`,
    }]
  })
  return faults.length > 0 ? faults : [ok('permissions', `only you can write ${home}`)]
}

function ownershipFault(path: string): string | undefined {
  let found: Stats | undefined
  try {
    found = statSync(path, { throwIfNoEntry: false })
  } catch (error) {
    return `cannot be read: ${messageOf(error)}`
  }
  return found && findOwnershipFault(found)
}

/** The other files of the home, which the host opens only when it needs them, or leaves out if they are damaged. */
export async function fileChecks(home: string): Promise<readonly Check[]> {
  const faults = [
    ...await decisionFaults(home), ...await promptFaults(home), ...changeFaults(changesFolder(home)),
    ...tokenFaults(signInFolder(home)),
    ...[cacheFolder(home), userFolder(home)].flatMap((folder) => namesOrFault(folder).faults),
  ]
  return faults.length > 0 ? faults : [ok('files', `the other files in ${home} can be read`)]
}

const fault = (found: string, cost: string, cure: string): Check =>
  ({ status: 'problem', name: 'files', found, cost, cure })

async function decisionFaults(home: string): Promise<readonly Check[]> {
  const { diagnostics } = await createLoader(loaderOptions(home)).trust.list()
  return diagnostics.map(({ code, message, location, cure }) =>
    fault(`${code}: ${message} (${location})`, 'Projects that you trusted are not used.', cure))
}

async function promptFaults(home: string): Promise<readonly Check[]> {
  const faults: string[] = []
  const reader = { report: (message: string) => void faults.push(message) }
  await readKits(kitFolder(home), reader)
  await readGuidance(guidanceFolder(home), reader)
  return faults.map((found) => fault(found, 'Models do not get its text.', 'Correct the file, or delete it.'))
}

/** A host finishes changes of others when it starts, so that what is left cannot be finished. */
function changeFaults(folder: string): readonly Check[] {
  const { names, faults } = namesOrFault(folder)
  const left = names.filter((name) => /\.(?:planned|committed)$/.test(name) && hasProcessEnded(name))
  return [...faults, ...left.map((name) => fault(
    `${join(folder, name)} is a change of several files that was not finished, and cannot be read or finished`,
    'Some of these files have the new content, and others have the old.', 'Compare them, then delete it.',
  ))]
}

function tokenFaults(folder: string): readonly Check[] {
  const { names, faults } = namesOrFault(folder)
  const damaged = names.filter((name) => name.endsWith('.json')).flatMap((name) => tokenFault(join(folder, name)) ?? [])
  const cure = 'Delete it, then sign in with bulkhead mcp login.'
  return [...faults, ...damaged.map((found) => fault(found, 'A remote server refuses calls.', cure))]
}

function tokenFault(path: string): string | undefined {
  try {
    const { mode, uid } = lstatSync(path)
    const isOpen = process.platform !== 'win32' && ((mode & 0o077) !== 0 || uid !== process.getuid?.())
    if (isOpen) return `${path} has tokens, and other users can access it`
    return parseJson(readFileSync(path, 'utf8')).ok ? undefined : `${path} is not JSON`
  } catch (error) {
    return `${path} cannot be read: ${messageOf(error)}`
  }
}

/** A folder that is missing has no names. */
function namesOrFault(folder: string): { readonly names: readonly string[]; readonly faults: readonly Check[] } {
  try {
    return { names: isAbsent(folder) ? [] : readdirSync(folder), faults: [] }
  } catch (error) {
    const why = errorCode(error) === 'ENOTDIR' ? 'is not a folder' : `cannot be read: ${messageOf(error)}`
    return { names: [], faults: [fault(`${folder} ${why}`, 'A host cannot use it.', 'Remove it.')] }
  }
}
