import { hash } from 'node:crypto'
import {
  BulkheadError, type Clock, type ExtensionDescriptor, type StateAccess, type StateSlot, type Store, type StoredState,
} from '@bulkhead/contract'
import { untilAborted } from '@bulkhead/kit/deadlines'
import { messageOf } from '@bulkhead/kit/error-message'
import { atPointer, canonicalJson, findJsonFault, isJsonObject, type Json } from '@bulkhead/kit/json'
import { Mutex } from '../model/waiting.ts'
import type { EventBus } from '../records/events.ts'
import type { SchemaCheck } from './schema-checks.ts'

export interface SlotSources extends Omit<MigrationSources, 'extensionId'> {
  readonly descriptor: ExtensionDescriptor
  readonly store: Store
  readonly workspace: string
  readonly events: EventBus
  /** The id of the principal of a running call. Throws CapabilityDenied for another call. */
  readonly principalOf: (callId: string) => string | undefined
}

/**
 * The state slot of one extension: `{ slotVersion, data }` under its own key, one for each principal. Reads and writes
 * run in order. Another generation or another host may write at any time; a migration does not overwrite such a write.
 */
export function openSlot(sources: SlotSources): StateAccess {
  const { descriptor: { id }, slot, check, store, principalOf } = sources
  const keyOf = (callId: string | undefined): string =>
    stateKey(sources.descriptor, sources.workspace, callId === undefined ? undefined : principalOf(callId))
  const order = new Mutex()
  const { signal: never } = new AbortController()

  /** The stored state, migrated to the present version. */
  const current = async (key: string): Promise<StoredState | undefined> => {
    for (;;) {
      const record = await store.read('state', key)
      if (record === undefined) return undefined
      const stored = readRecord(record, id, key)
      if (isPresent(stored)) return stored
      const settled = await settleDrift(stored, key, sources)
      const isUnchanged = (now: Json | undefined) =>
        now !== undefined && canonicalJson(now) === canonicalJson(record)
      if (settled === stored || await replace(key, settled, isUnchanged)) return settled
    }
  }
  const isPresent = ({ slotVersion }: StoredState) => slotVersion === slot.slotVersion
  /** Resolves with whether the state was replaced. */
  const replace = async (
    key: string, { slotVersion, data }: StoredState, mayGo: (now: Json | undefined) => boolean,
  ): Promise<boolean> => {
    let isReplaced = false
    await store.update('state', key, (now) => {
      isReplaced = mayGo(now)
      return isReplaced ? { slotVersion, data } : now
    })
    return isReplaced
  }
  return {
    async read(callId) {
      const key = keyOf(callId)
      return order.run(never, async () => (await current(key))?.data ?? null)
    },
    async write(data, callId) {
      const key = keyOf(callId)
      const fault = findJsonFault(data) ?? check(data)
      if (fault) {
        const { path, message } = fault
        throw new BulkheadError(
          'StateInvalid', `The state of "${id}"${atPointer(path)} ${message}.`, { data: { path } },
        )
      }
      await order.run(never, async () => {
        const state = { slotVersion: slot.slotVersion, data }
        // This version must not overwrite state that it rejects or cannot migrate.
        const mayOverwrite = (now: Json | undefined) =>
          now === undefined || slot.driftPolicy === 'warn' || isPresent(readRecord(now, id, key))
        do await current(key)
        while (!await replace(key, state, mayOverwrite))
      })
    },
  }
}

async function settleDrift(stored: StoredState, key: string, sources: SlotSources): Promise<StoredState> {
  const { descriptor: { id: extensionId }, slot, events } = sources
  const { driftPolicy: decision, slotVersion: currentVersion } = slot
  const { slotVersion: storedVersion } = stored
  events.emit({ type: 'StateSlotDrift', extensionId, storedVersion, currentVersion, decision })
  if (decision === 'warn') return stored
  if (decision === 'reject') {
    const message = `The stored state of "${extensionId}" (the record ${key}) is of version ${storedVersion} `
      + `and the extension has ${currentVersion}.`
    throw new BulkheadError(
      'SlotDriftRejected', message, { data: { extension: extensionId, key, storedVersion, currentVersion } },
    )
  }
  return migrateSlot(stored, { ...sources, extensionId })
}

/**
 * An extension of a project must not get the state of a global one with its id, or of another project, and no principal
 * that of another.
 */
/** The key of the state of an extension in the store. */
export function stateKey(
  { id, layer }: Pick<ExtensionDescriptor, 'id' | 'layer'>, workspace: string, principal?: string,
): string {
  const place = layer === 'project' ? hash('sha256', workspace) : 'any'
  return `${layer}/${place}/${id}${principal === undefined ? '' : `/${hash('sha256', principal)}`}`
}

function readRecord(stored: Json, id: string, key: string): StoredState {
  const { slotVersion, data = null } = isJsonObject(stored) ? stored : {}
  if (typeof slotVersion === 'string') return { slotVersion, data }
  throw new BulkheadError(
    'SlotVersionMissing', `The stored state of "${id}" (the record ${key}) has no version.`,
    { data: { extension: id, key } },
  )
}

export interface MigrationSources {
  readonly extensionId: string
  readonly slot: StateSlot
  readonly check: SchemaCheck
  /** Runs in the compartment of the extension. */
  readonly migrate: (stored: StoredState, signal: AbortSignal) => Promise<Json>
  readonly clock: Clock
  /** How long it may take. */
  readonly migrationMs: number
}

/**
 * Migrates a stored state with the code of the extension. The result is checked: its version and the schema. Rejects
 * with SlotMigrationFailed.
 */
async function migrateSlot(stored: StoredState, sources: MigrationSources): Promise<StoredState> {
  const { extensionId, slot: { slotVersion }, check } = sources
  const failed = (why: string, cause?: unknown) => {
    const from = `The state of "${extensionId}" of version ${stored.slotVersion}`
    const data = { extension: extensionId, storedVersion: stored.slotVersion, currentVersion: slotVersion }
    return new BulkheadError(
      'SlotMigrationFailed', `${from} could not be brought to ${slotVersion}: ${why}.`, { cause, data },
    )
  }
  const answer = await askInTime(stored, sources).catch((thrown: unknown) => {
    throw failed(messageOf(thrown).replace(/\.$/, ''), thrown)
  })
  const { slotVersion: reached, data } = isJsonObject(answer) ? answer : {}
  if (reached !== slotVersion || data === undefined) {
    throw failed('migrateState did not return { slotVersion, data } of that version')
  }
  const fault = findJsonFault(data) ?? check(data)
  if (fault) throw failed(`what it became${atPointer(fault.path)} ${fault.message}`)
  return { slotVersion, data }
}

async function askInTime(stored: StoredState, { migrate, clock, migrationMs }: MigrationSources): Promise<Json> {
  const ending = new AbortController()
  const stopTimer = clock.after(migrationMs, () => {
    ending.abort(new BulkheadError('SlotMigrationFailed', `migrateState took longer than ${migrationMs} ms.`))
  })
  try {
    return await untilAborted(migrate(stored, ending.signal), ending.signal)
  } finally {
    stopTimer()
  }
}
