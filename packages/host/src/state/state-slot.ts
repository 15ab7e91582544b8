import {
  atPointer, BulkheadError, findJsonFault, isJsonObject, type ExtensionDescriptor, type Json, type StateAccess, type Store,
  type StoredState,
} from '@bulkhead/contract'
import type { EventBus } from '../events.ts'
import { Turnstile } from '../interaction/turnstile.ts'
import { migrateSlot, type MigrationSources } from './migration.ts'
import { sha256 } from '../encoding/sha256.ts'

export interface SlotSources extends Omit<MigrationSources, 'extensionId'> {
  readonly descriptor: ExtensionDescriptor
  readonly store: Store
  readonly workspace: string
  readonly events: EventBus
}

/**
 * The own slot of one extension: `{ slotVersion, data }` under a key nobody else has. Reads and writes follow each other, so
 * that none comes between a migration and what it writes.
 */
export function openSlot(sources: SlotSources): StateAccess {
  const { descriptor: { id }, slot, check, store } = sources
  const key = slotKey(sources)
  const order = new Turnstile()
  const { signal: never } = new AbortController()

  /** What is stored, as the present version wants it. */
  const current = async (): Promise<StoredState | undefined> => {
    const record = await store.read('state', key)
    if (record === undefined) return undefined
    const stored = readRecord(record, id)
    return stored.slotVersion === slot.slotVersion ? stored : settleDrift(stored, key, sources)
  }
  return {
    read: () => order.pass(never, async () => (await current())?.data ?? null),
    async write(data) {
      const fault = findJsonFault(data) ?? check(data)
      if (fault) {
        const { path, message } = fault
        throw new BulkheadError('StateInvalid', `The state of "${id}"${atPointer(path)} ${message}.`, { data: { path } })
      }
      await order.pass(never, async () => {
        // State that this version rejects, or cannot migrate, is not its to write over.
        await current()
        await store.write('state', key, { slotVersion: slot.slotVersion, data })
      })
    },
  }
}

async function settleDrift(stored: StoredState, key: string, sources: SlotSources): Promise<StoredState> {
  const { descriptor: { id: extensionId }, slot, events, store } = sources
  const { driftPolicy: decision, slotVersion: currentVersion } = slot
  const { slotVersion: storedVersion } = stored
  events.emit({ type: 'StateSlotDrift', extensionId, storedVersion, currentVersion, decision })
  if (decision === 'warn') return stored
  if (decision === 'reject') {
    const message = `The stored state of "${extensionId}" is of version ${storedVersion} and the extension has ${currentVersion}.`
    throw new BulkheadError('SlotDriftRejected', message, { data: { extension: extensionId, storedVersion, currentVersion } })
  }
  const migrated = await migrateSlot(stored, { ...sources, extensionId })
  await store.write('state', key, { ...migrated })
  return migrated
}

/** A project's extension must not find the state of a global one by taking its id, nor another project's. */
function slotKey({ descriptor: { id, layer }, workspace }: SlotSources): string {
  const place = layer === 'project' ? sha256(workspace) : 'any'
  return `${layer}/${place}/${id}`
}

function readRecord(stored: Json, id: string): StoredState {
  const { slotVersion, data = null } = isJsonObject(stored) ? stored : {}
  if (typeof slotVersion === 'string') return { slotVersion, data }
  throw new BulkheadError('SlotVersionMissing', `The stored state of "${id}" has no version.`, { data: { extension: id } })
}
