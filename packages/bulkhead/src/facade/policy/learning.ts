import { appendFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { BulkheadEvent, CapabilityUse, Ceiling } from '@bulkhead/contract'
import type { CallCheck, SessionOptions } from '@bulkhead/host'
import { namesIn } from '@bulkhead/kit/folders'
import { isJsonObject, parseJson, type JsonObject } from '@bulkhead/kit/json'
import { readPrivateFile } from '@bulkhead/kit/private-file'

/** Names the folder where a host that learns records. It counts only if that folder is in the home of the host. */
export const LEARN_VARIABLE = 'BULKHEAD_LEARN'

/** The workspace, and commands behind a wall. No network, no variables and no secrets. */
export const LEARNING_CEILING: Ceiling = {
  fs: { read: ['{workspace}/**'], write: ['{workspace}/**'] }, shell: [{ cmd: '*', args: [{ rest: true }] }], state: true,
}

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
const GRANT = 'grant.json'
const folderOf = (home: string): string => join(home, 'learning')

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
  return new LearningRecorder(join(folder, `${process.pid}-${crypto.randomUUID()}.jsonl`), workspace)
}

/** Writes what a host decides and what its tools use. Beyond the bound, nothing more is recorded. */
export class LearningRecorder {
  readonly #file: string
  readonly #workspace: string
  #bytes = 0

  constructor(file: string, workspace: string) {
    this.#file = file
    this.#workspace = workspace
  }

  readonly onEvent = (event: BulkheadEvent): void => {
    if (event.type !== 'ToolInvocationDecided' || event.use !== undefined || !isJsonObject(event.arguments)) return
    const { tool, origin, decision, reason, arguments: args, parentCallId, program } = event
    this.#write({
      kind: 'call', workspace: this.#workspace, tool, arguments: args, decision, reason, layer: origin?.layer ?? '',
      extension: origin?.extension ?? '', byTool: parentCallId !== undefined && program === undefined,
    })
  }

  readonly onUse = (use: CapabilityUse): void => this.#write({ kind: 'use', ...use })

  #write(entry: LearnedCall | LearnedUse): void {
    const line = `${JSON.stringify(entry)}\n`
    this.#bytes += line.length
    if (this.#bytes > MOST_BYTES) return
    try {
      appendFileSync(this.#file, line, { mode: 0o600 })
    } catch {
      // The command that learns has ended, and removed the folder.
      this.#bytes = MOST_BYTES
    }
  }
}

/** What the hosts recorded, in the order of each. */
export function readLearned(folder: string): { readonly calls: readonly LearnedCall[]; readonly uses: readonly LearnedUse[] } {
  const lines = namesIn(folder).filter((name) => name.endsWith('.jsonl'))
    .flatMap((name) => (readPrivateFile(join(folder, name)) ?? '').split('\n'))
  const entries = lines.flatMap((line): readonly (LearnedCall | LearnedUse)[] => {
    const parsed = parseJson(line)
    return parsed.ok && isJsonObject(parsed.value) ? [parsed.value as unknown as LearnedCall | LearnedUse] : []
  })
  return {
    calls: entries.filter((entry) => entry.kind === 'call'), uses: entries.filter((entry) => entry.kind === 'use'),
  }
}

/** A command that would run without a wall has a key with this mark. */
const refuseOpen: CallCheck = ({ approvalKey }) => approvalKey.startsWith('[open]')
  ? { action: 'deny', reason: 'while a policy is learned, no command runs without a wall' } : undefined

/** A session that asks for no approval of the mode. Rules, watchdogs and guards decide as always. */
export const learningSession = <Options extends Pick<SessionOptions, 'watchdog'>>(options: Options): Options =>
  ({ ...options, mode: 'yolo', watchdog: [refuseOpen, options.watchdog ?? []].flat() })
