import { realpathSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { BulkheadError, checkRequirements, type ConfigFile } from '@bulkhead/contract'
import { machinePolicySchema, placeIssues, pointerOf } from '@bulkhead/contract/validation'
import { messageOf } from '@bulkhead/kit/error-message'
import { isAbsent } from '@bulkhead/kit/folders'
import { visibleText } from '@bulkhead/kit/text'
import type { JsonObject } from '@bulkhead/kit/json'
import { parseStrictJson } from '../files/json-file.ts'
import { readRegularFile } from '../files/read-file.ts'
import type { Fault } from '../model/result.ts'
import { ruleLinesOf } from './config-file.ts'

/** The file with the policy of a machine, and the users that may own it and the folders above it. */
export interface MachinePolicyFile {
  readonly file: string
  readonly owners: readonly number[]
}

export interface MachinePolicy {
  readonly config: ConfigFile
  readonly faults: readonly Fault[]
  readonly ruleLines?: readonly number[]
}

const CONSEQUENCE = 'All tools are disabled until an administrator fixes this.'

/**
 * Reads the policy of a machine. undefined if there is none. A policy that cannot be read, has a fault or could have
 * been written by another user disables all tools: what it forbids is unknown.
 */
export function readMachinePolicy(
  { file, owners }: MachinePolicyFile, maxBytes: number,
): MachinePolicy | undefined {
  let writable: string | undefined
  try {
    if (isAbsent(dirname(file))) return undefined
    writable = findWriters(file, owners)
  } catch (error) {
    return refused('', `cannot be checked: ${messageOf(error)}`)
  }
  if (writable !== undefined) return refused('', `cannot be trusted: ${writable}`)
  const read = readRegularFile(file, { maxBytes })
  if (!read.ok) return read.problem === 'missing' ? undefined : refused('', read.message)
  const parsed = parseStrictJson(read.bytes)
  if (!parsed.ok) return refused(parsed.path, parsed.message)
  const checked = machinePolicySchema.safeParse(parsed.value)
  if (!checked.success) {
    const issues = placeIssues(checked.error.issues, machinePolicySchema)
    return disabled(issues.map(({ steps, message }) => faultAt(pointerOf(steps), message)))
  }
  const fault = ceilingFault(checked.data)
  return fault === undefined 
    ? { config: checked.data, faults: [], ...ruleLinesOf(parsed.value as JsonObject, read.bytes) }
    : disabled([faultAt('/policy/ceiling', fault)])
}

function ceilingFault({ policy }: ConfigFile): string | undefined {
  try {
    checkRequirements(policy?.ceiling ?? {})
    return undefined
  } catch (error) {
    return `cannot be used: ${BulkheadError.from(error).message}`
  }
}

const disabled = (faults: readonly Fault[]): MachinePolicy => ({ config: { toolsEnabled: false }, faults })
const refused = (path: string, what: string): MachinePolicy => disabled([{
  stage: 'configSchema', code: 'ConfigInvalid', path, message: `The policy of this machine ${what}. ${CONSEQUENCE}`,
}])

const faultAt = (path: string, what: string): Fault => ({
  stage: 'configSchema', code: 'ConfigInvalid', path,
  message: `${visibleText(path)} ${what.replace(/\.$/, '')}, in the policy of this machine. ${CONSEQUENCE}`,
})

const OTHERS_WRITE = 0o022
const STICKY = 0o1000

/**
 * Who else could replace the file, as a sentence, or undefined. In a sticky folder such as /tmp, only the owner of an
 * entry can replace it. Systems without user ids protect the folder in other ways.
 */
function findWriters(file: string, owners: readonly number[]): string | undefined {
  if (process.getuid === undefined) return undefined
  const folder = dirname(file)
  for (const path of new Set([file, ...foldersFrom(folder), ...foldersFrom(realpathSync(folder))])) {
    const stat = statSync(path, { throwIfNoEntry: false })
    if (stat === undefined) continue
    if (!owners.includes(stat.uid)) return `"${path}" belongs to another user`
    const isShared = path !== file && path !== folder && (stat.mode & STICKY) !== 0
    if ((stat.mode & OTHERS_WRITE) !== 0 && !isShared) {
      return `"${path}" is writable by other users; run chmod go-w on it`
    }
  }
  return undefined
}

/** The folder and all folders above it. */
function foldersFrom(folder: string): readonly string[] {
  const above = dirname(folder)
  return above === folder ? [folder] : [folder, ...foldersFrom(above)]
}
