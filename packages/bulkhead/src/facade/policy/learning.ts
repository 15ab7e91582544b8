import { hash } from 'node:crypto'
import { appendFileSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { BulkheadError, type BulkheadEvent, type CapabilityUse, type CommandWalls } from '@bulkhead/contract'
import { namesIn } from '@bulkhead/kit/folders'
import { isJsonObject, parseJson, type JsonObject } from '@bulkhead/kit/json'
import { readPrivateFile } from '@bulkhead/kit/private-file'

/** Names the folder where a host that learns records. It counts only if that folder is in the home of the host. */
export const LEARN_VARIABLE = 'BULKHEAD_LEARN'

/** A call that was allowed or denied while a host learned. */
export interface LearnedCall {
  readonly kind: 'call'
  readonly workspace: string
  readonly tool: string
  readonly arguments: JsonObject
  readonly decision: 'allow' | 'deny'
  readonly reason: string
  /** The layer and the id of the extension that has the tool. */
  readonly layer: string
  readonly extension: string
  /** Another tool made the call, and not the model or its program. */
  readonly byTool: boolean
}

/** Something that a tool used through the broker. */
export interface LearnedUse extends CapabilityUse {
  readonly kind: 'use'
}

/** What one process records at most. */
const MOST_BYTES = 20_000_000
/** What all processes keep for `bulkhead learn` at most. Then nothing more is recorded. */
const MOST_KEPT_BYTES = 200_000_000
const GRANT = 'grant.json'
const folderOf = (home: string): string => join(home, 'learning')
const keptFolder = (home: string): string => join(folderOf(home), 'kept')
const startOf = (workspace: string): string => hash('sha256', workspace).slice(0, 16)
const newFile = (folder: string, start: string): string => join(folder, `${start}-${crypto.randomUUID()}.jsonl`)

/** Lets hosts of this home learn until it is disposed. Only this user can read or write the folder. */
export function startLearning(home: string): Disposable & { readonly id: string; readonly folder: string } {
  const id = crypto.randomUUID()
  const folder = join(folderOf(home), id)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  writeFileSync(join(folder, GRANT), '{}\n', { mode: 0o600, flag: 'wx' })
  return { id, folder, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) }
}

/**
 * The recorder of a host that may learn: the variable names a folder that this user made in the home, which no tool and
 * no project can write. undefined otherwise: then the host works as always.
 */
export function learningHere(
  home: string, workspace: string, env: Readonly<Record<string, string | undefined>>,
): LearningRecorder | undefined {
  const id = env[LEARN_VARIABLE]
  if (id === undefined || !/^[0-9a-f-]{36}$/.test(id)) return undefined
  const folder = join(folderOf(home), id)
  try {
    if (readPrivateFile(join(folder, GRANT)) === undefined) return undefined
  } catch {
    return undefined
  }
  return new LearningRecorder(newFile(folder, startOf(workspace)), workspace)
}

/** The recorder of a host whose configuration has the mode learn. The record stays until `bulkhead learn` has used it. */
export function keptRecorder(home: string, workspace: string): LearningRecorder {
  const folder = keptFolder(home)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const kept = namesIn(folder).reduce((sum, name) => sum + (statSync(join(folder, name), { throwIfNoEntry: false })?.size ?? 0), 0)
  return new LearningRecorder(newFile(folder, startOf(workspace)), workspace, MOST_KEPT_BYTES - kept)
}

/** What hosts with the mode learn recorded in a folder. */
export const readKept = (home: string, workspace: string): Learned => readLearned(keptFolder(home), startOf(workspace))

export function forgetKept(home: string, workspace: string): void {
  const folder = keptFolder(home)
  for (const name of namesIn(folder)) if (name.startsWith(startOf(workspace))) rmSync(join(folder, name), { force: true })
}

/** Without it, commands would run with all that you can do, and unasked. */
export function requireWorkWall(walls: CommandWalls | undefined): void {
  if (walls?.work) return
  const why = 'No work wall stands around commands on this machine, so no policy is learned: calls would run unasked.'
  throw new BulkheadError('CapabilityUnavailable', `${why} "bulkhead doctor" says what is missing.`)
}

const BY_PEOPLE: ReadonlySet<string> = new Set(['person', 'sm-grant-token'])

/** Writes what a host decides and what its tools use. Beyond the bound, nothing more is recorded. */
export class LearningRecorder {
  readonly #file: string
  readonly #workspace: string
  #left: number

  constructor(file: string, workspace: string, most = MOST_BYTES) {
    this.#file = file
    this.#workspace = workspace
    this.#left = Math.min(most, MOST_BYTES)
  }

  readonly onEvent = (event: BulkheadEvent): void => {
    if (event.type !== 'ToolInvocationDecided' || event.use !== undefined || !isJsonObject(event.arguments)) return
    const { tool, origin, decision, reason, source, arguments: args, parentCallId, program } = event
    // A person said yes to this one call.
    if (decision === 'allow' && BY_PEOPLE.has(source)) return
    this.#write({
      kind: 'call', workspace: this.#workspace, tool, arguments: args, decision, reason, layer: origin?.layer ?? '',
      extension: origin?.extension ?? '', byTool: parentCallId !== undefined && program === undefined,
    })
  }

  readonly onUse = (use: CapabilityUse): void => this.#write({ kind: 'use', ...use })

  #write(entry: LearnedCall | LearnedUse): void {
    const line = `${JSON.stringify(entry)}\n`
    this.#left -= line.length
    if (this.#left < 0) return
    try {
      appendFileSync(this.#file, line, { mode: 0o600 })
    } catch {
      // The command that learns has ended, and removed the folder.
      this.#left = 0
    }
  }
}

export interface Learned {
  readonly calls: readonly LearnedCall[]
  readonly uses: readonly LearnedUse[]
}

/** What the hosts recorded, in the order of each. */
export function readLearned(folder: string, start = ''): Learned {
  const lines = namesIn(folder).filter((name) => name.startsWith(start) && name.endsWith('.jsonl'))
    .flatMap((name) => (readPrivateFile(join(folder, name)) ?? '').split('\n'))
  const entries = lines.flatMap((line): readonly (LearnedCall | LearnedUse)[] => {
    const parsed = parseJson(line)
    return parsed.ok && isJsonObject(parsed.value) ? [parsed.value as unknown as LearnedCall | LearnedUse] : []
  })
  return {
    calls: entries.filter((entry) => entry.kind === 'call'), uses: entries.filter((entry) => entry.kind === 'use'),
  }
}
