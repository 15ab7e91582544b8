import { createHash } from 'node:crypto'
import {
  BulkheadError, findJsonFault, isJsonObject, type ExtensionDescriptor, type Json, type StateAccess, type StateSlot, type Store,
} from '@bulkhead/contract'
import type { EventBus } from '../events.ts'
import type { SchemaCheck } from '../validators.ts'

export interface SlotSources {
  readonly descriptor: ExtensionDescriptor
  readonly slot: StateSlot
  readonly check: SchemaCheck
  readonly store: Store
  readonly workspace: string
  readonly events: EventBus
}

/** The own slot of one extension: `{ slotVersion, data }` under a key nobody else has. */
export function openSlot({ descriptor, slot, check, store, workspace, events }: SlotSources): StateAccess {
  const key = slotKey(descriptor, workspace)
  return {
    async read() {
      const stored = await store.read('state', key)
      if (stored === undefined) return null
      const { slotVersion, data } = readRecord(stored, descriptor.id)
      if (slotVersion === slot.slotVersion) return data
      const { driftPolicy: decision, slotVersion: currentVersion } = slot
      events.emit({ type: 'StateSlotDrift', extensionId: descriptor.id, storedVersion: slotVersion, currentVersion, decision })
      if (decision === 'warn') return data
      throw driftError(descriptor.id, slot, slotVersion)
    },
    async write(data) {
      const fault = findJsonFault(data) ?? check(data)
      if (fault) {
        const { path, message } = fault
        throw new BulkheadError('StateInvalid', `The state of "${descriptor.id}" at "${path}" ${message}.`, { data: { path } })
      }
      await store.write('state', key, { slotVersion: slot.slotVersion, data })
    },
  }
}

/** A project's extension must not find the state of a global one by taking its id, nor another project's. */
function slotKey({ id, layer }: ExtensionDescriptor, workspace: string): string {
  const place = layer === 'project' ? createHash('sha256').update(workspace).digest('hex') : 'any'
  return `${layer}/${place}/${id}`
}

function readRecord(stored: Json, id: string): { readonly slotVersion: string; readonly data: Json } {
  const { slotVersion, data = null } = isJsonObject(stored) ? stored : {}
  if (typeof slotVersion === 'string') return { slotVersion, data }
  throw new BulkheadError('SlotVersionMissing', `The stored state of "${id}" has no version.`, { data: { extension: id } })
}

function driftError(id: string, slot: StateSlot, storedVersion: string): BulkheadError {
  const data = { extension: id, storedVersion, currentVersion: slot.slotVersion }
  const what = `The stored state of "${id}" is of version ${storedVersion} and the extension has ${slot.slotVersion}`
  if (slot.driftPolicy === 'migrate') {
    // The port of a running compartment has no way to ask for a migration, so the state is left as it is.
    return new BulkheadError('SlotMigrationFailed', `${what}; this host cannot run its migration.`, { data })
  }
  return new BulkheadError('SlotDriftRejected', `${what}; it rejects any other.`, { data })
}
